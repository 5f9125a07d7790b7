"""The installed commands, loaded from here, so that Ctrl-C while they are ends in a line and not in a traceback."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

INTERRUPTED: Final = 130


def elf() -> int:
    """Run the command line `elf`."""
    return _run("elf", "elf.cli.main")


def elf_api() -> int:
    """Run the process `elf-api`."""
    return _run("elf-api", "actors.api_process")


def elf_worker() -> int:
    """Run the process `elf-worker`."""
    return _run("elf-worker", "actors.worker_process")


def elf_mcp() -> int:
    """Run the process `elf-mcp`."""
    return _run("elf-mcp", "actors.mcp_process")


def _run(name: str, module: str) -> int:
    with interrupt_ends_at_once(name):
        main = importlib.import_module(module).main
    try:
        code: int = main()
    except KeyboardInterrupt:
        _say_interrupted(name)
        code = INTERRUPTED
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # there is nothing left to interrupt but the interpreter's own end
    return code


@contextmanager
def interrupt_ends_at_once(name: str) -> Iterator[None]:
    """End the process by a line and exit code 130 when SIGINT comes within the block, which must leave nothing open.

    Raised amid an import, a KeyboardInterrupt may be swallowed, or come out as another error. For the main thread only.
    """

    def end(_number: int, _frame: object) -> None:
        _say_interrupted(name)
        os._exit(INTERRUPTED)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say_interrupted(name: str) -> None:
    os.write(sys.stderr.fileno(), f"{beside_echo(sys.stderr.isatty())}{name}: interrupted\n".encode())


def beside_echo(is_terminal: bool) -> str:
    """Return what takes a line to its beginning, where a terminal shows ^C."""
    return "\r" if is_terminal else ""
