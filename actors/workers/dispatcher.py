"""Leases due jobs from an outbox and hands them to the workers in batches."""

from __future__ import annotations

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Channel
from elf.core.errors import Unavailable
from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job
from elf.outbox.queue import Queue

RELEASE_TIMEOUT_S = 2.0
GATHER_S = 0.02
TRIES_TO_RENEW = 3  # within one lease

log = structlog.get_logger()


class Dispatcher:
    """Leases when woken, and at least once every poll interval, while others know that this process does.

    A wake-up is followed by a short wait, so that what is written one after the other shares a lease and a batch. While
    the workers are busy, batches grow by themselves: jobs gather in Postgres and the next lease takes more.

    The leases of what waits here or is worked on are renewed.
    """

    def __init__(self, queue: Queue, *, wake: Channel[None], work: Channel[list[Job]]) -> None:
        self.name = f"{queue.name}_dispatcher"
        self._queue = queue
        self._outbox = queue.outbox
        self._wake = wake
        self._work = work

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        async with anyio.create_task_group() as group:
            group.start_soon(self._renew_for_ever)
            await self._lease_for_ever()

    async def _renew_for_ever(self) -> None:
        while True:
            await anyio.sleep(self._outbox.lease_seconds / TRIES_TO_RENEW)
            try:
                await self._outbox.renew()
            except Unavailable as error:
                log.warning("leases_not_renewed", queue=self._queue.name, error=error.message)

    async def _lease_for_ever(self) -> None:
        while True:
            try:
                await self._lease_what_is_due()
            except Unavailable as error:
                log.warning("not_leasing", queue=self._queue.name, error=error.message)
                await anyio.sleep(self._queue.poll_interval_s)
            with anyio.move_on_after(self._queue.poll_interval_s):
                await self._wake.receive()
                await anyio.sleep(GATHER_S)

    async def _lease_what_is_due(self) -> None:
        await self._outbox.presence.wait_told()
        while jobs := await self._outbox.lease(self._queue.batch_size):
            await self._hand_over(jobs)
            await self._outbox.presence.wait_told()

    async def _hand_over(self, jobs: list[Job]) -> None:
        handed_over = False
        try:
            await self._work.send(jobs)
            handed_over = True
        finally:
            if not handed_over:
                await give_back(self._outbox, jobs)


async def give_back(outbox: LeasedOutbox, jobs: list[Job]) -> None:
    """Release leased jobs on the way out, so that nobody has to wait for their lease to end."""
    with anyio.move_on_after(RELEASE_TIMEOUT_S, shield=True):
        try:
            await outbox.release(jobs)
        except Unavailable as error:  # they come back when the lease ends
            log.info("jobs_not_released", jobs=len(jobs), error=error.message)
