"""Runs the chores that are due, in every process that runs workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus

from actors.workers.dispatcher import TRIES_TO_RENEW
from actors.workers.leased_work import Caution, LeasedWork
from elf.core.clock import Clock
from elf.core.errors import ServiceError, Unavailable
from elf.outbox.chores import Chore, ChoreRuns, Due
from elf.outbox.leases import Job

LOOK_EVERY_S = 5.0  # whether something is due
PLAN_AGAIN_S = 60.0
FINISH_AGAIN_S = 1.0
AT_ONCE = 2

log = structlog.get_logger()


class ChoreRunner:
    """Makes the runs that are due, leases as many as it has hands for, and runs them.

    A run whose lease is lost, or cannot be renewed in time, is cancelled, so that no two processes are at one.
    """

    name = "chores"

    def __init__(self, runs: ChoreRuns, *, clock: Clock, caution: Caution, at_once: int = AT_ONCE) -> None:
        self._runs = runs
        self._caution = caution
        self._outbox = runs.outbox
        self._clock = clock
        self._at_once = at_once
        self._at_work: set[Job] = set()
        self._planned: dict[tuple[str, str], datetime] = {}
        self._plan_again: dict[tuple[str, str], float] = {}
        self._look = anyio.Event()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        async with anyio.create_task_group() as group:
            group.start_soon(self._renew_for_ever)
            group.start_soon(self._plan_for_ever)
            await self._lease_for_ever(group)

    async def _plan_for_ever(self) -> None:
        while True:
            for key, chore in self._runs.chores.items():
                due = chore.when(self._clock.now())
                if self._planned.get(key) != due and anyio.current_time() >= self._plan_again.get(key, 0.0):
                    await self._plan(key, chore, due)
            await anyio.sleep(LOOK_EVERY_S)

    async def _plan(self, key: tuple[str, str], chore: Chore, due: datetime) -> None:
        try:
            await self._runs.plan(chore, await chore.subjects(), due)
        except Exception as error:
            self._plan_again[key] = anyio.current_time() + PLAN_AGAIN_S
            known = isinstance(error, ServiceError)
            log.warning(
                "chore_not_planned",
                family=chore.family,
                chore=chore.name,
                error=str(error) if known else type(error).__name__,
                exc_info=None if known else error,
            )
        else:
            self._planned[key] = due
            self._look.set()

    async def _lease_for_ever(self, group: TaskGroup) -> None:
        while True:
            try:
                await self._lease(group)
            except Unavailable as error:
                log.warning("not_leasing", queue=self.name, error=error.message)
            with anyio.move_on_after(LOOK_EVERY_S):
                await self._look.wait()
            self._look = anyio.Event()

    async def _lease(self, group: TaskGroup) -> None:
        await self._outbox.presence.wait_told()
        if free := self._at_once - len(self._at_work):
            for job in await self._outbox.lease(free):
                self._at_work.add(job)
                group.start_soon(self._work, job)

    async def _work(self, job: Job) -> None:
        told: dict[str, object] = {"actor": self.name}
        work = LeasedWork(
            self._outbox,
            partial(self._run, told=told),
            caution=self._caution,
            told=told,
            failure_event="chore_failed",
        )
        try:
            await work.do_or_give_back([job])
        finally:
            self._at_work.remove(job)
            self._look.set()

    async def _run(self, jobs: Sequence[Job], *, told: dict[str, object]) -> None:
        (job,) = jobs
        chore, due = await self._runs.read(job)
        told.update(family=chore.family, chore=chore.name, attempt=due.attempt)
        began = anyio.current_time()
        await chore.run(due)
        await self._finish(job, chore, due)
        log.info("chore_done", **told, seconds=round(anyio.current_time() - began, 1))

    async def _finish(self, job: Job, chore: Chore, due: Due) -> None:
        while True:
            try:
                await self._outbox.finish([job])
                # The time for the next one may have passed meanwhile.
                await self._runs.plan(chore, [due.subject], chore.when(self._clock.now()))
            except Unavailable as error:
                log.warning("chore_not_ended", family=chore.family, chore=chore.name, error=error.message)
                await anyio.sleep(FINISH_AGAIN_S)
            else:
                return

    async def _renew_for_ever(self) -> None:
        while True:
            await anyio.sleep(self._outbox.lease_seconds / TRIES_TO_RENEW)
            try:
                await self._outbox.renew()
            except Unavailable as error:
                log.warning("leases_not_renewed", queue=self.name, error=error.message)
