"""Which memories of a user are to be compared: like enough to be one, and nobody knows yet whether they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import numpy as np
import numpy.typing as npt

from elf.families.assistant.model import Memory
from elf.families.assistant.rules.bands import Bands, may_be_one
from elf.providers.port import Matrix

NEW_WITHIN: Final = timedelta(hours=72)
IMPORTANT: Final = 3
OFTEN_READ: Final = 0.9
"""The quantile of how often memories were read from which on one is read often."""
MOST_PAIRS: Final = 5000
"""So many of the likest pairs are looked at: more than are compared in three months."""

_ROWS_AT_ONCE: Final = 512

Mask = npt.NDArray[np.bool_]
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories of one type and category, and their cosine."""

    older: Memory
    newer: Memory
    score: float

    @property
    def fingerprint(self) -> str:
        """The pair's name: the same until one of the two says something else."""
        return "|".join(
            [*sorted((str(self.older.memory_id), str(self.newer.memory_id))), f"{self.score:.2f}"]
        )


def find_pairs(memories: Sequence[Memory], vectors: Matrix, bands: Bands, now: datetime) -> list[Pair]:
    """Return pairs that may be one memory, the likest first; `vectors` has a row for each memory.

    One of each pair is new, important, read often or was never compared. Their cosine is from fallback_low to below
    check_low and they share words; what was never compared may be as like as it will. Takes time in proportion to the
    square of the largest category.
    """
    places = sorted(range(len(memories)), key=lambda place: _kind(memories[place]))
    normal = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    in_pool = _pool(memories, now)
    found: list[Pair] = []
    for _, of_kind in groupby(places, key=lambda place: _kind(memories[place])):
        group = list(of_kind)
        kin = [memories[place] for place in group]
        found += _pairs_of(kin, normal[group], in_pool[group], bands)
    found.sort(key=lambda pair: (-pair.score, pair.fingerprint))
    return [pair for pair in found[:MOST_PAIRS] if _may_be_one(pair, bands)]


def _kind(memory: Memory) -> tuple[str, str]:
    return memory.type, memory.category


def _pool(memories: Sequence[Memory], now: datetime) -> Mask:
    """Return which memories are compared with the others."""
    hits = np.array([memory.hit_count for memory in memories])
    often = np.quantile(hits, OFTEN_READ) if len(hits) else 0
    return np.array(
        [
            memory.updated_at > now - NEW_WITHIN
            or memory.importance >= IMPORTANT
            or memory.hit_count >= max(1, often)
            or memory.unchecked
            for memory in memories
        ],
        dtype=np.bool_,
    )


def _pairs_of(kin: Sequence[Memory], vectors: Matrix, in_pool: Mask, bands: Bands) -> Iterator[Pair]:
    unchecked = np.array([memory.unchecked for memory in kin], dtype=np.bool_)
    for start in range(0, len(kin), _ROWS_AT_ONCE):
        end = min(start + _ROWS_AT_ONCE, len(kin))
        scores = vectors[start:end] @ vectors[start:].T
        like = (scores >= bands.fallback_low) & (in_pool[start:end, None] | in_pool[None, start:])
        like &= (scores < bands.check_low) | unchecked[start:end, None] | unchecked[None, start:]
        first, second = np.nonzero(np.triu(like, k=1))
        for place in _likest(scores[first, second]):
            one, other = kin[start + first[place]], kin[start + second[place]]
            older, newer = sorted((one, other), key=lambda memory: (memory.updated_at, memory.memory_id))
            yield Pair(older, newer, float(scores[first[place], second[place]]))


def _likest(scores: Matrix) -> Indexes:
    """Return where the greatest scores are, in no order."""
    if len(scores) <= MOST_PAIRS:
        return np.arange(len(scores))
    return np.argpartition(-scores, MOST_PAIRS)[:MOST_PAIRS]


def _may_be_one(pair: Pair, bands: Bands) -> bool:
    return pair.score >= bands.check_low or may_be_one(pair.older.text, pair.newer.text)
