"""Puts together what the searches of all families share, and what stores things behind their backs."""

from __future__ import annotations

from actors.assembly.shared import Shared
from actors.kernel import Channel
from actors.workers.cache_writer import CacheWriter
from actors.workers.token_writer import TokenWriter
from elf.config.model import Config
from elf.db.queries import Queries
from elf.providers.factory import Providers
from elf.providers.local.catalog import find_model
from elf.search.cache import AnswerCache, LatePut
from elf.search.token_store import TokenPut, TokenStore
from elf.search.toolkit import SearchToolkit, search_toolkit
from elf.search.trace import TraceSink

TOKEN_PUTS = 32  # searches whose token vectors wait to be stored
CACHE_PUTS = 256  # answers waiting to be written; more are not kept


def token_store(config: Config, queries: Queries) -> TokenStore | None:
    """Return where token vectors are kept, if the config has tokens compared."""
    rules = config.search.rerank
    if rules is None or not config.compares_tokens:
        return None
    model = find_model(config.providers.rerank.model)
    assert model is not None, "the config's rules let only models of the catalog be local"
    return TokenStore(queries, version=model.tokens_version(rules.words_per_chunk), max_words=rules.max_words)


def add_search(
    shared: Shared, queries: Queries, providers: Providers, tokens: TokenStore | None, trace: TraceSink
) -> SearchToolkit:
    """Return what searches are put together from, and add the actors it needs; `queries` are those of sql/search."""
    answers: Channel[LatePut] = Channel("cache_puts", CACHE_PUTS, "drop")
    made: Channel[TokenPut] = Channel("token_puts", TOKEN_PUTS, "drop")
    toolkit = search_toolkit(
        shared.config,
        providers,
        cache=_add_cache(shared, queries, answers),
        later_answer=answers.send_nowait,
        later_tokens=made.send_nowait,
        trace=trace,
        measures=shared.metrics.measures,
    )
    shared.supervisor.add(toolkit.models.embedder)
    shared.metrics.watch_channels(answers)
    if toolkit.late is not None and tokens is not None:
        writer = TokenWriter(database=shared.database, store=tokens, puts=made)
        shared.supervisor.add(writer, needs=["database"])
        shared.metrics.watch_channels(made)
    return toolkit


def _add_cache(shared: Shared, queries: Queries, puts: Channel[LatePut]) -> AnswerCache | None:
    rules = shared.config.search.cache
    if not rules.enabled:
        return None
    cache = AnswerCache(
        database=shared.database,
        queries=queries,
        clock=shared.clock,
        max_payload_bytes=rules.max_payload_bytes,
    )
    shared.supervisor.add(CacheWriter(cache, puts), needs=["database"])
    shared.metrics.watch_cache(cache)
    return cache
