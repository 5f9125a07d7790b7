"""Notes on a terminal: those found, those listed, one of them, and what became of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.json import JSON
from rich.table import Table
from rich.text import Text

from elf.cli.screens.pieces import (
    ago,
    blocks,
    columns,
    fields,
    moment,
    operation,
    short,
    small_print,
    words,
)

Item = dict[str, Any]

WEAK = 0.5  # of the best score; scores of different searches cannot be compared


def hits(items: Sequence[Item]) -> Table:
    """Return the results of a search, best first; those that are much weaker than the best are dimmed."""
    table = columns("dim", "bold", "cyan", "")
    best = max((float(item["final_score"]) for item in items), default=0.0)
    for rank, item in enumerate(items, start=1):
        style = "dim" if item["final_score"] < WEAK * best else ""
        handle = f"handle {short(item['result_handle'])}"
        table.add_row(
            f"{rank:>2}",
            Text(f"{item['final_score']:.3f}", style=style),
            Text(short(item["note_id"]), style=style),
            Group(
                words(item["snippet"], style), small_print(item["type"], item["key"], item["scope"], handle)
            ),
        )
    return table


def notes(items: Sequence[Item]) -> Table:
    """Return a page of notes."""
    table = columns("cyan", "")
    for note in items:
        status = note.get("status")
        about = small_print(
            note["type"], note["key"], note["scope"], ago(note["updated_at"]), status if status != "active" else "",
        )  # fmt: skip
        table.add_row(short(note["note_id"]), Group(words(note["text"]), about))
    return table


def note(body: Item) -> RenderableType:
    """Return one note with all that is known of it."""
    rows = [(name, _value(name, value)) for name, value in body.items() if name != "text"]
    return blocks(words(body["text"], "bold"), fields(rows))


def _value(name: str, value: Any) -> RenderableType:
    if isinstance(value, str) and name.endswith("_at"):
        return moment(value)
    if value and isinstance(value, dict):
        return JSON.from_data(value)
    return words(value)


def outcomes(results: Sequence[tuple[Item, Sequence[str]]]) -> Table:
    """Return what became of notes: each result with what is to be said of it."""
    table = columns("", "", "")
    for result, said in results:
        table.add_row(operation(result["op"]), words(result["note_id"]), words("  ".join(said)))
    return table


def proposals(results: Sequence[tuple[Item, tuple[Sequence[str], str]]]) -> Table:
    """Return what became of the notes that an extractor proposed: each result, what is said of it, and its text."""
    table = columns("", "cyan", "")
    for result, (said, text) in results:
        note_id = short(result["note_id"]) if result["note_id"] else "-"
        table.add_row(
            operation(result["op"]), note_id, Group(words(text), small_print(*said)) if said else words(text)
        )
    return table


def versions(rows: Sequence[Sequence[Any]]) -> Table:
    """Return the versions of a note: rows of id, moment, operation, actor, reason and text."""
    table = columns("cyan", "", "")
    for version_id, ts, op, actor, reason, text in rows:
        about = small_print(ago(ts), actor, reason)
        table.add_row(short(version_id), operation(op), Group(words(text), about))
    return table
