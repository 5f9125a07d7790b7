"""Embeddings over HTTP: OpenAI's request and answer (specs/elf-notes.md, 7.1)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import anyio
import msgspec
import numpy as np

from elf.config.model import EmbeddingProvider
from elf.core.errors import ServiceError
from elf.providers.answer import Unreadable, decoded
from elf.providers.http import ProviderHttp
from elf.providers.port import Matrix
from elf.providers.portions import CALL_TEXTS, portions
from elf.providers.trouble import Trouble
from elf.providers.vectors import have_direction

_BATCH_NUMBERS = 64 * 1536  # of the vectors that come back; longer vectors come in smaller batches
_BATCHES_IN_FLIGHT = 4
# What an answer may take: a number of full precision with its comma and the indentation of a pretty printer, and
# generous room around the numbers of a text and around them all.
_NUMBER_BYTES = 40
_ITEM_BYTES = 1024
_ENVELOPE_BYTES = 64 * 1024


class _Item(msgspec.Struct):
    index: int
    embedding: (
        msgspec.Raw
    )  # read one by one: all numbers of an answer as Python objects would take ten times its size


class _Answer(msgspec.Struct):
    data: list[_Item]


_items = msgspec.json.Decoder(_Answer)
_numbers = msgspec.json.Decoder(str | list[float])


class HttpEmbedder:
    """The Embedder port over one HTTP provider.

    Texts go out in batches of bounded count and size, a few in flight at a time; each batch is one call
    with the provider's whole timeout. A batch that fails ends the others. One unusable vector costs its text alone,
    unless there is no usable one in the batch.
    """

    def __init__(self, config: EmbeddingProvider, http: ProviderHttp) -> None:
        self._config = config
        self._http = http
        self._trouble = Trouble(http.label)

    @property
    def version(self) -> str:
        return f"{self._config.provider_id}:{self._config.model}:{self._config.dimensions}"

    @property
    def dimensions(self) -> int:
        return self._config.dimensions

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a float32 matrix of shape (len(texts), dimensions), in the order of the texts; see the port."""
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

        most_texts = max(1, min(CALL_TEXTS, _BATCH_NUMBERS // self.dimensions))
        batches = list(portions(texts, most_texts=most_texts))
        if len(batches) == 1:
            return await self._embed_batch(texts)
        async with anyio.create_task_group() as group:
            for part in batches:
                group.start_soon(fill, part)
        if failures:
            raise failures[0]
        return matrix

    async def _embed_batch(self, texts: Sequence[str]) -> Matrix:
        most_bytes = len(texts) * (self.dimensions * _NUMBER_BYTES + _ITEM_BYTES) + _ENVELOPE_BYTES
        matrix = await self._http.post(
            self._request(texts), lambda content: self._read(content, len(texts)), most_bytes=most_bytes
        )
        missing = int(np.isnan(matrix[:, 0]).sum())
        if missing:
            self._trouble.met(
                "no vector", f"{missing} of {len(texts)} texts got no vector that can be compared"
            )
        return matrix

    def _read(self, content: bytes, count: int) -> Matrix:
        items = decoded(_items, content, "is not an answer to an embedding request").data
        if len(items) != count or {item.index for item in items} != set(range(count)):
            raise Unreadable(f"does not hold one vector for each of {count} texts")
        matrix = np.full((count, self.dimensions), np.nan, dtype=np.float32)
        problems = []
        for item in items:
            try:
                matrix[item.index] = self._vector(item.embedding)
            except Unreadable as fault:
                problems.append(str(fault))  # the fault itself would keep the numbers it came of
        if len(problems) == count:
            raise Unreadable(problems[0])
        matrix[~have_direction(matrix)] = np.nan
        return matrix

    def _request(self, texts: Sequence[str]) -> dict[str, Any]:
        return {"model": self._config.model, "input": list(texts), "dimensions": self.dimensions}

    def _vector(self, encoded: msgspec.Raw) -> Matrix:
        if len(encoded) > self.dimensions * _NUMBER_BYTES + _ITEM_BYTES:
            raise Unreadable(f"holds a vector longer than {self.dimensions} numbers can be")
        embedding = decoded(_numbers, bytes(encoded), "holds a vector that is no list of numbers")
        if isinstance(embedding, str):
            try:
                vector: Matrix = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
            except (binascii.Error, ValueError):
                raise Unreadable("holds a vector that is not base64 of float32") from None
        else:
            with np.errstate(over="ignore"):  # too large a number becomes infinite, which is checked
                vector = np.asarray(embedding, dtype=np.float32)
        if len(vector) != self.dimensions:
            raise Unreadable(f"holds a vector of length {len(vector)} instead of {self.dimensions}")
        return vector
