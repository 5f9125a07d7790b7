"""Builds the providers that a config names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio.to_thread
import httpx

from elf.config.model import ChatProvider, Config, Provider
from elf.config.optional import LocalRerank
from elf.core.measures import Measures
from elf.providers.chat import HttpChat
from elf.providers.embedding import HttpEmbedder
from elf.providers.http import ProviderHttp
from elf.providers.local.answers import LocalAnswer
from elf.providers.local.catalog import find_model
from elf.providers.local.chat import LocalChatApp
from elf.providers.port import Chat, Embedder, LateInteraction, Reranker
from elf.providers.rerank import HttpReranker

if TYPE_CHECKING:
    from elf.providers.local.ports import LocalPorts

EMBEDDING, RERANK = "providers.embedding", "providers.rerank"
EXTRACTOR, CONSOLIDATOR = "providers.llm_extractor", "providers.llm_consolidator"


@dataclass(frozen=True, slots=True)
class Providers:
    """The model providers of a process. Leaving the context, or aclose, closes their connections.

    `late` is there when the config has the `local:` reranker compare tokens.
    """

    embedder: Embedder
    reranker: Reranker
    late: LateInteraction | None
    extractor: Chat
    connections: tuple[ProviderHttp, ...]

    async def aclose(self) -> None:
        for http in self.connections:
            await http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def open_providers(
    config: Config, *, local_answers: Sequence[LocalAnswer] = (), measures: Measures | None = None
) -> Providers:
    """Build the providers; the local model is loaded, in a thread, when the embedder or the reranker is `local:`.

    An extractor that is `local:` goes by the rules of `local_answers`, and needs no model. `measures` is told of every
    call. Raises StartupError when a provider cannot be built or the local model cannot be fetched or loaded.
    """
    tables = config.providers
    local = await _load_local(config) if tables.embedding.is_local or tables.rerank.is_local else None
    connections: list[ProviderHttp] = []

    def connected(
        name: str, table: Provider, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> ProviderHttp:
        connections.append(ProviderHttp(name, table, transport=transport, measures=measures))
        return connections[-1]

    embedder: Embedder
    if local is not None and tables.embedding.is_local:
        embedder = local.embedder(tables.embedding, measures)
    else:
        embedder = HttpEmbedder(tables.embedding, connected(EMBEDDING, tables.embedding))
    reranker: Reranker
    if local is not None and tables.rerank.is_local:
        reranker = local.reranker(tables.rerank, measures)
    else:
        reranker = HttpReranker(tables.rerank, connected(RERANK, tables.rerank))
    rules = _rules(tables.llm_extractor, local_answers)
    extractor = HttpChat(tables.llm_extractor, connected(EXTRACTOR, tables.llm_extractor, transport=rules))
    return Providers(
        embedder=embedder,
        reranker=reranker,
        late=local.late if local is not None and config.compares_tokens else None,
        extractor=extractor,
        connections=tuple(connections),
    )


@asynccontextmanager
async def open_embedder(
    config: Config, *, measures: Measures | None = None
) -> AsyncIterator[tuple[Embedder, LateInteraction | None]]:
    """Build the embedder for a process that indexes alone, and what makes token vectors in the same pass, if it can.

    Otherwise as `open_providers`.
    """
    table = config.providers.embedding
    if table.is_local:
        local = await _load_local(config)
        yield local.embedder(table, measures), local.late if config.compares_tokens else None
        return
    http = ProviderHttp(EMBEDDING, table, measures=measures)
    try:
        yield HttpEmbedder(table, http), None
    finally:
        await http.aclose()


@asynccontextmanager
async def open_extractor(config: Config, *, measures: Measures | None = None) -> AsyncIterator[Chat | None]:
    """Build the language model that extracts; `local:` is none, and gives None. Otherwise as `open_providers`."""
    table = config.providers.llm_extractor
    if table.is_local:
        yield None
        return
    http = ProviderHttp(EXTRACTOR, table, measures=measures)
    try:
        yield HttpChat(table, http)
    finally:
        await http.aclose()


@asynccontextmanager
async def open_consolidator(
    config: Config, *, local_answers: Sequence[LocalAnswer] = (), measures: Measures | None = None
) -> AsyncIterator[Chat | None]:
    """Build what consolidates episodes, None where the config names nothing. Otherwise as `open_providers`."""
    table = config.providers.llm_consolidator
    if table is None:
        yield None
        return
    http = ProviderHttp(CONSOLIDATOR, table, transport=_rules(table, local_answers), measures=measures)
    try:
        yield HttpChat(table, http)
    finally:
        await http.aclose()


def rules_as_chat(table: ChatProvider, answers: Sequence[LocalAnswer]) -> Chat:
    """Return what answers by rules, for a process whose config has no language model."""
    return HttpChat(table, ProviderHttp(EXTRACTOR, table, transport=_rules(table, answers)))


def _rules(table: Provider, answers: Sequence[LocalAnswer]) -> httpx.AsyncBaseTransport | None:
    """Return what stands in for the network of a chat service that is `local:`."""
    return httpx.ASGITransport(app=LocalChatApp(answers)) if table.is_local else None


async def _load_local(config: Config) -> LocalPorts:
    # Imported here: a process whose providers are all remote needs no model runtime.
    from elf.providers.local.ports import LocalPorts

    rules = config.search.rerank or LocalRerank()
    tables = config.providers
    model = find_model((tables.embedding if tables.embedding.is_local else tables.rerank).model)
    assert model is not None, "the config's rules let only models of the catalog be local"
    opened = partial(LocalPorts.open, config.local_model, model=model, words_per_text=rules.words_per_chunk)
    return await anyio.to_thread.run_sync(opened)
