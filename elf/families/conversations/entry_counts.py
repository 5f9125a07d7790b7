"""How many entries were written in this process, and what came of the syncs of agents' memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from elf.families.conversations.model import Channel
from elf.families.conversations.rules.memory import SyncOutcome
from elf.family import Labels, Total


class EntryCounts:
    """Counts from 0 on; each channel and outcome is there before the first."""

    def __init__(self) -> None:
        self._entries: dict[Labels, float] = {(channel,): 0.0 for channel in get_args(Channel)}
        self._syncs: dict[Labels, float] = {(outcome,): 0.0 for outcome in get_args(SyncOutcome)}

    def written(self, channel: Channel) -> None:
        """Count an entry."""
        self._entries[channel,] += 1

    def synced(self, outcome: SyncOutcome) -> None:
        """Count a sync, and the entry that it wrote, if any."""
        self._syncs[outcome,] += 1
        if outcome != "noop":
            self.written("memory")

    def totals(self) -> Sequence[Total]:
        """Return the metrics of the counts."""
        return (
            Total(
                name="elf_conversation_entries_written",
                about="Entries of conversations written, by their channel.",
                labels=("channel",),
                read=self._entries.copy,
            ),
            Total(
                name="elf_conversation_syncs",
                about="Syncs of agents' memories by what came of them.",
                labels=("outcome",),
                read=self._syncs.copy,
            ),
        )
