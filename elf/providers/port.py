"""The ports of the model providers.

Each call is one request of the caller's; adapters split it into batches, retry what may pass within the
configured timeout, and raise ProviderUnavailable when no usable answer is to be had: as itself when the
provider does not answer in time or answers with a failure that may pass, as ProviderRefused when it says no
(credentials, a text it does not take), as ProviderBroken when its answer breaks the contract (no JSON, wrong
count, wrong dimensions, more bytes than was asked for).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
T = TypeVar("T")


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def version(self) -> str:
        """The embedding_version `provider_id:model:dimensions`; vectors of different versions never meet."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a float32 matrix of shape (len(texts), dimensions), in the order of the texts.

        A row of NaN is a text without a vector: what the provider gave for it has no direction; see
        elf.providers.vectors.
        """
        ...


class Reranker(Protocol):
    """Scores documents against a query."""

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score a document (higher is better), aligned to `documents`; NaN is a missing score."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is told: who it is, and what to do."""

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class JsonAnswer(Generic[T]):
    """The JSON asked for: a name, its JSON Schema, and how to read the decoded value.

    `read` raises ValueError, with a message that repeats nothing of the value, for what is not the JSON asked for.
    """

    name: str
    schema: Mapping[str, Any]
    read: Callable[[Any], T]


class Chat(Protocol):
    """Asks a language model, or what stands in for one, for JSON."""

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        """Return the model's answer as `answer.read` reads it.

        Asks again, at most twice, when the content is not the JSON asked for; ProviderUnavailable when it never is.
        """
        ...
