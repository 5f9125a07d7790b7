"""What an upsert writes into the tables of the index in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pgvector import Vector as PgVector

from elf.index.bm25 import SparseWeights
from elf.index.partitions import shelf_of
from elf.index.port import IndexPoint, PayloadValue
from elf.index.schema import CREATED_AT_FIELD, KEY_FIELD, UPDATED_AT_FIELD
from elf.index.space import Space


@dataclass(slots=True)
class Rows:
    """What an upsert writes: shelves by number, points and postings, each as its table has it."""

    space: Space
    shelves: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    points: list[tuple[Any, ...]] = field(default_factory=list)
    postings: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, point: IndexPoint, *, dense: PgVector, words: SparseWeights) -> None:
        shelf = shelf_of(point.payload, self.space)
        self.shelves[shelf.number] = (shelf.number, shelf.place, shelf.fields)
        updated_at = str(point.payload.get(UPDATED_AT_FIELD, ""))
        narrow = (
            point.payload.get(KEY_FIELD),
            _moment(point.payload.get(CREATED_AT_FIELD)),
            _moment(updated_at),
            ",".join(map(str, point.tags)),
        )
        self.points.append((point.point_id, point.owner_id, shelf.number, updated_at, dense, *narrow))
        self.postings.extend(
            (term, shelf.place, point.point_id, shelf.number, weight)
            for term, weight in zip(terms(words), words.values, strict=True)
        )


def _moment(value: PayloadValue) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) and value else None


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return rows of this width as columns, which is how statements take them."""
    return [[row[place] for row in rows] for place in range(width)]


def terms(words: SparseWeights) -> list[int]:
    """Return the hashes, which are unsigned, as the signed numbers that Postgres has."""
    return [index - (1 << 32) if index >= 1 << 31 else index for index in words.indices]
