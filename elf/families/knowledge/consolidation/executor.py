"""Carries out what a model made of a batch of episodes: in one transaction, each action for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

import structlog
from pgvector import Vector

from elf.core.errors import InvalidRequest, ServiceError, Unavailable
from elf.core.secrets import redact
from elf.db.database import Connection
from elf.db.errors import map_errors, retrying
from elf.families.knowledge import model as m
from elf.families.knowledge.access import Reach
from elf.families.knowledge.consolidation.answer import ConsolidationResult
from elf.families.knowledge.consolidation.batches import EpisodeBatches, LeasedBatch
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.rules.searchable_text import without_nul
from elf.families.knowledge.writing.events import WORKER, Event, EventType, record
from elf.families.knowledge.writing.facts import FactToStore, FactWriter
from elf.families.knowledge.writing.rules import RuleToStore, RuleWriter
from elf.families.knowledge.writing.to_store import Writing

T = TypeVar("T")

UNKNOWN_ID: Final = "names an id that it was not shown"
_CONFIRMED: Final[Mapping[str, EventType]] = {"fact": "fact_confirmed", "rule": "rule_confirmed"}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model was shown beside the episodes: rows of facts and rules by their ids."""

    facts: Mapping[UUID, Mapping[str, Any]]
    rules: Mapping[UUID, Mapping[str, Any]]


@dataclass(slots=True)
class Outcome:
    """How many actions of each kind were carried out, and why others were not."""

    facts_created: int = 0
    facts_updated: int = 0
    rules_created: int = 0
    confirmations_made: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        return self.facts_created + self.facts_updated + self.rules_created + self.confirmations_made

    def counts(self) -> dict[str, int]:
        """Return all of it as numbers."""
        return {
            "facts_created": self.facts_created,
            "facts_updated": self.facts_updated,
            "rules_created": self.rules_created,
            "confirmations_made": self.confirmations_made,
            "errors": len(self.errors),
        }


