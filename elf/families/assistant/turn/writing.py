"""Writes what a turn tells, whichever engine took it out of the turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

import msgspec
from pgvector import Vector

from elf.families.assistant.consent.proposing import LOCK, Consents
from elf.families.assistant.judging.judgement import Judgement
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Evidence, Memory, Node, Place, Tracked
from elf.families.assistant.rules.user_context import signal_of
from elf.families.assistant.rules.validators import Rejected, accepted
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.turn.extraction import Candidate
from elf.families.assistant.turn.merging import Merged, Merging, MergingRules

TURN: Final = "turn"
FIRST_PASS: Final = "FIRST_PASS"
TRIMMED: Final = "TRIMMED"
OUTCOMES: Final = ("first_pass", "trimmed", "rejected")
"""What becomes of a text that an engine wrote, as it is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Which turn it is, and who is at work in it."""

    thread_id: str
    turn_id: str
    agent_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A candidate and what the rules for texts say of it: the text as it may be kept, None where it is rejected.

    `told` is FIRST_PASS, TRIMMED, or why it is rejected.
    """

    candidate: Candidate
    text: str | None
    told: str


def checked(candidate: Candidate) -> Checked:
    """Return a candidate as it may be kept, or why it is not."""
    if candidate.fault is not None:
        return Checked(candidate, None, candidate.fault)
    verdict = accepted(candidate.text, "semantic")
    if isinstance(verdict, Rejected):
        return Checked(candidate, None, verdict.reason)
    return Checked(candidate, verdict.text, TRIMMED if verdict.trimmed else FIRST_PASS)


class TurnWriting:
    """Writes the candidates of turns. `node` and `engine` are for events, and for the count of first passes."""

    def __init__(self, kit: Kit, *, node: Node, engine: str) -> None:
        self._kit = kit
        self._node: Node = node
        self._engine = engine
        self._embedder = kit.embedder
        self.rules = MergingRules(kit.queries, kit.config, version=self._embedder.version)
        self._consents = Consents(kit.queries, version=self._embedder.version)
        self._most_writes = kit.config.extraction.max_writes_per_turn

    async def write(
        self,
        changes: Changes,
        turn: Turn,
        candidates: Sequence[Checked],
        vectors: Mapping[str, Vector | None],
        judgement: Judgement,
        *,
        is_last: bool,
    ) -> list[Merged]:
        """Return what became of candidates, and of what they say of fields that the user is known by.

        The transaction is alone with their categories and LOCK. Raises Unforeseen as Merging does.
        """
        merging = Merging(
            self.rules, changes, judgement, node=self._node, engine=self._engine, is_last=is_last
        )
        merged: list[Merged] = []
        writes: Counter[int] = Counter()
        for one in candidates:
            self.track(changes, "skipped" if one.text is None else "ok", one.told)
            if one.text is None:
                merged.append(
                    Merged(result="REJECTED", category=one.candidate.category, reason_code=one.told)
                )
                continue
            memory = memory_of_turn(changes.place, turn, one, changes.now)
            may_write = writes[one.candidate.part] < self._most_writes
            made = await merging.merge(memory, vectors[one.text], may_write=may_write)
            writes[one.candidate.part] += made.is_write
            merged += [made, *await self._proposed(changes, turn, memory, made, vectors[one.text])]
        return merged

    async def end(self, changes: Changes, turn: Turn, merged: Sequence[Merged]) -> list[dict[str, Any]]:
        """Keep what came of a turn without any text, which would outlive its memory here."""
        results: list[dict[str, Any]] = [msgspec.to_builtins(one) for one in merged]
        await changes.connection.execute(
            self._kit.queries["end_turn"], *changes.place, turn.thread_id, turn.turn_id, results
        )
        return results

    def track(self, changes: Changes, status: Any, told: str) -> None:
        """Keep the event that something which was said was looked at."""
        changes.track(Tracked(node=self._node, op="classify", status=status, reason=f"{self._engine}:{told}"))

    def count(self, candidates: Sequence[Checked]) -> None:
        """Count how many candidates passed at first, once they are written."""
        counted = (one for one in candidates if one.candidate.is_counted)
        self._kit.passes.update(Counter((self._engine, _outcome(one)) for one in counted))

    async def _proposed(
        self, changes: Changes, turn: Turn, memory: Memory, made: Merged, vector: Vector | None
    ) -> list[Merged]:
        signal = signal_of(memory.text, memory.category)
        if signal is None or made.memory_id is None:
            return []
        proposal_id = await self._consents.take(
            changes, signal, replace(memory, memory_id=made.memory_id), vector, thread_id=turn.thread_id,
            turn_id=turn.turn_id,
        )  # fmt: skip
        return (
            [] if proposal_id is None else [Merged(result="PROPOSED", category=LOCK, proposal_id=proposal_id)]
        )


def memory_of_turn(place: Place, turn: Turn, checked: Checked, now: datetime) -> Memory:
    """Return what a candidate that is not rejected is as a memory."""
    candidate = checked.candidate
    assert checked.text is not None
    assert candidate.category is not None, "what has no fault has a category"
    return Memory(
        tenant_id=place.tenant_id, user_id=place.user_id, memory_id=uuid4(), type="semantic",
        category=candidate.category, text=checked.text, importance=candidate.importance, pinned=False, state="active",
        source=TURN, agent_id=turn.agent_id, run_id=turn.run_id, actor_id=candidate.actor_id,
        thread_id=turn.thread_id, role="user", created_at=now, updated_at=now,
        evidence=[Evidence(quote=candidate.quote, role="user", turn_id=turn.turn_id)],
    )  # fmt: skip


def _outcome(checked: Checked) -> str:
    if checked.text is None:
        return "rejected"
    return "trimmed" if checked.told == TRIMMED else "first_pass"
