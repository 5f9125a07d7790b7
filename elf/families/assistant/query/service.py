"""Answers what agents ask the memory of a user."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog
from pgvector import Vector

from elf.api.caller import Caller
from elf.core.errors import ErasureInProgress, Unavailable
from elf.core.slices import in_slices
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.api import querying as q
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Memory, MemoryType, Place
from elf.families.assistant.query.answers import answer
from elf.families.assistant.query.asking import Wanted, wanted
from elf.families.assistant.query.candidates import CandidateReads, Neighbour, Question
from elf.families.assistant.query.embedding import QueryEmbedding
from elf.families.assistant.query.hits import HitCounter
from elf.families.assistant.query.parts import Parts
from elf.families.assistant.query.threads import Thread, ThreadLook
from elf.families.assistant.rules.budget import Budget, fitting
from elf.families.assistant.rules.bullets import bullet
from elf.families.assistant.rules.categories import PROCEDURAL, Allowlists
from elf.families.assistant.rules.filters import Filters
from elf.families.assistant.rules.query_words import query_words
from elf.families.assistant.rules.ranking import Ranked, episodic_share, ranked

EPISODIC: Final[MemoryType] = "episodic"
MOST_RELATED: Final = 2
WHOLE_SHARE: Final = 2
"""What comes whole has at most the budget divided by this."""

log = structlog.get_logger()


class MemoryQuerying:
    """Carries out the operation `memory_query`."""

    def __init__(self, kit: Kit, embedding: QueryEmbedding, hits: HitCounter) -> None:
        assert kit.texts is not None, "who serves has a model"
        self._kit = kit
        self._texts = kit.texts
        self._embedding = embedding
        self._hits = hits
        self._allowlists = Allowlists(kit.config)
        self._reads = CandidateReads(kit.queries)
        self._threads = ThreadLook(kit.queries)

    async def query(self, request: q.Asked, caller: Caller) -> q.QueryAnswer:
        """Answer with what helps, within the budget. Raises ScopeDenied before anything is read."""
        asked = wanted(request, caller, self._allowlists, self._kit.access)
        vector = await self._embedding.embed(request.query)
        parts = await self._found(request, asked, vector)
        return answer(parts, request, tokenizer=self._texts.tokenizer, has_vector=vector is not None)

    async def _found(self, request: q.Asked, asked: Wanted, vector: Vector | None) -> Parts:
        question, now = self._question(request, asked, vector), self._kit.now()
        try:
            parts = await retrying(lambda: self._parts(request, asked, question, now))
        except (Unavailable, ErasureInProgress) as error:
            # What can be read is answered, such as while the disk is full: a thread is told what is new another time.
            async with self._kit.database.connection() as connection:
                parts = await self._read(connection, request, asked, question, now, thread=None)
            parts = replace(parts, is_tracked=False)
            log.warning("assistant.query_not_tracked", error=error.message)
        self._hits.count(asked.filters.place, parts.given, now)
        return parts

    def _question(self, request: q.Asked, asked: Wanted, vector: Vector | None) -> Question:
        return Question(
            filters=asked.filters, readable=asked.readable, vector=vector,
            version=self._embedding.version, words=query_words(request.query), threshold=request.threshold,
        )  # fmt: skip

    async def _parts(self, request: q.Asked, asked: Wanted, question: Question, now: datetime) -> Parts:
        """Put an answer together, and keep with it what its thread has seen."""
        thread = self._thread(request, asked)
        keys = [] if thread is None else [json.dumps(thread.key)]
        async with self._kit.database.transaction(competing_for=keys) as connection:
            parts = await self._read(connection, request, asked, question, now, thread=thread)
            await self._track(connection, request, parts.items, now, asked.filters.place)
        return parts

    async def _read(
        self,
        connection: Connection,
        request: q.Asked,
        asked: Wanted,
        question: Question,
        now: datetime,
        *,
        thread: Thread | None,
    ) -> Parts:
        budget = Budget(request.budget_tokens, self._texts.tokens)
        updates, often = None, False
        if thread is not None:
            updates = await self._threads.updates(connection, thread, request.since_rev, budget, now)
            often = request.reason == "recall" and await self._threads.recalls_often(connection, thread)
        context = await self._context(connection, question, budget)
        items = await self._items(connection, request, question, context, budget, now)
        related = await self._related(connection, asked.filters, context, items, budget)
        return Parts(
            updates=updates,
            context=context,
            items=items,
            related=related,
            used=budget.used,
            recalls_often=often,
        )

    def _thread(self, request: q.Asked, asked: Wanted) -> Thread | None:
        if request.thread_id is None:
            return None
        names = self._allowlists.of(asked.agent)
        return Thread(
            place=asked.filters.place, thread_id=request.thread_id, agent=asked.agent,
            categories=[name for name in names if name != PROCEDURAL or asked.readable.has_steps],
        )  # fmt: skip

    async def _context(self, connection: Connection, question: Question, budget: Budget) -> list[Memory]:
        whole = await self._reads.whole(connection, question)
        most = budget.used + budget.tokens // WHOLE_SHARE
        return await in_slices(fitting(whole, bullet, budget, count=len(whole), most=most))

    async def _items(
        self,
        connection: Connection,
        request: q.Asked,
        question: Question,
        context: Sequence[Memory],
        budget: Budget,
        now: datetime,
    ) -> list[Ranked]:
        without = [memory.memory_id for memory in context]
        candidates = await self._reads.candidates(connection, question, without=without)
        has_vector = question.vector is not None
        best = ranked(candidates, self._kit.config.ranking, has_vector=has_vector, now=now)
        share = episodic_share(request.top_k, request.types)

        def may_join(one: Ranked, taken: Sequence[Ranked]) -> bool:
            return (
                one.memory.type != EPISODIC or sum(other.memory.type == EPISODIC for other in taken) < share
            )

        return await in_slices(
            fitting(best, lambda one: bullet(one.memory), budget, count=request.top_k, may=may_join)
        )

    async def _related(
        self,
        connection: Connection,
        filters: Filters,
        context: Sequence[Memory],
        items: Sequence[Ranked],
        budget: Budget,
    ) -> list[Neighbour]:
        if not items:
            return []
        of = [one.memory.memory_id for one in items]
        known = [*of, *(memory.memory_id for memory in context)]
        found = await self._reads.related(connection, filters, to=of, without=known)
        return await in_slices(fitting(found, lambda one: bullet(one.memory), budget, count=MOST_RELATED))

    async def _track(
        self, connection: Connection, request: q.Asked, items: Sequence[Ranked], now: datetime, place: Place
    ) -> None:
        """Keep that there was a search, and how like its best item is."""
        sim = max((one.cosine for one in items if one.cosine is not None), default=None)
        await connection.execute(
            self._kit.queries["track_events"], *place, now, ["context"], ["search"], ["ok"], [request.thread_id],
            [None], [None], [sim], [request.reason],
        )  # fmt: skip
