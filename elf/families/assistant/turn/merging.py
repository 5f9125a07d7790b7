"""Writes one candidate beside what is known, as the bands decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from pgvector import Vector

from elf.config.tables.assistant import AssistantTable
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.assistant.api.turn import Result
from elf.families.assistant.judging.judgement import Judgement
from elf.families.assistant.judging.prompt import Pair
from elf.families.assistant.model import MOST_NEIGHBOURS, Memory, Node, Tracked
from elf.families.assistant.rules.bands import Bands, Decision, Neighbour, decide
from elf.families.assistant.rules.joining import text_of_same
from elf.families.assistant.rules.judging import Verdict
from elf.families.assistant.rules.uniting import brought_up_to_date, united
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.store.rows import memory_of
from elf.families.assistant.turn.extraction import CAP_REACHED, DAILY_CAP

DAILY_WRITES: Final = "turn_writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What became of a candidate."""

    result: Result
    category: str | None
    memory_id: UUID | None = None
    proposal_id: UUID | None = None
    reason_code: str | None = None
    similar_to: UUID | None = None
    contradicts: list[UUID] = field(default_factory=list)
    sim: float | None = None

    @property
    def is_write(self) -> bool:
        return self.result in ("ADD", "UPDATE", "RECREATE")


class Unforeseen(Exception):
    """A neighbour turned up, or changed, after the model was asked about those that there were."""


class MergingRules:
    """What the config says of merging, and how neighbours are read."""

    def __init__(self, queries: Queries, config: AssistantTable, *, version: str) -> None:
        self.queries = queries
        self.version = version
        self.mode = config.merging.mode
        self.writes_per_day = config.extraction.max_writes_per_day
        self.min_importance = config.extraction.min_importance
        self.bands = Bands(
            config.merging.auto_update, config.merging.check_low, config.merging.fallback_low,
            frozenset(config.merging.fallback_categories),
        )  # fmt: skip

    async def near(self, connection: Connection, new: Memory, vector: Vector) -> list[Neighbour]:
        """Return the memories of a category and a type that are nearest to a new one."""
        rows = await connection.fetch(
            self.queries["near_memories"], *new.place, new.category, new.type, self.version, MOST_NEIGHBOURS, vector
        )  # fmt: skip
        return [Neighbour(memory_of(row), row["cosine"]) for row in rows]

    def decision(self, new: Memory, near: Sequence[Neighbour], judgement: Judgement) -> Decision:
        """Return what becomes of a new memory beside its neighbours."""
        sure = {one.memory.text for one in near if one.cosine >= self.bands.auto_update}

        def judge(newer: str, older: str) -> Verdict:
            return judgement.verdict(newer, older, is_near=older in sure)

        return decide(new.text, new.category, near, self.bands, judge=judge, now=new.updated_at)

    async def undecided(
        self, connection: Connection, new: Memory, vector: Vector, judgement: Judgement
    ) -> list[Pair]:
        """Return the pairs of a new memory and its neighbours about which a model has to be asked, best first."""
        judgement.unforeseen.clear()
        self.decision(new, await self.near(connection, new, vector), judgement)
        pairs = list(judgement.unforeseen)
        judgement.unforeseen.clear()
        return pairs


