"""Lines for a descriptor that may be full, closed or unread: a thread writes them, so nothing else waits or fails."""

from __future__ import annotations

import atexit
import io
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal

MAX_LINES: Final = 2_000
MAX_BYTES: Final = 2 << 20
MAX_WRITE_BYTES: Final = 4096  # PIPE_BUF of Linux: a pipe takes so many bytes in one piece, or none of them
RETRY_S: Final = 1.0
CLOSE_TIMEOUT_S: Final = 1.0


class LogWriter:
    """Writes lines to a descriptor in a thread of its own; `write` never waits and never raises.

    While the descriptor takes nothing, lines wait: up to MAX_LINES with MAX_BYTES in total. Beyond that, the oldest are
    dropped. A line is also dropped if writing fails, as on a full disk or a closed pipe. `dropped` counts both. Before
    the next line that can be written, or within RETRY_S, one line reports them: the one that `report` makes of their
    number. Without `report`, there is none.

    A write has whole lines only, because several processes may share the destination. After a failure it starts a new
    line, because a full disk may have taken half of one.

    The first line starts the thread. A child process after a fork starts its own, and leaves the lines that waited to
    its parent.
    """

    def __init__(self, descriptor: int, report: Callable[[int], str] | None = None) -> None:
        self.descriptor = descriptor
        self.report = report
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self.close)

    def _begin(self) -> None:
        # Reentrant: a finalizer or a signal handler may log while its own thread is in here.
        self._changed = threading.Condition(threading.RLock())
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._dropped = self._reported = 0
        self._thread: threading.Thread | None = None
        self._is_writing = self._has_failed = self._is_closing = self._is_closed = False

    @property
    def dropped(self) -> int:
        """The number of lines dropped in this process."""
        return self._dropped

    def write(self, line: bytes) -> None:
        """Have a line written; its newline is part of it."""
        if self._is_closed:
            self._write_late(line)
            return
        size = len(line)
        with self._changed:
            self._lines.append(line)
            self._bytes += size  # no call between reading and setting it, at which a finalizer could run
            while len(self._lines) > MAX_LINES or self._bytes > MAX_BYTES:
                self._take_oldest()
                self._dropped += 1
            self._start_thread()
            self._changed.notify_all()

    def drain(self, timeout_s: float) -> bool:
        """Wait until nothing waits to be written; false if that takes too long."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._lines and not self._is_writing, timeout_s)

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Write what waits, within `timeout_s`. A later line is written if that needs no waiting, else dropped."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_s)
        # Daemon threads stop at any moment when the interpreter ends, and could leave the lock held.
        self._is_closed = True
        with self._changed:
            late = [self._take_oldest() for _ in range(len(self._lines))]
        for line in late:
            self._write_late(line)
        if missing := self._unreported:
            self._write_late(self._report_of(missing))

    def _write_late(self, line: bytes) -> None:
        if not write_at_once(self.descriptor, line):
            self._dropped += 1

    def _start_thread(self) -> None:
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system has no more threads: lines wait, and the next one tries again
            self._thread = None

    def _run(self) -> None:
        while (lines := self._next_lines()) is not None:
            written = self._write(lines) if self._is_complete() else 0
            with self._changed:
                self._dropped += len(lines) - written

    def _next_lines(self) -> list[bytes] | None:
        """Wait for the lines of the next write: none if only a report is due, None at the end."""
        with self._changed:
            self._is_writing = False
            self._changed.notify_all()
            while not self._lines:
                if self._is_closing:
                    return None
                if not self._changed.wait(RETRY_S if self._unreported else None):
                    break
            self._is_writing = True
            return self._take_lines()

    def _take_lines(self) -> list[bytes]:
        lines: list[bytes] = []
        room = MAX_WRITE_BYTES
        while self._lines and (not lines or len(self._lines[0]) <= room):
            lines.append(self._take_oldest())
            room -= len(lines[-1])
        return lines

    def _take_oldest(self) -> bytes:
        line = self._lines.popleft()
        size = len(line)
        self._bytes -= size
        return line

    @property
    def _unreported(self) -> int:
        return 0 if self.report is None else self._dropped - self._reported

    def _is_complete(self) -> bool:
        """Report the lines that are missing; false if that cannot be written, so that nothing after them can."""
        missing = self._unreported
        if missing and not self._write([self._report_of(missing)]):
            return False
        self._reported += missing
        return True

    def _report_of(self, missing: int) -> bytes:
        assert self.report is not None
        return f"{self.report(missing)}\n".encode(errors="backslashreplace")

    def _write(self, lines: Sequence[bytes]) -> int:
        """Write lines, waiting as long as it takes; return how many were written before a failure."""
        start = b"\n" if self._has_failed else b""
        data = memoryview(start + b"".join(lines))
        done = 0
        try:
            while done < len(data):
                done += self._write_some(data[done:])
            self._has_failed = False
        except OSError:
            self._has_failed = True
        written = 0
        done -= len(start)
        while written < len(lines) and len(lines[written]) <= done:
            done -= len(lines[written])
            written += 1
        return written

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:  # a program that shares the pipe has made it non-blocking
            select.select([], [self.descriptor], [])
            return 0


class LogStream(io.TextIOWrapper):
    """A text stream in place of sys.stdout or sys.stderr: its `lines` are written by a LogWriter.

    So what prints there, tracebacks of Python itself included, never waits and never fails.
    """

    def __init__(self, descriptor: int, encoding: str) -> None:
        self.lines = LogWriter(descriptor)
        super().__init__(
            _Queue(self.lines), encoding=encoding, errors="backslashreplace", line_buffering=True
        )


class _Queue(io.BufferedIOBase):
    name = "<log>"

    def __init__(self, lines: LogWriter) -> None:
        self._lines = lines

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # a TextIOWrapper writes bytes
        self._lines.write(data)
        return len(data)

    def fileno(self) -> int:
        return self._lines.descriptor

    def isatty(self) -> bool:
        return os.isatty(self._lines.descriptor)


def write_in_background(name: Literal["stdout", "stderr"]) -> None:
    """Replace a standard stream of this process with a LogStream, unless it is one or has no descriptor."""
    stream = getattr(sys, name)
    if isinstance(stream, LogStream):
        return
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:  # a test, or a host, reads what is printed
        return
    setattr(sys, name, LogStream(descriptor, stream.encoding))


def dropped_log_lines() -> int:
    """Return how many lines this process has dropped from its log, which is its standard error."""
    return sys.stderr.lines.dropped if isinstance(sys.stderr, LogStream) else 0


def drain_standard_streams(timeout_s: float) -> None:
    """Wait until what was printed is written, for at most `timeout_s` each; for a process that ends at once."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, LogStream):
            stream.lines.drain(timeout_s)


def write_at_once(descriptor: int, data: bytes) -> bool:
    """Write if that needs no waiting, and tell whether all of it was written."""
    try:
        is_writable = select.select([], [descriptor], [], 0)[1]
        return bool(is_writable) and os.write(descriptor, data) == len(data)
    except OSError:
        return False
