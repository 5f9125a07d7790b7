"""Lines reach their destination whole and in order, and whoever logs them never waits and never fails."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from elf.core import log_writer
from elf.core.log_writer import (
    MAX_WRITE_BYTES,
    LogStream,
    LogWriter,
    drain_standard_streams,
    dropped_log_lines,
    write_at_once,
    write_in_background,
)

TIMEOUT_S = 30.0  # of a machine that is busy
REPO = Path(__file__).resolve().parents[2]


class Pipe(NamedTuple):
    reader: io.FileIO
    writing: int

    def fill(self) -> int:
        """Write until the pipe takes no more; return how many bytes it took."""
        os.set_blocking(self.writing, False)
        taken = 0
        for size in (MAX_WRITE_BYTES, 1):
            while write_at_once(self.writing, b"." * size):
                taken += size
        os.set_blocking(self.writing, True)
        return taken

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        read = b""
        while len(read) < size:
            read += self.reader.read(size - len(read))
        return read


class WatchedWriter(LogWriter):
    """Says when it is about to write, and fails when a test says so."""

    def __init__(self, descriptor: int, report: Callable[[int], str] | None = None) -> None:
        self.at_work = threading.Event()
        self.fails_after: int | None = None
        super().__init__(descriptor, report)

    def _write_some(self, data: memoryview) -> int:
        self.at_work.set()
        if self.fails_after is None:
            return super()._write_some(data)
        if self.fails_after:
            done = super()._write_some(data[: self.fails_after])
            self.fails_after = 0
            return done
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as reader, open(writing, "wb", buffering=0) as write_end:
        yield Pipe(reader, write_end.fileno())


@pytest.fixture
def writer(pipe: Pipe) -> Iterator[WatchedWriter]:
    made = WatchedWriter(pipe.writing, report=lambda lines: f"{lines} dropped")
    yield made
    made.close(TIMEOUT_S)


def test_lines_arrive_in_order(writer: LogWriter, pipe: Pipe) -> None:
    lines = [b"line %d\n" % number for number in range(2000)]
    for line in lines:
        writer.write(line)
    assert pipe.read(len(b"".join(lines))) == b"".join(lines)
    assert writer.drain(TIMEOUT_S)
    assert writer.dropped == 0


def test_a_write_has_whole_lines_which_a_pipe_takes_in_one_piece(
    writer: WatchedWriter, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[bytes] = []
    write = os.write

    def watched(descriptor: int, data: memoryview) -> int:
        pieces.append(bytes(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", watched)
    lines = [*[b"%d" % (number % 10) * 999 + b"\n" for number in range(9)], b"L" * 5000 + b"\n", b"last\n"]
    with writer._changed:  # all of them are there when the thread looks
        for line in lines:
            writer.write(line)
    assert pipe.read(len(b"".join(lines))) == b"".join(lines)
    assert [piece.count(b"\n") for piece in pieces] == [4, 4, 1, 1, 1]
    assert max(len(piece) for piece in pieces if piece.count(b"\n") > 1) <= MAX_WRITE_BYTES


@pytest.mark.parametrize(("most_lines", "most_bytes"), [(3, 1000), (1000, len(b"line 0\n") * 3)])
def test_while_nobody_reads_lines_wait_and_beyond_the_limits_the_oldest_are_dropped_and_reported(
    writer: WatchedWriter, pipe: Pipe, monkeypatch: pytest.MonkeyPatch, most_lines: int, most_bytes: int
) -> None:
    monkeypatch.setattr(log_writer, "MAX_LINES", most_lines)
    monkeypatch.setattr(log_writer, "MAX_BYTES", most_bytes)
    filled = pipe.fill()
    writer.write(b"line 0\n")
    assert writer.at_work.wait(TIMEOUT_S)  # with this line, and it waits for the pipe
    for number in range(1, 10):
        writer.write(b"line %d\n" % number)
    assert writer.dropped == 6
    assert not writer.drain(0)
    pipe.read(filled)
    rest = b"line 0\n6 dropped\nline 7\nline 8\nline 9\n"
    assert pipe.read(len(rest)) == rest
    writer.write(b"and on\n")
    assert pipe.read(7) == b"and on\n"


def test_a_line_beyond_all_limits_is_dropped(writer: LogWriter, pipe: Pipe) -> None:
    writer.write(b"x" * (log_writer.MAX_BYTES + 1))
    assert writer.dropped == 1
    writer.write(b"next\n")
    assert pipe.read(15) == b"1 dropped\nnext\n"


def test_a_closed_pipe_costs_lines_and_nothing_else(writer: LogWriter, pipe: Pipe) -> None:
    pipe.reader.close()
    for _ in range(3):
        writer.write(b"lost\n")
        assert writer.drain(TIMEOUT_S)
    assert writer.dropped == 3


def test_a_full_disk_costs_lines_until_it_has_room_again(writer: LogWriter, pipe: Pipe) -> None:
    destination = os.dup(pipe.writing)
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), pipe.writing)
    for _ in range(3):
        writer.write(b"lost\n")
    assert writer.drain(TIMEOUT_S)
    assert writer.dropped == 3
    os.dup2(destination, pipe.writing)
    os.close(destination)
    writer.write(b"kept\n")
    assert pipe.read(16) == b"\n3 dropped\nkept\n"
    assert writer.drain(TIMEOUT_S)
    assert writer.dropped == 3


def test_after_half_a_line_the_next_begins_on_a_line_of_its_own(writer: WatchedWriter, pipe: Pipe) -> None:
    writer.fails_after = len(b"whole\nha")
    with writer._changed:
        for line in (b"whole\n", b"half\n", b"lost\n"):
            writer.write(line)
    assert writer.drain(TIMEOUT_S)
    assert writer.dropped == 2
    writer.fails_after = None
    writer.write(b"next\n")
    rest = b"whole\nha\n2 dropped\nnext\n"
    assert pipe.read(len(rest)) == rest


def test_the_report_needs_no_other_line(
    writer: WatchedWriter, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "RETRY_S", 0.001)
    writer.fails_after = 0
    writer.write(b"lost\n")
    writer.at_work.clear()
    assert writer.at_work.wait(TIMEOUT_S)  # it tries, and fails again
    writer.fails_after = None
    assert pipe.read(11) == b"\n1 dropped\n"
    assert writer.dropped == 1


def test_without_a_report_lines_are_dropped_in_silence(pipe: Pipe) -> None:
    writer = WatchedWriter(pipe.writing)
    writer.fails_after = 0
    writer.write(b"lost\n")
    assert writer.drain(TIMEOUT_S)
    writer.fails_after = None
    writer.write(b"kept\n")
    writer.close(TIMEOUT_S)
    assert pipe.read(6) == b"\nkept\n"
    assert writer.dropped == 1


def test_a_pipe_that_others_made_non_blocking_is_waited_for(writer: WatchedWriter, pipe: Pipe) -> None:
    filled = pipe.fill()
    os.set_blocking(pipe.writing, False)
    writer.write(b"x" * 100_000 + b"\n")  # more than the pipe holds
    assert writer.at_work.wait(TIMEOUT_S)
    pipe.read(filled)
    assert pipe.read(100_001) == b"x" * 100_000 + b"\n"
    assert writer.drain(TIMEOUT_S)
    assert writer.dropped == 0


def test_a_line_may_be_logged_amid_another_by_the_same_thread(writer: LogWriter, pipe: Pipe) -> None:
    with writer._changed:  # as a finalizer or a signal handler does
        writer.write(b"inner\n")
    assert pipe.read(6) == b"inner\n"


def test_without_a_thread_lines_wait_until_there_can_be_one(
    writer: LogWriter, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        writer.write(b"one\n")
    assert not writer.drain(0)
    writer.write(b"two\n")
    assert pipe.read(8) == b"one\ntwo\n"


def test_the_end_writes_what_waits_and_later_lines_at_once(writer: LogWriter, pipe: Pipe) -> None:
    writer.write(b"one\n")
    writer.close(TIMEOUT_S)
    writer.write(b"two\n")
    assert pipe.read(8) == b"one\ntwo\n"


def test_a_line_that_comes_while_the_thread_ends_is_written(writer: LogWriter, pipe: Pipe) -> None:
    writer.write(b"one\n")
    assert writer.drain(TIMEOUT_S)
    writer._is_closing = True
    with writer._changed:
        writer._changed.notify_all()
    assert writer._thread is not None
    writer._thread.join(TIMEOUT_S)
    writer.write(b"two\n")
    writer.close(TIMEOUT_S)
    assert pipe.read(8) == b"one\ntwo\n"


def test_the_end_reports_dropped_lines(writer: WatchedWriter, pipe: Pipe) -> None:
    writer.fails_after = 0
    writer.write(b"lost\n")
    assert writer.drain(TIMEOUT_S)
    writer.close(TIMEOUT_S)
    assert pipe.read(10) == b"1 dropped\n"


def test_an_unread_pipe_does_not_hold_up_the_end(writer: WatchedWriter, pipe: Pipe) -> None:
    filled = pipe.fill()
    writer.write(b"in hand\n")
    assert writer.at_work.wait(TIMEOUT_S)
    writer.write(b"waits\n")
    writer.close(0.01)
    writer.write(b"later\n")
    assert writer.dropped >= 2
    pipe.read(filled)
    assert pipe.read(8) == b"in hand\n"


FORKED = """
import os, sys
from elf.core.log_writer import LogWriter
writer = LogWriter(2)
writer.write(b"before\\n")
assert writer.drain(30)
with writer._changed:  # as another thread would at the moment of a fork
    writer.write(b"parent\\n")
    child = os.fork()
    if child == 0:
        writer.write(b"child\\n")
        writer.close(30)
        os._exit(writer.dropped)
