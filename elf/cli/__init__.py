"""The command line `elf`: `up` and `check` work on a config file, everything else is a thin HTTP client."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    `argv` is without the program's name and defaults to the process's own. A stop by Ctrl-C ends in one line, also
    while the code of the commands is still being read.
    """
    try:
        from elf.cli.dispatch import dispatch

        return dispatch(argv)
    except KeyboardInterrupt as stopped:
        print("elf: stopped" + (f": {stopped}" if stopped.args else ""), file=sys.stderr)
        return INTERRUPTED


__all__ = ["main"]
