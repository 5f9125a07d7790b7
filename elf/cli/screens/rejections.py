"""The lines of an import that were rejected, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table

from elf.cli.importing.lines import Rejection
from elf.cli.screens.pieces import columns, small_print, words


def rejections(rejected: Sequence[Rejection]) -> Table:
    """Return the lines by their number, each with what is wrong with it."""
    table = columns("red", "")
    for line, field, code, reason in ((one.line, one.field, one.code, one.reason) for one in rejected):
        table.add_row(f"line {line:,}", Group(words(reason), small_print(code, field)))
    return table
