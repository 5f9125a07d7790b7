"""The part of the composition root that reaches the index and keeps it usable."""

from __future__ import annotations

import structlog

from actors.index_host import IndexHost
from actors.index_link import IndexLink
from actors.kernel import Actor
from actors.shared_parts import SharedParts
from elf.config.model import Qdrant
from elf.families.notes.reconcile import IndexReconciler
from elf.families.notes.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.pgvector import PgvectorIndex
from elf.index.port import VectorIndex
from elf.index.server import QdrantServerIndex
from elf.index.space import Space

INDEX_TIMEOUT_S = 5.0

log = structlog.get_logger()


class IndexParts:
    """The index that the config names; making it adds the actor that keeps it, which is called `keeper`."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared
        self.index = self.open(NOTES)
        keeper = self._keeper(shared.config.storage.qdrant)
        shared.supervisor.add(keeper, needs=["database"], stop_timeout_s=8.0)
        self.keeper = keeper.name

    def _keeper(self, storage: Qdrant) -> Actor:
        if storage.place.folder is None:
            return IndexLink(self.index, on_open=lambda: self._bring_up_to_date(clean=True))
        return IndexHost(
            storage.place.folder,
            {NOTES: lambda info: self._bring_up_to_date(clean=info.clean)},
            vector_dim=storage.vector_dim,
        )

    def open(self, space: Space) -> VectorIndex:
        """Return the index of a space where the config says."""
        shared, storage = self._shared, self._shared.config.storage.qdrant
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

    def reconciler(self) -> IndexReconciler:
        """Return what compares the index with Postgres."""
        return IndexReconciler(
            database=self._shared.database,
            queries=self._shared.queries,
            index=self.index,
            embedding_version=self._shared.config.embedding_version,
            clock=self._shared.clock,
            ring=self._shared.bell.ring,
        )

    async def _bring_up_to_date(self, *, clean: bool) -> None:
        reconciler = self.reconciler()
        if clean and await reconciler.is_whole():
            return
        drift = await reconciler.reconcile()
        log.info("index_reconciled", clean=clean, **drift._asdict())
