"""The vectors of one file as a matrix in memory, which is renewed as far as the file has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
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

_MOST_GONE: Final = 1.25
"""How many rows there may be for each that is still there: with more of them all are read anew."""

_ITEM: Final = np.dtype("<f4").itemsize


class _Rows:
    """Rows of a matrix, to which more are added behind the last one: the number of a vector, which only grows, its
    memory, and the vector. The first so many of them never change.

    A vector of another size than the others is none: its row is of zeros, and its memory is None.
    """

    def __init__(self, size: int) -> None:
        self.numbers = np.empty(0, np.int64)
        self.memory_ids: list[str | None] = []
        self.vectors = np.empty((0, size), np.float32)

    def __len__(self) -> int:
        return len(self.memory_ids)

    def cut(self, count: int) -> None:
        """Keep the first so many, which others see, without those of a renewal that did not get to its end."""
        del self.memory_ids[count:]

    def add(self, found: Sequence[tuple[int, str, bytes]]) -> None:
        """Add vectors. What there is is copied only where there is no room left, and then there is twice as much."""
        end, size = len(self) + len(found), self.vectors.shape[1]
        if end > self.numbers.size:
            self.numbers = _with_room(self.numbers, 2 * end)
            self.vectors = _with_room(self.vectors, 2 * end)
        fits = [len(vector) == size * _ITEM for *_, vector in found]
        nothing = bytes(size * _ITEM)
        written = b"".join(row[2] if one_fits else nothing for row, one_fits in zip(found, fits, strict=True))
        self.numbers[len(self) : end] = [row[0] for row in found]
        self.vectors[len(self) : end] = np.frombuffer(written, dtype="<f4").reshape(len(found), size)
        self.memory_ids += [row[1] if one_fits else None for row, one_fits in zip(found, fits, strict=True)]


def _with_room(array: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    roomy = np.empty((most, *array.shape[1:]), array.dtype)  # what is not used yet takes no memory
    roomy[: len(array)] = array
    return roomy


class _Matrix:
    """The vectors of a version in one state of a file: those of the first rows that are `there`; None means all are.

    `seen` is when each connection has last looked and found them to be those of the file.
    """

    def __init__(
        self, version: str, all_rows: _Rows, count: int, there: npt.NDArray[np.bool_] | None
    ) -> None:
        self.version = version
        self.all_rows = all_rows
        self.count = count
        self.numbers = all_rows.numbers[:count]
        self.rows: Vector = all_rows.vectors[:count]
        self.memory_ids = all_rows.memory_ids
        self.there = there
        self.seen: dict[Any, Moment] = {}
        numbers = self.numbers if there is None else self.numbers[there]
        self.state = numbers.size, int(numbers[-1]) if numbers.size else 0
        """How many vectors there are, and the last number: another set of vectors has another one."""

    @property
    def last(self) -> int:
        """The number of the last row."""
        return int(self.numbers[-1]) if self.count else 0

    def places(self) -> Places:
        """Return which rows there are."""
        return np.arange(self.count) if self.there is None else np.flatnonzero(self.there)


class VectorCache:
    """Keeps the matrix of the version that was asked for last. Any number of threads may ask at once.

    Vectors are added under growing numbers, and taken away: how many a snapshot has, and the last number, say whether
    the matrix is of its state; else the numbers say which rows still hold.
    """

    def __init__(self) -> None:
        self._matrix: _Matrix | None = None
        self._renewing = Lock()

    def nearest(self, snapshot: Snapshot, version: str, vector: Vector) -> Iterator[str]:
        """Return the ids of the memories that have vectors of a version, by cosine and id: each by its best one."""
        matrix = self.of(snapshot, version, vector.size)
        return iter(()) if not matrix.count else _once(_ordered(matrix, vector))

    def of(self, snapshot: Snapshot, version: str, size: int) -> _Matrix:
        """Return the matrix of the state that a snapshot sees."""
        known, moment = self._matrix, snapshot.moment()
        if known is not None and _is_of(known, version, size) and known.seen.get(moment.connection) == moment:
            return known  # so that the vectors need not be counted
        state = snapshot.row("state_of_vectors", embedding_version=version)
        with self._renewing:
            known = self._matrix
            if known is None or not _is_of(known, version, size):
                known = _Matrix(version, _Rows(size), 0, None)
            if state != known.state:
                self._matrix = known = _renewed(snapshot, known, state)
        known.seen[moment.connection] = moment
        return known


def _is_of(matrix: _Matrix, version: str, size: int) -> bool:
    return matrix.version == version and matrix.rows.shape[1] == size


def _renewed(snapshot: Snapshot, known: _Matrix, state: Any) -> _Matrix:
    """Return the matrix of the state of a snapshot: with the rows that have come, without those that have gone."""
    version, all_rows = known.version, known.all_rows
    fresh = snapshot.rows("vectors_after", embedding_version=version, after=known.last)
    all_rows.cut(known.count)
    all_rows.add(fresh)
    count, there = len(all_rows), known.there
    if there is not None:
        there = np.concatenate([there, np.ones(len(fresh), np.bool_)])
    renewed = _Matrix(version, all_rows, count, there)
    if renewed.state == state:
        return renewed
    numbers = snapshot.rows("numbers_of_vectors", embedding_version=version)
    there = np.isin(
        all_rows.numbers[:count], np.array([row[0] for row in numbers], np.int64), assume_unique=True
    )
    is_whole = np.count_nonzero(there) == len(numbers)
    if is_whole and count <= _MOST_GONE * len(numbers):
        return _Matrix(version, all_rows, count, None if there.all() else there)
    anew = _Rows(known.rows.shape[1])
    anew.add(snapshot.rows("vectors_after", embedding_version=version, after=0))
    return _Matrix(version, anew, len(anew), None)


def _ordered(matrix: _Matrix, vector: Vector) -> Iterator[str]:
    """Yield the memory of each row, the highest cosine first, and of equal cosines the first id."""
    rough = matrix.rows @ vector
    left = matrix.places()
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
    named = ((-cosine, id) for cosine, id in zip(cosines.tolist(), ids, strict=True) if id is not None)
    for _, memory_id in sorted(named):
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
