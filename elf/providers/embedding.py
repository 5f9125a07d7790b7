"""Embeddings over HTTP: OpenAI's request and answer (specs/elf-notes.md, 7.1)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

import anyio
import msgspec
import numpy as np

from elf.config.model import EmbeddingProvider
from elf.core.errors import InternalError, ServiceError
from elf.providers.http import ProviderHttp
from elf.providers.port import Matrix

_BATCH_TEXTS = 64
_BATCH_BYTES = 256 * 1024
_BATCHES_IN_FLIGHT = 4


class _Item(msgspec.Struct):
    index: int
    embedding: str | list[float]


class _Answer(msgspec.Struct):
    data: list[_Item]


class HttpEmbedder:
    """The Embedder port over one HTTP provider.

    Texts go out in batches of bounded count and size, a few in flight at a time; each batch is one call
    with the provider's whole timeout. A batch that fails ends the others.
    """

    def __init__(self, config: EmbeddingProvider, http: ProviderHttp) -> None:
        self._config = config
        self._http = http
        self._decoder = msgspec.json.Decoder(_Answer)

    @property
    def version(self) -> str:
        return f"{self._config.provider_id}:{self._config.model}:{self._config.dimensions}"

    @property
    def dimensions(self) -> int:
        return self._config.dimensions

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a float32 matrix of shape (len(texts), dimensions), in the order of the texts."""
        matrix = np.empty((len(texts), self.dimensions), dtype=np.float32)
        failures: list[ServiceError] = []
        # Of this call alone: a query must not wait behind the batches of an import.
        in_flight = anyio.CapacityLimiter(_BATCHES_IN_FLIGHT)

        async def fill(part: slice) -> None:
            try:
                async with in_flight:
                    matrix[part] = await self._embed_batch(texts[part])
            except ServiceError as error:
                failures.append(error)
                group.cancel_scope.cancel()

        batches = list(_batches(texts))
        if len(batches) == 1:
            return await self._embed_batch(texts)
        async with anyio.create_task_group() as group:
            for part in batches:
                group.start_soon(fill, part)
        if failures:
            raise failures[0]
        return matrix

    async def _embed_batch(self, texts: Sequence[str]) -> Matrix:
        content = await self._http.post(self._request(texts))
        try:
            items = self._decoder.decode(content).data
        except (msgspec.DecodeError, RecursionError):
            raise self._broken("is not an answer to an embedding request") from None
        if sorted(item.index for item in items) != list(range(len(texts))):
            raise self._broken(f"does not hold one vector for each of {len(texts)} texts")
        matrix = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for item in items:
            matrix[item.index] = self._vector(item.embedding)
        if not np.isfinite(matrix).all():
            raise self._broken("holds a number that is not finite")
        return matrix

    def _request(self, texts: Sequence[str]) -> dict[str, Any]:
        body = {"model": self._config.model, "input": list(texts), "dimensions": self.dimensions}
        if self._config.is_local:
            # A third of the bytes and no numbers to parse. Other providers get exactly the spec's body.
            body["encoding_format"] = "base64"
        return body

    def _vector(self, embedding: str | list[float]) -> Matrix:
        if isinstance(embedding, str):
            try:
                vector: Matrix = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
            except (binascii.Error, ValueError):
                raise self._broken("holds a vector that is not base64 of float32") from None
        else:
            with np.errstate(over="ignore"):  # too large a number becomes infinite, which is checked
                vector = np.asarray(embedding, dtype=np.float32)
        if len(vector) != self.dimensions:
            raise self._broken(f"holds a vector of length {len(vector)} instead of {self.dimensions}")
        return vector

    def _broken(self, problem: str) -> InternalError:
        return InternalError(f"the answer of {self._http.label} {problem}")


def _batches(texts: Sequence[str]) -> Iterator[slice]:
    start, size = 0, 0
    for place, text in enumerate(texts):
        bytes_here = len(text.encode("utf-8", "surrogatepass"))
        if place > start and (place - start >= _BATCH_TEXTS or size + bytes_here > _BATCH_BYTES):
            yield slice(start, place)
            start, size = place, 0
        size += bytes_here
    if start < len(texts):
        yield slice(start, len(texts))
