"""From a note's text to its chunks and vectors; used when a note is compared and when it is indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elf.core.chunking import Chunk, TokenCounter, split
from elf.core.slices import Slices, in_slices
from elf.providers.port import Embedder

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """The chunks of one text, a row of `vectors` for each, and their mean."""

    chunks: Sequence[Chunk]
    vectors: npt.NDArray[np.float32]

    @property
    def pooled(self) -> Vector:
        """The mean of the chunk vectors (section 5.4); for a single chunk the chunk's own vector."""
        return self.vectors.mean(axis=0, dtype=np.float32)  # type: ignore[no-any-return]

    @property
    def unit_pooled(self) -> Vector:
        """The pooled vector scaled to length 1, so that a dot product is a cosine."""
        pooled = self.pooled
        length = float(np.linalg.norm(pooled))
        return pooled if length == 0.0 else (pooled / np.float32(length)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class TextEmbedder:
    """Splits texts as configured and embeds all their chunks in one provider call."""

    embedder: Embedder
    tokens: TokenCounter
    max_tokens: int
    overlap_tokens: int

    @property
    def version(self) -> str:
        return self.embedder.version

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    def split(self, text: str) -> list[Chunk]:
        """Cut a text into the chunks that are embedded and indexed."""
        return split(text, max_tokens=self.max_tokens, overlap_tokens=self.overlap_tokens, tokens=self.tokens)

    def _splitting(self, texts: Sequence[str]) -> Slices[list[list[Chunk]]]:
        splits = []
        for text in texts:
            splits.append(self.split(text))
            yield
        return splits

    async def embed(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Embed texts, in order. Raises ProviderUnavailable or InternalError as the provider does."""
        splits = await in_slices(self._splitting(texts))
        flat = [chunk.text for chunks in splits for chunk in chunks]
        vectors = (
            await self.embedder.embed(flat) if flat else np.empty((0, self.dimensions), dtype=np.float32)
        )
        embedded = []
        position = 0
        for chunks in splits:
            embedded.append(EmbeddedText(chunks, vectors[position : position + len(chunks)]))
            position += len(chunks)
        return embedded
