"""Sorting lines into batches so that several requests may be in flight and the order still holds.

Notes that may replace one another, those of one context and type with the same key or without one, always take the
same lane, and a lane has one request in flight at a time: as in the file, the later one wins.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from elf.cli.importing.lines import Context, Line

MAX_BATCH_NOTES = 100
MAX_BATCH_BYTES = 512 * 1024
MAX_OPEN_BATCHES = 64


class Batch(NamedTuple):
    """The lines of one request."""

    context: Context
    lines: list[Line]


class Lanes:
    """Collects lines into batches; `add` and `rest` yield those that are full, each with its lane."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._open: dict[tuple[int, Context], Batch] = {}
        self._sizes: dict[tuple[int, Context], int] = {}

    def add(self, line: Line) -> Iterator[tuple[int, Batch]]:
        place = (self._lane(line), line.context)
        if self._sizes.get(place, 0) + line.size > MAX_BATCH_BYTES and place in self._open:
            yield self._close(place)
        if place not in self._open and len(self._open) >= MAX_OPEN_BATCHES:
            yield self._close(next(iter(self._open)))  # the one opened first
        self._open.setdefault(place, Batch(line.context, [])).lines.append(line)
        self._sizes[place] = self._sizes.get(place, 0) + line.size
        if len(self._open[place].lines) >= MAX_BATCH_NOTES:
            yield self._close(place)

    def rest(self) -> Iterator[tuple[int, Batch]]:
        while self._open:
            yield self._close(next(iter(self._open)))

    def _close(self, place: tuple[int, Context]) -> tuple[int, Batch]:
        del self._sizes[place]
        return place[0], self._open.pop(place)

    def _lane(self, line: Line) -> int:
        rivals = repr((line.context, line.note.get("type"), line.note.get("key")))
        return zlib.crc32(rivals.encode("utf-8", "backslashreplace")) % self._count