class Merging:
    """Merges candidates of one turn with what is known in their category, within one transaction of a Writer.

    `node` and `engine` are for events. Where `is_last`, a neighbour that nobody foresaw is one that nobody knows to be
    the same or not; else Unforeseen is raised, and the model may be asked about it.
    """

    def __init__(
        self, rules: MergingRules, changes: Changes, judgement: Judgement, *, node: Node, engine: str, is_last: bool
    ) -> None:  # fmt: skip
        self._rules = rules
        self._changes = changes
        self._judgement = judgement
        self._node: Node = node
        self._engine = engine
        self._is_last = is_last
        self._made: set[str] = set()

    async def merge(self, new: Memory, vector: Vector | None, *, may_write: bool) -> Merged:
        """Write a candidate, unless it is known, or its turn may write no more. Raises Unforeseen."""
        decision = await self._decision(new, vector)
        known = decision.into
        sim = None if known is None else known.cosine
        if known is not None and (decision.outcome == "NONE" or self._holds_all(known.memory, new, decision)):
            await self._changes.said_in(known.memory, new.thread_id, new.evidence)
            await self._changes.repeat(known.memory)
            return Merged(result="NONE", category=new.category, memory_id=known.memory.memory_id, sim=sim)
        if decision.outcome == "ADD" and new.importance < self._rules.min_importance:
            return _rejected(new, "UNIMPORTANT")
        if not may_write:
            return _rejected(new, CAP_REACHED)
        if not await self._spend():
            return _rejected(new, DAILY_CAP)
        return await self._write(decision, new, vector)

    def _holds_all(self, known: Memory, new: Memory, decision: Decision) -> bool:
        """Tell whether what is known says all that a candidate does which is one with it."""
        if decision.outcome != "MERGE":
            return False
        if self._judgement.is_by_model(new.text, known.text):
            both = self._judgement.text_of(new.text, known.text)
            return both is not None and both.text == known.text
        return text_of_same(new.text, known.text) == known.text

    async def _write(self, decision: Decision, new: Memory, vector: Vector | None) -> Merged:
        known = decision.into
        if known is None:
            return await self._add(new, vector, decision)
        if decision.outcome == "UPDATE":
            return await self._update(known, new, vector)
        if self._judgement.is_by_model(new.text, known.memory.text):
            both = self._judgement.text_of(new.text, known.memory.text)
            if both is None:  # nothing can be said for both: both stay
                return await self._add(new, vector, replace(decision, into=None, similar_to=known))
            new, vector = replace(new, text=both.text), both.vector
        if self._rules.mode == "update":
            return await self._update(known, new, vector)
        return await self._recreate(known, new, vector)

    async def _decision(self, new: Memory, vector: Vector | None) -> Decision:
        """Return what becomes of a candidate; without a vector only what is equal is known to be like it."""
        equal = await self._changes.equal_to(new)
        if equal is not None:
            return Decision("NONE", Neighbour(equal, 1.0))
        if vector is None:
            return Decision("ADD")
        near = await self._rules.near(self._changes.connection, new, vector)
        self._judgement.unforeseen.clear()
        decision = self._rules.decision(new, near, self._judgement)
        self._check_foreseen()
        best = near[0].cosine if near else None
        self._changes.track(
            Tracked(node=self._node, op="search", category=new.category, sim=best, reason=self._engine)
        )
        return decision

    def _check_foreseen(self) -> None:
        """Raise Unforeseen where the model could say more, of memories that others wrote."""
        others = [pair for pair in self._judgement.unforeseen if pair.older not in self._made]
        if others and not self._is_last and not self._judgement.is_away:
            raise Unforeseen

    async def _spend(self) -> bool:
        """Take one of the writes that turns of a user have on a day; False when there is none."""
        changes = self._changes
        used = await changes.connection.fetchval(
            self._rules.queries["spend"], *changes.place, DAILY_WRITES, changes.now.date(),
            self._rules.writes_per_day,
        )  # fmt: skip
        return used is not None

    async def _add(self, new: Memory, vector: Vector | None, decision: Decision) -> Merged:
        similar = decision.similar_to
        sim = None if similar is None else similar.cosine
        # What the model was not asked about, or did not answer, is looked at again when it is there.
        new = replace(new, unchecked=bool(self._judgement.unforeseen) and bool(decision.undecided))
        made = await self._changes.add(new, vector, sim=sim, node=self._node, reason=self._engine)
        for opposite in decision.opposites:
            await self._changes.contradict(made, opposite.memory, opposite.cosine)
        return self._merged(
            "ADD", made, sim, similar_to=None if similar is None else similar.memory.memory_id,
            contradicts=[one.memory.memory_id for one in decision.opposites],
        )  # fmt: skip

    async def _update(self, known: Neighbour, new: Memory, vector: Vector | None) -> Merged:
        changed = brought_up_to_date(known.memory, new)
        made = await self._changes.update(
            known.memory, changed, vector, sim=known.cosine, node=self._node, reason=self._engine
        )
        return self._merged("UPDATE", made, known.cosine)

    async def _recreate(self, known: Neighbour, new: Memory, vector: Vector | None) -> Merged:
        both = united(known.memory, new)
        made = await self._changes.recreate(
            known.memory, both, vector, sim=known.cosine, node=self._node, reason=self._engine
        )
        await self._changes.move_sources(known.memory, made)
        return self._merged("RECREATE", made, known.cosine)

    def _merged(self, result: Result, made: Memory, sim: float | None, **more: Any) -> Merged:
        self._made.add(made.text)
        return Merged(
            result=result, category=made.category, memory_id=made.memory_id,
            reason_code="SIMILARITY_UNCHECKED" if made.unchecked else None, sim=sim, **more,
        )  # fmt: skip


def _rejected(new: Memory, reason: str) -> Merged:
    return Merged(result="REJECTED", category=new.category, reason_code=reason)
