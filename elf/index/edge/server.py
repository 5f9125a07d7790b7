"""The index process: owns a folder's shard and serves local processes over a unix socket.

    python -m elf.index.edge.server FOLDER --vector-dim N [--avg-len X] [--watch-stdin]

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

from elf.index.bm25 import DEFAULT_AVG_LEN
from elf.index.edge.desk import Desk
from elf.index.edge.folder import CleanMark, FolderInUse, FolderUnusable, IndexFolder
from elf.index.edge.opening import Opened, open_shard
from elf.index.edge.protocol import (
    FAILED,
    READY_LINE,
    ExitCode,
    FrameBuffer,
    FrameEncoder,
    ProtocolError,
    Reply,
    RequestDecoder,
)
from elf.index.edge.report import report
from elf.index.edge.shard import Refused, ShardDamaged

MAX_WAITING_REQUESTS: Final = 256  # of one connection; behind it the connection is not read any more


class _Connection(asyncio.Protocol):
    """One client: cuts its bytes into requests, hands them to the desk, writes the replies."""

    def __init__(self, desk: Desk, open_connections: set[_Connection]) -> None:
        self._desk = desk
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

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._waiting += 1
                self._desk.submit(self._decoder.decode(frame), self._answer)
        except ProtocolError as error:
            report("bad_request_frame", reason=str(error))
            self.close()
        self._pace()

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


async def serve(folder: IndexFolder, opened: Opened, *, watch_stdin: bool) -> None:
    """Serve until told to end. Raises ShardDamaged, FolderUnusable or OSError."""
    loop = asyncio.get_running_loop()
    told_to_end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_end.set)
    if watch_stdin:
        loop.add_reader(sys.stdin.fileno(), _read_stdin, told_to_end)
    desk = Desk(opened)
    connections: set[_Connection] = set()
    socket = folder.choose_socket_path()
    socket.unlink(missing_ok=True)  # left by a process that was killed: this one holds the lock
    server = await loop.create_unix_server(lambda: _Connection(desk, connections), str(socket))
    try:
        socket.chmod(0o600)
        folder.publish_endpoint(socket)
        _tell_parent(READY_LINE)
        await _work_until(told_to_end, desk)
    finally:
        folder.withdraw_endpoint()
        server.close()
        for connection in list(connections):
            connection.close()
        socket.unlink(missing_ok=True)
    opened.shard.close()
    if desk.settled:
        folder.write_clean_mark(CleanMark(points=len(opened.shard)))


async def _work_until(told_to_end: asyncio.Event, desk: Desk) -> None:
    work = asyncio.create_task(desk.run())
    ending = asyncio.create_task(told_to_end.wait())
    try:
        await asyncio.wait([work, ending], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
    finally:
        work.cancel()
        ending.cancel()
        await asyncio.gather(work, ending, return_exceptions=True)


def _read_stdin(told_to_end: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        told_to_end.set()


def _tell_parent(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def run(root: Path, *, vector_dim: int, avg_len: float, watch_stdin: bool) -> ExitCode:
    """Own the folder and serve it; return how it ended."""
    folder = IndexFolder(root)
    try:
        _own_and_serve(folder, vector_dim=vector_dim, avg_len=avg_len, watch_stdin=watch_stdin)
    except FolderInUse as error:
        return _give_up(ExitCode.FOLDER_IN_USE, str(error))
    except FolderUnusable as error:
        return _give_up(ExitCode.FOLDER_UNUSABLE, str(error))
    except OSError as error:
        return _give_up(ExitCode.FOLDER_UNUSABLE, f"the index folder {folder.root} cannot be used: {error}")
    except (ShardDamaged, Refused) as error:
        return _give_up(ExitCode.SHARD_DAMAGED, f"the shard in {folder.root} cannot be used: {error}")
    return ExitCode.OK


def _own_and_serve(folder: IndexFolder, *, vector_dim: int, avg_len: float, watch_stdin: bool) -> None:
    with folder.owned():
        opened = open_shard(folder, vector_dim=vector_dim, avg_len=avg_len)
        if opened.damage is not None:
            report("damaged_shard_replaced", folder=str(folder.root), reason=opened.damage)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(folder, opened, watch_stdin=watch_stdin))


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
    parser.add_argument("--avg-len", type=float, default=DEFAULT_AVG_LEN)
    parser.add_argument("--watch-stdin", action="store_true", help="end when stdin is closed")
    options = parser.parse_args(arguments)
    return run(
        options.folder,
        vector_dim=options.vector_dim,
        avg_len=options.avg_len,
        watch_stdin=options.watch_stdin,
    )


if __name__ == "__main__":
    sys.exit(main())
