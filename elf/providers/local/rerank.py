"""Late interaction: how well the words of a query meet their counterparts in each candidate document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elf.core.batches import batches
from elf.providers.port import Matrix
from elf.providers.token_vectors import TokenVectors, Unscaled, joined, means

Floats = npt.NDArray[np.float32]

# Pseudo-candidates: they keep the statistics over the candidates sane when there are few.
_PRIOR = 8.0
# The usual best cosine of a word in a document that has nothing to do with it.
_PRIOR_COSINE = 0.3
# The least share of its weight that a word keeps, however common it is among the candidates.
_LEAST_WEIGHT = 0.05
# What resembles many others meets the words of any query by chance: the share of its mean cosine with so many of its
# nearest neighbours that is taken off, as in CSLS (Conneau et al. 2018).
_HUB_WEIGHT = 0.22
_NEIGHBOURS = 20
# The logistic map of raw scores to 0..1: unrelated documents come out near 0.1 and close ones near 0.9.
_MIDDLE, _SLOPE = 0.4, 0.1

_TINY = 1e-9

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


class Likeness(NamedTuple):
    """How like a query each document is: two arrays, float32 of shape (documents,).

    `told_apart` says which document fits the query better than the others; it means nothing beside another query's.
    `plain` is the same for every query: 1 is the query's own words, some 0.3 is nothing in common.
    """

    told_apart: Floats
    plain: Floats


def likeness(query: QueryTokens, documents: Sequence[TokenVectors]) -> Likeness:
    """Compare each word of the query with its best counterpart in a document: MaxSim (Khattab and Zaharia 2020).

    `plain` is the mean of these cosines, each word counting by its rarity. For `told_apart`, what all documents have in
    common, the mean of their token vectors, is taken off both sides first, and a word counts less the closer all
    documents come to it: what every document says tells none of them apart. Nor does a document that resembles many
    others: a part of its `_hubness` is taken off. A query or document without tokens gets the least of both, -1.
    """
    found = Likeness(*np.full((2, len(documents)), -1.0, dtype=np.float32))
    places = [place for place, document in enumerate(documents) if len(document)]
    if not places or len(query.rarity) == 0:
        return found
    present = [documents[place] for place in places]
    parts = [(joined(part), _starts(part)) for part in batches(present, len, most_size=_PASS_TOKENS)]
    wholes = means(present)
    mean = _common_part(wholes, present)
    best = [_best_cosines(query.vectors, mean, tokens, starts) for tokens, starts in parts]
    apart, plain = (np.concatenate(halves) for halves in zip(*best, strict=True))
    common = (apart.sum(axis=0) + _PRIOR * _PRIOR_COSINE) / (len(apart) + _PRIOR)
    weights = query.rarity * np.clip(1.0 - common, _LEAST_WEIGHT, 1.0)
    found.told_apart[places] = apart @ weights / weights.sum() - _HUB_WEIGHT * _hubness(wholes)
    found.plain[places] = plain @ query.rarity / query.rarity.sum()
    return found


def calibrated(raw: Floats) -> Floats:
    """Map likenesses told apart to scores of 0 to 1, by a logistic function."""
    scores: Floats = (1.0 / (1.0 + np.exp(-(raw - _MIDDLE) / _SLOPE))).astype(np.float32)
    return scores


def _common_part(wholes: Matrix, documents: Sequence[TokenVectors]) -> Floats:
    """Return the mean of all token vectors, shrunk towards zero when there are few documents."""
    tokens = np.array([len(document) for document in documents], dtype=np.float32)
    mean: Floats = (tokens @ wholes / tokens.sum()) * _trust(len(documents))
    return mean


def _hubness(wholes: Matrix) -> Floats:
    """Return the mean cosine of each document with its nearest neighbours among the others, above the median of these.

    Documents are the means of their token vectors, rows. Few of them say little: it is shrunk towards zero.
    """
    count = len(wholes)
    nearest = min(_NEIGHBOURS, count - 1)
    if not nearest:
        return np.zeros(count, dtype=np.float32)
    _, directions = _lengths_and_directions(wholes)
    cosines = directions @ directions.T
    np.fill_diagonal(cosines, -1.0)
    near = np.partition(cosines, count - nearest, axis=1)[:, count - nearest :].mean(axis=1)
    hubness: Floats = (near - np.median(near)) * _trust(count)
    return hubness


def _trust(documents: int) -> np.float32:
    return np.float32(documents / (documents + _PRIOR))


def _best_cosines(
    query: Matrix, mean: Floats, tokens: Unscaled, starts: npt.NDArray[np.int64]
) -> tuple[Matrix, Matrix]:
    """Return the best cosine of each of the query's tokens, a column, in each document, a row.

    A document begins at each of `starts`. First come the cosines of what is left when the mean is taken off both, then
    those of the tokens as they are.

    With unit tokens t, the cosine of a unit direction d and t - m is (d.t - d.m) / sqrt(1 - 2 t.m + m.m), and with
    q - m = length * d that of q and t is length * d.t + m.t, so one product with the unshifted tokens is enough.
    """
    lengths, directions = _lengths_and_directions(query - mean)
    wanted = np.vstack([directions, mean]).T
    products = np.concatenate([
        tokens.values[piece].astype(np.float32) @ wanted for piece in _pieces(tokens)
    ])  # fmt: skip
    products *= tokens.scales[:, None]
    along, towards_mean = products[:, :-1], products[:, -1:]
    distances = np.sqrt(np.maximum(1.0 - 2.0 * towards_mean + mean @ mean, _TINY))
    apart: Matrix = np.maximum.reduceat((along - directions @ mean) / distances, starts, axis=0)
    plain: Matrix = np.maximum.reduceat(along * lengths + towards_mean, starts, axis=0)
    return apart, plain


def _lengths_and_directions(vectors: Matrix) -> tuple[Floats, Matrix]:
    lengths = np.linalg.norm(vectors, axis=1)
    directions: Matrix = (vectors / np.maximum(lengths, _TINY)[:, None]).astype(np.float32)
    return lengths, directions


def _starts(documents: Sequence[TokenVectors]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *map(len, documents[:-1])])


def _pieces(tokens: Unscaled) -> Iterator[slice]:
    for start in range(0, len(tokens.scales), _CACHED_TOKENS):
        yield slice(start, start + _CACHED_TOKENS)
