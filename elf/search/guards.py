"""The ports a search uses, each behind a circuit breaker of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from elf.config.model import Config, Provider
from elf.core.errors import IndexUnavailable
from elf.index.port import IndexQuery, QueryResult, VectorIndex
from elf.index.space import Space
from elf.providers.factory import Providers
from elf.providers.micro_batch import MicroBatchingEmbedder
from elf.providers.port import Chat, Embedder, JsonAnswer, Matrix, Prompt, Reranker
from elf.search.breaker import BreakerState, CircuitBreaker

T = TypeVar("T")

# Measured with the packaged model on 2 cores: 4 queries in one call cost a quarter less than in 4 calls; larger calls
# would wait in one lane with the texts of writes.
LOCAL_BATCH_TEXTS: Final = 4
LOCAL_BATCHES_IN_FLIGHT: Final = 2
INDEX_LONGEST_OPEN_S: Final = 2.0
USUAL_CANDIDATES: Final = 100  # as many as a search may ask results for


class GuardedEmbedder:
    """An Embedder behind a breaker."""

    def __init__(self, inner: Embedder, breaker: CircuitBreaker) -> None:
        self._inner = inner
        self._breaker = breaker

    @property
    def version(self) -> str:
        return self._inner.version

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a float32 matrix of shape (len(texts), dimensions), in the order of the texts; see the port."""
        return await self._breaker.call(lambda: self._inner.embed(texts))


class GuardedReranker:
    """A Reranker behind two breakers, one for calls of up to `usual` documents and one for larger calls.

    A call of ten times as many documents may be cut off where the usual one is in good time, and must not cost the
    others their reranker.
    """

    def __init__(
        self, inner: Reranker, breaker: CircuitBreaker, *, large: CircuitBreaker, usual: int
    ) -> None:
        self._inner = inner
        self._breaker = breaker
        self._large = large
        self._usual = usual

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score a document, aligned to `documents`."""
        breaker = self._breaker if len(documents) <= self._usual else self._large
        return await breaker.call(lambda: self._inner.rerank(query, documents))


class GuardedChat:
    """A Chat behind a breaker."""

    def __init__(self, inner: Chat, breaker: CircuitBreaker) -> None:
        self._inner = inner
        self.breaker = breaker

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        """Return the model's answer as `answer.read` reads it."""
        return await self.breaker.call(lambda: self._inner.ask(prompt, answer))

    async def text(self, prompt: Prompt) -> str:
        """Return the model's answer as it came."""
        return await self.breaker.call(lambda: self._inner.text(prompt))


class GuardedIndex:
    """The part of a VectorIndex that a search uses, behind a breaker that refuses with IndexUnavailable."""

    def __init__(self, inner: VectorIndex, breaker: CircuitBreaker) -> None:
        self._inner = inner
        self.breaker = breaker

    @property
    def is_away(self) -> bool:
        """Whether it did not answer of late."""
        return self.breaker.state is not BreakerState.CLOSED

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        """Run queries in one call to the engine; results are in the order of the queries."""
        return await self.breaker.call(lambda: self._inner.query(queries))


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The models that searches call. The embedder is an actor, too, and shares calls while it runs.

    `breakers` are those of all that searches call; who guards something more adds its own.
    """

    embedder: MicroBatchingEmbedder
    reranker: GuardedReranker
    chat: GuardedChat
    breakers: list[CircuitBreaker]


def guarded_models(config: Config, providers: Providers) -> SearchModels:
    """Put breakers around the models. The embedder's is inside the batches: a shared call fails once."""
    tables = config.providers
    embedding = CircuitBreaker(_label("embedding", tables.embedding))
    rerank = CircuitBreaker(_label("rerank", tables.rerank))
    large_rerank = CircuitBreaker(f"{rerank.name}, large calls")
    chat = CircuitBreaker(_label("llm_extractor", tables.llm_extractor))
    return SearchModels(
        embedder=_batching(GuardedEmbedder(providers.embedder, embedding), local=tables.embedding.is_local),
        reranker=GuardedReranker(
            providers.reranker,
            rerank,
            large=large_rerank,
            usual=max(config.memory.candidate_k, USUAL_CANDIDATES),
        ),
        chat=GuardedChat(providers.extractor, chat),
        breakers=[embedding, rerank, large_rerank, chat],
    )


def guarded_consolidator(config: Config, chat: Chat | None) -> GuardedChat | None:
    """Put a breaker around what consolidates episodes, where there is something."""
    table = config.providers.llm_consolidator
    if chat is None or table is None:
        return None
    return GuardedChat(chat, CircuitBreaker(_label("llm_consolidator", table)))


def guarded_index(index: VectorIndex, space: Space) -> GuardedIndex:
    """Put a breaker around the index of a space."""
    name = "the index" if space.is_plain else f"the {space.name}_index"
    # One that is dead refuses at once, and its owner has it back in seconds: it is looked for often.
    breaker = CircuitBreaker(name, longest_open_s=INDEX_LONGEST_OPEN_S, refusal=IndexUnavailable)
    return GuardedIndex(index, breaker)


def _batching(embedder: Embedder, *, local: bool) -> MicroBatchingEmbedder:
    if not local:
        return MicroBatchingEmbedder(embedder)
    return MicroBatchingEmbedder(embedder, max_texts=LOCAL_BATCH_TEXTS, max_in_flight=LOCAL_BATCHES_IN_FLIGHT)


def _label(table: str, provider: Provider) -> str:
    return f"providers.{table} ({provider.provider_id})"
