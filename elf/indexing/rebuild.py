"""Writing the index anew from the vectors in Postgres, without a model and while the service serves.

Every chunk of a live subject is written over what the index has, then every point that Postgres does not know is
deleted. Each page goes by the protocol of `leased_points`, so indexers may work on the same subjects at the same time
and no newer state is lost.

An index that went away meanwhile may have come back without what it had been given, so at the end of such a run the two
sides are compared, and what is missing is left to the indexers.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from elf.core.clock import Clock
from elf.core.errors import IndexUnavailable, InvalidRequest
from elf.db.alone import alone
from elf.db.database import Database
from elf.db.patience import AS_LONG_AS_IT_TAKES_S, telling
from elf.index.port import IndexPoint, VectorIndex
from elf.indexing.corpus import Corpus
from elf.indexing.leased_points import BEFORE_THE_FIRST, ChunkPage, LeasedPoints
from elf.indexing.reconcile import IndexReconciler

PAGE: Final = 512  # chunks read and written at once
SCAN: Final = 2000  # points looked at for strays at once
WRITERS: Final = 2  # while Postgres ends the jobs of one page, the index works on the next
TRIES: Final = 3
PATIENCE_S: Final = (
    60.0  # how long the index may be away before a rebuild gives up; a large one takes time to load
)
RETRY_S: Final = 0.2
LOG_EVERY_S: Final = 5.0

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild did.

    rebuilt_count: points written. missing_vector_count: live subjects without a vector of the configured model for some
    of their text, which are left to the indexers. error_count: points that the index refused. removed_count: points
    deleted, being no chunks of live subjects.
    """

    rebuilt_count: int
    missing_vector_count: int
    error_count: int
    removed_count: int


@dataclass(slots=True)
class Tally:
    """How far a rebuild is, counted as it works. `total` is how many points there were to write at its start."""

    total: int = 0
    rebuilt: int = 0
    missing: int = 0
    errors: int = 0
    removed: int = 0
    outages: int = 0

    @property
    def done(self) -> int:
        return self.rebuilt + self.errors

    def report(self) -> RebuildReport:
        return RebuildReport(self.rebuilt, self.missing, self.errors, self.removed)


