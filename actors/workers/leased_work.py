"""Doing leased jobs so that none is lost, and one bad job does not fail the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from actors.workers.dispatcher import give_back
from elf.core.errors import ServiceError, Unavailable
from elf.outbox.leased import JobsFailed, LeasedOutbox
from elf.outbox.leases import Job

log = structlog.get_logger()


class LeasedWork:
    """Gives leased jobs to a handler; what fails goes back to the outbox, and is logged as `failure_event` with `told`.

    A handler may tell by JobsFailed that it has done the other jobs.
    """

    def __init__(
        self,
        outbox: LeasedOutbox,
        handle: Callable[[Sequence[Job]], Awaitable[None]],
        *,
        told: Mapping[str, object],
        failure_event: str,
    ) -> None:
        self._outbox = outbox
        self._handle = handle
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
                await self._do(held)
                ended = held
            if scope.cancelled_caught:
                log.warning("leases_lost", **self._told, jobs=len(held))
        finally:
            self._outbox.let_go(ended)
            if left := [job for job in jobs if job not in ended]:
                await give_back(self._outbox, left)

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
