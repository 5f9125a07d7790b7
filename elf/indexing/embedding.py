"""From a text to its chunks and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final

import anyio
import anyio.to_thread
import numpy as np
import numpy.typing as npt

from elf.core.batches import batches
from elf.core.chunking import CHUNKING_RULE, Chunk, TokenCounter, split
from elf.providers.port import Embedder, LateInteraction
from elf.providers.portions import portions
from elf.providers.token_vectors import TokenVectors
from elf.providers.vectors import have_direction, mean

Vector = npt.NDArray[np.float32]

QUICK_CHARS: Final = 4096
"""Texts of so many code points together are cut at once, in some milliseconds; longer ones in a worker thread."""

THREAD_CHARS: Final = 32_768
"""How many code points, but for a longer text, are cut before the thread is another's."""


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """The chunks of one text, a row of `vectors` for each, and their mean. Every vector has a direction.

    `tokens` are the token vectors of those chunks that were embedded now, by their places. Where it is not whole these
    are its first chunks only, and it has no mean.
    """

    chunks: Sequence[Chunk]
    vectors: npt.NDArray[np.float32]
    tokens: Mapping[int, TokenVectors] = field(default_factory=dict)
    is_whole: bool = True

    @property
    def pooled(self) -> Vector | None:
        """The mean of the chunk vectors ; for a single chunk the chunk's own vector.

        None when the vectors cancel out: such a text is found by its chunks, and is like no other as a whole.
        """
        return mean(self.vectors) if self.is_whole else None

    @property
    def unit_pooled(self) -> Vector | None:
        """The pooled vector scaled to length 1, so that a dot product is a cosine."""
        pooled = self.pooled
        return None if pooled is None else (pooled / np.float32(np.linalg.norm(pooled))).astype(np.float32)


@dataclass(frozen=True, slots=True)
class TextEmbedder:
    """Splits texts as configured and embeds their chunks.

    `tokenizer` names what `tokens` counts by: the same name, the same tokens. `late` makes the token vectors of what is
    embedded; without it there are none. `threads` is shared by all that is made of it by `replace`: however many texts
    a process embeds at a time, it cuts one long text after the other.
    """

    embedder: Embedder
    tokens: TokenCounter
    max_tokens: int
    overlap_tokens: int
    tokenizer: str
    late: LateInteraction | None = None
    threads: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1), compare=False)

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

    async def cut(self, texts: Sequence[str]) -> list[list[Chunk]]:
        """Cut texts as `split` does, without holding the event loop."""
        if sum(map(len, texts)) <= QUICK_CHARS:
            return self._split_all(texts)
        splits: list[list[Chunk]] = []
        for some in batches(texts, len, most_size=THREAD_CHARS):
            splits += await anyio.to_thread.run_sync(self._split_all, some, limiter=self.threads)
        return splits

    def _split_all(self, texts: Sequence[str]) -> list[list[Chunk]]:
        return [self.split(text) for text in texts]

    async def embed(self, texts: Sequence[str]) -> list[EmbeddedText | None]:
        """Embed texts, in order; None for one of which a chunk got no vector that counts.

        It is one provider call, for somebody who waits. Raises as the provider does.
        """
        splits = await self.cut(texts)
        vectors: dict[str, Vector] = {}
        wanted = _texts_of(splits)
        if wanted:
            await self._add(wanted, vectors)
        tokens = await self._tokens_of(wanted)
        return [self._embedded(chunks, vectors, tokens) for chunks in splits]

    async def embed_in_turn(
        self, texts: Sequence[str], vectors: dict[str, Vector]
    ) -> list[EmbeddedText | None]:
        """Embed texts as `embed` does, by provider calls of bounded size, one after the other.

        `vectors` are those of chunks by their text. What is there is not asked for, what comes is added to it call by
        call: so it is there when a later call fails.
        """
        splits = await self.cut(texts)
        unknown = [text for text in _texts_of(splits) if text not in vectors]
        tokens: dict[str, TokenVectors] = {}
        for part in portions(unknown):
            await self._add(unknown[part], vectors)
            tokens.update(await self._tokens_of(unknown[part]))  # while the model still has them
        return [self._embedded(chunks, vectors, tokens) for chunks in splits]

    async def _tokens_of(self, texts: Sequence[str]) -> Mapping[str, TokenVectors]:
        """Return the token vectors of texts that were embedded just now."""
        if self.late is None or not texts:
            return {}
        return dict(zip(texts, await self.late.encode(texts), strict=True))

    async def _add(self, texts: Sequence[str], vectors: dict[str, Vector]) -> None:
        found = await self.embedder.embed(texts)
        counting = zip(texts, found, have_direction(found), strict=True)
        vectors.update((text, row) for text, row, counts in counting if counts)

    async def beginning(self, text: str, vectors: Mapping[str, Vector]) -> EmbeddedText:
        """Return the first chunks of a text, as far as `vectors` has theirs: maybe none, maybe all."""
        (chunks,) = await self.cut([text])
        known = list(takewhile(lambda chunk: chunk.text in vectors, chunks))
        return replace(self._of(known, vectors, {}), is_whole=len(known) == len(chunks))

    def _embedded(
        self, chunks: list[Chunk], vectors: Mapping[str, Vector], tokens: Mapping[str, TokenVectors]
    ) -> EmbeddedText | None:
        return self._of(chunks, vectors, tokens) if all(chunk.text in vectors for chunk in chunks) else None

    def _of(
        self, chunks: list[Chunk], vectors: Mapping[str, Vector], tokens: Mapping[str, TokenVectors]
    ) -> EmbeddedText:
        rows = [vectors[chunk.text] for chunk in chunks]
        return EmbeddedText(
            chunks,
            np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32),
            {place: tokens[chunk.text] for place, chunk in enumerate(chunks) if chunk.text in tokens},
        )


def _texts_of(splits: Sequence[Sequence[Chunk]]) -> list[str]:
    """Return the texts of all chunks in order, each once."""
    return list(dict.fromkeys(chunk.text for chunks in splits for chunk in chunks))
