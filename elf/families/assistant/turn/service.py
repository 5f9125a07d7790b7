"""Takes in the turns of a conversation: what they tell is kept once, beside what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID, uuid4

import anyio.to_thread
import blake3
import msgspec
from pgvector import Vector

from elf.api.caller import Caller
from elf.core.errors import Conflict, InvalidRequest
from elf.core.evidence import is_verbatim
from elf.db.errors import retrying
from elf.families.assistant.access import actor_of
from elf.families.assistant.api import turn as t
from elf.families.assistant.consent.proposing import LOCK, Consents
from elf.families.assistant.kit import LOCAL, Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import Evidence, Memory, Place, Status, Tracked
from elf.families.assistant.rules.user_context import signal_of
from elf.families.assistant.rules.validators import Accepted, Rejected, accepted
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.turn.extraction import Candidate, Extracted, Said, extract
from elf.families.assistant.turn.merging import Merged, Merging

TURN: Final = "turn"
NAMED: Final = ("memory_id", "proposal_id")


@dataclass(frozen=True, slots=True)
class _Judged:
    """A candidate and what the rules for texts say of it."""

    candidate: Candidate
    verdict: Accepted | Rejected


class TurnTaking:
    """Carries out the operation that takes in a turn."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)
        self._writer = kit.writer
        self._embedder = kit.embedder
        self._merging = Merging(kit.queries, kit.config, version=self._embedder.version)
        self._consents = Consents(kit.queries, version=self._embedder.version)
        self._most_writes = kit.config.extraction.max_writes_per_turn

    async def take(self, request: t.TakeTurn, caller: Caller) -> t.TurnTaken:
        """Take in a turn; the same one again has the same answer. Raises Conflict when it says something else."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        _check_acknowledgements(request)
        digest = _digest(request)
        known = await self._known(request, place, digest)
        if known is not None:
            return await self._told(request, place, known, repeated=True)
        extracted = await self._extracted(request)
        judged = [_Judged(one, accepted(one.text, "semantic")) for one in extracted.candidates]
        texts = [one.verdict.text for one in judged if isinstance(one.verdict, Accepted)]
        embedded = await self._embedder.embed_if_there(texts)
        vectors = dict(zip(texts, embedded.vectors, strict=True))

        async def once() -> list[dict[str, Any]] | None:
            categories = {LOCK, *(one.candidate.category for one in judged)}
            async with self._writer.changing(
                place, categories, actor=actor_of(caller), thread_id=request.thread_id
            ) as changes:
                return await self._take(changes, request, digest, judged, vectors, extracted.left)

        results = await retrying(once)
        if results is None:
            known = await self._known(request, place, digest)
            assert known is not None, "somebody else took it in"
            return await self._told(request, place, known, repeated=True)
        return await self._told(request, place, results, repeated=False, degraded=embedded.degraded)

    async def _extracted(self, request: t.TakeTurn) -> Extracted:
        messages = [
            Said(message.role, await self._given.quote(message.content), message.actor_id)
            for message in request.messages
        ]
        return await anyio.to_thread.run_sync(extract, messages)

    async def _take(
        self,
        changes: Changes,
        request: t.TakeTurn,
        digest: bytes,
        judged: Sequence[_Judged],
        vectors: Mapping[str, Vector | None],
        left: int,
    ) -> list[dict[str, Any]] | None:
        """Return what became of candidates; None where somebody else takes the turn in at this moment."""
        turn = (*changes.place, request.thread_id, request.turn_id)
        began = await changes.connection.fetchval(self._sql["begin_turn"], *turn, digest, changes.now)
        if began is None:
            return None
        await self._decide(changes, request)
        merged: list[Merged] = []
        for one in judged:
            may_write = sum(made.is_write for made in merged) < self._most_writes
            merged += await self._merge(changes, request, one, vectors, may_write=may_write)
        for _ in range(left):
            changes.track(_classified("skipped", "NO_PATTERN"))
        results = [_kept(one) for one in merged]
        await changes.connection.execute(self._sql["end_turn"], *turn, results)
        changes.speak_in(request.thread_id)
        return results

    async def _merge(
        self,
        changes: Changes,
        request: t.TakeTurn,
        judged: _Judged,
        vectors: Mapping[str, Vector | None],
        *,
        may_write: bool,
    ) -> list[Merged]:
        """Return what became of a candidate, and of what it says of a field that the user is known by."""
        candidate, verdict = judged.candidate, judged.verdict
        if isinstance(verdict, Rejected):
            changes.track(_classified("skipped", verdict.reason))
            return [Merged(result="REJECTED", category=candidate.category, reason_code=verdict.reason)]
        changes.track(_classified("ok", "TRIMMED" if verdict.trimmed else "FIRST_PASS"))
        memory = _memory(changes, request, candidate, verdict.text)
        vector = vectors[verdict.text]
        made = await self._merging.merge(changes, memory, vector, may_write=may_write)
        signal = signal_of(verdict.text, candidate.category)
        if signal is None or made.memory_id is None:
            return [made]
        kept = replace(memory, memory_id=made.memory_id)
        proposal_id = await self._consents.take(
            changes, signal, kept, vector, thread_id=request.thread_id, turn_id=request.turn_id
        )
        if proposal_id is None:
            return [made]
        return [made, Merged(result="PROPOSED", category=LOCK, proposal_id=proposal_id)]

    async def _decide(self, changes: Changes, request: t.TakeTurn) -> None:
        """Take the decisions that the user acknowledged in the turn."""
        for place, one in enumerate(request.acknowledgements):
            await self._consents.decide(
                changes, one.proposal_id, one.decision, by=changes.place.user_id,
                path=f"$.acknowledgements[{place}].proposal_id",
            )  # fmt: skip

    async def _known(self, request: t.TakeTurn, place: Place, digest: bytes) -> list[dict[str, Any]] | None:
        """Return what came of a turn that was taken in; None for a new one."""
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(self._sql["get_turn"], *place, request.thread_id, request.turn_id)
        if row is None:
            return None
        if row["request_digest"] != digest:
            path = "$.turn_id"
            raise Conflict(f"{path}: came with another request before", fields=[path])
        results: list[dict[str, Any]] = row["results"]
        return results

    async def _told(
        self,
        request: t.TakeTurn,
        place: Place,
        results: Sequence[Mapping[str, Any]],
        *,
        repeated: bool,
        degraded: Sequence[str] = (),
    ) -> t.TurnTaken:
        """Return what came of a turn, with what the memories say now."""
        ids = [UUID(one[name]) for one in results for name in NAMED if one[name] is not None]
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["texts_of"], *place, ids)
        texts = {str(row["id"]): row["text"] for row in rows}
        told = [
            t.TurnResult(**one, type="semantic", text=texts.get(one["memory_id"] or one["proposal_id"]))
            for one in results
        ]
        return t.TurnTaken(
            thread_id=request.thread_id, turn_id=request.turn_id, repeated=repeated, results=told,
            degraded=list(degraded),
        )  # fmt: skip


def _check_acknowledgements(request: t.TakeTurn) -> None:
    """Raise InvalidRequest for a decision that no message of the user's tells in these words."""
    said = [message.content for message in request.messages if message.role == "user"]
    for place, one in enumerate(request.acknowledgements):
        if not any(is_verbatim(one.quote, content) for content in said):
            path = f"$.acknowledgements[{place}].quote"
            raise InvalidRequest(f"{path}: must stand in a message of the user", fields=[path])