class IndexRebuild:
    """Rebuilds the index of a corpus, one rebuild of it at a time in all processes on one database."""

    def __init__(
        self,
        *,
        database: Database,
        corpus: Corpus,
        index: VectorIndex,
        points: LeasedPoints,
        reconciler: IndexReconciler,
        clock: Clock,
    ) -> None:
        self._database = database
        self._corpus = corpus
        self._sql = corpus.queries
        self._index = index
        self._points = points
        self._reconciler = reconciler
        self._clock = clock

    async def run(self, tally: Tally) -> RebuildReport:
        """Rebuild everything, counting in `tally`.

        Raises InvalidRequest when another process is at it, IndexUnavailable when the index stays away for PATIENCE_S,
        DatabaseUnavailable. What was written until then stays.
        """
        busy = InvalidRequest("another process is rebuilding the index already")
        async with alone(self._database, self._corpus.rebuild_lock, busy=busy):
            try:
                await self._rebuild(tally)
            finally:
                await self._points.give_back()
        return tally.report()

    async def _rebuild(self, tally: Tally) -> None:
        began = time.perf_counter()
        await self._index_there(tally)
        await self._count(tally)
        log.info("index_rebuild_started", corpus=self._corpus.name, total=tally.total)
        await self._write_all(tally)
        await self._remove_strays(tally)
        if tally.outages:
            await self._reconciler.reconcile()
        seconds = time.perf_counter() - began
        log.info(
            "index_rebuilt",
            corpus=self._corpus.name,
            rebuilt=tally.rebuilt, missing_vector=tally.missing, errors=tally.errors, removed=tally.removed,
            ms=round(seconds * 1000), points_per_s=round(tally.rebuilt / seconds),
        )  # fmt: skip

    async def _count(self, tally: Tally) -> None:
        now = self._clock.now()
        async with self._database.connection() as connection:
            with telling("live_chunks_being_counted"):
                tally.total = await connection.fetchval(
                    self._sql["count_live_chunks"], now, timeout=AS_LONG_AS_IT_TAKES_S
                )
                tally.missing = await connection.fetchval(
                    self._sql["count_live_subjects_without_chunks"],
                    self._corpus.embedding_version,
                    now,
                    timeout=AS_LONG_AS_IT_TAKES_S,
                )

    async def _write_all(self, tally: Tally) -> None:
        sender, receiver = anyio.create_memory_object_stream[ChunkPage](0)
        async with anyio.create_task_group() as group:
            for _ in range(WRITERS):
                group.start_soon(self._write_pages, receiver.clone(), tally)
            receiver.close()
            await self._read_pages(sender, tally)

    async def _read_pages(self, sender: MemoryObjectSendStream[ChunkPage], tally: Tally) -> None:
        after = BEFORE_THE_FIRST
        counted: frozenset[UUID] = frozenset()
        logged = time.monotonic()
        with sender:
            while (page := await self._points.chunks(after, PAGE)) is not None:
                missing = page.without_vector - page.outdated  # those have been counted before the first page
                tally.missing += len(missing - counted)
                counted = missing  # the next page may begin with the subject that this one ends with
                after = page.last
                await sender.send(page)
                if time.monotonic() - logged > LOG_EVERY_S:
                    logged = time.monotonic()
                    log.info("index_rebuilding", done=tally.done, total=tally.total)

    async def _write_pages(self, receiver: MemoryObjectReceiveStream[ChunkPage], tally: Tally) -> None:
        with receiver:
            async for page in receiver:
                refused = await self._write(page.points, tally)
                # Those without a vector, or with one that does not count, are left to the model.
                await self._points.end(page.seen, unwritten=refused | page.without_vector)

    async def _write(self, points: Sequence[IndexPoint], tally: Tally) -> frozenset[UUID]:
        """Write points and return the subjects of those that the index refuses although it is there."""
        for _ in range(TRIES):
            try:
                await self._index.upsert(points)
            except IndexUnavailable:
                await self._index_back(tally)
            else:
                tally.rebuilt += len(points)
                return frozenset()
        return frozenset([point.owner_id for point in points if not await self._write_one(point, tally)])

    async def _write_one(self, point: IndexPoint, tally: Tally) -> bool:
        try:
            await self._index.upsert([point])
        except IndexUnavailable as error:
            await self._index_back(tally)
            tally.errors += 1
            log.warning("point_not_rebuilt", chunk_id=str(point.point_id), error=error.message)
            return False
        tally.rebuilt += 1
        return True

    async def _remove_strays(self, tally: Tally) -> None:
        after: UUID | None = None
        while stored := await self._patiently(tally, lambda: self._index.scan(after=after, limit=SCAN)):  # noqa: B023
            after = stored[-1].point_id
            strays = await self._points.strays(stored)
            if not strays:
                continue
            gone = [one.stray for one in strays if one.stray is not None]
            await self._patiently(tally, lambda: self._index.delete_points(gone))  # noqa: B023
            await self._points.end(strays)
            tally.removed += len(gone)

    async def _index_there(self, tally: Tally) -> None:
        """Make the collection when it is missing; wait for an index that is away."""
        await self._patiently(tally, self._index.ensure)

    async def _index_back(self, tally: Tally) -> None:
        tally.outages += 1
        await self._index_there(tally)

    async def _patiently(self, tally: Tally, call: Callable[[], Awaitable[T]]) -> T:
        """Call until the index answers. Raises IndexUnavailable when it does not for PATIENCE_S."""
        give_up_at = anyio.current_time() + PATIENCE_S
        waits = False
        while True:
            try:
                return await call()
            except IndexUnavailable as error:
                tally.outages += 1
                if anyio.current_time() > give_up_at:
                    raise
                if not waits:
                    log.warning("index_rebuild_waits", error=error.message)
                waits = True
            await anyio.sleep(RETRY_S)
