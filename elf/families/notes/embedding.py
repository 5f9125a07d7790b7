"""From a note's text to its chunks and vectors; used when a note is compared and when it is indexed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from elf.core.chunking import CHUNKING_RULE, Chunk, TokenCounter, split
from elf.core.slices import Slices, in_slices
from elf.providers.port import Embedder, LateInteraction
from elf.providers.token_vectors import TokenVectors
from elf.providers.vectors import has_direction, have_direction, mean

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """The chunks of one text, a row of `vectors` for each, and their mean. Every vector has a direction.

    `tokens` are the token vectors of those chunks that were embedded now, by their places.
    """

    chunks: Sequence[Chunk]
    vectors: npt.NDArray[np.float32]
    tokens: Mapping[int, TokenVectors] = field(default_factory=dict)

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
    """Splits texts as configured and embeds all their chunks in one provider call.

    `tokenizer` names what `tokens` counts by: the same name, the same tokens. `late` makes the token vectors of what is
    embedded; without it there are none.
    """

    embedder: Embedder
    tokens: TokenCounter
    max_tokens: int
    overlap_tokens: int
    tokenizer: str
    late: LateInteraction | None = None

    @property
    def chunking(self) -> str:
        """By which rule and numbers texts are cut; the chunks of two that agree in it are the same."""
        return f"{CHUNKING_RULE}:{self.max_tokens}:{self.overlap_tokens}:{self.tokenizer}"

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

    async def embed(
        self, texts: Sequence[str], *, known: Mapping[str, Vector] | None = None
    ) -> list[EmbeddedText | None]:
        """Embed texts, in order; None for one of which a chunk got no vector that counts.

        Chunks whose text is `known`, with a vector that counts, are not sent. Raises as the provider does.
        """
        splits = await in_slices(self._splitting(texts))
        vectors = {text: vector for text, vector in (known or {}).items() if has_direction(vector)}
        unknown = [chunk.text for chunks in splits for chunk in chunks if chunk.text not in vectors]
        tokens: Mapping[str, TokenVectors] = {}
        if unknown:
            found = await self.embedder.embed(unknown)
            counting = zip(unknown, found, have_direction(found), strict=True)
            vectors.update((text, row) for text, row, counts in counting if counts)
            if self.late is not None:
                tokens = dict(zip(unknown, await self.late.encode(unknown), strict=True))
        return [self._embedded(chunks, vectors, tokens) for chunks in splits]

    def _embedded(
        self, chunks: list[Chunk], vectors: Mapping[str, Vector], tokens: Mapping[str, TokenVectors]
    ) -> EmbeddedText | None:
        if not chunks:
            return EmbeddedText(chunks, np.empty((0, self.dimensions), dtype=np.float32))
        if any(chunk.text not in vectors for chunk in chunks):
            return None
        return EmbeddedText(
            chunks,
            np.stack([vectors[chunk.text] for chunk in chunks]),
            {place: tokens[chunk.text] for place, chunk in enumerate(chunks) if chunk.text in tokens},
        )
