"""The vectors of one file as a matrix in memory, which is renewed as far as the file has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from elf.families.graph.store.statements import Moment, Snapshot

Vector = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]
Cosines = npt.NDArray[np.float64]

_FIRST: Final = (128, 1024)
"""How many of the nearest are put in order first, and then; who asks for more waits for the order of all."""
_PORTION: Final = 4096
_ROUNDING: Final = 1e-5
"""More than the products of one vector differ by where in a matrix it stands."""

_ITEM: Final = np.dtype("<f4").itemsize


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The vectors of a version: row by row the number of a vector, which only grows, its memory, and the vector.

    `seen` is when each connection has last looked and found them to be those of the file.
    """

    version: str
    numbers: npt.NDArray[np.int64]
    memory_ids: Sequence[str]
    rows: Vector
    seen: dict[Any, Moment] = field(default_factory=dict)

    @property
    def state(self) -> tuple[int, int]:
        """How many vectors there are, and the last number: another set of vectors has another one."""
        return self.numbers.size, int(self.numbers[-1]) if self.numbers.size else 0


@dataclass(slots=True)
class VectorCache:
    """Keeps the matrix of the version that was asked for last. Any number of threads may ask at once.

    Vectors are added under growing numbers, and taken away: how many a snapshot has, and the last number, say whether
    the matrix is of its state; else the numbers say which rows still hold.
    """

    _matrix: _Matrix | None = None

    def nearest(self, snapshot: Snapshot, version: str, vector: Vector) -> Iterator[str]:
        """Return the ids of the memories that have vectors of a version, by cosine and id: each by its best one."""
        matrix = self._of(snapshot, version, vector.size)
        return iter(()) if not matrix.memory_ids else _once(_ordered(matrix, vector))

    def _of(self, snapshot: Snapshot, version: str, size: int) -> _Matrix:
        """Return the matrix of the state that a snapshot sees."""
        known, moment = self._matrix, snapshot.moment()
        if known is None or known.version != version or known.rows.shape[1] != size:
            nothing = np.empty((0, size), dtype=np.float32)
            known = _Matrix(version, np.empty(0, dtype=np.int64), (), nothing)
        if known.seen.get(moment.connection) == moment:  # so that the vectors need not be counted
            return known
        if snapshot.row("state_of_vectors", embedding_version=version) != known.state:
            self._matrix = known = _renewed(snapshot, known, size)
        known.seen[moment.connection] = moment
        return known


def _renewed(snapshot: Snapshot, known: _Matrix, size: int) -> _Matrix:
    """Return the matrix with those rows that are still there, and those that have come."""
    version = known.version
    numbers = np.array(
        [row[0] for row in snapshot.rows("numbers_of_vectors", embedding_version=version)], np.int64
    )
    stays = np.isin(known.numbers, numbers, assume_unique=True)
    rows = snapshot.rows("vectors_after", embedding_version=version, after=known.state[1])
    found = [row for row in rows if len(row[2]) == size * _ITEM]
    fresh = np.frombuffer(b"".join(row[2] for row in found), dtype="<f4").reshape(len(found), size)
    return _Matrix(
        version,
        np.concatenate([known.numbers[stays], np.array([row[0] for row in found], np.int64)]),
        [*compress(known.memory_ids, stays), *(row[1] for row in found)],
        np.concatenate([known.rows[stays], fresh.astype(np.float32)]),
    )


def _ordered(matrix: _Matrix, vector: Vector) -> Iterator[str]:
    """Yield the memory of each row, the highest cosine first, and of equal cosines the first id."""
    rough = matrix.rows @ vector
    left = np.arange(rough.size)
    for most in _FIRST:
        if left.size <= most:
            break
        least = float(np.partition(rough[left], -most)[-most])
        is_near = rough[left] >= least - _ROUNDING
        near = left[is_near]
        cosines = _cosines(matrix.rows[near], vector)
        is_first = cosines >= least  # what is left out is below that, however roughly it was multiplied
        yield from _by_cosine(matrix, near[is_first], cosines[is_first])
        left = np.concatenate([left[~is_near], near[~is_first]])
    yield from _by_cosine(matrix, left, _cosines(matrix.rows[left], vector))


def _by_cosine(matrix: _Matrix, places: Places, cosines: Cosines) -> Iterator[str]:
    ids = [matrix.memory_ids[place] for place in places.tolist()]
    for _, memory_id in sorted(zip((-cosines).tolist(), ids, strict=True)):
        yield memory_id


def _cosines(rows: Vector, vector: Vector) -> Cosines:
    """Return cosines that are the same wherever a row stands, which those of one product of a matrix are not."""
    exact = vector.astype(np.float64)
    portions = np.array_split(rows, rows.shape[0] // _PORTION + 1)
    return np.concatenate([(portion.astype(np.float64) * exact).sum(axis=1) for portion in portions])


def _once(memory_ids: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for memory_id in memory_ids:
        if memory_id not in seen:
            seen.add(memory_id)
            yield memory_id
