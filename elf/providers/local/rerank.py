"""Late interaction: how well the words of a query meet their counterparts in each candidate document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elf.providers.local.token_vectors import TokenVectors
from elf.providers.port import Matrix

Floats = npt.NDArray[np.float32]

# Pseudo-candidates: they keep the statistics over the candidates sane when there are few.
_PRIOR = 8.0
# The usual best cosine of a word in a document that has nothing to do with it.
_PRIOR_COSINE = 0.3
# The least share of its weight that a word keeps, however common it is among the candidates.
_LEAST_WEIGHT = 0.05
# The logistic map of raw scores to 0..1: unrelated documents come out near 0.1 and close ones near 0.9.
_MIDDLE, _SLOPE = 0.4, 0.1

# BERT's vocabulary is sorted by frequency from its first whole word ("the") on.
_FIRST_WORD_ID = 1996
_VOCABULARY_SIZE = 30_522

_BLOCK_TOKENS = 8192  # bounds the float32 copy of one pass to 12 MiB


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The words of a query: unit vectors, float32 (tokens, dimensions), and how rare each is in English, 0..1."""

    vectors: Matrix
    rarity: Floats


def rarity(token_ids: Sequence[int]) -> Floats:
    """Return how rare each token is, float32 in 0..1: the square root of its log rank in the vocabulary.

    By Zipf's law the logarithm of a word's frequency rank is a measure of its information; the root flattens it.
    """
    ranks = np.maximum(np.asarray(token_ids, dtype=np.float32) - (_FIRST_WORD_ID - 1), 1.0)
    scale = math.log(_VOCABULARY_SIZE - (_FIRST_WORD_ID - 1))
    return np.sqrt(np.log(ranks + 1.0) / scale).astype(np.float32)


def relevance(query: QueryTokens, documents: Sequence[TokenVectors]) -> Floats:
    """Return a score of 0..1 for each document, float32 of shape (len(documents),).

    Each word of the query is compared with its best counterpart in a document (MaxSim of ColBERT, Khattab and
    Zaharia 2020), after what all candidates have in common, the mean of their token vectors, is taken off both. A
    word counts by its rarity, and less the closer all candidates come to it: what every candidate says tells none of
    them apart. The weighted mean goes through a logistic map. A query or document without tokens scores 0.
    """
    scores = np.zeros(len(documents), dtype=np.float32)
    places = [list(block) for block in _blocks(documents)]
    if not places or len(query.rarity) == 0:
        return scores
    only = _Block.of([documents[place] for place in places[0]]) if len(places) == 1 else None

    def blocks() -> Iterator[_Block]:
        # Two passes; several blocks are made anew in each, so that only one is in memory.
        for block in places:
            yield only or _Block.of([documents[place] for place in block])

    mean = _common_part(blocks())
    directions = _unit(query.vectors - mean)
    best = np.concatenate([_best_cosines(directions, mean, block) for block in blocks()], axis=1)
    count = best.shape[1]
    common = (best.sum(axis=1) + _PRIOR * _PRIOR_COSINE) / (count + _PRIOR)
    weights = query.rarity * np.clip(1.0 - common, _LEAST_WEIGHT, 1.0)
    scores[[place for block in places for place in block]] = _calibrated(weights @ best / weights.sum())
    return scores


@dataclass(frozen=True, slots=True)
class _Block:
    """Documents side by side: token i is `values[i] * scales[i]`; `starts` are the first tokens of each document."""

    values: Matrix
    scales: Floats
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, documents: Sequence[TokenVectors]) -> _Block:
        values = np.concatenate([document.values for document in documents], dtype=np.float32)
        scales = np.concatenate([document.scales for document in documents])
        ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
        return cls(values, scales, np.concatenate(([0], ends[:-1])))


def _common_part(blocks: Iterable[_Block]) -> Floats:
    """Return the mean of all token vectors, shrunk towards zero when there are few documents."""
    total: Floats | np.float32 = np.float32(0.0)
    tokens = documents = 0
    for block in blocks:
        total = total + block.scales @ block.values
        tokens += len(block.scales)
        documents += len(block.starts)
    mean: Floats = np.asarray(total / tokens * (documents / (documents + _PRIOR)), dtype=np.float32)
    return mean


def _best_cosines(directions: Matrix, mean: Floats, block: _Block) -> Matrix:
    """Return the best cosine of each direction in each document, tokens taken relative to the mean.

    With unit tokens t, the cosine of a unit direction d and t - m is (d.t - d.m) / sqrt(1 - 2 t.m + m.m), so one
    product with the unshifted tokens is enough.
    """
    products = (np.vstack([directions, mean]) @ block.values.T) * block.scales
    along, towards_mean = products[:-1], products[-1]
    lengths = np.sqrt(np.maximum(1.0 - 2.0 * towards_mean + mean @ mean, 1e-9))
    cosines = (along - (directions @ mean)[:, None]) / lengths
    best: Matrix = np.maximum.reduceat(cosines, block.starts, axis=1)
    return best


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Matrix = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return unit


def _calibrated(raw: Floats) -> Floats:
    calibrated: Floats = (1.0 / (1.0 + np.exp(-(raw - _MIDDLE) / _SLOPE))).astype(np.float32)
    return calibrated


def _blocks(documents: Sequence[TokenVectors]) -> Iterator[list[int]]:
    """Group the places of the documents that have tokens into blocks of bounded size."""
    block: list[int] = []
    tokens = 0
    for place, document in enumerate(documents):
        if len(document) == 0:
            continue
        if block and tokens + len(document) > _BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
        block.append(place)
        tokens += len(document)
    if block:
        yield block
