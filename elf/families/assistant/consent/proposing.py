"""What users are to be known by: proposed where it needs their agreement, applied where it was said twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from pgvector import Vector

from elf.db.queries import Queries
from elf.families.assistant.api.consent import Choice
from elf.families.assistant.errors import is_decided, no_proposal
from elf.families.assistant.model import Memory
from elf.families.assistant.rules.user_context import SENSITIVE, Signal
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.store.rows import evidence_json

LOCK: Final = "user_context"
"""The name that writers of what a user is known by compete for, as for a category."""
DECIDED_WITHIN: Final = timedelta(days=7)
CORROBORATED_WITHIN: Final = timedelta(days=30)
SAME_COSINE: Final = 0.90
MOST_GOALS: Final = 50


class Consents:
    """Writes what a user is known by, within the transaction of a Writer that is alone with LOCK."""

    def __init__(self, queries: Queries, *, version: str) -> None:
        self._sql = queries
        self._version = version

    async def take(
        self,
        changes: Changes,
        signal: Signal,
        memory: Memory,
        vector: Vector | None,
        *,
        thread_id: str,
        turn_id: str,
    ) -> UUID | None:
        """Take in what a turn says of a field, and return the id of the proposal that comes of it, if one does."""
        known = await self._value(changes, signal.field)
        if signal.value == known or (isinstance(known, list) and signal.value in known):
            return None
        if signal.field in SENSITIVE:
            return await self._propose(changes, signal, evidence_json(memory), thread_id)
        said = (*changes.place, signal.field, thread_id, turn_id, signal.value, vector, self._version)
        await changes.connection.execute(self._sql["add_signal"], *said, changes.now)
        since = changes.now - CORROBORATED_WITHIN
        if await changes.connection.fetchval(self._sql["is_corroborated"], *said, since, SAME_COSINE):
            await self._apply(changes, signal, known)
            changes.tell_decision(memory.memory_id, {"field": signal.field, "decision": "corroborated"})
        return None

    async def apply_insight(self, changes: Changes, signal: Signal, memory: Memory) -> None:
        """Have a user known by what an insight is sure of, unless it needs the user's agreement, or is so already."""
        known = await self._value(changes, signal.field)
        if signal.field in SENSITIVE or signal.value == known:
            return
        if isinstance(known, list) and signal.value in known:
            return
        await self._apply(changes, signal, known)
        changes.tell_decision(memory.memory_id, {"field": signal.field, "decision": "insight"})

    async def take_in(self, changes: Changes, signals: Sequence[Signal]) -> tuple[int, int]:
        """Take in what a user was known by elsewhere, where nothing is known: proposed where it is sensitive.

        Returns how much of it counts now, and how much is proposed.
        """
        applied = proposed = 0
        for signal in signals:
            known = await self._value(changes, signal.field)
            if signal.value in known if isinstance(known, list) else known is not None:
                continue
            if signal.field in SENSITIVE:
                proposed += await self._propose(changes, signal, [], None) is not None
                continue
            await self._apply(changes, signal, known)
            applied += 1
        return applied, proposed

    async def decide(
        self,
        changes: Changes,
        proposal_id: UUID,
        choice: Choice,
        *,
        by: str | None,
        path: str = "$.proposal_id",
    ) -> Mapping[str, Any]:
        """Decide about a proposal, and return it as it is then; the same decision again changes nothing.

        Raises NotFound, and Conflict where it was decided otherwise, or its time is over.
        """
        state = "approved" if choice == "approve" else "rejected"
        row = await changes.connection.fetchrow(self._sql["lock_proposal"], *changes.place, proposal_id)
        if row is None:
            raise no_proposal(proposal_id, path)
        if row["state"] == state:
            return row
        is_over = row["state"] == "pending" and row["expires_at"] <= changes.now
        if row["state"] != "pending" or is_over:
            raise is_decided(proposal_id, "expired" if is_over else row["state"], path)
        signal = Signal(row["field"], row["value"])
        if state == "approved":
            await self._apply(changes, signal, None)
        await self._end(changes, proposal_id, signal.field, state, by)
        return {**row, "state": state, "decided_at": changes.now, "decided_by": by}

    async def _propose(
        self, changes: Changes, signal: Signal, evidence: list[dict[str, Any]], thread_id: str | None
    ) -> UUID | None:
        pending = await changes.connection.fetchrow(
            self._sql["pending_proposal"], *changes.place, signal.field, changes.now
        )
        if pending is not None:
            is_better = pending["is_implied"] or not signal.is_implied
            if not pending["is_over"] and (pending["value"] == signal.value or not is_better):
                return None
            state = "expired" if pending["is_over"] else "superseded"
            await self._end(changes, pending["proposal_id"], signal.field, state, None)
        proposal_id = uuid4()
        await changes.connection.execute(
            self._sql["propose"], *changes.place, proposal_id, signal.field, signal.value, thread_id,
            evidence, changes.now, changes.now + DECIDED_WITHIN, signal.is_implied,
        )  # fmt: skip
        changes.tell_decision(proposal_id, {"field": signal.field, "decision": "proposed"})
        return proposal_id

    async def _end(self, changes: Changes, proposal_id: UUID, field: str, state: str, by: str | None) -> None:
        await changes.connection.execute(
            self._sql["end_proposal"], *changes.place, proposal_id, state, changes.now, by
        )
        changes.tell_decision(proposal_id, {"field": field, "decision": state})

    async def _value(self, changes: Changes, field: str) -> Any:
        rows = await changes.connection.fetch(self._sql["get_user_context"], *changes.place)
        return next((row["value"] for row in rows if row["field"] == field), None)

    async def _apply(self, changes: Changes, signal: Signal, known: Any) -> None:
        value = [*(known or []), signal.value][-MOST_GOALS:] if signal.field == "goals" else signal.value
        await changes.connection.execute(
            self._sql["put_user_context"], *changes.place, signal.field, value, changes.now
        )
