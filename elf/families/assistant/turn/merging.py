"""Writes one candidate beside what is known, as the bands decide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID, uuid4

from pgvector import Vector

from elf.config.tables.assistant import AssistantTable
from elf.db.queries import Queries
from elf.families.assistant.api.turn import Result
from elf.families.assistant.model import MAX_QUOTES, MAX_TAGS, MOST_NEIGHBOURS, Memory, Tracked
from elf.families.assistant.rules.bands import Bands, Decision, Neighbour, decide
from elf.families.assistant.rules.judging import judged
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.store.rows import memory_of

DAILY_WRITES: Final = "turn_writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What became of a candidate."""

    result: Result
    category: str
    memory_id: UUID | None = None
    proposal_id: UUID | None = None
    reason_code: str | None = None
    similar_to: UUID | None = None
    contradicts: list[UUID] = field(default_factory=list)
    sim: float | None = None

    @property
    def is_write(self) -> bool:
        return self.result in ("ADD", "UPDATE", "RECREATE")


class Merging:
    """Merges candidates with what is known in their category, within the transaction of a Writer."""

    def __init__(self, queries: Queries, config: AssistantTable, *, version: str) -> None:
        self._sql = queries
        self._version = version
        self._mode = config.merging.mode
        self._writes_per_day = config.extraction.max_writes_per_day
        self._min_importance = config.extraction.min_importance
        self._bands = Bands(
            config.merging.auto_update, config.merging.check_low, config.merging.fallback_low,
            frozenset(config.merging.fallback_categories),
        )  # fmt: skip

    async def merge(self, changes: Changes, new: Memory, vector: Vector | None, *, may_write: bool) -> Merged:
        """Write a candidate, unless it is known, or its turn may write no more."""
        decision = await self._decision(changes, new, vector)
        sim = None if decision.into is None else decision.into.cosine
        known = decision.into
        if decision.outcome == "NONE":
            assert known is not None, "nothing new is what is known"
            return Merged(result="NONE", category=new.category, memory_id=known.memory.memory_id, sim=sim)
        if decision.outcome == "ADD" and new.importance < self._min_importance:
            return _rejected(new, "UNIMPORTANT")
        if not may_write:
            return _rejected(new, "TURN_CAP")
        if not await self._spend(changes):
            return _rejected(new, "DAY_CAP")
        if known is None:
            return await self._add(changes, new, vector, decision)
        if decision.outcome == "UPDATE" or self._mode == "update":
            return await self._update(changes, known, new, vector)
        made = await changes.recreate(known.memory, _united(known.memory, new), vector, sim=sim)
        return Merged(
            result="RECREATE",
            category=new.category,
            memory_id=made.memory_id,
            reason_code=_unchecked(made),
            sim=sim,
        )

    async def _decision(self, changes: Changes, new: Memory, vector: Vector | None) -> Decision:
        """Return what becomes of a candidate; without a vector only what is equal is known to be like it."""
        equal = await changes.equal_to(new)
        if equal is not None:
            return Decision("NONE", Neighbour(equal, 1.0))
        if vector is None:
            return Decision("ADD")
        rows = await changes.connection.fetch(
            self._sql["near_memories"], *changes.place, new.category, new.type, self._version, MOST_NEIGHBOURS, vector
        )  # fmt: skip
        near = [Neighbour(memory_of(row), row["cosine"]) for row in rows]
        best = near[0].cosine if near else None
        changes.track(Tracked(node="hotpath", op="search", category=new.category, sim=best))
        return decide(new.text, new.category, near, self._bands, judge=judged, now=changes.now)

    async def _spend(self, changes: Changes) -> bool:
        """Take one of the writes that turns of a user have on a day; False when there is none."""
        used = await changes.connection.fetchval(
            self._sql["spend"], *changes.place, DAILY_WRITES, changes.now.date(), self._writes_per_day
        )
        return used is not None

    async def _add(self, changes: Changes, new: Memory, vector: Vector | None, decision: Decision) -> Merged:
        similar = decision.similar_to
        made = await changes.add(new, vector, sim=None if similar is None else similar.cosine)
        for opposite in decision.opposites:
            await changes.contradict(made, opposite.memory, opposite.cosine)
        return Merged(
            result="ADD", category=new.category, memory_id=made.memory_id, reason_code=_unchecked(made),
            similar_to=None if similar is None else similar.memory.memory_id,
            contradicts=[one.memory.memory_id for one in decision.opposites],
            sim=None if similar is None else similar.cosine,
        )  # fmt: skip

    async def _update(self, changes: Changes, known: Neighbour, new: Memory, vector: Vector | None) -> Merged:
        united = _united(known.memory, new)
        changed = replace(
            known.memory,
            text=united.text,
            importance=united.importance,
            evidence=united.evidence,
            tags=united.tags,
        )
        made = await changes.update(known.memory, changed, vector, sim=known.cosine)
        return Merged(
            result="UPDATE", category=new.category, memory_id=made.memory_id, reason_code=_unchecked(made),
            sim=known.cosine,
        )  # fmt: skip


def _united(old: Memory, new: Memory) -> Memory:
    """Return the new memory of two that are one: it says what the newer says, and matters as the greater does."""
    evidence = [*new.evidence, *(one for one in old.evidence if one not in new.evidence)]
    changes: dict[str, Any] = {
        "memory_id": uuid4(),
        "importance": max(old.importance, new.importance),
        "pinned": old.pinned or new.pinned,
        "tags": list(dict.fromkeys([*old.tags, *new.tags]))[:MAX_TAGS],
        "evidence": evidence[:MAX_QUOTES],
        "created_at": min(old.created_at, new.created_at),
        "last_accessed": old.last_accessed,
        "hit_count": old.hit_count,
    }
    return replace(new, **changes)


def _rejected(new: Memory, reason: str) -> Merged:
    return Merged(result="REJECTED", category=new.category, reason_code=reason)


def _unchecked(memory: Memory) -> str | None:
    return "SIMILARITY_UNCHECKED" if memory.unchecked else None
