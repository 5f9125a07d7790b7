"""The port of the vector index: a derived store that finds candidate chunks and may be lost at any time.

The port is free of any memory family: a point is an id, the id of its owner, a dense vector, the text for BM25 and a
flat payload; a filter is a conjunction of equalities with one group of alternatives. Scores are raw and per leg
(cosine similarity, BM25 with idf); fusion is the search pipeline's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt

PayloadValue = str | int | float | bool | None
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """One chunk as the index stores it. `text` only feeds the sparse vector and is never stored."""

    point_id: UUID
    owner_id: UUID
    dense: Vector
    text: str
    payload: Mapping[str, PayloadValue]


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Points where every `must` equality holds and, unless `any_of` is None, at least one of its alternatives whole.

    Each alternative maps a payload field to the values it may have. No alternative at all holds for no point.
    """

    must: Mapping[str, str]
    any_of: Sequence[Mapping[str, Sequence[str]]] | None = None


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """One hybrid query; a leg whose input is None is not run and comes back empty."""

    dense: Vector | None
    text: str | None
    where: IndexFilter
    limit: int


class LegHit(NamedTuple):
    """A point found by one leg, with that leg's raw score (higher is better)."""

    point_id: UUID
    owner_id: UUID
    score: float


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Both legs of one query, each best first, at most `limit` long."""

    dense: Sequence[LegHit]
    bm25: Sequence[LegHit]


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """What drift detection compares: the ids of a point and its stored `updated_at` payload value."""

    point_id: UUID
    owner_id: UUID
    updated_at: str


class VectorIndex(Protocol):
    """A vector index. Every method raises IndexUnavailable when the engine does not answer."""

    async def ensure(self) -> None:
        """Create the collection and its field indexes when they are missing; harmless when they are there."""
        ...

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        """Write points; when this returns they survive a crash of the engine and queries see them."""
        ...

    async def delete_owners(self, owner_ids: Sequence[UUID], *, keep: Sequence[UUID] = ()) -> None:
        """Delete every point of these owners but those in `keep` (owners that have none are ignored).

        As lasting as upsert.
        """
        ...

    async def delete_points(self, point_ids: Sequence[UUID]) -> None:
        """Delete points by id (unknown ids are ignored), as lasting as upsert."""
        ...

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        """Run queries in one call to the engine; results are in the order of the queries."""
        ...

    async def scan(self, *, after: UUID | None, limit: int) -> list[StoredPoint]:
        """Return up to `limit` points in id order behind `after`; an empty list is the end."""
        ...

    async def count(self) -> int:
        """Return the exact number of points."""
        ...

    async def aclose(self) -> None:
        """Release connections; the index itself stays."""
        ...
