"""The installed commands, loaded and run so that Ctrl-C ends in a line at any moment, and never in a traceback."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from elf.core.log_writer import drain_standard_streams, write_at_once

UNAVAILABLE: Final = 3
INTERRUPTED: Final = 130
DRAIN_TIMEOUT_S: Final = 0.2


def elf() -> int:
    """Run the command line `elf`."""
    _open_closed_streams()
    with interrupt_ends_at_once("elf"):
        main = _main_of("elf", "elf.cli")
    return _ended(main())


def elf_api() -> int:
    """Run the process `elf-api`."""
    return _serve("elf-api", "actors.processes.role_process", "api")


def elf_worker() -> int:
    """Run the process `elf-worker`."""
    return _serve("elf-worker", "actors.processes.role_process", "worker")


def elf_mcp() -> int:
    """Run the process `elf-mcp`."""
    return _serve("elf-mcp", "actors.processes.mcp_process")


def _serve(name: str, module: str, *role: str) -> int:
    _open_closed_streams()
    try:
        with interrupt_ends_at_once(name):
            code: int = _main_of(name, module)(*role)
    except KeyboardInterrupt:
        _say_stopped(name)
        code = INTERRUPTED
    return _ended(code)


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Otherwise another file takes its descriptor, such as a socket, and what this process and its children print there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - open until the process ends
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _main_of(name: str, module: str) -> Callable[..., int]:
    from elf.core.allocator import use_one_arena
    from elf.core.errors import StartupError
    from elf.core.service_extra import needing_service

    use_one_arena()  # what is imported starts threads
    try:
        with needing_service(name):
            main: Callable[..., int] = importlib.import_module(module).main
    except StartupError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(UNAVAILABLE) from None
    return main


def _ended(code: int) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt but the interpreter's own end
    return code


@contextmanager
def interrupt_ends_at_once(name: str) -> Iterator[None]:
    """End the process by a line and exit code 130 when SIGINT comes within the block.

    For what has nothing to wind up, such as imports, amid which a KeyboardInterrupt may be swallowed or come out as
    another error. What is in the block may listen to SIGINT itself, and then decides. For the main thread only.
    """

    def end(_number: int, _frame: object) -> None:
        _say_stopped(name)
        os._exit(INTERRUPTED)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say_stopped(name: str) -> None:
    drain_standard_streams(DRAIN_TIMEOUT_S)
    write_at_once(sys.stderr.fileno(), f"{beside_echo(sys.stderr.isatty())}{name}: stopped\n".encode())


def beside_echo(is_terminal: bool) -> str:
    """Return what takes a line to its beginning, where a terminal shows ^C."""
    return "\r" if is_terminal else ""
