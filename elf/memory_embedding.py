"""Vectors of memories that a family keeps in its own rows: one each, of the model that is configured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import anyio
import structlog
from pgvector import Vector

from elf.core.batches import batches
from elf.core.errors import ProviderUnavailable, Unavailable
from elf.db.database import Database
from elf.db.queries import Queries
from elf.ground import Ground
from elf.indexing.embedding import TextEmbedder
from elf.outbox.leased import LeasedOutbox
from elf.providers.micro_batch import MicroBatchingEmbedder
from elf.providers.port import Embedder, Matrix
from elf.search.breaker import BreakerState, CircuitBreaker
from elf.search.guards import GuardedEmbedder

# Calls that writers share. A model of this process is quicker with what waits in one call than with two calls at once.
CALLS_AT_ONCE: Final = 4
# How long one who stores waits for a call of a model behind a URL, and for one that tells whether it is back. Whoever
# makes the vector later tries for as long as the config says. A model of this process is never away, only busy.
PATIENCE_S: Final = 3.0
PATIENCE_WITH_A_PROBE_S: Final = 0.5

LEASE_S: Final = 60.0
CHARS_AT_ONCE: Final = 65_536
"""How many code points of texts, but for a longer one, are in the making at a time."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of texts in their order, None for one that got none. `is_away` when the model did not answer."""

    vectors: Sequence[Vector | None]
    is_away: bool

    @property
    def degraded(self) -> list[str]:
        return ["embedding"] if self.is_away else []


class MemoryEmbedder:
    """Embeds whole memories: a long one is cut into windows, and its vector is their mean, scaled to length 1.

    `family` is whose they are. `patience_s` tells how long what is stored in any case waits for a call of the model;
    None: as long as it takes.
    """

    def __init__(
        self, texts: TextEmbedder, *, family: str, patience_s: Callable[[], float | None] = lambda: None
    ) -> None:
        self._texts = texts
        self._away = f"{family}.embedding_away"
        self._patience_s = patience_s

    @property
    def version(self) -> str:
        """The model as `provider:model:dimensions`."""
        return self._texts.version

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector for each text, None where the model gave none that counts. Raises as the provider does."""
        return await _vectors(self._texts, texts)

    async def embed_if_there(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of texts that are to be stored in any case: none when the model is away, or too slow."""
        hasty = replace(self._texts, embedder=_Hasty(self._texts.embedder, self._patience_s))
        try:
            return Embedded(await _vectors(hasty, texts), is_away=False)
        except Unavailable as error:
            log.warning(self._away, texts=len(texts), error=type(error).__name__)
            return Embedded([None] * len(texts), is_away=True)


class MemoryModel(NamedTuple):
    """What embeds the memories of a family in a process.

    `texts` is None where the process has no model. `shared_calls` is the actor that owns the calls which writers share,
    where it serves. `breaker` guards the model, and `patience_s` tells how long one who stores waits for a call.
    """

    texts: TextEmbedder | None
    shared_calls: MicroBatchingEmbedder | None
    breaker: CircuitBreaker
    patience_s: Callable[[], float | None]

    def outbox(self, database: Database, queries: Queries, table: str) -> LeasedOutbox:
        """Return the outbox of a family whose jobs need the model: none is leased while that is away."""
        return LeasedOutbox(
            database, queries, table=table, lease_seconds=LEASE_S, is_paused=lambda: self.breaker.refuses
        )


def memory_model(ground: Ground, family: str) -> MemoryModel:
    """Put a breaker around the model: what is stored without a vector gets one later, so no writer waits in vain.

    Where the process serves, writers share calls of the model.
    """
    is_local = ground.config.providers.embedding.is_local
    breaker = CircuitBreaker(f"embedding of {family}")
    patience_s = (lambda: None) if is_local else _patience_with(breaker)
    if ground.texts is None:
        return MemoryModel(None, None, breaker, patience_s)
    embedder = GuardedEmbedder(ground.texts.embedder, breaker)
    if not ground.roles.serves:
        return MemoryModel(replace(ground.texts, embedder=embedder, late=None), None, breaker, patience_s)
    in_flight = 1 if is_local else CALLS_AT_ONCE
    shared = MicroBatchingEmbedder(embedder, name=f"{family}_batcher", max_in_flight=in_flight)
    return MemoryModel(replace(ground.texts, embedder=shared, late=None), shared, breaker, patience_s)


def _patience_with(breaker: CircuitBreaker) -> Callable[[], float]:
    return lambda: PATIENCE_S if breaker.state is BreakerState.CLOSED else PATIENCE_WITH_A_PROBE_S


async def _vectors(embedder: TextEmbedder, texts: Sequence[str]) -> list[Vector | None]:
    """Return the vectors of texts, which are cut and embedded some at a time."""
    vectors: list[Vector | None] = []
    for some in batches(texts, len, most_size=CHARS_AT_ONCE):
        found = await embedder.embed_in_turn([text.replace("\x00", "") or " " for text in some], {})
        pooled = [None if one is None else one.unit_pooled for one in found]
        vectors += [None if vector is None else Vector(vector) for vector in pooled]
    return vectors


class _Hasty:
    """The Embedder port around another one, which gives each call so many seconds."""

    def __init__(self, inner: Embedder, patience_s: Callable[[], float | None]) -> None:
        self._inner = inner
        self._patience_s = patience_s

    @property
    def version(self) -> str:
        return self._inner.version

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts as the other one does. Raises ProviderUnavailable when that takes too long."""
        try:
            with anyio.fail_after(self._patience_s()):
                return await self._inner.embed(texts)
        except TimeoutError:
            raise ProviderUnavailable("the embedding model is too slow to be waited for") from None
