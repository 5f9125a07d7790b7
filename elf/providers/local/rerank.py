"""Late interaction: how well the words of a query meet their counterparts in a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from elf.providers.local.token_vectors import TokenVectors
from elf.providers.port import Matrix

_BLOCK_TOKENS = 8192  # bounds the float32 copy of one pass to 12 MiB
# OpenBLAS wakes more threads for a product of more multiplications than this. Beside a busy process they wait for
# each other's cores: 60 documents took 14 to 40 ms instead of 1 ms.
_SINGLE_THREAD_PRODUCT = 262_144


def uniform_weights(query: TokenVectors) -> npt.NDArray[np.float32]:
    """Return one equal weight a query token, summing to 1."""
    return np.full(len(query), 1.0 / max(len(query), 1), dtype=np.float32)


def maxsim(
    query: Matrix, documents: Sequence[TokenVectors], weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return a score of -1..1 for each document, float32 of shape (len(documents),).

    The score is the weighted sum over the query's tokens of the best cosine among the document's tokens
    (MaxSim of ColBERT, Khattab and Zaharia 2020). `query` holds unit vectors, shape (tokens, dimensions);
    `weights` has shape (tokens,) and sums to 1. A query or document without tokens scores 0: it shares
    nothing.
    """
    scores = np.zeros(len(documents), dtype=np.float32)
    if len(query) == 0:
        return scores
    for block in _blocks(documents):
        scores[block] = weights @ _best_cosines(query, [documents[place] for place in block])
    return scores


def _best_cosines(query: Matrix, documents: Sequence[TokenVectors]) -> Matrix:
    values = np.concatenate([document.values for document in documents]).astype(np.float32)
    cosines = np.empty((len(query), len(values)), dtype=np.float32)
    step = max(1, _SINGLE_THREAD_PRODUCT // query.size)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        np.matmul(query, values[part].T, out=cosines[:, part])
    cosines *= np.concatenate([document.scales for document in documents])
    ends = np.cumsum([len(document) for document in documents])
    starts = np.concatenate(([0], ends[:-1]))
    best: Matrix = np.maximum.reduceat(cosines, starts, axis=1)
    return best


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
