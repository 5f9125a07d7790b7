"""From a note's text to its chunks and vectors; used when a note is compared and when it is indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elf.core.chunking import Chunk, TokenCounter, split
from elf.providers.port import Embedder
from elf.providers.vectors import have_direction, mean

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """The chunks of one text, a row of `vectors` for each, and their mean. Every vector has a direction."""

    chunks: Sequence[Chunk]
    vectors: npt.NDArray[np.float32]

    @property
    def pooled(self) -> Vector | None:
        """The mean of the chunk vectors (section 5.4); for a single chunk the chunk's own vector.

        None when the vectors cancel out: such a text is found by its chunks, and is like no other as a whole.
        """
        return mean(self.vectors)

    @property
    def unit_pooled(self) -> Vector | None:
        """The pooled vector scaled to length 1, so that a dot product is a cosine."""
        pooled = self.pooled
        return None if pooled is None else (pooled / np.float32(np.linalg.norm(pooled))).astype(np.float32)


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

    async def embed(self, texts: Sequence[str]) -> list[EmbeddedText | None]:
        """Embed texts, in order; None for a text of which some chunk got no vector that counts.

        Raises ProviderUnavailable as the provider does.
        """
        splits = [self.split(text) for text in texts]
        flat = [chunk.text for chunks in splits for chunk in chunks]
        vectors = (
            await self.embedder.embed(flat) if flat else np.empty((0, self.dimensions), dtype=np.float32)
        )
        count = have_direction(vectors)
        embedded: list[EmbeddedText | None] = []
        position = 0
        for chunks in splits:
            rows = slice(position, position + len(chunks))
            embedded.append(EmbeddedText(chunks, vectors[rows]) if chunks and count[rows].all() else None)
            position += len(chunks)
        return embedded
