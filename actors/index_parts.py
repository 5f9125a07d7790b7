"""The part of the composition root that reaches the index and keeps it usable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from actors.index_host import IndexHost, OnOpen
from actors.index_link import IndexLink, link_name
from actors.kernel import Actor
from actors.shared_parts import SharedParts
from elf.families.notes.queries import INDEXING
from elf.index.edge.client import EdgeIndex
from elf.index.pgvector import PgvectorIndex
from elf.index.port import VectorIndex
from elf.index.server import QdrantServerIndex
from elf.index.space import Space, refuse_doubles
from elf.indexing.corpus import Corpus
from elf.indexing.reconcile import IndexReconciler

INDEX_TIMEOUT_S = 5.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class IndexedCorpus:
    """A corpus with its index and what compares the two; `keeper` names the actor that keeps the index usable."""

    corpus: Corpus
    index: VectorIndex
    reconciler: IndexReconciler
    keeper: str

    async def bring_up_to_date(self, *, clean: bool) -> None:
        """Compare the index with Postgres, by its size alone when it was left clean, and ask for what is missing."""
        if clean and await self.reconciler.is_whole():
            return
        drift = await self.reconciler.reconcile()
        log.info("index_reconciled", corpus=self.corpus.name, clean=clean, **drift._asdict())


def add_index(shared: SharedParts, corpora: Sequence[Corpus]) -> Mapping[str, IndexedCorpus]:
    """Return the corpora by name, each with its space of the index that the config names, and add what keeps it.

    An embedded index is one process with one actor; of a server each space is kept by itself. Raises ValueError when
    two corpora have one space.
    """
    refuse_doubles([corpus.space for corpus in corpora])
    folder = shared.config.storage.qdrant.place.folder
    indexed = {
        corpus.name: _indexed(
            shared, corpus, IndexHost.name if folder is not None else link_name(corpus.space)
        )
        for corpus in corpora
    }
    keepers: list[Actor] = (
        [_link(one) for one in indexed.values()]
        if folder is None
        else [_host(folder, list(indexed.values()), vector_dim=shared.config.storage.qdrant.vector_dim)]
    )
    for keeper in keepers:
        shared.supervisor.add(keeper, needs=["database"], stop_timeout_s=8.0)
    return indexed


def _indexed(shared: SharedParts, corpus: Corpus, keeper: str) -> IndexedCorpus:
    index = _open(shared, corpus.space)
    reconciler = IndexReconciler(
        database=shared.database,
        corpus=corpus,
        index=index,
        clock=shared.clock,
        ring=shared.bell(INDEXING).ring,
    )
    return IndexedCorpus(corpus, index, reconciler, keeper)


def _link(indexed: IndexedCorpus) -> IndexLink:
    return IndexLink(indexed.index, name=indexed.keeper, on_open=lambda: indexed.bring_up_to_date(clean=True))


def _host(folder: Path, corpora: Sequence[IndexedCorpus], *, vector_dim: int) -> IndexHost:
    def on_open(indexed: IndexedCorpus) -> OnOpen:
        return lambda info: indexed.bring_up_to_date(clean=info.clean)

    return IndexHost(folder, {one.corpus.space: on_open(one) for one in corpora}, vector_dim=vector_dim)


def _open(shared: SharedParts, space: Space) -> VectorIndex:
    """Return the index of a space where the config says."""
    storage = shared.config.storage.qdrant
    if storage.place.folder is not None:
        return EdgeIndex(storage.place.folder, space, timeout_s=INDEX_TIMEOUT_S)
    if storage.place.url is not None:
        return QdrantServerIndex.connect(
            storage.place.url,
            collection=storage.collection,
            space=space,
            vector_dim=storage.vector_dim,
            timeout_s=INDEX_TIMEOUT_S,
            server=storage.server,
        )
    return PgvectorIndex(
        shared.database,
        reads=shared.reads,
        space=space,
        vector_dim=storage.vector_dim,
        timeout_s=INDEX_TIMEOUT_S,
    )
