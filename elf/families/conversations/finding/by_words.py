"""Finding entries by the words of their texts, in Postgres alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.finding.hits import Hit, Hits
from elf.families.conversations.finding.reach import Reach
from elf.families.conversations.rules.words import telling_words_of, words_of
from elf.search.stages import Stages

Joined = Literal["&", "|"]


class WordSearch:
    """Looks for words by their beginnings, as they are written or stemmed. Methods raise DatabaseUnavailable."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def page(
        self, reach: Reach, query: str, *, grouped: bool, offset: int, limit: int, stages: Stages
    ) -> Hits:
        """Return a page of what has all words of a query. Raises TimeoutError when that takes too long."""
        with stages.stage("words"):
            found = await self.best(
                reach, words_of(query), joined="&", grouped=grouped, offset=offset, limit=limit + 1
            )
        return Hits(found[:limit], has_more=len(found) > limit)

    async def best(
        self,
        reach: Reach,
        words: Sequence[str],
        *,
        joined: Joined,
        grouped: bool = False,
        offset: int = 0,
        limit: int,
    ) -> list[Hit]:
        """Return what has all words or any, the best first."""
        if not words:
            return []
        asked = (list(words), joined, grouped, offset, limit)
        async with self._database.connection() as connection:
            if reach.user is not None:
                rows = await connection.fetch(
                    self._sql["find_by_words"], reach.tenant_id, reach.user, *asked, *reach.moments
                )
            else:
                rows = await connection.fetch(
                    self._sql["find_all_by_words"], reach.tenant_id, reach.owner, *asked, reach.deleted
                )
        return [
            Hit(row["entry_id"], row["conversation_id"], row["said_at"], min(row["score"], 1.0))
            for row in rows
        ]

    async def waiting(self, reach: Reach, query: str, *, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return the rows of `find_waiting`: what the index does not know and has any word of a query."""
        words = telling_words_of(query)
        if not words:
            return []
        async with self._database.connection() as connection:
            return await connection.fetch(
                self._sql["find_waiting"], *reach.arguments, words, limit, *reach.moments
            )
