"""Subjects taken out of the indexers' hands for a moment, so that somebody else may write their points.

The indexers write points at any time, so whoever else does follows their protocol. A page of chunks is read together
with a leased job for each of their subjects, in one statement and so as of one moment. After the points are written,
`end` looks at those subjects again. The job of a subject that is as it was read is removed. The job of any other
becomes due: an indexer may have written the newer state before the older one of the page went over it, and the handler
of the job writes what is true by then. What is cut off anywhere leaves its jobs behind, which come due when their lease
ends. So an older state can stand in the index between the two steps and never stays; searches take every text from
Postgres and never show it.

Points of no chunk are deleted in the same way. There, a chunk that has become live in the meantime counts as a change,
too: an indexer may have written its point just before it was deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import anyio
import structlog

from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.db.errors import retrying
from elf.index.port import IndexPoint, StoredPoint
from elf.indexing.chunks import point_of, stored_chunk
from elf.indexing.corpus import Corpus

LEASE_TIMEOUT_S: Final = 10.0
GIVE_BACK_TIMEOUT_S: Final = 2.0

log = structlog.get_logger()


class Position(NamedTuple):
    """A place in the order of the chunks by subject; the first one is behind `BEFORE_THE_FIRST`."""

    subject_id: UUID
    chunk_index: int


BEFORE_THE_FIRST: Final = Position(UUID(int=0), -1)  # no subject has this id: ids have a version


@dataclass(frozen=True, slots=True)
class Seen:
    """A subject under its leased job as it was read; None is a subject that is gone. `stray` is a point that is no
    chunk.

    version and chunking: of the subject's chunks, where points are made of them.
    """

    outbox_id: UUID
    subject_id: UUID
    changed_at: datetime | None
    stray: UUID | None = None
    version: str | None = None
    chunking: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkPage:
    """The points of a page of chunks, in the order of their subjects; `last` is the position of the last chunk.

    without_vector: live subjects of the page of which some chunk has no vector; those chunks are no points.
    outdated: live subjects of the page whose vectors are of another embedding version.
    """

    seen: Sequence[Seen]
    points: Sequence[IndexPoint]
    without_vector: frozenset[UUID]
    outdated: frozenset[UUID]
    last: Position


class LeasedPoints:
    """Reads pages under leased jobs and ends those jobs; `ring` is called when some became due."""

    def __init__(
        self,
        *,
        database: Database,
        corpus: Corpus,
        lease_seconds: float,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._corpus = corpus
        self._sql = corpus.queries
        self._version = corpus.embedding_version
        self._lease = timedelta(seconds=lease_seconds)
        self._clock = clock
        self._ring = ring
        self._held: set[UUID] = set()  # jobs leased here and not ended yet

    async def chunks(self, after: Position, limit: int) -> ChunkPage | None:
        """Lease the page of up to `limit` chunks behind a place; None is the end."""
        rows = await self._lease_rows("lease_rebuild_page", *after, self._clock.now(), limit, self._lease)
        if not rows:
            return None
        seen = {row["subject_id"]: _seen(row) for row in rows}
        live = [row for row in rows if row["is_live"]]
        return ChunkPage(
            seen=list(seen.values()),
            points=[self._point(row) for row in live if row["vec"] is not None],
            without_vector=frozenset(row["subject_id"] for row in live if row["vec"] is None),
            outdated=frozenset(row["subject_id"] for row in live if row["chunk_version"] != self._version),
            last=Position(rows[-1]["subject_id"], rows[-1]["chunk_index"]),
        )

    def _point(self, row: Mapping[str, Any]) -> IndexPoint:
        document = self._corpus.document(row)
        return point_of(self._corpus.space, row, document, stored_chunk(row), row["chunk_version"])

    async def strays(self, points: Sequence[StoredPoint]) -> list[Seen]:
        """Lease the subjects of those points that are no live chunks; each comes with such a point."""
        ids = [point.point_id for point in points], [point.owner_id for point in points]
        rows = await self._lease_rows("lease_strays", *ids, self._version, self._clock.now(), self._lease)
        return [Seen(row["outbox_id"], row["subject_id"], row["changed_at"], row["point_id"]) for row in rows]

    async def _lease_rows(self, name: str, *values: Any) -> list[Mapping[str, Any]]:
        """Run a leasing query. Once Postgres has been asked, a cancellation waits for the answer."""
        async with self._database.connection() as connection:
            # A lease that was cut off may have been taken, and nobody would know of it.
            with anyio.CancelScope(shield=True):
                rows = await connection.fetch(self._sql[name], *values, timeout=LEASE_TIMEOUT_S)
            self._held.update(row["outbox_id"] for row in rows)
        return rows

    async def end(self, seen: Sequence[Seen], *, unwritten: frozenset[UUID] = frozenset()) -> None:
        """End the jobs of a page whose points are written; those of subjects in `unwritten` become due as they are."""
        kept = [one for one in seen if one.subject_id not in unwritten]
        due = await retrying(lambda: self._end(kept))
        await self._release([one.outbox_id for one in seen if one.subject_id in unwritten])
        self._held.difference_update(one.outbox_id for one in seen)
        if due or unwritten:
            self._ring()

    async def _end(self, seen: Sequence[Seen]) -> int:
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["end_leased"],
                [one.outbox_id for one in seen], [one.subject_id for one in seen], [one.changed_at for one in seen],
                [one.stray for one in seen], self._clock.now(), [one.version for one in seen],
                [one.chunking for one in seen],
            )  # fmt: skip
        return len(rows)

    async def _release(self, outbox_ids: Sequence[UUID]) -> None:
        if outbox_ids:  # made and leased in one, so nobody has leased them since
            async with self._database.connection() as connection:
                await connection.execute(self._sql["release_jobs"], outbox_ids, [0] * len(outbox_ids))

    async def give_back(self) -> None:
        """Make every job that is still leased due; while Postgres is away, they come due when their lease ends."""
        held, self._held = self._held, set()
        with anyio.move_on_after(GIVE_BACK_TIMEOUT_S, shield=True):
            try:
                await self._release(list(held))
            except Unavailable as error:
                log.info("jobs_not_released", jobs=len(held), error=error.message)
        if held:
            self._ring()


def _seen(row: Mapping[str, Any]) -> Seen:
    return Seen(
        row["outbox_id"],
        row["subject_id"],
        row["changed_at"],
        version=row["chunk_version"],
        chunking=row["chunking"],
    )
