"""A command at a terminal of its own, as a person runs it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

CTRL_C = b"\x03"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Terminal:
    """Runs a command, shows what it says, and presses keys; a context manager that ends what still runs."""

    timeout_s = 120.0

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        columns: int = 80,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._master, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        try:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=screen,
                stdout=screen,
                stderr=screen,
                start_new_session=True,
                preexec_fn=_take_terminal,
            )
        finally:
            os.close(screen)
        self._seen = b""
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    @property
    def text(self) -> str:
        """All that was shown, without colours, a line as it was before a return to its beginning or after."""
        return _ESCAPES.sub("", self._seen.decode(errors="replace")).replace("\r", "\n")

    @property
    def lines(self) -> list[str]:
        """The lines shown that are not empty."""
        return [line.strip() for line in self.text.splitlines() if line.strip()]

    @property
    def shows_cursor(self) -> bool:
        """Whether the cursor is there: the last that was said of it was not to hide it."""
        return self._seen.rfind(b"\x1b[?25l") <= self._seen.rfind(b"\x1b[?25h")

    def wait_for(self, text: str) -> None:
        """Wait until this is shown."""
        while text not in self.text:
            assert self._read(), f"it ended without {text!r}:\n{self.text}"

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._master, CTRL_C)

    def wait_exit(self) -> int:
        """Wait for the end and return the exit code."""
        while self._read():
            continue
        return self.process.wait(self.timeout_s)

    def _read(self) -> bool:
        """Take in what is shown next; false once nobody is there to show anything."""
        deadline = time.monotonic() + self.timeout_s
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing new was shown for {self.timeout_s:.0f} s:\n{self.text}"
        try:
            chunk = os.read(self._master, 4096)
        except OSError:  # so a terminal ends on Linux
            return False
        self._seen += chunk
        return bool(chunk)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # which is ignored where the tests run in the background of a shell
