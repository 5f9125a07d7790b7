"""The part of the composition root that runs chores."""

from __future__ import annotations

from collections.abc import Sequence

from actors.chores import ChoreRunner
from actors.outbox_wake import OutboxListener
from actors.shared_parts import SharedParts
from elf.outbox.chores import Chore, ChoreRuns


def add_chores(shared: SharedParts, chores: Sequence[Chore], listener: OutboxListener) -> None:
    """Add what runs the chores of all families, if there are any."""
    if chores:
        runs = ChoreRuns(shared.database, chores)
        listener.tell(runs.outbox.presence)
        shared.supervisor.add(ChoreRunner(runs, clock=shared.clock), needs=["database"])
