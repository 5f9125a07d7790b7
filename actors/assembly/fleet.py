"""Knows who shares the memory of the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from actors.assembly.shared import Shared
from elf.family import Gauge, Labels
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet, FleetRegister, Member
from elf.indexing.fleet_watch import FleetWatch
from elf.indexing.indexed import IndexedCorpus


def add_fleet(
    shared: Shared,
    fleet: Fleet,
    texts: TextEmbedder | None,
    corpora: Sequence[IndexedCorpus],
    *,
    indexes: bool,
) -> None:
    """Add what watches the other processes. `texts` is what this one embeds with, if it does; maybe it `indexes`."""
    own = None if texts is None else Member(shared.process.name, texts.version, texts.chunking, indexes)
    register = FleetRegister(
        database=shared.database,
        corpora=[one.corpus.queries for one in corpora],
        process_id=shared.process.id,
        own=own,
        fleet=fleet,
    )
    shared.supervisor.add(FleetWatch(fleet, register), needs=["database"])
    shared.metrics.watch_gauges(fleet_gauges(fleet, own))


def fleet_gauges(fleet: Fleet, own: Member | None) -> Sequence[Gauge]:
    """Return how many processes of each model there are, as this one sees it, and what waits for nobody."""

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
