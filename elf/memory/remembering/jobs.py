"""Has families make of what was said what they keep: each once, whoever is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import structlog

from elf.api.caller import Caller
from elf.core.errors import NotOffered, ServiceError
from elf.db.database import Connection
from elf.memory.remembering.outcome import Outcome, is_refusal
from elf.memory.remembering.store import SaidStore
from elf.offers import Remember, Said, Written
from elf.outbox.each import each
from elf.outbox.leased import LeasedOutbox, LeaseLost
from elf.outbox.leases import Job

log = structlog.get_logger()


class RememberJobs:
    """Does leased jobs. Each ends with the transaction of what its family writes.

    A job of a family that is not among `families` any more is skipped, which `skipped` counts.
    """

    def __init__(self, store: SaidStore, outbox: LeasedOutbox, families: Mapping[str, Remember]) -> None:
        self.skipped = Counter[str]()
        self._store = store
        self._outbox = outbox
        self._families = families

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do jobs, some at once. Raises JobsFailed with those that are not done."""
        await each(jobs, self._do, job_of=lambda job: job)

    async def _do(self, job: Job) -> None:
        found = await self._store.job(job)
        if found is None:  # it was erased
            return
        family, said, caller = found
        if family not in self._families:
            error = NotOffered(f"{family} is not among the families of [remember] any more")
            await self._end(job, said, Outcome(error=error))
            self.skipped[family] += 1
            log.warning("memory.skipped", family=family)
            return
        try:
            await self._remember(job, family, said, caller)
        except LeaseLost:
            raise
        except ServiceError as error:
            if not is_refusal(error):
                raise
            log.info("memory.not_taken", family=family, error_code=error.error_code)
            await self._end(job, said, Outcome(error=error))

    async def _end(self, job: Job, said: Said, outcome: Outcome) -> None:
        async with self._store.database.transaction() as connection:
            await self._store.end(connection, self._outbox, job, said, outcome)

    async def _remember(self, job: Job, family: str, said: Said, caller: Caller) -> None:
        async def done(connection: Connection, written: Sequence[Written]) -> None:
            await self._store.end(connection, self._outbox, job, said, Outcome(written=written))

        await self._families[family](said, caller, done)
