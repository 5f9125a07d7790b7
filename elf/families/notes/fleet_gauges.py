"""The metrics of who shares the notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from elf.families.notes.fleet import Fleet, Member
from elf.family import Gauge, Labels


def fleet_gauges(fleet: Fleet, own: Member | None) -> Sequence[Gauge]:
    """Return how many processes of each model share the notes, as this one sees it, and what waits for nobody."""

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
