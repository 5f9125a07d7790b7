"""The state of the service on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from elf.cli.screens.pieces import columns, words

STYLES = {"warning": "bold red", "figures": "red"}


def figures(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names and values below one another; what is well is green, what is not is red."""
    table = columns("dim", "")
    for name, value in rows:
        style = STYLES.get(name, "")
        if name == "service":
            style = "bold red" if value.startswith("not ") else "bold green"
        table.add_row(name, words(value, style))
    return table
