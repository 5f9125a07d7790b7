"""A corpus at work in a process: everything that keeps its index is made from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from elf.core.clock import Clock
from elf.db.database import Database
from elf.index.port import VectorIndex
from elf.indexing.admin import KeptIndex
from elf.indexing.admin_operations import INDEX_PROGRESS
from elf.indexing.corpus import Corpus
from elf.indexing.drift import IndexDrift
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fresh import FreshWrites
from elf.indexing.leased_points import LeasedPoints
from elf.indexing.peers import Peers
from elf.indexing.rebuild import IndexRebuild
from elf.indexing.rebuild_runs import RebuildRuns
from elf.indexing.reconcile import IndexReconciler
from elf.indexing.renewal import CorpusRenewal
from elf.indexing.worker import LEASE_BYTES, IndexWorker
from elf.outbox.leased import LeasedOutbox
from elf.outbox.queue import Queue

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedCorpus:
    """A corpus with its index. `ring` wakes the workers of its queue in all processes."""

    corpus: Corpus
    index: VectorIndex
    database: Database
    clock: Clock
    lease_seconds: float
    ring: Callable[[], None]

    async def bring_up_to_date(self, *, clean: bool) -> None:
        """Compare the index with Postgres, by its size alone when it was left clean, and ask for what is missing."""
        reconciler = self.reconciler()
        if clean and await reconciler.is_whole():
            return
        drift = await reconciler.reconcile()
        log.info("index_reconciled", corpus=self.corpus.name, clean=clean, **drift._asdict())

    def reconciler(self) -> IndexReconciler:
        """Return what compares the index with Postgres, and asks for what differs."""
        return IndexReconciler(
            database=self.database, corpus=self.corpus, index=self.index, clock=self.clock, ring=self.ring
        )

    def queue(
        self,
        texts: TextEmbedder,
        peers: Peers,
        fresh: FreshWrites,
        *,
        concurrency: int,
        batch_size: int,
        poll_interval_s: float,
    ) -> Queue:
        """Return the queue by which the corpus gets into the index."""
        worker = IndexWorker(
            database=self.database,
            corpus=self.corpus,
            texts=texts,
            index=self.index,
            peers=peers,
            fresh=fresh,
            clock=self.clock,
        )
        terms = (texts.version, LEASE_BYTES)
        return Queue(
            family=self.corpus.family,
            name=self.corpus.queue,
            outbox=indexing_outbox(self.database, self.corpus, lease_seconds=self.lease_seconds, terms=terms),
            handle=worker.handle,
            concurrency=concurrency,
            batch_size=batch_size,
            poll_interval_s=poll_interval_s,
        )

    def renewal(self, texts: TextEmbedder, peers: Peers) -> CorpusRenewal:
        """Return what finds what has to be made anew by this process's model and chunking."""
        return CorpusRenewal(
            database=self.database,
            corpus=self.corpus,
            texts=texts,
            peers=peers,
            clock=self.clock,
            ring=self.ring,
        )

    def kept(self, *, progress_path: str | None = None) -> KeptIndex:
        """Return what keeps the index at the word of operators; something has to serve its rebuilds.

        `progress_path` is where they are told to look how far a rebuild is, if not at the operation of all corpora.
        """
        path = progress_path or INDEX_PROGRESS.path.format(corpus=self.corpus.name)
        drift = IndexDrift(database=self.database, corpus=self.corpus, reconciler=self.reconciler())
        return KeptIndex(RebuildRuns(self._rebuild().run, progress_path=path, clock=self.clock), drift)

    def _rebuild(self) -> IndexRebuild:
        points = LeasedPoints(
            database=self.database,
            corpus=self.corpus,
            lease_seconds=self.lease_seconds,
            clock=self.clock,
            ring=self.ring,
        )
        return IndexRebuild(
            database=self.database,
            corpus=self.corpus,
            index=self.index,
            points=points,
            reconciler=self.reconciler(),
            clock=self.clock,
        )


def indexing_outbox(
    database: Database, corpus: Corpus, *, lease_seconds: float, terms: Sequence[object] = ()
) -> LeasedOutbox:
    """Return the outbox by which a corpus gets into the index; without `terms`, only to look into."""
    return LeasedOutbox(
        database, corpus.queries, table=corpus.tables.outbox, lease_seconds=lease_seconds, terms=terms
    )
