"""Makes actors of queues and chores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actors.assembly.shared import Shared
from actors.kernel import Channel
from actors.signals.outbox_wake import OutboxListener
from actors.workers.chores import ChoreRunner
from actors.workers.dispatcher import Dispatcher
from actors.workers.outbox_worker import OutboxWorker
from elf.outbox.chores import Chore, ChoreRuns
from elf.outbox.leases import Job
from elf.outbox.queue import Queue


def add_queue(
    shared: Shared,
    queue: Queue,
    listener: OutboxListener,
    *,
    needs: Sequence[str] = ("database",),
    is_crowded: Callable[[], bool],
) -> None:
    """Add a dispatcher and workers, which the bell of the queue wakes.

    `is_crowded` tells whether requests of this process wait for their turn.
    """
    wake = shared.bells.of(queue.name).wake
    work: Channel[list[Job]] = Channel(f"{queue.name}_work", 1, "block")
    shared.metrics.watch_channels(work)
    listener.wake(queue.name, wake)
    listener.tell(queue.outbox.presence)
    for number in range(1, queue.concurrency + 1):
        worker = OutboxWorker(number, queue, work=work, caution=shared.caution, is_crowded=is_crowded)
        shared.supervisor.add(worker, needs=needs)
    shared.supervisor.add(Dispatcher(queue, wake=wake, work=work), needs=needs)


def add_chores(shared: Shared, chores: Sequence[Chore], listener: OutboxListener) -> None:
    """Add what runs the chores of all families, if there are any."""
    if chores:
        runs = ChoreRuns(shared.database, chores)
        listener.tell(runs.outbox.presence)
        shared.supervisor.add(
            ChoreRunner(runs, clock=shared.clock, caution=shared.caution), needs=["database"]
        )
