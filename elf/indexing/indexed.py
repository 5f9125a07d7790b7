"""A corpus at work in a process: everything that keeps its index is made from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import structlog

from elf.core.clock import Clock
from elf.core.errors import InternalError
from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.index.port import VectorIndex
from elf.indexing.admin_operations import INDEX_PROGRESS
from elf.indexing.corpus import Corpus
from elf.indexing.drift import IndexDrift
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.indexing.garbage import corpus_garbage
from elf.indexing.leased_points import LeasedPoints
from elf.indexing.rebuild import IndexRebuild
from elf.indexing.rebuild_runs import RebuildRuns
from elf.indexing.reconcile import IndexReconciler
from elf.indexing.renewal import CorpusRenewal
from elf.indexing.renewer import CorpusRenewer
from elf.indexing.worker import LEASE_BYTES, IndexWorker
from elf.indexing.writes import CorpusWrites
from elf.outbox.leased import LeasedOutbox
from elf.outbox.queue import Queue

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingPace:
    """How a corpus is worked off: batches at once, jobs a batch, seconds of a lease and between looks."""

    concurrency: int = 1
    batch_size: int = 32
    lease_seconds: float = 60.0
    poll_interval_s: float = 1.0


@dataclass(frozen=True, kw_only=True)
class IndexedCorpus:
    """A corpus with its index, what keeps the two together, and what operators may ask of it.

    `ring` wakes the workers of its queue in all processes. `texts` is what this process cuts and embeds with, None
    where it has no model: then it cannot work. `progress_path` is where operators are told to look how far a rebuild
    is, if not at the operation of all corpora.
    """

    corpus: Corpus
    index: VectorIndex
    database: Database
    clock: Clock
    ring: Callable[[], None]
    fresh: FreshWrites
    texts: TextEmbedder | None
    fleet: Fleet
    pace: IndexingPace
    progress_path: str | None = None

    async def bring_up_to_date(self, *, clean: bool) -> None:
        """Compare the index with Postgres, by its size alone when it was left clean, and ask for what is missing."""
        if clean and await self.reconciler.is_whole():
            return
        drift = await self.reconciler.reconcile()
        log.info("index_reconciled", corpus=self.corpus.name, clean=clean, **drift._asdict())

    @cached_property
    def writes(self) -> CorpusWrites:
        """What the family tells of what it writes."""
        return CorpusWrites(self.corpus, self.fresh, ring=self.ring)

    @cached_property
    def reconciler(self) -> IndexReconciler:
        """What compares the index with Postgres, and asks for what differs."""
        return IndexReconciler(
            database=self.database, corpus=self.corpus, index=self.index, clock=self.clock, ring=self.ring
        )

    @cached_property
    def drift(self) -> IndexDrift:
        """What compares the two for operators."""
        return IndexDrift(database=self.database, corpus=self.corpus, reconciler=self.reconciler)

    @cached_property
    def runs(self) -> RebuildRuns:
        """The rebuilds of the index; something has to serve them."""
        points = LeasedPoints(
            database=self.database,
            corpus=self.corpus,
            lease_seconds=self.pace.lease_seconds,
            clock=self.clock,
            ring=self.ring,
        )
        rebuild = IndexRebuild(
            database=self.database,
            corpus=self.corpus,
            index=self.index,
            points=points,
            reconciler=self.reconciler,
            clock=self.clock,
        )
        path = self.progress_path or INDEX_PROGRESS.path.format(corpus=self.corpus.name)
        return RebuildRuns(rebuild.run, progress_path=path, clock=self.clock)

    @cached_property
    def outbox(self) -> LeasedOutbox:
        """The outbox by which it gets into the index; without a model, only to look into."""
        return LeasedOutbox(
            self.database,
            self.corpus.queries,
            table=self.corpus.tables.outbox,
            lease_seconds=self.pace.lease_seconds,
            terms=() if self.texts is None else (self.texts.version, LEASE_BYTES),
        )

    def queue(self) -> Queue:
        """Return the queue by which it gets into the index, for a process with a model."""
        worker = IndexWorker(
            database=self.database,
            corpus=self.corpus,
            texts=self._own_texts,
            index=self.index,
            fleet=self.fleet,
            fresh=self.fresh,
            clock=self.clock,
        )
        return Queue(
            family=self.corpus.family,
            name=self.corpus.queue,
            outbox=self.outbox,
            handle=worker.handle,
            corpus=self.corpus.name,
            concurrency=self.pace.concurrency,
            batch_size=self.pace.batch_size,
            poll_interval_s=self.pace.poll_interval_s,
        )

    def renewal(self) -> CorpusRenewal:
        """Return what finds what has to be made anew by this process's model and chunking."""
        return CorpusRenewal(
            database=self.database,
            corpus=self.corpus,
            texts=self._own_texts,
            fleet=self.fleet,
            clock=self.clock,
            ring=self.ring,
        )

    def renewer(self) -> CorpusRenewer:
        """Return what runs that in the background."""
        return CorpusRenewer(self.corpus.name, self.renewal(), self.fleet)

    def garbage(self) -> list[GarbageStep]:
        """Return the steps of a collection over what indexing leaves behind."""
        return corpus_garbage(self.database, self.corpus)

    @property
    def _own_texts(self) -> TextEmbedder:
        if self.texts is None:
            raise InternalError(f"a process without a model cannot index the corpus {self.corpus.name}")
        return self.texts
