"""Searching conversations: for users what they are members of, for operators everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from elf.api.caller import Caller
from elf.api.cursor import sealed, unsealed
from elf.api.operation import Handler, Operation
from elf.core.errors import InvalidRequest, Unavailable
from elf.core.measures import Measures
from elf.core.slices import Slices, in_slices
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
        highlighter = Highlighter(request.query, self._stems)
        return a.SearchAnswer(
            data=await in_slices(_telling(found, highlighter, with_entry=request.includeEntry)),
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


def _telling(
    found: Sequence[tuple[Hit, Row]], highlighter: Highlighter, *, with_entry: bool
) -> Slices[list[a.SearchResultAnswer]]:
    """Return the results; long texts take some milliseconds each."""
    results = []
    for hit, row in found:
        results.append(_result(hit, row, highlighter, with_entry=with_entry))
        yield
    return results


def _result(hit: Hit, row: Row, highlighter: Highlighter, *, with_entry: bool) -> a.SearchResultAnswer:
    text = row["text"] if hit.passage is None else hit.passage
    return a.SearchResultAnswer(
        conversationId=hit.conversation_id,
        conversationTitle=row["title"],
        entryId=hit.entry_id,
        score=hit.score,
        highlights=highlighter.marked(text) or beginning(text),
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