_, status = os.waitpid(child, 0)
assert status == 0
"""


def test_a_child_after_a_fork_writes_its_own_lines_and_not_those_of_its_parent() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, cwd=REPO, check=True
    )
    assert sorted(result.stderr.split()) == [b"before", b"child", b"parent"]


@pytest.fixture
def stream(pipe: Pipe) -> Iterator[LogStream]:
    made = LogStream(pipe.writing, "utf-8")
    yield made
    made.lines.close(TIMEOUT_S)


def test_a_stream_passes_on_whole_lines(stream: LogStream, pipe: Pipe) -> None:
    print("one", "two \ud800", file=stream)
    stream.write("half")
    stream.write(" a line\n")
    stream.write("to be continued")
    stream.flush()
    rest = b"one two \\ud800\nhalf a line\nto be continued"
    assert pipe.read(len(rest)) == rest
    assert stream.fileno() == pipe.writing
    assert not stream.isatty()
    assert stream.writable()


def test_pythons_own_tracebacks_never_fail(
    stream: LogStream, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)

    def fail() -> None:
        raise ValueError("it failed")

    for is_broken in (False, True):
        if is_broken:
            pipe.reader.close()
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        assert stream.lines.drain(TIMEOUT_S)
        if not is_broken:
            assert pipe.reader.read(1 << 16).endswith(b"ValueError: it failed\n")
    assert dropped_log_lines() > 0


def test_a_standard_stream_is_replaced_once(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(pipe.writing, "w", closefd=False) as plain:
        monkeypatch.setattr(sys, "stderr", plain)
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        assert dropped_log_lines() == 0
        for name in ("stdout", "stderr", "stderr"):
            write_in_background(name)
            replaced = sys.stderr
        assert isinstance(sys.stdout, io.StringIO)  # what a test or a host reads stays as it is
        assert isinstance(replaced, LogStream)
        assert sys.stderr is replaced
        sys.stderr.write("said\n")
        drain_standard_streams(TIMEOUT_S)
        assert pipe.reader.read(100) == b"said\n"
        replaced.lines.close(TIMEOUT_S)


def test_a_write_at_once_is_made_or_not_but_never_waits_or_fails(pipe: Pipe) -> None:
    assert write_at_once(pipe.writing, b"said\n")
    assert pipe.reader.read(100) == b"said\n"
    pipe.fill()
    assert not write_at_once(pipe.writing, b"said\n")
    pipe.reader.close()
    assert not write_at_once(pipe.writing, b"said\n")
