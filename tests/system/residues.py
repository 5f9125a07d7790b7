"""What is left of somebody who was erased, seeded one by one: in any column, cell, file or name, in any stored form."""

from __future__ import annotations

import asyncio
import csv
import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import asyncpg

from tests.system import planting
from tests.system.service import RunningService

TSV: Final = Path(__file__).parents[1] / "data" / "residues.tsv"
FORMS: Final[dict[str, Callable[[str], str]]] = {
    "plain": str,
    "nfd": lambda text: unicodedata.normalize("NFD", text),
    "spaces": lambda text: " ".join(text.split()),
    "json": lambda text: json.dumps({"x": text}, ensure_ascii=False),
    "ascii": lambda text: json.dumps({"x": text}),
    "json in json": lambda text: json.dumps({"x": json.dumps({"y": text}, ensure_ascii=False)}, ensure_ascii=False),
}  # fmt: skip


class Residue(NamedTuple):
    """A text, or a name, and the place where it is left in some form."""

    place: str
    text: str
    form: str

    @property
    def stored(self) -> str:
        return FORMS[self.form](self.text)


def residues(user: str, word: str) -> Sequence[Residue]:
    """Read what may be left of a user, in whose texts a word stands."""
    with TSV.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Residue(
            row["place"],
            json.loads('"' + row["text"].replace('"', '\\"') + '"').replace("{user}", user).replace("{word}", word),
            row["form"],
        )
        for row in rows
    ]  # fmt: skip


@contextmanager
def left(service: RunningService, agent: str, residue: Residue) -> Iterator[None]:
    """Leave a residue for the block, in what others have: of the graph, in the memory of an agent."""
    kind, _, place = residue.place.partition(".")
    if kind == "public":
        table, column = place.split(".")
        with _in_column(service, table, column, residue.stored):
            yield
        return
    memory = service.config.parent / ".elf" / "graph" / planting.TENANT / agent / "memory"
    where = residue.place.removeprefix("graph: ")
    if where.startswith("memory.db "):
        with _in_cell(memory / "memory.db", where.removeprefix("memory.db "), residue.stored):
            yield
        return
    with _beside(memory, where, residue.stored):
        yield


@contextmanager
def _in_column(service: RunningService, table: str, column: str, value: str) -> Iterator[None]:
    place, before = asyncio.run(_put(service, table, column, value))
    try:
        yield
    finally:
        asyncio.run(_put(service, table, column, before, place=place))


async def _put(
    service: RunningService, table: str, column: str, value: str | None, *, place: str | None = None
) -> tuple[str, str | None]:
    """Write a value into a column of a row; returns the row, where it is then, and what it had there."""
    connection = await asyncpg.connect(planting.dsn_of(service))
    try:
        kind = await connection.fetchval(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = $1::text::regclass AND attname = $2",
            table,
            column,
        )
        row: Any = await connection.fetchrow(
            f"SELECT ctid::text AS place, {column}::text AS before FROM {table} "
            "WHERE $1::text IS NULL OR ctid = $1::text::tid LIMIT 1",
            place,
        )
        assert row is not None, f"{table} is empty"
        moved = await connection.fetchval(
            f"UPDATE {table} SET {column} = $1::text::{kind} WHERE ctid = $2::text::tid RETURNING ctid::text",
            value,
            row["place"],
        )
        return moved, row["before"]
    finally:
        await connection.close()


CELLS: Final = {"memory_audit": "detail", "memory_versions": "memory", "memory_sources": "conversation_id"}


@contextmanager
def _in_cell(path: Path, table: str, value: str) -> Iterator[None]:
    column = CELLS[table]
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(10_000)
        before = connection.execute(f"SELECT min({column}) FROM {table}").get
        change = f"UPDATE {table} SET {column} = ? WHERE {column} = ?"
        assert before is not None, f"{table} is empty"
        connection.execute(change, (value, before))
        try:
            yield
        finally:
            connection.execute(change, (before, value))


@contextmanager
def _beside(memory: Path, where: str, text: str) -> Iterator[None]:
    path, content = {
        "files of memory/logs": (memory / "logs" / "memory.log.1", text),
        "files of memory/processed": (memory / "ingest" / "processed" / "notes.md.1", text),
        "files of memory/bulletins": (memory / "bulletins" / "told.json", text),
        "names of files": (memory / "ingest" / "processed" / f"{text}.md", "nothing"),
        "names of folders": (memory.parent.parent / text, None),
    }[where]
    if content is None:
        path.mkdir()
    else:
        path.write_text(content, encoding="utf-8")
    try:
        yield
    finally:
        path.rmdir() if content is None else path.unlink()
