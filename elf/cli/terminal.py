"""The terminal that a command writes to, if it writes to one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def terminal() -> Console | None:
    """Return the terminal that standard output is; None when it is a pipe or a file, which gets plain text."""
    return _console(stderr=False) if sys.stdout.isatty() else None


def error_terminal() -> Console | None:
    """Return the terminal that standard error is, where progress is shown; None when it is none."""
    return _console(stderr=True) if sys.stderr.isatty() else None


def _console(*, stderr: bool) -> Console:
    from rich.console import Console  # what is piped does without

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
