"""Late interaction: how well the words of a query meet their counterparts in each candidate document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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

# Tokens whose float32 copy, 1.5 KiB each, is still in the core's own cache when it is multiplied.
_CACHED_TOKENS = 360
# Tokens whose products with the words of a query are held at once: 32 KiB for each word.
_PASS_TOKENS = 8192


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
    places = [place for place, document in enumerate(documents) if len(document)]
    if not places or len(query.rarity) == 0:
        return scores
    present = [documents[place] for place in places]
    mean = _common_part(present)
    directions = _unit(query.vectors - mean)
    best = np.concatenate([_best_cosines(directions, mean, part) for part in _parts(present, _PASS_TOKENS)])
    common = (best.sum(axis=0) + _PRIOR * _PRIOR_COSINE) / (len(best) + _PRIOR)
    weights = query.rarity * np.clip(1.0 - common, _LEAST_WEIGHT, 1.0)
    scores[places] = _calibrated(best @ weights / weights.sum())
    return scores


def _common_part(documents: Sequence[TokenVectors]) -> Floats:
    """Return the mean of all token vectors, shrunk towards zero when there are few documents."""
    total = np.add.reduce([document.total for document in documents])
    tokens = sum(map(len, documents))
    mean: Floats = np.asarray(total / tokens * (len(documents) / (len(documents) + _PRIOR)), dtype=np.float32)
    return mean


def _best_cosines(directions: Matrix, mean: Floats, documents: Sequence[TokenVectors]) -> Matrix:
    """Return the best cosine of each direction, a column, in each document, a row; tokens are relative to the mean.

    With unit tokens t, the cosine of a unit direction d and t - m is (d.t - d.m) / sqrt(1 - 2 t.m + m.m), so one
    product with the unshifted tokens is enough.
    """
    wanted = np.vstack([directions, mean]).T
    products = np.concatenate([_values(part) @ wanted for part in _parts(documents, _CACHED_TOKENS)])
    products *= np.concatenate([document.scales for document in documents])[:, None]
    along, towards_mean = products[:, :-1], products[:, -1:]
    lengths = np.sqrt(np.maximum(1.0 - 2.0 * towards_mean + mean @ mean, 1e-9))
    cosines = (along - directions @ mean) / lengths
    ends = np.cumsum([len(document) for document in documents])
    best: Matrix = np.maximum.reduceat(cosines, [0, *ends[:-1]], axis=0)
    return best


def _values(documents: Sequence[TokenVectors]) -> Matrix:
    """Return the values of all tokens one below the other, as float32."""
    return np.concatenate([document.values for document in documents], dtype=np.float32)


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Matrix = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return unit


def _calibrated(raw: Floats) -> Floats:
    calibrated: Floats = (1.0 / (1.0 + np.exp(-(raw - _MIDDLE) / _SLOPE))).astype(np.float32)
    return calibrated


def _parts(documents: Sequence[TokenVectors], most_tokens: int) -> Iterator[list[TokenVectors]]:
    """Yield the documents in their order, as many at once as have so many tokens together, or a larger one alone."""
    part: list[TokenVectors] = []
    tokens = 0
    for document in documents:
        if part and tokens + len(document) > most_tokens:
            yield part
            part, tokens = [], 0
        part.append(document)
        tokens += len(document)
    yield part
