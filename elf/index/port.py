"""The port of the vector index: a derived store that finds candidate chunks and may be lost at any time.

The port is opened for a space (space.py) and free of any memory family: a point is an id, the id of its owner, a
dense vector, the text for BM25, a flat payload and tags. A filter is a conjunction: equalities, one group of
alternatives, one choice of values, the beginning of the key, periods and tags. It is exact, and applied before the
best are chosen. Scores are raw and per leg (cosine similarity, BM25 with idf); fusion is the search pipeline's
business. The idf of a word is counted within the filter's place (the space's place_fields), or within less of it: no
other points move a score.

A point whose payload has no CREATED_AT_FIELD was written before there were tags. Until it is written anew, which a scan
asks for, it is found by any key prefix, period and tags, so that nothing is hidden by what is not known of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt

from elf.index.within import Within

PayloadValue = str | int | float | bool | None
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """One chunk as the index stores it. `text` only feeds the sparse vector and is never stored.

    `tags` stand for what its owner may be asked for by beside its fields: the caller's digests, at most a few dozen, or
    EVERY_TAG alone.
    """

    point_id: UUID
    owner_id: UUID
    dense: Vector
    text: str
    payload: Mapping[str, PayloadValue]
    tags: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open stretch of time: from `since` on, and before `before`; None is no bound. Moments are aware."""

    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class IndexFilter:
    """Points where every `must` equality holds and, unless `any_of` is None, at least one of its alternatives whole.

    Each alternative maps a payload field to the values it may have. No alternative at all holds for no point. The key
    begins with `key_prefix`, in the same case, unless that is None. `periods` are for MOMENT_FIELDS. The point has all
    of the `tags`. Unless `within` is None, the point's value of its field is one of those.
    """

    must: Mapping[str, str]
    any_of: Sequence[Mapping[str, Sequence[str]]] | None = None
    key_prefix: str | None = None
    periods: Mapping[str, Period] = field(default_factory=dict)
    tags: Sequence[UUID] = ()
    within: Within | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for more than equalities."""
        return self.key_prefix is not None or bool(self.periods) or bool(self.tags)

    @property
    def is_hopeless(self) -> bool:
        """Whether no point can match, because no alternative or no value is left."""
        return (self.any_of is not None and not self.any_of) or (
            self.within is not None and not self.within.values
        )


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
    """What drift detection compares: the ids of a point and its stored `updated_at` payload value.

    That is empty for a point without CREATED_AT_FIELD, which has to be written anew.
    """

    point_id: UUID
    owner_id: UUID
    updated_at: str


class VectorIndex(Protocol):
    """The vector index of one space. Every method raises IndexUnavailable when the engine does not answer."""

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
        """Return the exact number of points that have CREATED_AT_FIELD."""
        ...

    async def aclose(self) -> None:
        """Release connections; the index itself stays."""
        ...