class AllFailed(Exception):
    """Nothing of what the model wanted could be done; `errors` say why."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("all actions of a consolidation failed")
        self.errors = errors


@dataclass(frozen=True, slots=True)
class _Actions:
    """What is to be done, with the vectors of what is stored."""

    new_facts: Sequence[tuple[FactToStore, Vector | None]]
    updates: Sequence[tuple[UUID, FactToStore, Vector | None]]
    new_rules: Sequence[tuple[RuleToStore, Vector | None]]
    confirmations: Sequence[UUID]
    errors: Sequence[str]
    is_model_away: bool

    @property
    def vectors(self) -> list[Vector | None]:
        facts = [vector for _, vector in self.new_facts]
        updates = [vector for _, _, vector in self.updates]
        return [*facts, *updates, *(vector for _, vector in self.new_rules)]

    @property
    def count(self) -> int:
        return len(self.new_facts) + len(self.updates) + len(self.new_rules) + len(self.confirmations)


class ConsolidationExecutor:
    """Stores, updates and confirms what a model says, and ends the episodes that it is from."""

    def __init__(self, kit: Kit, batches: EpisodeBatches) -> None:
        self._kit = kit
        self._batches = batches

    async def execute(self, batch: LeasedBatch, shown: Shown, result: ConsolidationResult) -> Outcome:
        """Carry out all actions, whichever fail, and end the episodes; or do nothing at all.

        Raises AllFailed when there were actions and each failed, LeaseLost when the batch is another's by now,
        and EpisodesForgotten when some of it is.
        """
        actions = await self._actions(batch, shown, result)
        return await retrying(lambda: self._carry_out(batch, actions))

    async def _actions(self, batch: LeasedBatch, shown: Shown, result: ConsolidationResult) -> _Actions:
        shard = batch.shard
        whose: dict[str, Any] = {"source_butler": shard.butler, "user_id": shard.user, "reader": shard.reader}
        facts = [
            FactToStore(
                subject=self._kept(one.subject), predicate=self._kept(one.predicate), content=self._kept(one.content),
                importance=one.importance, permanence=one.permanence, tags=[*map(self._kept, one.tags)],
                scope=shard.scope,
                path=f"new_facts[{place}]", **whose,
            )
            for place, one in enumerate(result.new_facts)
        ]  # fmt: skip
        updates, errors = [], list(result.parse_errors)
        for place, one in enumerate(result.updated_facts):
            target = shown.facts.get(one.target_id)
            path = f"updated_facts[{place}]"
            if target is None:
                errors.append(f"{path}: {UNKNOWN_ID}")
                continue
            fact = FactToStore(
                subject=target["subject"], predicate=target["predicate"], content=self._kept(one.content),
                permanence=one.permanence or target["permanence"],
                scope=target["scope"] if target["user_id"] == shard.user else shard.scope,
                entity_id=target["entity_id"], path=path, **whose,
            )  # fmt: skip
            updates.append((one.target_id, fact))
        rules = [
            RuleToStore(
                content=self._kept(one.content), tags=[*map(self._kept, one.tags)], scope=shard.scope,
                path=f"new_rules[{place}]", **whose,
            )
            for place, one in enumerate(result.new_rules)
        ]  # fmt: skip
        confirmed = dict.fromkeys(result.confirmations)
        unknown = [id for id in confirmed if id not in shown.facts and id not in shown.rules]
        errors += [f"confirmations: {UNKNOWN_ID}"] * len(unknown)
        texts = [
            *(fact.text for fact in facts),
            *(fact.text for _, fact in updates),
            *(rule.text for rule in rules),
        ]
        embedded = await self._kit.embedder.embed_if_there(texts)
        vectors = iter(embedded.vectors)
        return _Actions(
            [(fact, next(vectors)) for fact in facts],
            [(target_id, fact, next(vectors)) for target_id, fact in updates],
            [(rule, next(vectors)) for rule in rules],
            [id for id in confirmed if id not in unknown],
            errors,
            embedded.is_away,
        )

    async def _carry_out(self, batch: LeasedBatch, actions: _Actions) -> Outcome:
        now = self._kit.now()
        outcome = Outcome(errors=list(actions.errors))
        async with self._kit.database.transaction() as connection:
            await self._batches.hold(connection, batch)
            await _Work(self._kit, connection, batch, actions, outcome, now).all()
            if not outcome.done and outcome.errors and (actions.count or actions.errors):
                raise AllFailed(outcome.errors)
            await self._kit.wrote(connection, actions.vectors, now)
            await self._batches.end(connection, batch, outcome.counts(), now)
            if actions.is_model_away:
                connection.after_commit(self._kit.ring)
        return outcome

    def _kept(self, content: str) -> str:
        content = without_nul(content)
        return redact(content) if self._kit.redact else content


class _Work:
    """The actions of one batch, in its transaction."""

    def __init__(
        self,
        kit: Kit,
        connection: Connection,
        batch: LeasedBatch,
        actions: _Actions,
        outcome: Outcome,
        now: datetime,
    ) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._connection = connection
        self._batch = batch
        self._actions = actions
        self._outcome = outcome
        self._now = now
        # A model reaches what its agent does in a call for the user.
        shard = batch.shard
        self._reach = Reach(
            tenant_id=shard.tenant_id,
            own_scope=shard.scope,
            user=shard.user,
            agent=shard.butler,
            actor=WORKER,
        )
        self._facts = FactWriter(kit.queries)
        self._rules = RuleWriter(kit.queries)

    async def all(self) -> None:
        outcome = self._outcome
        outcome.facts_created = await self._each(self._actions.new_facts, self._add_facts)
        outcome.facts_updated = await self._each(self._actions.updates, self._update_facts)
        outcome.rules_created = await self._each(self._actions.new_rules, self._add_rules)
        outcome.confirmations_made = await self._each(self._actions.confirmations, self._confirm)

    async def _each(self, items: Sequence[T], do: Callable[[Sequence[T]], Awaitable[None]]) -> int:
        """Do something with all items at once, or one by one when that fails; returns how many it went well with."""
        if not items:
            return 0
        try:
            async with _savepoint(self._connection):
                await do(items)
            return len(items)
        except Unavailable:
            raise
        except ServiceError as error:
            if len(items) == 1:
                log.warning("knowledge.consolidation_action_failed", error=error.message)
                self._outcome.errors.append(error.message)
                return 0
        return sum([await self._each([item], do) for item in items])

    async def _add_facts(self, facts: Sequence[tuple[FactToStore, Vector | None]]) -> None:
        writing = self._writing([vector for _, vector in facts])
        stored, events = await self._facts.write(self._connection, writing, [fact for fact, _ in facts])
        await self._told("fact", [one.id for one in stored], events)

    async def _update_facts(self, updates: Sequence[tuple[UUID, FactToStore, Vector | None]]) -> None:
        facts = []
        for target_id, fact, vector in updates:
            row = await self._connection.fetchrow(
                self._sql["target_of_update"], self._reach.tenant_id, target_id
            )
            if row is None:
                raise InvalidRequest(f"{fact.path}: the fact that it updates is not active any more")
            facts.append((replace(fact, importance=row["importance"], tags=row["tags"]), vector))
        await self._add_facts(facts)

    async def _add_rules(self, rules: Sequence[tuple[RuleToStore, Vector | None]]) -> None:
        writing = self._writing([vector for _, vector in rules])
        stored, events = await self._rules.write(self._connection, writing, [rule for rule, _ in rules])
        await self._told("rule", [one.id for one in stored], events)

    async def _confirm(self, ids: Sequence[UUID]) -> None:
        rows = await self._connection.fetch(
            self._sql["confirm_shown"], self._reach.tenant_id, self._now, list(ids)
        )
        if len(rows) < len(ids):
            raise InvalidRequest("confirmations: what it confirms is not active any more")
        await self._record([Event(_CONFIRMED[row["kind"]], row["kind"], row["id"]) for row in rows])

    async def _told(self, kind: m.MemoryType, ids: Sequence[UUID], events: Sequence[Event]) -> None:
        """Link what was stored to the episodes of the batch, and tell of both."""
        episodes = self._batch.ids
        await self._connection.execute(
            self._sql["link_to_episodes"], self._reach.tenant_id, kind, self._now, list(ids), episodes
        )
        payload = {"relation": "derived_from", "target_type": "episode", "targets": len(episodes)}
        await self._record([*events, *(Event("link_created", kind, id, payload) for id in ids)])

    async def _record(self, events: Sequence[Event]) -> None:
        await record(
            self._connection, self._sql, events,
            tenant_id=self._reach.tenant_id, actor=WORKER, user=self._reach.user, now=self._now,
        )  # fmt: skip

    def _writing(self, vectors: Sequence[Vector | None]) -> Writing:
        return Writing(
            reach=self._reach, now=self._now, vectors=vectors, version=self._kit.embedder.version,
            is_model_away=self._actions.is_model_away,
        )  # fmt: skip


@asynccontextmanager
async def _savepoint(connection: Connection) -> AsyncIterator[None]:
    """Undo what is done within when it fails, and nothing before it."""
    await connection.execute("SAVEPOINT action")
    try:
        with map_errors():
            yield
    except ServiceError as error:
        if not isinstance(error, Unavailable):
            await connection.execute("ROLLBACK TO SAVEPOINT action")
        raise
    await connection.execute("RELEASE SAVEPOINT action")
