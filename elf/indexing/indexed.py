"""A corpus in its index, with what compares the two, rebuilds one from the other, and says how far they are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from elf.core.clock import Clock
from elf.db.database import Database
from elf.index.port import VectorIndex
from elf.indexing.corpus import Corpus
from elf.indexing.drift import IndexDrift
from elf.indexing.leased_points import LeasedPoints
from elf.indexing.rebuild import IndexRebuild
from elf.indexing.rebuild_runs import RebuildRuns
from elf.indexing.reconcile import IndexReconciler

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class IndexedCorpus:
    """A corpus with its index, what keeps the two together, and what operators may ask of it."""

    corpus: Corpus
    index: VectorIndex
    reconciler: IndexReconciler
    runs: RebuildRuns
    drift: IndexDrift

    async def bring_up_to_date(self, *, clean: bool) -> None:
        """Compare the index with Postgres, by its size alone when it was left clean, and ask for what is missing."""
        if clean and await self.reconciler.is_whole():
            return
        drift = await self.reconciler.reconcile()
        log.info("index_reconciled", corpus=self.corpus.name, clean=clean, **drift._asdict())


def indexed(
    corpus: Corpus,
    index: VectorIndex,
    *,
    database: Database,
    lease_seconds: float,
    clock: Clock,
    ring: Callable[[], None],
    progress_path: str,
) -> IndexedCorpus:
    """Return a corpus with what works on it. `ring` wakes whoever does its jobs, `progress_path` tells of a rebuild."""
    reconciler = IndexReconciler(database=database, corpus=corpus, index=index, clock=clock, ring=ring)
    points = LeasedPoints(
        database=database, corpus=corpus, lease_seconds=lease_seconds, clock=clock, ring=ring
    )
    rebuild = IndexRebuild(
        database=database, corpus=corpus, index=index, points=points, reconciler=reconciler, clock=clock
    )
    return IndexedCorpus(
        corpus,
        index,
        reconciler,
        RebuildRuns(rebuild.run, progress_path=progress_path, clock=clock),
        IndexDrift(database=database, corpus=corpus, reconciler=reconciler),
    )
