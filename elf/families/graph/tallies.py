"""What a process has done with memories, and what waits in it: counts that tell of no orchestrator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from elf.families.graph.ingest.names import IngestStatus
from elf.families.graph.store.statements import OwnerKey
from elf.family import Gauge, Labels, Total

Fallback: TypeAlias = Literal["full_text", "bulletin", "disabled"]
"""A recall went by words alone; a context had to do with less; it had to do without the memory."""


class Tallies:
    """Counts from 0 on; each outcome is there before the first."""

    def __init__(self) -> None:
        self.waiting = 0
        self._commits = self._changes = 0
        self._commit_s = 0.0
        self._ingested: dict[Labels, float] = {(outcome,): 0.0 for outcome in get_args(IngestStatus)}
        self._fallbacks: dict[Labels, float] = {(kind,): 0.0 for kind in get_args(Fallback)}
        self._to_make: dict[OwnerKey, int] = {}

    def committed(self, changes: int, seconds: float) -> None:
        """Count a transaction, the changes in it, and how long it took."""
        self._commits += 1
        self._changes += changes
        self._commit_s += seconds

    def ingested(self, outcome: IngestStatus) -> None:
        """Count a file that was dropped."""
        self._ingested[outcome,] += 1

    def fell_back(self, kind: Fallback) -> None:
        """Count an answer that something was left out of."""
        self._fallbacks[kind,] += 1

    def to_make(self, key: OwnerKey, vectors: int) -> None:
        """Say of how many memories of a file vectors are to be made here; 0 where this process makes none."""
        self._to_make[key] = vectors
        if not vectors:
            del self._to_make[key]

    def gauges(self) -> Sequence[Gauge]:
        """Return the metrics of what waits."""
        return (
            Gauge(
                name="elf_graph_writes_waiting",
                about="Changes of memories that wait for the disk, or are at work.",
                read=lambda: {(): self.waiting},
            ),
            Gauge(
                name="elf_graph_vectors_to_make",
                about="Memories whose vectors are still to be made, of the files that this process has the lock of.",
                read=lambda: {(): sum(self._to_make.values())},
            ),
        )

    def totals(self) -> Sequence[Total]:
        """Return the metrics of the counts."""
        return (
            Total(
                name="elf_graph_commits",
                about="Transactions on memories.",
                read=lambda: {(): self._commits},
            ),
            Total(
                name="elf_graph_commit_seconds",
                about="How long they took, all together.",
                read=lambda: {(): self._commit_s},
            ),
            Total(
                name="elf_graph_changes",
                about="Changes that were in them: several that wait are committed together.",
                read=lambda: {(): self._changes},
            ),
            Total(
                name="elf_graph_ingested_files",
                about="Files that were dropped, by what became of them.",
                labels=("outcome",),
                read=self._ingested.copy,
            ),
            Total(
                name="elf_graph_fallbacks",
                about="Answers that had to do without a part.",
                labels=("kind",),
                read=self._fallbacks.copy,
            ),
        )
