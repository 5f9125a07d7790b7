"""EdgeIndex: the vector index of a space as any local process sees it, through the unix socket of the index process."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar, cast
from uuid import UUID

import anyio
import numpy as np

from elf.core.errors import IndexUnavailable
from elf.db.ids import split_ids
from elf.index.edge.folder import IndexFolder
from elf.index.edge.protocol import (
    Count,
    Counted,
    DeleteOwners,
    DeletePoints,
    Done,
    Failed,
    FrameBuffer,
    FrameEncoder,
    Info,
    Inspect,
    Message,
    Open,
    Page,
    ProtocolError,
    Query,
    Read,
    Reply,
    ReplyDecoder,
    Request,
    Results,
    Scan,
    Settle,
    Unusable,
    Upsert,
    WireFilter,
    WireLeg,
    WirePoint,
    WireQuery,
    WireResult,
)
from elf.index.port import IndexFilter, IndexPoint, IndexQuery, LegHit, QueryResult, StoredPoint, Vector
from elf.index.space import Space

CLOSE_DEADLINE_S: Final = 1.0
FRAME_POINTS: Final = 256  # points of one upsert frame
_T = TypeVar("_T", bound=Message)


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The state of an embedded index.

    fresh: its shard was made anew when it was opened and was empty then. clean: it was closed in order and
    had been settled before, so nothing is missing. Neither: recent points may be missing. settled: it was clean, or
    has been settled since.
    """

    fresh: bool
    clean: bool
    settled: bool
    points: int
    pid: int


class SpaceUnusable(IndexUnavailable):
    """The files of the space cannot be used: not even a new shard can be made."""


class _ConnectionLost(Exception):
    """The connection broke before the reply came."""


