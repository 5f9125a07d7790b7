"""Works off leased indexing jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Channel
from actors.outbox_lessor import give_back
from elf.core.errors import ServiceError, Unavailable
from elf.outbox.leased import Job, LeasedOutbox

log = structlog.get_logger()


class Indexer:
    """Takes batches from a channel and gives them to the handler; what fails goes back to the outbox."""

    def __init__(
        self,
        number: int,
        *,
        work: Channel[list[Job]],
        outbox: LeasedOutbox,
        handle: Callable[[Sequence[Job]], Awaitable[None]],
    ) -> None:
        self.name = f"indexer_{number}"
        self._work = work
        self._outbox = outbox
        self._handle = handle

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            while True:
                await self._do_or_give_back(await self._work.receive())
        finally:
            await self._give_back_the_waiting()

    async def _do_or_give_back(self, jobs: list[Job]) -> None:
        ended = False
        try:
            await self._do(jobs)
            ended = True
        finally:
            if not ended:
                await give_back(self._outbox, jobs)

    async def _give_back_the_waiting(self) -> None:
        # Nobody may be left to take what is in the channel; another worker is the first to lease it again.
        waiting: list[Job] = []
        with suppress(anyio.WouldBlock):
            while True:
                waiting += self._work.receive_nowait()
        if waiting:
            await give_back(self._outbox, waiting)

    async def _do(self, jobs: list[Job]) -> None:
        try:
            await self._handle(jobs)
        except Unavailable as error:
            await self._fail(jobs, error)
        except Exception as error:  # noqa: BLE001 - a fault in one note must not stop the indexing of the others
            if len(jobs) == 1:
                await self._fail(jobs, error)
                return
            for job in jobs:
                await self._do([job])

    async def _fail(self, jobs: list[Job], error: Exception) -> None:
        known = isinstance(error, ServiceError)
        log.warning(
            "indexing_failed",
            actor=self.name,
            jobs=len(jobs),
            error=str(error) if known else type(error).__name__,
            exc_info=None if known else error,
        )
        try:
            await self._outbox.fail(jobs, f"{type(error).__name__}: {error}")
        except Unavailable as away:
            log.warning("failure_not_recorded", actor=self.name, jobs=len(jobs), error=away.message)
