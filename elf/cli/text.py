"""How answers look on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(body: Any) -> None:
    """Print data for other programs."""
    print(json.dumps(body, indent=2))


def plain(value: object) -> str:
    """Write a value on one line, with nothing in it that a terminal would obey; null becomes a hyphen."""
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return "".join(character if character.isprintable() else " " for character in text)


def print_columns(rows: Iterable[Sequence[object]]) -> None:
    """Print rows with their cells below one another; the last column is as long as it is."""
    table = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        print("  ".join([*padded, row[-1]]).rstrip())
