"""Searching conversations: for users what they are members of, for operators everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

import msgspec

from elf.api.caller import Caller
from elf.api.cursor import sealed, unsealed
from elf.api.operation import Handler, Operation
from elf.core.errors import InvalidRequest, Unavailable
from elf.core.measures import Measures
from elf.core.slices import in_slices
from elf.core.words import Stems
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.api import answers as a
from elf.families.conversations.api import search as s
from elf.families.conversations.finding.hits import MOST, Hit, Hits
from elf.families.conversations.finding.reach import Reach
from elf.families.conversations.model import FAMILY
from elf.families.conversations.rules.highlights import Highlighter, beginning
from elf.families.conversations.service import after_of, who_of
from elf.families.conversations.store import entry_of
from elf.families.conversations.trees import Row
from elf.search.stages import Stages

TEXTS_AT_ONCE: Final = 16


class Search(Protocol):
    """One way to search."""

    async def page(
        self, reach: Reach, query: str, *, grouped: bool, offset: int, limit: int, stages: Stages
    ) -> Hits:
        """Return up to `limit` hits behind the first `offset`. Raises Unavailable, and TimeoutError for its stages."""
        ...


class ConversationSearch:
    """Answers searches, each in one of several ways. `budget_s` is how long one may take, None without limit."""

    def __init__(
        self,
        database: Database,
        queries: Queries,
        ways: Mapping[s.SearchType, Search],
        *,
        measures: Measures,
        budget_s: float | None,
    ) -> None:
        self._database = database
        self._sql = queries
        self._ways = ways
        self._measures = measures
        self._budget_s = budget_s
        self._stems = Stems()

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {s.SEARCH: self.search}

    async def search(self, request: s.SearchConversations, caller: Caller) -> a.SearchAnswer:
        who = who_of(caller)
        return await self.found(Reach(tenant_id=who.tenant_id, user=who.user), request)

    async def found(self, reach: Reach, request: s.SearchConversations) -> a.SearchAnswer:
        """Answer a search within a reach. Raises InvalidRequest for a cursor of another search, and Unavailable."""
        listing = _listing(reach, request)
        after = after_of(request)
        offset = 0 if after is None else _offset(after, listing)
        limit = min(request.limit, MOST - offset)
        stages = Stages(self._budget_s)
        try:
            hits = await self._ways[request.searchType].page(
                reach,
                request.query,
                grouped=request.groupByConversation,
                offset=offset,
                limit=limit,
                stages=stages,
            )
        except TimeoutError as error:
            raise Unavailable("the search could not be answered within its time") from error
        self._measures.search(family=FAMILY, stages=stages.timings, degraded=hits.degraded)
        found, is_cut = await self._found(reach.tenant_id, hits.page, request.includeEntry)
        end = offset + (hits.page.index(found[-1][0]) + 1 if is_cut else len(hits.page))
        has_more = (hits.has_more or is_cut) and end < MOST
        return a.SearchAnswer(
            data=await self._results(reach.tenant_id, request, found),
            nextCursor=sealed(str(end), *listing) if has_more else None,
            degraded=list(hits.degraded) or msgspec.UNSET,
        )

    async def _found(
        self, tenant_id: str, page: Sequence[Hit], with_content: bool
    ) -> tuple[list[tuple[Hit, Row]], bool]:
        """Return what there is of hits, and whether they are cut off where their entries would be too large."""
        ids = [hit.entry_id for hit in page]
        if not ids:
            return [], False
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_found"], tenant_id, ids, with_content)
        by_id = {row["entry_id"]: row for row in rows}
        is_cut = bool(rows) and rows[0]["found"] > len(rows)
        return [(hit, by_id[hit.entry_id]) for hit in page if hit.entry_id in by_id], is_cut

    async def _results(
        self, tenant_id: str, request: s.SearchConversations, found: Sequence[tuple[Hit, Row]]
    ) -> list[a.SearchResultAnswer]:
        """Return what is told of hits. Whole texts are read a few at a time, for they may be long."""
        highlighter = Highlighter(request.query, self._stems)
        results = []
        for start in range(0, len(found), TEXTS_AT_ONCE):
            portion = found[start : start + TEXTS_AT_ONCE]
            texts = await self._texts(tenant_id, [hit for hit, _ in portion])
            for hit, row in portion:
                text = texts.get(hit.entry_id, "") if hit.passage is None else hit.passage
                highlights = await in_slices(highlighter.marked(text)) or beginning(text)
                results.append(_result(hit, row, highlights, with_entry=request.includeEntry))
        return results

    async def _texts(self, tenant_id: str, hits: Sequence[Hit]) -> dict[UUID, str]:
        """Return the whole texts of those hits whose passage is not known."""
        ids = [hit.entry_id for hit in hits if hit.passage is None]
        if not ids:
            return {}
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["read_texts"], tenant_id, ids)
        return {row["entry_id"]: row["text"] for row in rows}


def _result(hit: Hit, row: Row, highlights: str, *, with_entry: bool) -> a.SearchResultAnswer:
    return a.SearchResultAnswer(
        conversationId=hit.conversation_id,
        conversationTitle=row["title"],
        entryId=hit.entry_id,
        score=hit.score,
        highlights=highlights,
        entry=a.entry(entry_of(row)) if with_entry else None,
    )


def _listing(reach: Reach, request: s.SearchConversations) -> tuple[Any, ...]:
    """Return what a cursor is good for: this search, of whoever asks."""
    return (*reach.arguments, request.query, request.searchType, request.groupByConversation)


def _offset(cursor: str, listing: Sequence[Any]) -> int:
    """Return behind how many results a page begins. Raises InvalidRequest for a cursor that is not of this search."""
    try:
        offset = int(unsealed(cursor, *listing))
        if not 0 < offset < MOST:
            raise ValueError("no page ends there")
        return offset
    except ValueError as error:
        raise InvalidRequest("$.after: is no cursor of this search", fields=["$.after"]) from error
