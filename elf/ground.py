"""What a process shares with the families of memory that work in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from elf.config.model import Config
from elf.core.clock import Clock
from elf.db.database import Database
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.indexing.corpus import Corpus
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.indexing.indexed import IndexedCorpus, IndexingPace
from elf.offers import Offers
from elf.outbox.leased import LeasedOutbox
from elf.outbox.turns import Turns
from elf.providers.factory import Providers
from elf.providers.port import Chat, Embedder, LateInteraction
from elf.providers.tokens import HfTokens
from elf.search.token_store import TokenStore
from elf.search.toolkit import SearchToolkit
from elf.search.trace_store import TraceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """Which process this is; `name` tells people where it runs."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What this process is for: it answers the public operations, those of operators, and does leased work."""

    serves: bool
    administers: bool
    works: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of this process: all of them where it serves, the embedder where it works, too.

    `late` makes token vectors in the pass of the embedder, where that costs nothing. `consolidator` is there where the
    process serves or works and the config names one; a breaker guards it. `extractor` is the language model of
    [providers.llm_extractor] where the process serves or works, None where that is `local:`; each family guards it.
    """

    embedder: Embedder | None = None
    late: LateInteraction | None = None
    consolidator: Chat | None = None
    extractor: Chat | None = None
    all: Providers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a family builds on. Nothing here works yet while families are opened: the database is not connected.

    `reads` may be a replica. `dsn` returns the address of the database, for a session of one's own. `texts` cuts
    and embeds texts, where there is a model; `fleet` are the other processes that do, and may have another one.
    `ring` returns what wakes the workers of a queue, here and elsewhere. `index` returns the index of a space.
    `search` is there where the process serves, `tokens` where token vectors are kept. `turns` are those of all
    background work. `below` are the families that were opened before, by name: what stands above families works
    with what they offer. `outboxes` are those of all families, by queue, once these are open.
    """

    config: Config
    process: ProcessId
    roles: Roles
    clock: Clock
    database: Database
    reads: Database
    dsn: Callable[[], str]
    models: Models
    texts: TextEmbedder | None
    fleet: Fleet
    ring: Callable[[str], Callable[[], None]]
    index: Callable[[Space], VectorIndex]
    fresh: FreshWrites
    tokens: TokenStore | None
    traces: TraceStore
    search: SearchToolkit | None
    turns: Turns = field(default_factory=Turns)
    outboxes: Mapping[str, LeasedOutbox] = field(default_factory=dict)
    below: Mapping[str, Offers] = field(default_factory=lambda: MappingProxyType({}))


def texts_of(config: Config, models: Models) -> TextEmbedder | None:
    """Return what cuts texts into chunks as the config says, and embeds them; None in a process without a model.

    Raises StartupError when the tokenizer cannot be read.
    """
    if models.embedder is None:
        return None
    chunking = config.chunking
    tokens = HfTokens.open(chunking.tokenizer_repo, config.providers.embedding, config.local_model)
    return TextEmbedder(
        models.embedder,
        tokens,
        chunking.max_tokens,
        chunking.overlap_tokens,
        tokenizer=tokens.name,
        late=models.late,
    )


def indexed(ground: Ground, corpus: Corpus, *, progress_path: str | None = None) -> IndexedCorpus:
    """Return a corpus at work on the ground: a family that brings it has it indexed, kept, rebuilt and collected.

    `progress_path` is as that of IndexedCorpus.
    """
    rules = ground.config.indexing
    return IndexedCorpus(
        corpus=corpus,
        index=ground.index(corpus.space),
        database=ground.database,
        clock=ground.clock,
        ring=ground.ring(corpus.queue),
        fresh=ground.fresh,
        texts=ground.texts,
        fleet=ground.fleet,
        pace=IndexingPace(
            concurrency=rules.indexers,
            batch_size=rules.batch_size,
            lease_seconds=rules.lease_seconds,
            poll_interval_s=rules.poll_interval_ms / 1000,
        ),
        progress_path=progress_path,
    )
