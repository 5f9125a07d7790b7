"""Reaches the index and keeps it usable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from actors.assembly.shared import Shared
from actors.owners.index_host import IndexHost
from actors.owners.index_link import IndexLink, link_name
from actors.workers.index_rebuilder import IndexRebuilder
from elf.family import Opened
from elf.ground import Roles
from elf.index.edge.client import EdgeIndex, IndexInfo
from elf.index.pgvector import PgvectorIndex
from elf.index.port import VectorIndex
from elf.index.server import QdrantServerIndex
from elf.index.space import Space, refuse_doubles
from elf.indexing.indexed import IndexedCorpus

INDEX_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 2.0


class Indexes:
    """The index of each space, where the config says, opened once a process."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._open: dict[Space, VectorIndex] = {}

    def of(self, space: Space) -> VectorIndex:
        """Return the index of a space. Raises ValueError when another space has its name."""
        if space not in self._open:
            refuse_doubles([*self._open, space])
            self._open[space] = _open(self._shared, space)
        return self._open[space]

    async def aclose(self) -> None:
        """Close them all, each within CLOSE_TIMEOUT_S seconds."""
        for index in self._open.values():
            with anyio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
                await index.aclose()


def with_indexing(opened: Opened, roles: Roles) -> Opened:
    """Return a family with all that its corpora bring with them: their outboxes, and what is done to these."""
    corpora = opened.corpora
    return replace(
        opened,
        outboxes={**opened.outboxes, **{one.corpus.queue: one.outbox for one in corpora}},
        queues=[*opened.queues, *(one.queue() for one in corpora if roles.works)],
        owners=[*opened.owners, *(one.renewer() for one in corpora if roles.works)],
        garbage=[*opened.garbage, *(step for one in corpora for step in one.garbage())],
    )


def keeper_of(shared: Shared, corpus: IndexedCorpus) -> str:
    """Return the name of the actor that keeps the index of a corpus usable."""
    is_embedded = shared.config.storage.qdrant.place.folder is not None
    return IndexHost.name if is_embedded else link_name(corpus.corpus.space)


def add_keepers(shared: Shared, corpora: Sequence[IndexedCorpus]) -> None:
    """Add what keeps the corpora in their index: an embedded one as a whole, of a server each space by itself."""
    folder = shared.config.storage.qdrant.place.folder
    if folder is None:
        for corpus in corpora:
            link = IndexLink(
                corpus.index,
                name=keeper_of(shared, corpus),
                on_open=partial(corpus.bring_up_to_date, clean=True),
            )
            shared.supervisor.add(link, needs=["database"], stop_timeout_s=8.0)
    elif corpora:
        host = _host(folder, corpora, vector_dim=shared.config.storage.qdrant.vector_dim)
        shared.supervisor.add(host, needs=["database"], stop_timeout_s=8.0)


def add_rebuilders(shared: Shared, corpora: Sequence[IndexedCorpus]) -> None:
    """Add what rebuilds them when operators ask for it."""
    for corpus in corpora:
        shared.supervisor.add(IndexRebuilder(corpus.corpus.space, corpus.runs), needs=["database"])


def _host(folder: Path, corpora: Sequence[IndexedCorpus], *, vector_dim: int) -> IndexHost:
    async def on_open(corpus: IndexedCorpus, info: IndexInfo) -> None:
        await corpus.bring_up_to_date(clean=info.clean)

    return IndexHost(
        folder, {one.corpus.space: partial(on_open, one) for one in corpora}, vector_dim=vector_dim
    )


def _open(shared: Shared, space: Space) -> VectorIndex:
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
