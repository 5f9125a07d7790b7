"""Turns episodes into facts and rules: batch by batch, shard by shard, whenever it is due or asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import anyio
import structlog

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.core.errors import ProviderBroken, ProviderRefused, Unavailable
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import working as k
from elf.families.knowledge.consolidation.answer import read_answer
from elf.families.knowledge.consolidation.batches import (
    Category,
    EpisodeBatches,
    EpisodesForgotten,
    LeasedBatch,
    LeaseLost,
    Shard,
)
from elf.families.knowledge.consolidation.executor import AllFailed, ConsolidationExecutor, Outcome, Shown
from elf.families.knowledge.consolidation.prompt import (
    MOST_FACTS,
    MOST_KNOWN_CHARS,
    MOST_RULES,
    ShownFact,
    ShownRule,
    consolidation_prompt,
    how_many_within,
)
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import Event, record
from elf.outbox.chores import Due
from elf.providers.port import Chat

# More would take connections and turns at the model from those who write and ask meanwhile.
SHARDS_AT_ONCE: Final = 4

log = structlog.get_logger()


class BatchFailed(Exception):
    """A batch could not be consolidated: it is halved, or its one episode put off or given up."""

    def __init__(self, category: Category, errors: list[str]) -> None:
        super().__init__(category)
        self.category = category
        self.errors = errors


@dataclass(slots=True)
class Done:
    """What came of the parts of a batch: of how many `episodes`, and what `failed`, after which nothing was done."""

    outcomes: list[Outcome] = field(default_factory=list)
    episodes: int = 0
    failed: BatchFailed | None = None


@dataclass(slots=True)
class Total:
    """What several batches came to: of one tenant, or `of_all`, whose agents may have the same names."""

    of_all: bool = False
    groups: dict[str, dict[str, int]] = field(default_factory=dict)
    groups_consolidated: int = 0
    episodes_processed: int = 0
    episodes_consolidated: int = 0
    outcome: Outcome = field(default_factory=Outcome)

    def look_at(self, shards: Mapping[Shard, int]) -> None:
        for shard, count in shards.items():
            agents = self.groups.setdefault(shard.tenant_id, {})
            agents[shard.butler] = agents.get(shard.butler, 0) + count

    def name(self, shard: Shard) -> str:
        return f"{shard.tenant_id}: {shard.butler}" if self.of_all else shard.butler

    def add(self, shard: Shard, done: Done) -> None:
        self.groups_consolidated += done.failed is None
        self.episodes_consolidated += done.episodes
        for outcome in done.outcomes:
            self._add(shard, outcome)
        if done.failed is not None:
            self.outcome.errors += [f"{self.name(shard)}: {done.failed.category}", *done.failed.errors]

    def _add(self, shard: Shard, outcome: Outcome) -> None:
        self.outcome.facts_created += outcome.facts_created
        self.outcome.facts_updated += outcome.facts_updated
        self.outcome.rules_created += outcome.rules_created
        self.outcome.confirmations_made += outcome.confirmations_made
        self.outcome.errors += [f"{self.name(shard)}: {error}" for error in outcome.errors]

    def counts(self, remaining: int) -> dict[str, Any]:
        outcome = self.outcome
        return {
            "episodes_processed": self.episodes_processed,
            "butlers_processed": sum(map(len, self.groups.values())),
            "groups_consolidated": self.groups_consolidated,
            "facts_created": outcome.facts_created,
            "facts_updated": outcome.facts_updated,
            "rules_created": outcome.rules_created,
            "confirmations_made": outcome.confirmations_made,
            "episodes_consolidated": self.episodes_consolidated,
            "errors": outcome.errors,
            "remaining": remaining,
        }


class Consolidation:
    """Without a `chat` episodes are only counted."""

    def __init__(self, kit: Kit, chat: Chat | None) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._chat = chat
        self._batches = EpisodeBatches(kit)
        self._executor = ConsolidationExecutor(kit, self._batches)

    async def run(self, request: k.RunConsolidation, caller: Caller) -> k.ConsolidationAnswer:
        """Consolidate one batch of each shard of a tenant, but for those of other users."""
        total, left = await self._run(request.tenant_id, reach_of(request.tenant_id, caller))
        return k.ConsolidationAnswer(groups=total.groups.get(request.tenant_id, {}), **total.counts(left))

    async def run_all(self, request: k.AllTenants, caller: Caller) -> k.TenantsConsolidationAnswer:
        """Consolidate one batch of each shard of a tenant, or of all."""
        total, left = await self._run(request.tenant_id, None)
        return k.TenantsConsolidationAnswer(groups=total.groups, **total.counts(left))

    async def _run(self, tenant_id: str | None, reach: Reach | None) -> tuple[Total, int]:
        """Return what it came to, and how many episodes are left."""
        total = Total(of_all=tenant_id is None)
        shards = await self._batches.shards(tenant_id, reach=reach)
        total.look_at(shards)
        if self._chat is None:
            total.episodes_processed += sum(shards.values())
        else:
            await self._one_each(list(shards), self._chat, total)
        left = await self._batches.shards(tenant_id, reach=reach)
        return total, sum(left.values())

    async def _one_each(self, shards: Sequence[Shard], chat: Chat, total: Total) -> None:
        """Consolidate a batch of each shard, several shards at once: while one waits for the model, another writes."""
        waiting = iter(shards)

        async def next_ones() -> None:
            for shard in waiting:
                await self._one(shard, chat, total)

        async with anyio.create_task_group() as group:
            for _ in range(SHARDS_AT_ONCE):
                group.start_soon(next_ones)

    async def _one(self, shard: Shard, chat: Chat, total: Total) -> None:
        """Consolidate a batch of a shard; what goes wrong is told among the errors, so that others have their turn."""
        batch = await self._batches.lease(shard)
        if batch is None:
            return
        total.episodes_processed += len(batch.episodes)
        try:
            total.add(shard, await self._consolidate(batch, chat))
        except (Unavailable, LeaseLost) as error:
            total.outcome.errors.append(f"{total.name(shard)}: {error.message}")

    async def drain(self, due: Due) -> None:
        """Consolidate a shard until nothing of it is left; for a chore.

        Raises Unavailable when the model is away, and when a batch was put off: the chore comes back then.
        """
        assert self._chat is not None, "there is no such chore without a model"
        shard = Shard.named(due.subject)
        while (batch := await self._batches.lease(shard)) is not None:
            done = await self._consolidate(batch, self._chat)
            if done.failed is not None:
                raise Unavailable(
                    f"an episode could not be consolidated: {done.failed.category}"
                ) from done.failed

    async def subjects(self) -> list[str]:
        """Return the names of the shards that have something to consolidate."""
        return [shard.name for shard in await self._batches.shards(None)]

    async def _consolidate(self, batch: LeasedBatch, chat: Chat) -> Done:
        """Turn a batch into facts and rules; one that fails, in halves, until the episode at fault is alone.

        That one is put off or given up, and those behind it wait, for what is said later has to win. Raises
        Unavailable when the batch is not at fault, and LeaseLost.
        """
        done = Done()
        parts = [batch]
        try:
            while parts and done.failed is None:
                await self._part(parts, chat, done)
        except (Unavailable, LeaseLost):
            await self._batches.release(batch)
            raise
        if parts:
            await self._batches.release(batch)
        return done

    async def _part(self, parts: list[LeasedBatch], chat: Chat, done: Done) -> None:
        """Do the last of the parts, or put what is to be done instead of it in its place."""
        part = parts[-1]
        try:
            outcome = await self._attempt(part, chat)
        except BatchFailed as failed:
            log.warning(
                "knowledge.consolidation_failed", category=failed.category, episodes=len(part.episodes)
            )
            if len(part.episodes) == 1:
                await self._batches.fail(part, failed.category)
                done.failed = failed
                return
            first, second = (await self._batches.renew(part)).halves()
            parts[-1:] = [one for one in (second, first) if one.episodes]
        except EpisodesForgotten as forgotten:
            parts[-1] = part.only(forgotten.left)
        else:
            parts.pop()
            done.outcomes.append(outcome)
            done.episodes += len(part.episodes)

    async def _attempt(self, batch: LeasedBatch, chat: Chat) -> Outcome:
        shown = await self._shown(batch.shard)
        prompt = consolidation_prompt(
            batch.episodes,
            [
                ShownFact(id=id, subject=one["subject"], predicate=one["predicate"], content=one["content"])
                for id, one in shown.facts.items()
            ],
            [ShownRule(id=id, content=one["content"]) for id, one in shown.rules.items()],
        )
        try:
            text = await chat.text(prompt)
        except ProviderRefused as refused:
            if refused.concerns_all:
                raise
            raise BatchFailed("refused_by_model", []) from refused
        except ProviderBroken as broken:
            raise BatchFailed("unusable_answer", []) from broken
        result = read_answer(text)
        if not result.found:
            raise BatchFailed("no_json", result.parse_errors)
        try:
            return await self._executor.execute(batch, shown, result)
        except AllFailed as failed:
            raise BatchFailed("all_actions_failed", list(failed.errors)) from failed

    async def _shown(self, shard: Shard) -> Shown:
        async with self._kit.database.connection() as connection:
            facts = await connection.fetch(self._sql["shown_facts"], *shard, MOST_FACTS)
            rules = await connection.fetch(self._sql["shown_rules"], *shard, MOST_RULES)
        return Shown(_by_id(_fitting(facts)), _by_id(_fitting(rules)))

    async def requeue(self, request: k.Requeue, caller: Caller) -> k.Requeued:
        """Have episodes that were given up tried again."""
        reach = reach_of("", caller)
        async with self._kit.database.transaction() as connection:
            rows = await connection.fetch(
                self._sql["requeue_episodes"], request.tenant_id, request.episode_id
            )
            now = self._kit.now()
            for tenant_id in dict.fromkeys(row["tenant_id"] for row in rows):
                events = [
                    Event("episode_requeued", "episode", row["id"])
                    for row in rows
                    if row["tenant_id"] == tenant_id
                ]
                await record(connection, self._sql, events, tenant_id=tenant_id, actor=reach.actor, now=now)
        return k.Requeued(requeued=len(rows))

    async def dead_letters(self, request: k.ListDeadLetters, caller: Caller) -> k.DeadLetters:
        """List the episodes that were given up, newest first."""
        listing = ("dead_letters", request.tenant_id)
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_dead_letters"], request.tenant_id, start.moment, start.id, request.limit + 1
            )
        shown = rows[: request.limit]
        more = len(rows) > request.limit
        items = [
            k.DeadLetter(episode_id=row["id"], **{name: value for name, value in row.items() if name != "id"})
            for row in shown
        ]
        cursor = encode_cursor(shown[-1]["created_at"], shown[-1]["id"], *listing) if more else None
        return k.DeadLetters(items=items, next_cursor=cursor)


def _fitting(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first of what is known that there is room for in a prompt."""
    return rows[: how_many_within([row["content"] for row in rows], MOST_KNOWN_CHARS)]


def _by_id(rows: list[Mapping[str, object]]) -> dict[UUID, Mapping[str, object]]:
    return {row["id"]: row for row in rows}  # type: ignore[misc]
