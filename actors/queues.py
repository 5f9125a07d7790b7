"""The part of the composition root that makes actors of queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actors.dispatcher import Dispatcher
from actors.kernel import Channel
from actors.outbox_wake import OutboxListener
from actors.outbox_worker import OutboxWorker
from actors.shared_parts import SharedParts
from elf.outbox.leased import Job
from elf.outbox.queue import Queue


def add_queue(
    shared: SharedParts,
    queue: Queue,
    listener: OutboxListener,
    *,
    needs: Sequence[str] = ("database",),
    is_crowded: Callable[[], bool],
) -> None:
    """Add a dispatcher and workers; `shared.bell(queue.name)` wakes them.

    `is_crowded` tells whether requests of this process wait for their turn.
    """
    wake = shared.bell(queue.name).wake
    work: Channel[list[Job]] = Channel(f"{queue.name}_work", 1, "block")
    shared.metrics.watch_channels(work)
    listener.wake(queue.name, wake)
    listener.tell(queue.outbox.presence)
    for number in range(1, queue.concurrency + 1):
        shared.supervisor.add(OutboxWorker(number, queue, work=work, is_crowded=is_crowded), needs=needs)
    shared.supervisor.add(Dispatcher(queue, wake=wake, work=work), needs=needs)
