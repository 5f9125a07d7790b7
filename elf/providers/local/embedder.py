"""A local model as an embedder, in this process."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import numpy as np

from elf.config.model import EmbeddingProvider
from elf.core.errors import InvalidRequest, ProviderUnavailable
from elf.providers.calls import Calls
from elf.providers.local.encoder import Encoder
from elf.providers.port import Matrix
from elf.providers.portions import portions


class LocalEmbedder:
    """The Embedder port over an Encoder.

    Texts are embedded in portions, each with the whole timeout: what has to wait too long for its turn fails, as with
    any provider.
    """

    def __init__(self, config: EmbeddingProvider, encoder: Encoder, calls: Calls) -> None:
        self._config = config
        self._encoder = encoder
        self._calls = calls

    @property
    def version(self) -> str:
        return f"{self._config.provider_id}:{self._config.model}:{self._config.dimensions}"

    @property
    def dimensions(self) -> int:
        return self._config.dimensions

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a float32 matrix of shape (len(texts), dimensions), in the order of the texts; see the port."""
        check_characters(texts)
        parts = [await self._embed(texts[part]) for part in portions(texts)]
        return (
            parts[0]
            if len(parts) == 1
            else np.concatenate([np.empty((0, self.dimensions), np.float32), *parts])
        )

    async def _embed(self, texts: Sequence[str]) -> Matrix:
        with self._calls.measured():
            with anyio.move_on_after(self._config.timeout_ms / 1000):
                return await self._encoder.sentences(texts)
            raise ProviderUnavailable(f"{self._calls.label} gave no answer: out of time")


def check_characters(texts: Sequence[str]) -> None:
    """Raise InvalidRequest when a text is not made of characters."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the text holds half of a surrogate pair, which is not a character") from None
