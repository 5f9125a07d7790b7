"""Works off the leased jobs of a queue."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import TaskStatus

from actors.kernel import Channel
from actors.workers.dispatcher import give_back
from actors.workers.leased_work import Caution, LeasedWork
from elf.outbox.leases import Job
from elf.outbox.queue import Queue

LONGEST_REST_S = 2.0  # a batch takes some tenths of a second, so even a flood leaves a tenth of the time
LOOK_AGAIN_S = 0.02


class OutboxWorker:
    """Takes batches from a channel and gives them to the handler of the queue; what fails goes back to the outbox.

    While `is_crowded`, requests have the cores first: the worker rests up to LONGEST_REST_S before each batch.
    """

    def __init__(
        self,
        number: int,
        queue: Queue,
        *,
        work: Channel[list[Job]],
        caution: Caution,
        is_crowded: Callable[[], bool],
    ) -> None:
        self.name = f"{queue.name}_worker_{number}"
        self._work = work
        self._outbox = queue.outbox
        self._is_crowded = is_crowded
        told = {"actor": self.name, "family": queue.family}
        self._jobs = LeasedWork(
            queue.outbox, queue.handle, caution=caution, told=told, failure_event=f"{queue.name}_failed"
        )

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            while True:
                await self._make_way()
                await self._jobs.do_or_give_back(await self._work.receive())
        finally:
            await self._give_back_the_waiting()

    async def _make_way(self) -> None:
        with anyio.move_on_after(LONGEST_REST_S):
            while self._is_crowded():  # noqa: ASYNC110 - a crowd tells nobody when it is gone
                await anyio.sleep(LOOK_AGAIN_S)

    async def _give_back_the_waiting(self) -> None:
        # Nobody may be left to take what is in the channel; another worker is the first to lease it again.
        waiting: list[Job] = []
        with suppress(anyio.WouldBlock):
            while True:
                waiting += self._work.receive_nowait()
        if waiting:
            await give_back(self._outbox, waiting)
