"""Works off leased indexing jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio
from anyio.abc import TaskStatus

from actors.kernel import Channel
from actors.leased_work import LeasedWork
from actors.outbox_lessor import give_back
from elf.outbox.leased import Job, LeasedOutbox

LONGEST_REST_S = 2.0  # a batch takes some tenths of a second, so even a flood leaves a tenth of the time
LOOK_AGAIN_S = 0.02


class Indexer:
    """Takes batches from a channel and gives them to the handler; what fails goes back to the outbox.

    While `is_crowded`, requests have the cores first: the indexer rests up to LONGEST_REST_S before each batch.
    """

    def __init__(
        self,
        number: int,
        *,
        work: Channel[list[Job]],
        outbox: LeasedOutbox,
        handle: Callable[[Sequence[Job]], Awaitable[None]],
        is_crowded: Callable[[], bool],
    ) -> None:
        self.name = f"indexer_{number}"
        self._work = work
        self._outbox = outbox
        self._is_crowded = is_crowded
        self._jobs = LeasedWork(outbox, handle, actor=self.name, failure_event="indexing_failed")

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
