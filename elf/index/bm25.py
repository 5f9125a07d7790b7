"""BM25 as sparse vectors: the same tokens and weights as a Qdrant server's model `qdrant/bm25`, computed
here.

A document's weights carry the term-frequency part, a query's weights are 1; the engine multiplies by the idf
within the query's corpus, so that the dot product of the two is the BM25 score.
"""

from __future__ import annotations

from dataclasses import dataclass

import qdrant_edge


@dataclass(frozen=True, slots=True)
class SparseWeights:
    """Token hashes and their weights, aligned."""

    indices: list[int]
    values: list[float]


class Bm25Encoder:
    """English BM25 (Snowball stems, no stop words); `avg_len` is the expected number of tokens a document."""

    def __init__(self, *, avg_len: float) -> None:
        self._model = qdrant_edge.Bm25(qdrant_edge.Bm25Config(avg_len=avg_len, language="english"))

    def document(self, text: str) -> SparseWeights:
        """Return a document's weights; empty when the text has only stop words. Raises UnicodeError."""
        sparse = self._model.embed_document(text)
        return SparseWeights(sparse.indices, sparse.values)

    def query(self, text: str) -> SparseWeights:
        """Return a query's weights, each 1; empty when the text has only stop words. Raises UnicodeError."""
        sparse = self._model.embed_query(text)
        return SparseWeights(sparse.indices, sparse.values)
