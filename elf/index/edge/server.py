"""The index process: owns a folder's shards, one for each space, and serves local processes over a unix socket.

    python -m elf.index.edge.server FOLDER --vector-dim N [--watch-stdin]

It writes one line to stdout when it listens or cannot, log lines to stderr, and ends on SIGTERM or, with
--watch-stdin, when its stdin closes, which happens when its parent dies in whatever way. Exit codes:
protocol.ExitCode.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import uvloop

from elf.index.edge.folder import FolderInUse, FolderUnusable, IndexFolder
from elf.index.edge.protocol import (
    FAILED,
    READY_LINE,
    ExitCode,
    FrameBuffer,
    FrameEncoder,
    Open,
    ProtocolError,
    Reply,
    Request,
    RequestDecoder,
    Unusable,
)
from elf.index.edge.report import report, start_reports
from elf.index.edge.request_queue import Desk
from elf.index.edge.shard import Refused, ShardDamaged
from elf.index.edge.spaces import OpenSpaces
from elf.index.space import Space

MAX_WAITING_REQUESTS: Final = 256  # of one connection; behind it the connection is not read any more


class _Connection(asyncio.Protocol):
    """One client: cuts its bytes into requests, hands them to the desk of its space, writes the replies."""

    def __init__(self, spaces: OpenSpaces, open_connections: set[_Connection]) -> None:
        self._spaces = spaces
        self._space: Space | None = None
        self._desk: Desk | None = None
        self._open = open_connections
        self._frames = FrameBuffer()
        self._decoder = RequestDecoder()
        self._encoder = FrameEncoder()
        self._transport: asyncio.Transport | None = None
        self._waiting = 0
        self._peer_is_slow = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's transports are not registered as such
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._open.discard(self)
        if self._space is not None:
            self._spaces.disconnect(self._space, self.close)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._waiting += 1
                self._take(self._decoder.decode(frame))
        except ProtocolError as error:
            report("bad_request_frame", reason=str(error))
            self.close()
        self._pace()

    def _take(self, request: Request) -> None:
        match request:
            case Open():
                self._open_space(request)
            case _ if self._desk is not None:
                self._desk.submit(request, self._answer)
            case _:
                raise ProtocolError("the first request of a connection must open a space")

    def _open_space(self, request: Open) -> None:
        if self._desk is not None:
            raise ProtocolError("a connection is for one space")
        try:
            self._desk = self._spaces.connect(request.space, self.close)
        except (OSError, Refused, ShardDamaged) as error:
            self._answer(Unusable(request.id, f"the space {request.space.name} cannot be used: {error}"))
        else:
            self._space = request.space
            self._answer(self._desk.info(request.id))

    def _answer(self, reply: Reply) -> None:
        self._waiting -= 1
        if self._transport is not None:
            self._transport.write(self._encoder.encode(reply))
            self._pace()

    def pause_writing(self) -> None:
        self._peer_is_slow = True
        self._pace()

    def resume_writing(self) -> None:
        self._peer_is_slow = False
        self._pace()

    def _pace(self) -> None:
        """Stop reading from a client that does not read its replies or has too many requests waiting."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._peer_is_slow or self._waiting >= MAX_WAITING_REQUESTS:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()


async def serve(folder: IndexFolder, *, vector_dim: int, watch_stdin: bool) -> None:
    """Serve until told to end. Raises FolderUnusable or OSError."""
    loop = asyncio.get_running_loop()
    told_to_end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_end.set)
    if watch_stdin:
        loop.add_reader(sys.stdin.fileno(), _read_stdin, told_to_end)
    failure: OSError | FolderUnusable | None = None
    async with asyncio.TaskGroup() as desks:
        spaces = OpenSpaces(folder, vector_dim=vector_dim, start=desks.create_task)
        try:
            await _listen_until(told_to_end, folder, spaces)
        except (OSError, FolderUnusable) as error:  # the group would make another exception of it
            failure = error
        await spaces.close()
    if failure is not None:
        raise failure


async def _listen_until(told_to_end: asyncio.Event, folder: IndexFolder, spaces: OpenSpaces) -> None:
    connections: set[_Connection] = set()
    socket = folder.choose_socket_path()
    socket.unlink(missing_ok=True)  # left by a process that was killed: this one holds the lock
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: _Connection(spaces, connections), str(socket))
    try:
        socket.chmod(0o600)
        folder.publish_endpoint(socket)
        _tell_parent(READY_LINE)
        await told_to_end.wait()
    finally:
        folder.withdraw_endpoint()
        server.close()
        for connection in list(connections):
            connection.close()
        socket.unlink(missing_ok=True)


def _read_stdin(told_to_end: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        told_to_end.set()


def _tell_parent(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def run(root: Path, *, vector_dim: int, watch_stdin: bool) -> ExitCode:
    """Own the folder and serve it; return how it ended."""
    folder = IndexFolder(root)
    try:
        _own_and_serve(folder, vector_dim=vector_dim, watch_stdin=watch_stdin)
    except FolderInUse as error:
        return _give_up(ExitCode.FOLDER_IN_USE, str(error))
    except FolderUnusable as error:
        return _give_up(ExitCode.FOLDER_UNUSABLE, str(error))
    except OSError as error:
        return _give_up(ExitCode.FOLDER_UNUSABLE, f"the index folder {folder.root} cannot be used: {error}")
    return ExitCode.OK


def _own_and_serve(folder: IndexFolder, *, vector_dim: int, watch_stdin: bool) -> None:
    with folder.owned(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(folder, vector_dim=vector_dim, watch_stdin=watch_stdin))


def _give_up(code: ExitCode, reason: str) -> ExitCode:
    report("index_process_ends", code=code.name, reason=reason)
    try:
        _tell_parent(FAILED + reason.replace("\n", " "))
    except BrokenPipeError:
        report("parent_is_gone")
    return code


def main(arguments: Sequence[str] | None = None) -> ExitCode:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        prog="elf-index", description="Serve an embedded index over a unix socket."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vector-dim", type=int, required=True)
    parser.add_argument("--watch-stdin", action="store_true", help="end when stdin is closed")
    options = parser.parse_args(arguments)
    start_reports()
    return run(options.folder, vector_dim=options.vector_dim, watch_stdin=options.watch_stdin)


if __name__ == "__main__":
    sys.exit(main())
