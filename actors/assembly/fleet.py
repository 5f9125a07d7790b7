"""Knows which processes share the database: watches them, and shows them as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from actors.assembly.shared import Shared
from actors.fleet_watch import FleetWatch
from elf.db.queries import Queries, sql_folder
from elf.db.schema import COMMON
from elf.family import Gauge, Labels
from elf.ground import ProcessId
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet, FleetRegister, Member
from elf.indexing.indexed import IndexedCorpus


def member_of(process: ProcessId, texts: TextEmbedder | None, *, works: bool) -> Member | None:
    """Return what a process tells the others of itself; nothing where it has no model."""
    return None if texts is None else Member(process.name, texts.version, texts.chunking, works)


def add_fleet(shared: Shared, fleet: Fleet, own: Member | None, corpora: Sequence[IndexedCorpus]) -> None:
    """Add what watches the other processes, and what waits for one of them in vain."""
    register = FleetRegister(
        database=shared.database,
        queries=Queries.load(sql_folder() / COMMON),
        outboxes=[corpus.corpus.queries for corpus in corpora],
        process_id=shared.process.id,
        own=own,
        fleet=fleet,
    )
    shared.supervisor.add(FleetWatch(fleet, register), needs=["database"])
    shared.metrics.watch_gauges(fleet_gauges(fleet, own))


def fleet_gauges(fleet: Fleet, own: Member | None) -> Sequence[Gauge]:
    """Return how many processes of each model share the database, as this one sees it, and what waits for nobody."""

    def processes() -> dict[Labels, float]:
        members = [*(fleet.others or ()), *([] if own is None else [own])]
        return dict(
            Counter((one.embedding_version, one.chunking, str(one.indexes).lower()) for one in members)
        )

    def waiting() -> dict[Labels, float]:
        counts = {fleet.embedding_version: 0} | dict(fleet.waiting)
        return {(version,): number for version, number in counts.items()}

    return [
        Gauge(
            name="elf_note_processes",
            about="Processes that write or index notes, by the embedding model and the chunking they have.",
            labels=("embedding_version", "chunking", "indexes"),
            read=processes,
        ),
        Gauge(
            name="elf_unserved_jobs",
            about="Indexing jobs that wait for an embedding model which no running indexer has.",
            labels=("embedding_version",),
            read=waiting,
        ),
    ]
