"""Reads the rows of a SQLite file page by page, whatever is damaged of it: https://sqlite.org/fileformat2.html.

SQLite itself gives up a tree where one of its pages is damaged. Here each page is read by itself, so that nothing is
lost but what stood in the damaged ones. What was deleted is not found: `secure_delete` overwrites it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

TABLE_LEAF: Final = 0x0D
INDEX_LEAF: Final = 0x0A
INDEX_INTERIOR: Final = 0x02

_DATABASE_HEADER: Final = 100
_WAL_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_USUAL_PAGE: Final = 4096
_MOST_COLUMNS: Final = 64
_INTEGER_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)

Record = tuple[Any, ...]


class FoundRow(NamedTuple):
    """A row of a table, or an entry of an index or of a table without rowids; then `rowid` is None."""

    rowid: int | None
    record: Record


class _Damaged(Exception):
    """What is read here is no part of a sound page."""


def rows_of(database: bytes, log: bytes) -> Iterator[FoundRow]:
    """Yield the rows of all pages of a file that can be read, with what its write-ahead log has committed."""
    pages = _Pages(database, log)
    for number in range(1, len(pages) + 1):
        if number not in pages.free:
            yield from pages.rows(number)


class _Pages:
    """The pages of a file, by number from 1."""

    def __init__(self, database: bytes, log: bytes) -> None:
        self._size = _page_size(database, log)
        self._database = database
        self._written = dict(_committed(log, self._size))
        self._usable = self._size - (database[20] if _is_header(database) else 0)
        self.free = self._free()

    def __len__(self) -> int:
        return max(-(-len(self._database) // self._size), *self._written, 0)

    def page(self, number: int) -> bytes:
        """Return a page; it is empty where there is none."""
        start = (number - 1) * self._size
        return self._written.get(number, self._database[start : start + self._size])

    def rows(self, number: int) -> Iterator[FoundRow]:
        """Yield the rows of a page; none of one that is not such a page."""
        page = self.page(number)
        header = _DATABASE_HEADER if number == 1 else 0
        kind = page[header] if len(page) > header + 12 else None
        if kind not in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
            return
        (count,) = struct.unpack_from(">H", page, header + 3)
        cells = header + (12 if kind == INDEX_INTERIOR else 8)
        for cell in range(min(count, (len(page) - cells) // 2)):
            (start,) = struct.unpack_from(">H", page, cells + 2 * cell)
            try:
                yield self._row(page, start, kind)
            except (_Damaged, IndexError, struct.error, UnicodeDecodeError, OverflowError):
                continue

    def _row(self, page: bytes, start: int, kind: int) -> FoundRow:
        if kind == INDEX_INTERIOR:
            start += 4
        size, start = _varint(page, start)
        rowid = None
        if kind == TABLE_LEAF:
            rowid, start = _varint(page, start)
        return FoundRow(rowid, _record(self._payload(page, start, size, kind)))

    def _payload(self, page: bytes, start: int, size: int, kind: int) -> bytes:
        """Return all of a payload, which may go on in overflow pages."""
        usable = self._usable
        most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return _exactly(page[start : start + size], size)
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        pieces, left = [_exactly(page[start : start + local], local)], size - local
        (following,) = struct.unpack_from(">I", page, start + local)
        while left > 0:
            overflow = self.page(following)
            if not following or len(overflow) < 4:
                raise _Damaged
            pieces.append(_exactly(overflow[4 : min(usable, 4 + left)], min(usable - 4, left)))
            left -= usable - 4
            (following,) = struct.unpack_from(">I", overflow)
        return b"".join(pieces)

    def _free(self) -> frozenset[int]:
        """Return the pages that are in no use, as far as they are known."""
        first = self.page(1)
        free: set[int] = set()
        if not _is_header(first):
            return frozenset()
        (trunk,) = struct.unpack_from(">I", first, 32)
        while trunk and trunk not in free:
            free.add(trunk)
            page = self.page(trunk)
            if len(page) < 8:
                break
            trunk, count = struct.unpack_from(">II", page)
            leaves = page[8 : 8 + 4 * min(count, (len(page) - 8) // 4)]
            free.update(number for (number,) in struct.iter_unpack(">I", leaves))
        return frozenset(free)


def _is_header(data: bytes) -> bool:
    return len(data) >= _DATABASE_HEADER and data.startswith(b"SQLite format 3\0")


def _page_size(database: bytes, log: bytes) -> int:
    sizes = []
    if _is_header(database):
        (told,) = struct.unpack_from(">H", database, 16)
        sizes.append(65_536 if told == 1 else told)
    if len(log) >= _WAL_HEADER:
        sizes.append(struct.unpack_from(">I", log, 8)[0])
    return next((one for one in sizes if 512 <= one <= 65_536 and one & (one - 1) == 0), _USUAL_PAGE)


def _committed(log: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the pages that a write-ahead log has committed, those written last behind others."""
    if len(log) < _WAL_HEADER:
        return
    magic, _, told, _, *salts, first, second = struct.unpack_from(">8I", log)
    if magic not in _WAL_MAGIC or told != size:
        return
    order = ">" if magic & 1 else "<"
    sums = _checksum(log[:24], (0, 0), order)
    if sums != (first, second):
        return
    waiting: list[tuple[int, bytes]] = []
    for start in range(_WAL_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        number, committed, *frame_salts, first, second = struct.unpack_from(">6I", log, start)
        page = log[start + _FRAME_HEADER : start + _FRAME_HEADER + size]
        sums = _checksum(page, _checksum(log[start : start + 8], sums, order), order)
        if frame_salts != salts or sums != (first, second):
            return
        waiting.append((number, page))
        if committed:
            yield from waiting
            waiting.clear()


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return a number of variable length and where it ends."""
    value = 0
    for place in range(start, start + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    value = value << 8 | data[start + 8]
    return value - (1 << 64) if value >= 1 << 63 else value, start + 9


def _record(payload: bytes) -> Record:
    """Return the values of a record. Raises _Damaged, IndexError, struct.error and UnicodeDecodeError."""
    end, place = _varint(payload, 0)
    types = []
    while place < end:
        kind, place = _varint(payload, place)
        types.append(kind)
    if place != end or len(types) > _MOST_COLUMNS:
        raise _Damaged
    values = []
    for kind in types:
        value, place = _value(payload, place, kind)
        values.append(value)
    if place != len(payload):
        raise _Damaged
    return tuple(values)


def _value(payload: bytes, start: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, start
    if kind in (8, 9):
        return kind - 8, start
    if kind < 7:
        size = _INTEGER_BYTES[kind]
        return int.from_bytes(_exactly(payload[start : start + size], size), "big", signed=True), start + size
    if kind == 7:
        return struct.unpack_from(">d", payload, start)[0], start + 8
    if kind < 12:
        raise _Damaged
    size = (kind - 12) // 2
    data = _exactly(payload[start : start + size], size)
    read: Callable[[bytes], Any] = bytes.decode if kind % 2 else bytes
    return read(data), start + size


def _exactly(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise _Damaged
    return data
