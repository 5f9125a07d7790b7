"""Parses, runs one command and turns what went wrong into a message and an exit code.

Exit codes: 0 done, 1 the service rejected something, 2 wrong usage or config, 3 the service cannot be reached
or is not available, 130 stopped.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from elf.cli.arguments import parser
from elf.cli.config_file import config_path
from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.client.families import FAMILY_CLIENTS
from elf.client.family import FamilyClient
from elf.commands import INTERRUPTED, beside_echo
from elf.core.errors import ConfigError, StartupError


def main(
    argv: Sequence[str] | None = None, families: Sequence[type[FamilyClient[Any]]] = FAMILY_CLIENTS
) -> int:
    """Run the command line; `argv` is without the program's name and defaults to the process's own.

    `families` are those that have commands, beside notes.

    A stop by Ctrl-C ends in one line, which says what there is to say of the work that was stopped.
    """
    try:
        return _dispatch(argv, families)
    except KeyboardInterrupt as stopped:
        said = f": {stopped}" if stopped.args else ""
        print(f"{beside_echo(sys.stderr.isatty())}elf: stopped{said}", file=sys.stderr)
        return INTERRUPTED


def _dispatch(argv: Sequence[str] | None, families: Sequence[type[FamilyClient[Any]]]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character gets its code
    options = parser(families).parse_args(argv)
    try:
        is_chosen = "config" in options and options.config is None
        if is_chosen:
            options.config = config_path()
        code: int = options.run(options)
        sys.stdout.flush()
    except (ConfigError, UsageError) as error:
        return _fail(error, ExitCode.USAGE)
    except Refused as error:
        return _fail(error, ExitCode.REJECTED)
    except Unreachable as error:
        hint = f"the config is {options.config}, for none was named; `elf up` starts its service"
        return _fail(error, ExitCode.UNAVAILABLE, hint if is_chosen else None)
    except StartupError as error:
        return _fail(error, ExitCode.UNAVAILABLE)
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep the interpreter from failing again on its last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    return code


def _fail(error: Exception, code: ExitCode, hint: str | None = None) -> int:
    print(f"elf: {error}", file=sys.stderr)
    if hint is not None:
        print(f"elf: {hint}", file=sys.stderr)
    return code