def _memory(changes: Changes, request: t.TakeTurn, candidate: Candidate, text: str) -> Memory:
    return Memory(
        tenant_id=changes.place.tenant_id, user_id=changes.place.user_id, memory_id=uuid4(), type="semantic",
        category=candidate.category, text=text, importance=candidate.importance, pinned=False, state="active",
        source=TURN, agent_id=request.agent_id, run_id=request.run_id, actor_id=candidate.actor_id,
        thread_id=request.thread_id, role="user", created_at=changes.now, updated_at=changes.now,
        evidence=[Evidence(quote=candidate.quote, role="user", turn_id=request.turn_id)],
    )  # fmt: skip


def _classified(status: Status, reason: str) -> Tracked:
    """Return the event of a candidate that was judged: whether it passed as it was, was trimmed, or was rejected."""
    return Tracked(node="hotpath", op="classify", status=status, reason=f"{LOCAL}:{reason}")


def _kept(merged: Merged) -> dict[str, Any]:
    """Return what came of a candidate without any text, which would outlive its memory here."""
    kept: dict[str, Any] = msgspec.to_builtins(merged)
    return kept


def _digest(request: t.TakeTurn) -> bytes:
    """Return the digest of all that a turn says, whoever is meant by it."""
    said = request.model_dump(mode="json", exclude={"user_id"})
    return blake3.blake3(msgspec.json.encode(said, order="sorted")).digest()
