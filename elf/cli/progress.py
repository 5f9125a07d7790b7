"""How far a long command is, shown to whoever sits at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from elf.cli.terminal import error_terminal

if TYPE_CHECKING:
    from rich.progress import BarColumn

Show = Callable[[int, int], None]


@contextmanager
def progress(label: str, *, unit: str = "") -> Iterator[Show | None]:
    """Show a bar on standard error, which swings until it is told how much is done of how much (0: unknown).

    Yields None when that is no terminal.
    """
    if (console := error_terminal()) is None:
        yield None
        return
    from rich.progress import Progress, TextColumn, TimeRemainingColumn

    counted = "{task.completed:,.0f}" + (f" {unit}" if unit else "")
    columns = (TextColumn("{task.description}"), bar_column(), TextColumn(counted), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def bar_column() -> BarColumn:
    """Return a bar in the terminal's own colours: rich's are made for a dark background."""
    from rich.progress import BarColumn

    return BarColumn(
        style="bright_black", complete_style="green", finished_style="green", pulse_style="green"
    )
