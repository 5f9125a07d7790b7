"""Builds the providers that a config names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

import anyio.to_thread
import httpx

from elf.config.model import Config, Provider
from elf.config.optional import LocalRerank
from elf.core.measures import Measures
from elf.providers.chat import HttpChat
from elf.providers.embedding import HttpEmbedder
from elf.providers.http import ProviderHttp
from elf.providers.local.chat import ExtractorApp
from elf.providers.port import Chat, Embedder, LateInteraction, Reranker
from elf.providers.rerank import HttpReranker


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
    config: Config, *, local_app: Any = None, measures: Measures | None = None
) -> Providers:
    """Build the providers; the packaged model is loaded, in a thread, when the embedder or the reranker is `local:`.

    An extractor that is `local:` is the rule-based one, which needs no model. `local_app` is the ASGI app that stands
    behind `local:` instead of either. `measures` is told of every call. Raises StartupError when a provider cannot be
    built or the packaged model cannot be loaded.
    """
    tables = config.providers
    extractor_app = local_app or ExtractorApp()
    late: LateInteraction | None = None
    if local_app is None and (tables.embedding.is_local or tables.rerank.is_local):
        local_app, late = await _load_local(config)
    embedding = _http("providers.embedding", tables.embedding, local_app, measures)
    rerank = _http("providers.rerank", tables.rerank, local_app, measures)
    extraction = _http("providers.llm_extractor", tables.llm_extractor, extractor_app, measures)
    return Providers(
        embedder=HttpEmbedder(tables.embedding, embedding),
        reranker=HttpReranker(tables.rerank, rerank),
        late=late,
        extractor=HttpChat(tables.llm_extractor, extraction),
        connections=(embedding, rerank, extraction),
    )


@asynccontextmanager
async def open_embedder(
    config: Config, *, measures: Measures | None = None
) -> AsyncIterator[tuple[Embedder, LateInteraction | None]]:
    """Build the embedder, and what makes token vectors, for a process that indexes alone; else as `open_providers`."""
    table = config.providers.embedding
    local_app, late = None, None
    if table.is_local or config.compares_tokens:
        local_app, late = await _load_local(config)
    http = _http("providers.embedding", table, local_app, measures)
    try:
        yield HttpEmbedder(table, http), late
    finally:
        await http.aclose()


def _http(name: str, config: Provider, local_app: Any, measures: Measures | None) -> ProviderHttp:
    transport = httpx.ASGITransport(app=local_app) if config.is_local else None
    return ProviderHttp(name, config, transport=transport, measures=measures)


async def _load_local(config: Config) -> tuple[Any, LateInteraction | None]:
    """Load the packaged model; returns the app behind `local:`, and late interaction where it is asked for."""
    # Imported here: a process whose providers are all remote needs no model runtime.
    from elf.providers.local.app import LocalApp
    from elf.providers.local.encoder import Encoder
    from elf.providers.local.late import LocalLateInteraction

    rules = config.search.rerank or LocalRerank()
    open_it = partial(Encoder.open, config.local_model, words_per_text=rules.words_per_chunk)
    encoder = await anyio.to_thread.run_sync(open_it)
    return LocalApp(encoder), LocalLateInteraction(encoder) if config.compares_tokens else None
