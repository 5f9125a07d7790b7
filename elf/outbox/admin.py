"""What does the operations of operators on the jobs of all queues."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Final
from uuid import UUID

import structlog

from elf.api.binding import refuse_bound_to_less
from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.api.operation import Handler
from elf.core.errors import NotFound
from elf.outbox import admin_operations as a
from elf.outbox.given_up import JOB_STATES, OperatorJobs, Place

LISTING: Final = "jobs"

log = structlog.get_logger()


def job_handlers(
    queues: Mapping[str, OperatorJobs], ring: Callable[[str], Callable[[], None]]
) -> dict[str, Handler]:
    """Return what does the operations for the jobs of these queues, by their names.

    `ring` returns what wakes the workers of a queue. An unknown queue is NotFound. A caller who is bound to less than a
    tenant gets ScopeDenied, because jobs may be anybody's of it.
    """
    admin = _JobAdmin(queues, ring)
    return {
        a.LIST_JOBS.name: admin.page,
        a.COUNT_JOBS.name: admin.counts,
        a.RETRY_JOBS.name: admin.retry,
        a.DISCARD_JOBS.name: admin.discard,
    }


class _JobAdmin:
    def __init__(self, queues: Mapping[str, OperatorJobs], ring: Callable[[str], Callable[[], None]]) -> None:
        self._queues = dict(sorted(queues.items()))
        self._ring = ring

    async def page(self, request: a.ListJobs, caller: Caller) -> a.Jobs:
        refuse_bound_to_less(caller, "$.tenant_id")
        queues = self._queues if request.queue is None else {request.queue: self._of(request.queue)}
        states = JOB_STATES if request.state is None else (request.state,)
        of = LISTING, request.queue, request.state, request.tenant_id
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *of)
        after, count = Place(start.moment, start.id), request.limit + 1
        pages: list[list[a.Job]] = []
        for name, jobs in queues.items():
            found = await jobs.page(states, after, count, tenant_id=request.tenant_id)
            pages.append([a.Job(queue=name, **asdict(job)) for job in found])
        newest = list(heapq.merge(*pages, key=lambda job: (job.created_at, job.id), reverse=True))
        shown = newest[: request.limit]
        more = encode_cursor(shown[-1].created_at, shown[-1].id, *of) if len(newest) > request.limit else None
        return a.Jobs(items=shown, next_cursor=more)

    async def counts(self, request: a.CountJobs, caller: Caller) -> a.JobCounts:
        refuse_bound_to_less(caller, "$.tenant_id")
        items: list[a.QueueJobs] = []
        for name, jobs in self._queues.items():
            found = await jobs.counts(tenant_id=request.tenant_id)
            items.append(
                a.QueueJobs(queue=name, **{state.lower(): found.get(state, 0) for state in JOB_STATES})
            )
        return a.JobCounts(items=items)

    async def retry(self, request: a.RetryJobs, caller: Caller) -> a.JobsRetried:
        refuse_bound_to_less(caller, "$.tenant_id")
        retried = await self._of(request.queue).retry(
            request.ids, tenant_id=request.tenant_id, by=caller.user or caller.client
        )
        log.info("jobs_retried", queue=request.queue, jobs=len(retried), by=caller.client)
        if retried:
            self._ring(request.queue)()
        return a.JobsRetried(retried=len(retried), not_given_up=_others(request.ids, retried))

    async def discard(self, request: a.DiscardJobs, caller: Caller) -> a.JobsDiscarded:
        refuse_bound_to_less(caller, "$.tenant_id")
        discarded = await self._of(request.queue).discard(
            request.ids, tenant_id=request.tenant_id, by=caller.user or caller.client
        )
        log.info("jobs_discarded", queue=request.queue, jobs=len(discarded), by=caller.client)
        return a.JobsDiscarded(discarded=len(discarded), not_given_up=_others(request.ids, discarded))

    def _of(self, queue: str) -> OperatorJobs:
        if queue not in self._queues:
            known = ", ".join(self._queues)
            raise NotFound(f"$.queue: there is no queue {queue!r}; there are {known}", fields=["$.queue"])
        return self._queues[queue]


def _others(ids: Sequence[UUID], decided: Sequence[UUID]) -> list[UUID]:
    """Return those of the ids that nothing was decided of, each once."""
    known = {*decided}
    return [id for id in dict.fromkeys(ids) if id not in known]
