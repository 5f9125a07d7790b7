"""Reads turns with a language model after they were answered, and writes what they tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4

import anyio.to_thread
import msgspec
from pgvector import Vector

from elf.config.tables.assistant import AssistantTable
from elf.core.blank_text import is_blank
from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.core.structs import read_value
from elf.db.errors import retrying
from elf.families.assistant.consent.proposing import LOCK
from elf.families.assistant.jobs import Work, job_of
from elf.families.assistant.judging.judgement import Judgement
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Job
from elf.families.assistant.turn.extraction import CAP_REACHED, NOTHING, SECRET, Candidate, Said, extract
from elf.families.assistant.turn.merging import Merged, Unforeseen
from elf.families.assistant.turn.proposing import proposed
from elf.families.assistant.turn.writing import Checked, Turn, TurnWriting, checked, memory_of_turn
from elf.outbox.each import each
from elf.outbox.leases import Job as Leased
from elf.providers.port import Chat

TURN_JOB: Final = "turn"
MOST_JUDGEMENTS: Final = 3
MOST_TRIES: Final = 5
"""A turn that was tried so often is given up when the model refuses it, or its answer cannot be read; one that is away
is waited for."""
UNREADABLE: Final = "UNREADABLE"
MOST_CONTEXT: Final = 9
"""So many messages the model is shown of what was said before one, with this one."""

NOT_OFFERED_TO_MODELS: Final = frozenset({"relationship_dynamic", "procedural"})


class Deferred(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a turn until a model has read it, credentials blanked; `actor` is who told of it.

    Where `each`, the model reads each message of a user's by itself.
    """

    turn: Turn
    actor: str | None
    messages: list[Said]
    each: bool = False


def parts(messages: Sequence[Said]) -> list[Sequence[Said]]:
    """Return the messages of users in which something is said, each behind what was said before it."""
    return [
        messages[: place + 1]
        for place, one in enumerate(messages)
        if one.role == "user" and not is_blank(one.content)
    ]


def turn_job(turn: Turn, actor: str | None, messages: Sequence[Said], *, each: bool) -> Job:
    """Return the job of a turn. What tools said is not read."""
    spoken = [message for message in messages if message.role != "tool"]
    payload = msgspec.to_builtins(Deferred(turn=turn, actor=actor, messages=spoken, each=each))
    return Job(kind=TURN_JOB, subject_id=uuid4(), payload=payload)


def offered_categories(config: AssistantTable) -> list[str]:
    """Return the categories that a model may choose from: all that are known but those of other kinds of memories."""
    declared = [one.name for one in (*config.categories.system, *config.categories.custom)]
    names = [*declared, *config.undeclared]
    return [name for name in dict.fromkeys(names) if name not in NOT_OFFERED_TO_MODELS]


