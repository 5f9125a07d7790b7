"""Seeing that the index has no points of what is gone: their removal goes by leased jobs, behind the erasure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import anyio

from elf.core.errors import Unavailable
from elf.indexing.indexed import IndexedCorpus
from elf.indexing.reconcile import Wrong

PATIENCE_S: Final = 60.0
FIRST_LOOK_S: Final = 0.05
LONGEST_LOOK_S: Final = 1.0
PAGE: Final = 2000


@dataclass(frozen=True, slots=True)
class IndexPoints:
    """Looks through the indexes of all families, each by its port."""

    corpora: Sequence[IndexedCorpus]

    async def wait_gone(self) -> Mapping[str, int]:
        """Wait until no point is left that now belongs to nothing; returns how many are left, by corpus: 0 of each.

        Points that come to belong to nothing meanwhile are others'. Raises Unavailable when some are still there after
        PATIENCE_S: then they are on their way.
        """
        return {one.corpus.name: await _wait_gone(one) for one in self.corpora}

    async def counts(self) -> Mapping[str, int]:
        """Return how many points there are, by corpus, by looking at each."""
        return {one.corpus.name: len([id async for id in _each(one)]) for one in self.corpora}


async def _wait_gone(one: IndexedCorpus) -> int:
    strays = await _strays(one)
    if not strays:
        return 0
    # What removes them may have been undone, such as by an index that was away: so it is asked for once more.
    await one.reconciler.enqueue(Wrong(strays=set(strays.values())))
    pause = FIRST_LOOK_S
    with anyio.move_on_after(PATIENCE_S):
        while strays:
            await anyio.sleep(pause)
            pause = min(pause * 2, LONGEST_LOOK_S)
            left = {id async for id in _each(one) if id in strays}
            strays = {id: owner for id, owner in strays.items() if id in left}
    if strays:
        raise Unavailable(
            f"{len(strays)} points of what was erased are still in the index of {one.corpus.name}: it is erased once "
            "they are gone, so erase again"
        )
    return 0


async def _strays(one: IndexedCorpus) -> dict[UUID, UUID]:
    """Return the points that belong to nothing, each with its owner."""
    return {
        difference.chunk_id: difference.subject_id
        async for difference in one.reconciler.differences()
        if difference.kind == "orphaned"
    }


async def _each(one: IndexedCorpus) -> AsyncIterator[UUID]:
    after: UUID | None = None
    while points := await one.index.scan(after=after, limit=PAGE):
        for point in points:
            yield point.point_id
        after = points[-1].point_id
