"""The desk of a space: takes requests as they come and works them off one engine call at a time.

Every engine call stops the whole process (see shard.py), so the desk keeps the calls short and in a good
order: all waiting queries go together as one batch, which costs little more than one; then one slice of the
waiting writes, which joins the points of several writers; then the next look at the sockets. A write is
answered when the engine's log has it, which SIGKILL cannot undo. The log is cut by a flush when the desk has
been idle, or has grown long.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, assert_never

from elf.index.edge.opening import Opened
from elf.index.edge.protocol import (
    Count,
    Counted,
    DeleteOwners,
    DeletePoints,
    Done,
    Failed,
    Info,
    Inspect,
    Page,
    Query,
    Read,
    Reply,
    Results,
    Scan,
    Settle,
    Upsert,
    WirePoint,
    WireResult,
    Write,
)
from elf.index.edge.report import report
from elf.index.edge.shard import Refused, ids_of

if TYPE_CHECKING:
    import qdrant_edge as engine

SLICE_POINTS: Final = 64  # about 5 ms of engine time
BATCH_QUERIES: Final = 32
FLUSH_IDLE_S: Final = 5.0
FLUSH_POINTS: Final = 8192  # about a second of replay at the next load after a crash

Answer: TypeAlias = Callable[[Reply], None]
_R = TypeVar("_R", bound=Read | Write)


@dataclass(slots=True)
class _Job:
    """A write with the points of it that are still to be written."""

    request: Write
    answer: Answer
    left: deque[WirePoint] = field(default_factory=deque)
    failure: str | None = None

    def fail(self, reason: str) -> None:
        self.failure = reason
        self.left.clear()

    def finish(self) -> None:
        self.answer(Done(self.request.id) if self.failure is None else Failed(self.request.id, self.failure))


class Desk:
    """The one place that calls the shard.

    `run` works until it is cancelled; `submit` may be called at any time.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._shard = opened.shard
        self._reads: deque[tuple[Read, Answer]] = deque()
        self._writes: deque[_Job] = deque()
        self._arrived = asyncio.Event()
        self._unflushed = 0  # points written since the log was cut
        self._flush_at = FLUSH_POINTS
        self.settled = opened.clean

    def submit(self, request: Read | Write, answer: Answer) -> None:
        """Take a request; `answer` is called once, from `run`."""
        match request:
            case Upsert():
                self._writes.append(_Job(request, answer, deque(request.points)))
            case DeleteOwners() | DeletePoints():
                self._writes.append(_Job(request, answer))
            case Query() | Scan() | Count() | Inspect() | Settle():
                self._reads.append((request, answer))
            case _:
                assert_never(request)
        self._arrived.set()

    async def run(self) -> None:
        """Work. Raises ShardDamaged when the shard must not be called again."""
        while True:
            await self._wait_for_work()
            self._answer_reads()
            self._write_slice()
            if self._unflushed >= self._flush_at:
                self._flush()
            await asyncio.sleep(0)  # the sockets' turn

    def info(self, request_id: int) -> Info:
        """Return the state of the shard."""
        opened = self._opened
        return Info(request_id, opened.fresh, opened.clean, self.settled, len(self._shard), os.getpid())

    def close(self) -> int:
        """Let go of the shard's files and return how many points they hold. Raises Refused or ShardDamaged."""
        self._shard.close()
        return len(self._shard)

    async def _wait_for_work(self) -> None:
        while not self._reads and not self._writes:
            self._arrived.clear()
            try:
                async with asyncio.timeout(FLUSH_IDLE_S if self._unflushed else None):
                    await self._arrived.wait()
            except TimeoutError:
                self._flush()

    def _flush(self) -> None:
        try:
            self._shard.flush()
        except Refused as error:  # a full disk, say: the log has everything, so serving goes on
            report("index_not_flushed", reason=str(error))
            self._flush_at = self._unflushed + FLUSH_POINTS
        else:
            self._unflushed = 0
            self._flush_at = FLUSH_POINTS

    # Reading

    def _answer_reads(self) -> None:
        queries: list[tuple[Query, Answer]] = []
        reads, self._reads = self._reads, deque()
        for request, answer in reads:
            if isinstance(request, Query):
                queries.append((request, answer))
            else:
                answer(_or_failed(request, self._read))
        for start in range(0, len(queries), BATCH_QUERIES):
            self._answer_queries(queries[start : start + BATCH_QUERIES])

    def _read(self, request: Scan | Count | Inspect | Settle) -> Reply:
        match request:
            case Scan():
                page = self._shard.scan(after=request.after, limit=request.limit)
                points, owners = (b"".join(ids) for ids in ([p[0] for p in page], [p[1] for p in page]))
                return Page(request.id, points, owners, [point[2] for point in page])
            case Count():
                return Counted(request.id, self._shard.count())
            case Inspect():
                return self.info(request.id)
            case Settle():
                self.settled = True
                return Done(request.id)
            case _:
                assert_never(request)

    def _answer_queries(self, batch: Sequence[tuple[Query, Answer]]) -> None:
        try:
            results = self._shard.query([query for request, _ in batch for query in request.queries])
        except Refused as error:
            if len(batch) == 1:
                request, answer = batch[0]
                answer(Failed(request.id, str(error)))
                return
            for one in batch:  # one of them is at fault: the others have a right to their answers
                self._answer_queries([one])
            return
        start = 0
        for request, answer in batch:
            end = start + len(request.queries)
            part: list[WireResult] = results[start:end]
            answer(Results(request.id, part))
            start = end

    # Writing

    def _write_slice(self) -> None:
        if not self._writes:
            return
        if isinstance(self._writes[0].request, Upsert):
            self._upsert_slice()
        else:
            job = self._writes.popleft()
            job.answer(_or_failed(job.request, self._delete))
            self._unflushed += 1

    def _upsert_slice(self) -> None:
        """Write up to SLICE_POINTS points of the upserts at the head of the queue; answer those that are done."""
        points: list[tuple[WirePoint, engine.Point]] = []
        touched: list[_Job] = []
        for job in self._writes:
            if not isinstance(job.request, Upsert) or len(points) >= SLICE_POINTS:
                break
            touched.append(job)
            self._prepare(job, points)
        self._upsert(points, touched)
        for job in touched:
            if not job.left:  # at most the last one has points left, so the jobs done are those at the head
                self._writes.popleft()
                job.finish()

    def _prepare(self, job: _Job, points: list[tuple[WirePoint, engine.Point]]) -> None:
        try:
            while job.left and len(points) < SLICE_POINTS:
                points.append((job.left[0], self._shard.prepare(job.left[0])))
                job.left.popleft()
        except Refused as error:
            job.fail(str(error))

    def _upsert(self, points: Sequence[tuple[WirePoint, engine.Point]], jobs: Sequence[_Job]) -> None:
        self._unflushed += len(points)
        try:
            self._shard.upsert(points)
        except Refused as error:
            for job in jobs:
                job.fail(str(error))

    def _delete(self, request: Write) -> Reply:
        match request:
            case DeleteOwners():
                self._shard.delete_owners(ids_of(request.owner_ids), keep=ids_of(request.keep))
            case DeletePoints():
                self._shard.delete_points(ids_of(request.point_ids))
            case Upsert():
                raise TypeError("an upsert is written in slices")
            case _:
                assert_never(request)
        return Done(request.id)


def _or_failed(request: _R, handle: Callable[[_R], Reply]) -> Reply:
    try:
        return handle(request)
    except Refused as error:
        return Failed(request.id, str(error))
