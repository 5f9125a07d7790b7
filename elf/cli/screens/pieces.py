"""What the screens are made of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from elf.cli.text import plain

SHORT_ID_CHARS = 8
OP_STYLES = {"REJECTED": "bold red", "NONE": "dim", "DELETE": "bold magenta", "PURGE": "bold magenta"}
_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))


def words(value: object, style: str = "") -> Text:
    """Return a value on one line, with nothing in it that a terminal would obey."""
    return Text(plain(value), style=style)


def short(value: object) -> str:
    """Return the beginning of an id, which commands take for the whole."""
    return plain(value)[:SHORT_ID_CHARS]


class SmallPrint:
    """What stands below a text; a line that is full ends between two parts."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = ""
        for part in self._parts:
            longer = f"{line}  {part}" if line else part
            if line and cell_len(longer) > options.max_width:
                yield Text(line, style="dim")
                longer = part
            line = longer
        yield Text(line, style="dim")


def small_print(*parts: object) -> SmallPrint:
    """Return what stands below a text: those of the parts that say something."""
    return SmallPrint(*(plain(part) for part in parts if part))


def relevance(result: Mapping[str, Any]) -> str:
    """Return how relevant a result is; nothing when that is not known."""
    return "" if result["relevance"] is None else f"relevance {result['relevance']:.2f}"


def columns(*styles: str) -> Table:
    """Return a table without lines whose last column takes the rest of the width and wraps."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for style in styles[:-1]:
        table.add_column(style=style, no_wrap=True)
    table.add_column(style=styles[-1], ratio=1, overflow="fold")
    return table


def fields(rows: list[tuple[str, RenderableType]]) -> Table:
    """Return names, each with its value beside it."""
    table = columns("dim", "")
    for name, value in rows:
        table.add_row(name, value)
    return table


def operation(op: str) -> Text:
    """Return what became of a note, coloured by how good that is."""
    return Text(op, style=OP_STYLES.get(op, "bold green"))


def moment(text: str, now: datetime | None = None) -> str:
    """Return a moment in local time, and how long ago it was or how soon it comes."""
    when = datetime.fromisoformat(text)
    return f"{when.astimezone():%Y-%m-%d %H:%M:%S} ({ago(text, now)})"


def ago(text: str, now: datetime | None = None) -> str:
    """Return how long ago a moment was, or how soon it comes, in its largest unit."""
    seconds = ((now or datetime.now(UTC)) - datetime.fromisoformat(text)).total_seconds()
    for unit, size in _UNITS:
        if (count := int(abs(seconds) // size)) > 0:
            length = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{length} ago" if seconds > 0 else f"in {length}"
    return "just now" if seconds >= 0 else "in a moment"


def blocks(*parts: RenderableType | None) -> Group:
    """Return the parts below one another, with an empty line between."""
    given = [part for part in parts if part is not None]
    spaced = [piece for part in given for piece in ("", part)]
    return Group(*spaced[1:])
