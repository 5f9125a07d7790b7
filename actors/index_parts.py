"""The part of the composition root that reaches the index and keeps it usable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.index_host import IndexHost, OnOpen
from actors.index_link import IndexLink, link_name
from actors.kernel import Actor
from actors.shared_parts import SharedParts
from elf.index.edge.client import EdgeIndex
from elf.index.pgvector import PgvectorIndex
from elf.index.port import VectorIndex
from elf.index.server import QdrantServerIndex
from elf.index.space import Space, refuse_doubles
from elf.indexing.corpus import Corpus
from elf.indexing.indexed import IndexedCorpus

INDEX_TIMEOUT_S = 5.0


def add_index(shared: SharedParts, corpora: Sequence[Corpus]) -> Mapping[str, IndexedCorpus]:
    """Return the corpora by name, each with its space of the index that the config names, and add what keeps it.

    An embedded index is one process with one actor; of a server each space is kept by itself. Raises ValueError when
    two corpora have one space.
    """
    refuse_doubles([corpus.space for corpus in corpora])
    folder = shared.config.storage.qdrant.place.folder
    indexed = {corpus.name: _indexed(shared, corpus) for corpus in corpora}
    keepers: list[Actor] = (
        [_link(one) for one in indexed.values()]
        if folder is None
        else [_host(folder, list(indexed.values()), vector_dim=shared.config.storage.qdrant.vector_dim)]
    )
    for keeper in keepers:
        shared.supervisor.add(keeper, needs=["database"], stop_timeout_s=8.0)
    return indexed


def keeper_of(shared: SharedParts, corpus: Corpus) -> str:
    """Return the name of the actor that keeps the index of a corpus usable."""
    return link_name(corpus.space) if shared.config.storage.qdrant.place.folder is None else IndexHost.name


def _indexed(shared: SharedParts, corpus: Corpus) -> IndexedCorpus:
    return IndexedCorpus(
        corpus=corpus,
        index=_open(shared, corpus.space),
        database=shared.database,
        clock=shared.clock,
        lease_seconds=shared.config.indexing.lease_seconds,
        ring=shared.bell(corpus.queue).ring,
    )


def _link(indexed: IndexedCorpus) -> IndexLink:
    name = link_name(indexed.corpus.space)
    return IndexLink(indexed.index, name=name, on_open=lambda: indexed.bring_up_to_date(clean=True))


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