class TurnJobs:
    """Does the jobs of turns, of which no two of one batch are of one user.

    A job ends with the transaction that writes what its turn tells, so that all of it is written once.
    """

    def __init__(self, kit: Kit, chat: Chat) -> None:
        self._kit = kit
        self._chat = chat
        self._writing = TurnWriting(kit, node="worker", engine=kit.engine)
        self._categories = offered_categories(kit.config)

    async def __call__(self, work: Sequence[Work]) -> None:
        """Read turns, some at once. Raises JobsFailed with those that are not done."""
        await each(work, self._read, job_of=job_of)

    async def _read(self, work: Work) -> None:
        said = read_value(work.payload, Deferred)
        try:
            candidates = await self._candidates(said)
        except ProviderUnavailable as error:
            if not _is_hopeless(error, work.job):
                raise
            await self._give_up(work, said)
            return
        texts = [one.text for one in candidates if one.text is not None]
        embedded = await self._kit.embedder.embed_if_there(texts)
        await self._write(work, said, candidates, dict(zip(texts, embedded.vectors, strict=True)))
        self._writing.count(candidates)

    async def _candidates(self, said: Deferred) -> list[Checked]:
        if not said.each:
            return [checked(one) for one in await self._proposed(said.messages)]
        told = parts(said.messages)
        most = self._kit.most_extractions
        found = [
            replace(one, part=part)
            for part, messages in enumerate(told[:most])
            for one in await self._proposed(messages[-MOST_CONTEXT:], is_last_alone=True)
        ]
        found += [replace(NOTHING, fault=CAP_REACHED) for _ in told[most:]]
        return [checked(candidate) for candidate in found]

    async def _proposed(self, messages: Sequence[Said], *, is_last_alone: bool = False) -> list[Candidate]:
        """Return what the model takes of messages, or of the last of them, and the secrets that it was not shown."""
        own = messages[-1:] if is_last_alone else messages
        by_rules = await anyio.to_thread.run_sync(extract, own)
        found = await proposed(
            messages, self._chat, categories=self._categories, several=by_rules.several, own=own
        )
        return [*found, *[one for one in by_rules.candidates if one.is_asked and one.fault == SECRET]]

    async def _write(
        self, work: Work, said: Deferred, candidates: Sequence[Checked], vectors: Mapping[str, Vector | None]
    ) -> None:
        """Write candidates beside their neighbours, about which the model is asked before, as often as they change."""
        judgement = Judgement(self._chat, self._kit.embedder, "semantic")
        for tries in range(1, MOST_JUDGEMENTS + 1):
            await self._ask(work, said, candidates, vectors, judgement)
            try:
                await retrying(
                    lambda: self._once(
                        work,
                        said,
                        candidates,
                        vectors,
                        judgement,
                        is_last=tries == MOST_JUDGEMENTS,  # noqa: B023
                    )
                )
            except Unforeseen:
                continue
            return

    async def _ask(
        self,
        work: Work,
        said: Deferred,
        candidates: Sequence[Checked],
        vectors: Mapping[str, Vector | None],
        judgement: Judgement,
    ) -> None:
        for one in candidates:
            vector = None if one.text is None else vectors[one.text]
            if vector is None or judgement.is_away:
                continue
            memory = memory_of_turn(work.place, said.turn, one, self._kit.now())
            async with self._kit.database.connection() as connection:
                pairs = await self._writing.rules.undecided(connection, memory, vector, judgement)
            await judgement.ask(pairs)

    async def _once(
        self,
        work: Work,
        said: Deferred,
        candidates: Sequence[Checked],
        vectors: Mapping[str, Vector | None],
        judgement: Judgement,
        *,
        is_last: bool,
    ) -> None:
        categories = {one.candidate.category for one in candidates if one.candidate.category is not None}
        async with self._kit.writer.changing(
            work.place, {LOCK, *categories}, actor=said.actor, thread_id=said.turn.thread_id
        ) as changes:
            merged = await self._writing.write(
                changes, said.turn, candidates, vectors, judgement, is_last=is_last
            )
            await self._writing.end(changes, said.turn, merged)
            await self._kit.outbox.finish([work.job], changes.connection)

    async def _give_up(self, work: Work, said: Deferred) -> None:
        """End the job of a turn that the model does not read."""
        rejected = Merged(result="REJECTED", category=None, reason_code=UNREADABLE)

        async def once() -> None:
            async with self._kit.writer.changing(
                work.place, {LOCK}, actor=said.actor, thread_id=said.turn.thread_id
            ) as changes:
                self._writing.track(changes, "error", UNREADABLE)
                await self._writing.end(changes, said.turn, [rejected])
                await self._kit.outbox.finish([work.job], changes.connection)

        await retrying(once)


def _is_hopeless(error: ProviderUnavailable, job: Leased) -> bool:
    """Tell whether the model is there, and has often enough not read this one turn."""
    is_about_it = isinstance(error, ProviderBroken) or (
        isinstance(error, ProviderRefused) and not error.concerns_all
    )
    return is_about_it and job.attempts + 1 >= MOST_TRIES
