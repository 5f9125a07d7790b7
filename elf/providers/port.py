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
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from elf.providers.token_vectors import TokenVectors

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


class LateScore(NamedTuple):
    """How well a document answers a query.

    `unhandicapped` and `score` are 0 to 1 and say which of the documents compared is the better one, before and after
    the handicap. `relevance` may be compared between queries: at most 1, for the query's own words.
    """

    unhandicapped: float
    score: float
    relevance: float


class LateInteraction(Protocol):
    """Compares the tokens of a query with those of documents, in this process.

    The token vectors of a document do not depend on the query, so that they are made once and kept.
    """

    @property
    def version(self) -> str:
        """What the token vectors are made by; those of different versions never meet."""
        ...

    async def encode(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of each text; those of a text that was just embedded cost no pass of the model."""
        ...

    async def score(
        self, query: str, documents: Sequence[TokenVectors], handicaps: Sequence[float]
    ) -> list[LateScore]:
        """Score documents, in their order. A handicap is taken off a document's mean cosine with the query's words."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is told: who it is, and what to do.

    `temperature` goes before that of the config. `max_tokens` bounds the answer, None: as the endpoint does.
    """

    system: str
    user: str
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class JsonAnswer(Generic[T]):
    """The JSON asked for: a name, its JSON Schema, and how to read the decoded value.

    `read` raises ValueError, with a message that repeats nothing of the value, for what is not the JSON asked for.
    """

    name: str
    schema: Mapping[str, Any]
    read: Callable[[Any], T]


class Chat(Protocol):
    """Asks a language model, or what stands in for one."""

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        """Return the model's answer as `answer.read` reads it.

        Asks again, at most twice, when the content is not the JSON asked for; ProviderUnavailable when it never is.
        """
        ...

    async def text(self, prompt: Prompt) -> str:
        """Return the model's answer as it came: any text but none, of at most 1 MiB with what it is sent in."""
        ...
