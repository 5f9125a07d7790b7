"""Shelves: the points of the index in Postgres, sorted by the fields that searches filter by.

Points with equal filter fields stand on one shelf, and a filter is a choice of shelves: what a search asks of four
fields and two alternatives is looked at once for each shelf and not for each point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product

import msgspec

from elf.index.port import IndexFilter, PayloadValue
from elf.index.space import Space


@dataclass(frozen=True, slots=True)
class Shelf:
    """One combination of filter fields. `number` is a digest of all of them, `place` one of place_fields."""

    number: int
    place: int
    fields: Mapping[str, str]


def shelf_of(payload: Mapping[str, PayloadValue], space: Space) -> Shelf:
    """Return the shelf of a point with this payload; fields that hold no string are left out."""
    fields = {name: value for name in space.keyword_fields if isinstance(value := payload.get(name), str)}
    return Shelf(_digest(fields, space.keyword_fields), _digest(fields, space.place_fields), fields)


def _digest(fields: Mapping[str, str], names: Sequence[str]) -> int:
    # As JSON, no two lists of values read the same. 64 bits: Postgres has no wider number.
    text = msgspec.json.encode([fields.get(name) for name in names])
    return int.from_bytes(blake2b(text, digest_size=8, person=b"elf shelf").digest(), signed=True)


def alternatives(where: IndexFilter) -> list[dict[str, str]]:
    """Return the filter's alternatives with one value a field; a single empty one when it has none.

    An empty list says that no point can match.
    """
    if where.any_of is None:
        return [{}]
    return [
        dict(zip(group, values, strict=True)) for group in where.any_of for values in product(*group.values())
    ]
