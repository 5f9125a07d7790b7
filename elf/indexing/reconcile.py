"""Comparing the index with Postgres, and asking for what differs to be indexed again.

Nothing is written to the index here. The two sides are read one page after the other while subjects are written, so a
difference is only a suspicion: it becomes a job of the outbox, whose handler looks at the subject as it is then. So a
subject has one writer to the index, and a newer state never loses to an older one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, NamedTuple, get_args
from uuid import UUID

from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.patience import AS_LONG_AS_IT_TAKES_S, telling
from elf.index.port import VectorIndex
from elf.indexing.corpus import Corpus

PAGE = 2000

Kind = Literal["missing", "stale", "orphaned"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class Drift(NamedTuple):
    """How many chunks were missing from the index or out of date in it, and how many points nobody owns."""

    missing: int
    stale: int
    orphaned: int


class Difference(NamedTuple):
    """One chunk or point that is not the same on both sides; missing is also a chunk without its vector."""

    kind: Kind
    chunk_id: UUID
    subject_id: UUID


@dataclass(frozen=True, slots=True)
class Wrong:
    """The subjects behind differences: those to be indexed again, and those that have points to be deleted."""

    again: set[UUID] = field(default_factory=set)
    strays: set[UUID] = field(default_factory=set)

    def add(self, difference: Difference) -> None:
        (self.strays if difference.kind == "orphaned" else self.again).add(difference.subject_id)


@dataclass(frozen=True, slots=True)
class _Entry:
    chunk_id: UUID
    subject_id: UUID
    updated_at: str
    is_sound: bool = True


class IndexReconciler:
    """Finds the drift between the truth and the index."""

    def __init__(
        self,
        *,
        database: Database,
        corpus: Corpus,
        index: VectorIndex,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._sql = corpus.queries
        self._index = index
        self._version = corpus.embedding_version
        self._clock = clock
        self._ring = ring

    async def is_whole(self) -> bool:
        """Tell whether the index holds as many points as Postgres has live chunks: one look through these."""
        async with self._database.connection() as connection:
            with telling("live_chunks_being_counted"):
                expected = await connection.fetchval(
                    self._sql["count_live_chunks"], self._clock.now(), timeout=AS_LONG_AS_IT_TAKES_S
                )
        return int(expected) == await self._index.count()

    async def differences(self) -> AsyncIterator[Difference]:
        """Compare everything, one page of each side after the other, and yield what differs by chunk id."""
        now = self._clock.now()
        wanted, stored = _Cursor(self._live(now)), _Cursor(self._stored())
        truth, point = await wanted.next(), await stored.next()
        while truth is not None or point is not None:
            if point is None or (truth is not None and truth.chunk_id < point.chunk_id):
                assert truth is not None
                yield Difference("missing", truth.chunk_id, truth.subject_id)
                truth = await wanted.next()
            elif truth is None or point.chunk_id < truth.chunk_id:
                yield Difference("orphaned", point.chunk_id, point.subject_id)
                point = await stored.next()
            else:
                if not truth.is_sound:
                    yield Difference("missing", truth.chunk_id, truth.subject_id)
                elif truth.updated_at != point.updated_at:
                    yield Difference("stale", truth.chunk_id, truth.subject_id)
                truth, point = await wanted.next(), await stored.next()

    async def reconcile(self) -> Drift:
        """Compare everything and enqueue what differs."""
        counts: Counter[Kind] = Counter()
        wrong = Wrong()
        async for difference in self.differences():
            counts[difference.kind] += 1
            wrong.add(difference)
        await self.enqueue(wrong)
        return Drift(counts["missing"], counts["stale"], counts["orphaned"])

    async def enqueue(self, wrong: Wrong) -> list[UUID]:
        """Ask for the subjects behind differences to be indexed again; returns the ids of the jobs."""
        jobs = await self._enqueue("UPSERT", wrong.again - wrong.strays)
        jobs += await self._enqueue("DELETE", wrong.strays)
        if jobs:
            self._ring()
        return jobs

    async def _enqueue(self, op: str, owners: set[UUID]) -> list[UUID]:
        subject_ids = list(owners)
        jobs: list[UUID] = []
        for start in range(0, len(subject_ids), PAGE):
            page = subject_ids[start : start + PAGE]
            async with self._database.connection() as connection:
                rows = await connection.fetch(
                    self._sql["enqueue_indexing"], page, [op] * len(page), self._version
                )
            jobs += [row["outbox_id"] for row in rows]
        return jobs

    async def _live(self, now: datetime) -> AsyncIterator[_Entry]:
        after = UUID(int=0)  # before every chunk id: those have a version
        while True:
            async with self._database.connection() as connection:
                rows = await connection.fetch(self._sql["live_chunks"], after, now, PAGE)
            for row in rows:
                yield _Entry(
                    row["chunk_id"],
                    row["subject_id"],
                    row["changed_at"].isoformat(),
                    is_sound=row["has_vector"],
                )
            if len(rows) < PAGE:
                return
            after = rows[-1]["chunk_id"]

    async def _stored(self) -> AsyncIterator[_Entry]:
        after: UUID | None = None
        while True:
            points = await self._index.scan(after=after, limit=PAGE)
            for point in points:
                yield _Entry(point.point_id, point.owner_id, point.updated_at)
            if not points:
                return
            after = points[-1].point_id


class _Cursor:
    """An async iterator that answers None at its end."""

    def __init__(self, entries: AsyncIterator[_Entry]) -> None:
        self._entries = entries

    async def next(self) -> _Entry | None:
        return await anext(self._entries, None)
