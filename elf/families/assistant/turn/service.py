"""Takes in the turns of a conversation: what they tell is kept once, beside what is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

import anyio.to_thread

from elf.api.caller import Caller
from elf.core.blank_text import is_blank
from elf.core.digests import digest_of_json
from elf.core.errors import Conflict, InvalidRequest
from elf.core.evidence import is_verbatim
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.access import actor_of
from elf.families.assistant.api import turn as t
from elf.families.assistant.background.recent import Heard, RecentWords
from elf.families.assistant.consent.proposing import LOCK, Consents
from elf.families.assistant.judging.judgement import Judgement
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import Place
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.turn.deferred import parts, turn_job
from elf.families.assistant.turn.extraction import CAP_REACHED, Said, extract, extract_each
from elf.families.assistant.turn.merging import Merged
from elf.families.assistant.turn.writing import Turn, TurnWriting, checked

NAMED: Final = ("memory_id", "proposal_id")

DEFERRED: Final = "DEFERRED"

Results = list[dict[str, Any]]

Taken: TypeAlias = Callable[[Connection, Results], Awaitable[None]]
"""Is told what came of a turn, with the transaction that takes it in."""


async def _told_nobody(connection: Connection, results: Results) -> None:
    """Tell nobody."""


class _Taking(NamedTuple):
    """A turn that is taken in: where, what its request says, by whom it came, and who is told.

    `each` tells whether each message of a user's is a part, of which so much is kept.
    """

    request: t.TakeTurn
    place: Place
    digest: bytes
    messages: Sequence[Said]
    actor: str | None
    taken: Taken
    each: bool


class TurnTaking:
    """Carries out the operation that takes in a turn.

    Where there is a language model, it reads the turn afterwards; rules do so at once.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)
        self._writer = kit.writer
        self._embedder = kit.embedder
        self._consents = Consents(kit.queries, version=self._embedder.version)
        self._recent = RecentWords(kit)
        self._writing = TurnWriting(kit, node="hotpath", engine=kit.engine)

    async def take(
        self, request: t.TakeTurn, caller: Caller, *, taken: Taken = _told_nobody, each: bool = False
    ) -> t.TurnTaken:
        """Take in a turn; the same one again has the same answer. Raises Conflict when it says something else.

        `taken` is told what came of it, each time it is taken in. Where `each`, so much as of a turn is kept of each
        message of a user's.
        """
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        _check_acknowledgements(request)
        digest = _digest(request)
        known = await self._known(request, place, digest)
        if known is not None:
            return await self._repeated(request, place, known, taken)
        messages = [
            Said(message.role, await self._given.quote(message.content), message.actor_id)
            for message in request.messages
        ]
        taking = _Taking(request, place, digest, messages, actor_of(caller), taken, each)
        take = self._take_at_once if self._kit.chat is None else self._defer
        results, degraded = await take(taking)
        if results is None:
            known = await self._known(request, place, digest)
            assert known is not None, "somebody else took it in"
            return await self._repeated(request, place, known, taken)
        return await self._told(request, place, results, repeated=False, degraded=degraded)

    async def _repeated(self, request: t.TakeTurn, place: Place, known: Results, taken: Taken) -> t.TurnTaken:
        async with self._kit.database.transaction() as connection:
            await taken(connection, known)
        return await self._told(request, place, known, repeated=True)

    async def _take_at_once(self, taking: _Taking) -> tuple[Results | None, Sequence[str]]:
        """Write what rules take of a turn. None where somebody else takes it in at this moment, and what was away."""
        extracting = extract_each if taking.each else extract
        extracted = await anyio.to_thread.run_sync(extracting, taking.messages)
        candidates = [checked(candidate) for candidate in extracted.candidates]
        texts = [one.text for one in candidates if one.text is not None]
        embedded = await self._embedder.embed_if_there(texts)
        vectors = dict(zip(texts, embedded.vectors, strict=True))
        judgement = Judgement(None, self._embedder, "semantic")

        async def write(changes: Changes) -> list[Merged]:
            merged = await self._writing.write(
                changes, _turn(taking.request), candidates, vectors, judgement, is_last=True
            )
            for _ in range(extracted.left):
                self._writing.track(changes, "skipped", "NO_PATTERN")
            return merged

        categories = {one.candidate.category for one in candidates if one.candidate.category is not None}
        results = await self._begin(taking, categories, write)
        if results is not None:
            self._writing.count(candidates)
        return results, embedded.degraded

    async def _defer(self, taking: _Taking) -> tuple[Results | None, Sequence[str]]:
        """Leave a turn in which the user says something to the model."""
        says_something = any(one.role == "user" and not is_blank(one.content) for one in taking.messages)
        beyond = 0
        if taking.each:
            said = parts(taking.messages)
            beyond = max(0, len(said) - self._kit.most_extractions)

        async def leave(changes: Changes) -> list[Merged]:
            if not says_something:
                return []
            changes.leave(turn_job(_turn(taking.request), taking.actor, taking.messages, each=taking.each))
            self._writing.track(changes, "skipped", DEFERRED)
            unread = Merged(result="REJECTED", category=None, reason_code=CAP_REACHED)
            return [Merged(result=DEFERRED, category=None), *[unread] * beyond]

        return await self._begin(taking, (), leave), []

    async def _begin(
        self,
        taking: _Taking,
        categories: Collection[str],
        write: Callable[[Changes], Awaitable[list[Merged]]],
    ) -> Results | None:
        """Take a turn in once, with the decisions that it acknowledges. None where somebody else does just now."""
        request, place, turn = taking.request, taking.place, _turn(taking.request)
        heard = [Heard(one.role, one.content, turn.turn_id) for one in taking.messages]

        async def once() -> Results | None:
            async with self._writer.changing(
                place, {LOCK, *categories}, actor=taking.actor, thread_id=request.thread_id
            ) as changes:
                began = await changes.connection.fetchval(
                    self._sql["begin_turn"], *place, turn.thread_id, turn.turn_id, taking.digest, changes.now
                )
                if began is None:
                    return None
                await self._decide(changes, request)
                results = await self._writing.end(changes, turn, await write(changes))
                await self._recent.keep(changes, turn.thread_id, heard)
                changes.speak_in(request.thread_id)
                await taking.taken(changes.connection, results)
                return results

        return await retrying(once)

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


def _turn(request: t.TakeTurn) -> Turn:
    return Turn(
        thread_id=request.thread_id,
        turn_id=request.turn_id,
        agent_id=request.agent_id,
        run_id=request.run_id,
    )


def _digest(request: t.TakeTurn) -> bytes:
    """Return the digest of all that a turn says, whoever is meant by it."""
    said = request.model_dump(mode="json", exclude={"user_id"})
    return digest_of_json(said)
