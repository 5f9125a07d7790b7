"""Finding entries by what their texts mean: the cosine of their best chunk and the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from elf.core.errors import IndexUnavailable, ProviderUnavailable, Unavailable
from elf.families.conversations.finding.hits import MOST, Hit, Hits, best_of_each
from elf.families.conversations.finding.passages import Passages
from elf.families.conversations.finding.reach import Reach
from elf.index.port import IndexFilter, IndexQuery, LegHit, Vector
from elf.providers.port import Embedder
from elf.providers.vectors import have_direction
from elf.search.retrieve import Lookup
from elf.search.stages import Stages

DEPTHS: Final = (100, MOST, 4 * MOST)
"""How many chunks are looked at: more where these are of too few entries."""


class MeaningSearch:
    """Asks the index for chunks near the query, and Postgres which of them may be found."""

    def __init__(self, *, index: Lookup, embedder: Embedder, passages: Passages) -> None:
        self._index = index
        self._embedder = embedder
        self._passages = passages

    async def page(
        self, reach: Reach, query: str, *, grouped: bool, offset: int, limit: int, stages: Stages
    ) -> Hits:
        """Return a page of what is nearest to a query.

        Raises Unavailable when the model or the index is away, and TimeoutError when it takes too long.
        """
        try:
            with stages.stage("meaning"):
                return await self._page(reach, query, grouped=grouped, offset=offset, limit=limit)
        except (IndexUnavailable, ProviderUnavailable) as error:
            raise Unavailable("nothing can be found by its meaning at the moment") from error

    async def _page(self, reach: Reach, query: str, *, grouped: bool, offset: int, limit: int) -> Hits:
        vector = await self._vector(query)
        if vector is None:
            return Hits([], has_more=False)
        where = await self._passages.where(reach)
        where = replace(where, must={**where.must, "embedding_version": self._embedder.version})
        found: list[Hit] = []
        for depth in DEPTHS:
            near = await self._near(vector, where, depth)
            found = best_of_each(await self._vouched(reach, near), grouped=grouped)
            if len(found) > offset + limit or len(near) < depth:
                break
        return Hits(found[offset : offset + limit], has_more=len(found) > offset + limit)

    async def _vector(self, query: str) -> Vector | None:
        matrix = await self._embedder.embed([query])
        return matrix[0] if have_direction(matrix)[0] else None

    async def _near(self, vector: Vector, where: IndexFilter, depth: int) -> Sequence[LegHit]:
        asked = IndexQuery(dense=vector, text=None, where=where, limit=depth)
        return (await self._index.query([asked]))[0].dense

    async def _vouched(self, reach: Reach, near: Sequence[LegHit]) -> list[Hit]:
        rows = await self._passages.read(reach, [one.point_id for one in near], with_tokens=False)
        hits = [
            Hit(
                row["entry_id"],
                row["conversation_id"],
                row["said_at"],
                min(max(one.score, 0.0), 1.0),
                row["text"],
            )
            for one in near
            if (row := rows.get(one.point_id)) is not None
        ]
        return sorted(hits, key=lambda hit: hit.order, reverse=True)