class _Link(asyncio.Protocol):
    """One connection: requests go out at once, replies find their waiter by id."""

    def __init__(self) -> None:
        self._frames = FrameBuffer()
        self._decoder = ReplyDecoder()
        self._encoder = FrameEncoder()
        self._waiters: dict[int, asyncio.Future[Reply]] = {}
        self._transport: asyncio.Transport | None = None
        self.lost = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's transports are not registered as such

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.lost.set()
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            if not waiter.done():
                waiter.set_exception(_ConnectionLost("the index process closed the connection"))

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                reply = self._decoder.decode(frame)
                waiter = self._waiters.pop(reply.id, None)
                if waiter is not None and not waiter.done():  # its caller may have given up
                    waiter.set_result(reply)
        except ProtocolError:
            self.close()

    async def call(self, request: Request) -> Reply:
        """Send a request and wait for its reply. Raises _ConnectionLost or ProtocolError."""
        frame = self._encoder.encode(request)
        if self._transport is None or self._transport.is_closing():
            raise _ConnectionLost("the index process closed the connection")
        waiter: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiters[request.id] = waiter
        try:
            self._transport.write(frame)
            return await waiter
        finally:
            self._waiters.pop(request.id, None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class EdgeIndex:
    """The VectorIndex of `space` in an embedded index at `folder`, served by the index process that owns the folder.

    It connects when it is first used, and anew after the index process was restarted. Any number of tasks of
    one event loop (asyncio) may call it at once over its one connection. Every method raises IndexUnavailable
    when the process does not answer within `timeout_s`, or refuses. A read whose connection broke is sent
    once more.
    """

    def __init__(self, folder: Path, space: Space, *, timeout_s: float = 10.0) -> None:
        self._folder = IndexFolder(folder)
        self._space = space
        self._timeout_s = timeout_s
        self._link: _Link | None = None
        self._connecting = anyio.Lock()
        self._last_id = 0
        self._closed = False

    # The port

    async def ensure(self) -> None:
        """Check that the index process answers and has its files; it makes the shard itself when it is connected to."""
        await self.info()
        self.check_files()

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        for start in range(0, len(points), FRAME_POINTS):
            wire = [wire_point(point) for point in points[start : start + FRAME_POINTS]]
            await self._write(Upsert(self._next_id(), wire))

    async def delete_owners(self, owner_ids: Sequence[UUID], *, keep: Sequence[UUID] = ()) -> None:
        if owner_ids:
            await self._write(DeleteOwners(self._next_id(), _join(owner_ids), _join(keep)))

    async def delete_points(self, point_ids: Sequence[UUID]) -> None:
        if point_ids:
            await self._write(DeletePoints(self._next_id(), _join(point_ids)))

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        if not queries:
            return []
        wire = [_wire_query(query) for query in queries]
        reply = await self._read(lambda number: Query(number, wire), Results)
        try:
            return [_result(result) for result in reply.results]
        except ValueError as error:
            raise IndexUnavailable(f"the embedded index gave a broken answer: {error}") from error

    async def scan(self, *, after: UUID | None, limit: int) -> list[StoredPoint]:
        place = None if after is None else after.bytes
        page = await self._read(lambda number: Scan(number, place, limit), Page)
        points, owners = split_ids(page.point_ids), split_ids(page.owner_ids)
        return [StoredPoint(*stored) for stored in zip(points, owners, page.updated_at, strict=True)]

    async def count(self) -> int:
        return (await self._read(Count, Counted)).points

    async def aclose(self) -> None:
        self._closed = True
        link, self._link = self._link, None
        if link is not None:
            link.close()
            with anyio.move_on_after(CLOSE_DEADLINE_S, shield=True):
                await link.lost.wait()

    # What only the owner of an embedded index asks

    async def open(self, *, deadline_s: float) -> IndexInfo:
        """Have the space opened, which takes the longer the more it holds, and return its state.

        Raises IndexUnavailable, and the SpaceUnusable among these.
        """
        try:
            with anyio.fail_after(deadline_s):
                await self._connected()
        except TimeoutError as error:
            raise IndexUnavailable(f"the embedded index is not open after {deadline_s:g} s") from error
        return await self.info()

    async def info(self) -> IndexInfo:
        """Return the state of the index; also the ping. Raises IndexUnavailable."""
        info = await self._read(Inspect, Info)
        return IndexInfo(
            fresh=info.fresh, clean=info.clean, settled=info.settled, points=info.points, pid=info.pid
        )

    def check_files(self) -> None:
        """Raise IndexUnavailable when the folder was deleted.

        The process serves on from files that nobody will ever find again, until its owner ends it.
        """
        if not self._folder.is_served(self._space):
            raise IndexUnavailable(f"the files of the index in {self._folder.root} are gone")

    async def settle(self) -> None:
        """Tell that the index agrees with its source, so that an orderly close may leave it marked clean."""
        await self._read(Settle, Done)

    async def wait_lost(self) -> None:
        """Wait until the present connection breaks; return at once when there is none."""
        if self._link is not None:
            await self._link.lost.wait()

    # Calls

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    async def _write(self, request: Upsert | DeleteOwners | DeletePoints) -> None:
        try:
            with anyio.fail_after(self._timeout_s):
                link = await self._connected()
                _expect(await link.call(request), Done)
        except TimeoutError as error:
            raise self._silent() from error
        except (_ConnectionLost, ProtocolError) as error:
            raise IndexUnavailable(f"the embedded index did not take a write: {error}") from error

    async def _read(self, make: Callable[[int], Read], kind: type[_T]) -> _T:
        try:
            with anyio.fail_after(self._timeout_s):
                try:
                    return _expect(await (await self._connected()).call(make(self._next_id())), kind)
                except _ConnectionLost:
                    return _expect(await (await self._connected()).call(make(self._next_id())), kind)
        except TimeoutError as error:
            raise self._silent() from error
        except (_ConnectionLost, ProtocolError) as error:
            raise IndexUnavailable(f"the embedded index did not answer: {error}") from error

    def _silent(self) -> IndexUnavailable:
        return IndexUnavailable(f"the embedded index did not answer within {self._timeout_s:g} s")

    async def _connected(self) -> _Link:
        """Return the open connection, or make one. Raises IndexUnavailable."""
        if self._link is not None and self._link.is_open:
            return self._link
        async with self._connecting:
            if self._closed:
                raise IndexUnavailable("the embedded index was closed by this process")
            if self._link is None or not self._link.is_open:
                self._link = await self._connect()
            return self._link

    async def _connect(self) -> _Link:
        try:
            socket = self._folder.read_endpoint()
            _, link = await asyncio.get_running_loop().create_unix_connection(_Link, str(socket))
        except OSError as error:
            raise IndexUnavailable(f"no index process serves {self._folder.root}") from error
        try:
            _expect(await link.call(Open(self._next_id(), self._space)), Info)
        except BaseException:
            link.close()
            raise
        return link


def _expect(reply: Reply, kind: type[_T]) -> _T:
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, Unusable):
        raise SpaceUnusable(reply.reason)
    if isinstance(reply, Failed):
        raise IndexUnavailable(reply.reason)
    raise ProtocolError(f"{type(reply).__name__} where {kind.__name__} was due")


def wire_point(point: IndexPoint) -> WirePoint:
    """Return a point of the port as the index process takes it."""
    return WirePoint(
        point.point_id.bytes,
        point.owner_id.bytes,
        _float_bytes(point.dense),
        point.text,
        dict(point.payload),
        _join(point.tags),
    )


def _wire_query(query: IndexQuery) -> WireQuery:
    dense = None if query.dense is None else _float_bytes(query.dense)
    return WireQuery(dense, query.text, _wire_filter(query.where), query.limit)


def _wire_filter(where: IndexFilter) -> WireFilter:
    return WireFilter(
        dict(where.must),
        _wire_alternatives(where),
        where.key_prefix,
        {name: (_written(period.since), _written(period.before)) for name, period in where.periods.items()},
        _join(where.tags),
        where.within,
    )


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _wire_alternatives(where: IndexFilter) -> list[dict[str, list[str]]] | None:
    if where.any_of is None:
        return None
    return [{name: list(values) for name, values in group.items()} for group in where.any_of]


def _float_bytes(vector: Vector) -> bytes:
    return np.ascontiguousarray(vector, dtype=np.float32).tobytes()


def _result(result: WireResult) -> QueryResult:
    return QueryResult(dense=_hits(result.dense), bm25=_hits(result.bm25))


def _hits(leg: WireLeg) -> list[LegHit]:
    scores = array("f", leg.scores)
    hits = zip(split_ids(leg.point_ids), split_ids(leg.owner_ids), scores, strict=True)
    return list(map(LegHit._make, hits))


def _join(ids: Sequence[UUID]) -> bytes:
    return b"".join(one.bytes for one in ids)
