"""Doing leased jobs so that none is lost, and one bad job neither fails the others nor ends the process for ever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import anyio
import structlog

from actors.workers.dispatcher import give_back
from elf.core.errors import ServiceError, Unavailable
from elf.outbox.leased import JobsFailed, LeasedOutbox
from elf.outbox.leases import Job
from elf.outbox.turns import LONGEST_TURN_S, Turns

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """What all leased work of a process heeds: the turns in it, and after how many process deaths a job is given up."""

    max_process_deaths: int = 3
    turns: Turns = field(default_factory=Turns)


class _NotBegun(Exception):
    """Jobs are not done while it cannot be told that they are being done."""


class LeasedWork:
    """Gives leased jobs to a handler; what fails goes back to the outbox, and is logged as `failure_event` with `told`.

    A handler may tell by JobsFailed that it has done the other jobs. A job that was at work when a process ended is
    done alone, and given up after so many deaths; without `caution` none is: that is for work that can end no process.
    """

    def __init__(
        self,
        outbox: LeasedOutbox,
        handle: Callable[[Sequence[Job]], Awaitable[None]],
        *,
        caution: Caution | None,
        told: Mapping[str, object],
        failure_event: str,
    ) -> None:
        self._outbox = outbox
        self._handle = handle
        self._caution = caution
        self._told = told
        self._failure_event = failure_event

    async def do_or_give_back(self, jobs: list[Job]) -> None:
        """Do those of the jobs that are still leased here. What is lost meanwhile is cancelled.

        What is not done, because of that or because it is cancelled, is given back.
        """
        ended: list[Job] = []
        held = self._outbox.leases.of(jobs)
        try:
            with self._outbox.leases.at_work(held) as scope:
                await self._do_cautiously(held)
                ended = held
            if scope.cancelled_caught:
                log.warning("leases_lost", **self._told, jobs=len(held))
        except _NotBegun as error:
            log.warning("jobs_not_begun", **self._told, jobs=len(held), error=str(error))
        finally:
            self._outbox.let_go(ended)
            if left := [job for job in jobs if job not in ended]:
                await give_back(self._outbox, left)

    async def _do_cautiously(self, jobs: list[Job]) -> None:
        if self._caution is None or not jobs:
            await self._do(jobs)
            return
        with self._outbox.slot() as slot:
            async with self._caution.turns.together():
                suspect = await self._begin(jobs, slot)
                await self._do([job for job in jobs if job.outbox_id not in suspect])
            for job in jobs:
                if job.outbox_id in suspect:
                    await self._do_alone(job, slot, self._caution)

    async def _do_alone(self, job: Job, slot: int, caution: Caution) -> None:
        """Do a suspect job while nothing else begins. Where work goes on whose turn is over, it is not alone."""
        async with caution.turns.alone() as turn:
            deaths = (await self._begin([job], slot, is_alone=turn.is_alone)).get(job.outbox_id, 0)
            if deaths >= caution.max_process_deaths:
                await self._give_up(job, deaths)
                return
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_turn_in_time, job, slot, partial(caution.turns.end, turn))
                await self._do([job])
                group.cancel_scope.cancel()

    async def _end_turn_in_time(self, job: Job, slot: int, end_turn: Callable[[], None]) -> None:
        while True:
            await anyio.sleep(LONGEST_TURN_S)
            try:
                await self._begin([job], slot)
            except _NotBegun as error:  # others would be blamed, or it for them
                log.warning("turn_not_ended", **self._told, error=str(error))
            else:
                end_turn()
                return

    async def _begin(self, jobs: list[Job], slot: int, *, is_alone: bool = False) -> Mapping[UUID, int]:
        """Tell what is begun; returns which jobs are suspect. Raises _NotBegun where nobody can be told."""
        try:
            return await self._outbox.begin(jobs, slot=slot, is_alone=is_alone)
        except Unavailable as error:
            raise _NotBegun(error.message) from error

    async def _give_up(self, job: Job, deaths: int) -> None:
        try:
            await self._outbox.give_up([job], f"{deaths} processes ended while this was all they were at")
        except Unavailable as error:
            raise _NotBegun(error.message) from error

    async def _do(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        try:
            await self._handle(jobs)
        except JobsFailed as some:
            await self._fail_apart(some)
        except Exception as error:  # noqa: BLE001 - a fault in one job must not stop the others
            if len(jobs) == 1 or (isinstance(error, Unavailable) and error.concerns_all):
                await self._fail(jobs, error)
                return
            for job in jobs:
                await self._do([job])

    async def _fail_apart(self, some: JobsFailed) -> None:
        by_reason: dict[str, list[tuple[Job, ServiceError]]] = {}
        for job, error in some.failed:
            by_reason.setdefault(str(error), []).append((job, error))
        for failed in by_reason.values():
            await self._fail([job for job, _ in failed], failed[0][1])

    async def _fail(self, jobs: list[Job], error: Exception) -> None:
        known = isinstance(error, ServiceError)
        name = type(error).__name__
        log.warning(
            self._failure_event,
            **self._told,
            jobs=len(jobs),
            error=str(error) if known else name,
            exc_info=None if known else error,
        )
        try:
            # Operators are shown why a job failed: what an error of another library says may hold the text of an item.
            await self._outbox.fail(jobs, f"{name}: {error}" if known else name)
        except Unavailable as away:
            log.warning("failure_not_recorded", **self._told, jobs=len(jobs), error=away.message)
