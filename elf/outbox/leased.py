"""A leased outbox over any table of that shape; sql/outbox says which shape, and holds the statements.

A job is leased by pushing its available_at forward, so the job of a worker that dies comes back when the lease ends.
A failed job comes back after a growing delay: for ever, so that what an outbox holds is guaranteed to be done, or so
many times, and is then given up, which statistics and metrics show.

No two living processes have a job at once (see Leases); one that notices late that it has lost a job cannot end it.
The end of a lease is the last resort. A process renews the leases of what waits or is worked on in it, gives back what
it could not give back at once as soon as it leases again, and, when its session begins where no other works, gives back
what a dead one had leased, or itself without having heard of it (see Presence).

A job may end the process it runs in, such as by a text that a model cannot bear, and would do so for ever. So a process
tells what it is at before it begins, by `begin`. What it was at when it ended is suspect, and runs alone from then on;
and what was alone when so many processes ended, `max_process_deaths`, is given up. A process
that stops on its own accord, or that has only lost its session, is not dead.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import anyio
import structlog

from elf.core.errors import Conflict, ServiceError
from elf.core.secrets import redact
from elf.db.database import Connection, Database
from elf.db.queries import Queries, sql_folder
from elf.outbox.given_up import JobSubject, OutboxJobs
from elf.outbox.leases import Job, Leases
from elf.outbox.presence import Presence

LEASE_TIMEOUT_S = 3.0
RELEASED_AT_ONCE = 10_000
MAX_ERROR_CHARS = 1024

log = structlog.get_logger()


class JobsFailed(Exception):
    """Raised by a handler that has done all of its jobs but some; `failed` says of each of those why not."""

    def __init__(self, failed: Sequence[tuple[Job, ServiceError]]) -> None:
        super().__init__(f"{len(failed)} jobs failed")
        self.failed = failed


class LeaseLost(Conflict):
    """A job is not ended by who does not have it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How failed jobs come back: first_s seconds after the first failure, twice as long each time, up to longest_s,
    less up to a quarter of jitter. The failure number `most` is the last one; None: they come back for ever.
    """

    first_s: float = 0.5
    longest_s: float = 30.0
    most: int | None = None

    def delay(self, attempt: int) -> timedelta:
        """Return the delay after the nth failure."""
        delay = min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 64))
        return timedelta(seconds=delay * random.uniform(0.75, 1.0))


FOR_EVER: Final = Retries()


class OutboxStatistics(NamedTuple):
    """How many jobs wait, how many of them failed before, when the oldest was made, and how many were given up."""

    pending: int
    failed: int
    oldest: datetime | None
    given_up: int


def outbox_queries(
    table: str, *, subject: str, about: JobSubject, own: Queries, lane: str | None = None, due: str = ""
) -> Queries:
    """Return the statements of an outbox, made for its table and the column that names a job's subject, and `own`.

    `about` says what operators are told of the subject. With a `lane`, the column that names whom a job is done for,
    turns go round by that: of its jobs, `o`, those are due that `due`, a condition, lets through. One of `own` replaces
    that of the same name. Raises StartupError when the statements cannot be read.
    """
    values = {
        **about.values(), "table": table, "subject": subject, "lane": lane or "lane", "due": due and f" AND {due}"
    }  # fmt: skip
    common = dict(Queries.load(sql_folder() / "outbox", values=values))
    del common["lease_fairly" if lane is None and "lease_fairly" not in own else "lease_jobs"]
    return Queries({**common, **own})


class LeasedOutbox:
    """Leases and ends the jobs of one table, by `queries`, which are those of `outbox_queries`.

    Where it takes more than `finish` to end a job, the handler of the jobs does it, and who called it says so by
    `let_go`. `terms` are the last arguments of a lease_jobs that has more than a limit and the length of a lease: which
    kind of jobs it leases, how much work they may be. Nothing is leased while `is_paused`, such as when what all jobs
    need is away: each that is leased in vain is put off for longer. Where there is a statement lease_fairly, which also
    takes the lane behind which it begins, turns go round.
    """

    def __init__(
        self,
        database: Database,
        queries: Queries,
        *,
        table: str,
        lease_seconds: float,
        terms: Sequence[object] = (),
        retries: Retries = FOR_EVER,
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        self.leases = Leases()
        self.presence = Presence(
            table,
            take_over=self._take_over,
            told=self._come_back,
            leave=self._leave,
            lost=self.leases.lose_all,
        )
        self.lease_seconds = lease_seconds
        self._process = uuid4()
        self._slots: set[int] = set()
        self._table = table
        self._database = database
        self._sql = queries
        self._lease = timedelta(seconds=lease_seconds)
        self._terms = terms
        self._retries = retries
        self._is_paused = is_paused
        self._is_fair = "lease_fairly" in queries
        self._behind: object = None  # which lane the next lease begins
        self._owed: dict[UUID, Job] = {}  # leased here, and neither ended nor given back: Postgres was away

    async def lease(self, limit: int) -> list[Job]:
        """Lease up to `limit` due jobs, in the order they are due; those that could not be given back are due, too.

        Once Postgres has been asked, a cancellation waits for the answer.
        """
        if owed := list(self._owed.values()):
            await self._release(owed)
            for job in owed:
                self._owed.pop(job.outbox_id, None)
        if self._is_paused():
            return []
        async with self._database.connection() as connection:
            term = self.leases.term(self.lease_seconds)
            # A lease that was cut off may have been taken, and nobody would know of it.
            with anyio.CancelScope(shield=True):
                jobs = await self._lease_due(connection, limit)
            self.leases.begin(jobs, term)
        return jobs

    async def _lease_due(self, connection: Connection, limit: int) -> list[Job]:
        if not self._is_fair:
            due = await connection.fetch(
                self._sql["lease_jobs"], limit, self._lease, *self._terms, timeout=LEASE_TIMEOUT_S
            )
            return [Job(**dict(row)) for row in due]
        rows = await self._lease_behind(connection, limit)
        if not rows and self._behind is not None:  # the last of the lanes has had its turn
            self._behind = None
            rows = await self._lease_behind(connection, limit)
        jobs = []
        for row in map(dict, rows):
            self._behind = row.pop("next_lane")
            jobs.append(Job(**row))
        return jobs

    async def _lease_behind(self, connection: Connection, limit: int) -> Sequence[Mapping[str, Any]]:
        return await connection.fetch(
            self._sql["lease_fairly"], limit, self._lease, self._behind, *self._terms, timeout=LEASE_TIMEOUT_S
        )

    async def renew(self) -> None:
        """Begin the leases anew of all jobs that are held here.

        One that ran out, or that somebody else has by now, is lost: the work on its job is cancelled.
        """
        held = self.leases.held()
        if not held:
            return
        async with self._database.connection() as connection:
            term = self.leases.term(self.lease_seconds)
            rows = await connection.fetch(
                self._sql["renew_jobs"], *_leases(held), self._lease, timeout=LEASE_TIMEOUT_S
            )
            states = {row["outbox_id"]: row["state"] for row in rows}
            if "lost" in states.values():  # whoever has them now took this process for dead
                await connection.execute(self._sql["absolve"], self._process, self._table)
        self.leases.end([job for job in held if states.get(job.outbox_id) == "ended"])
        self.leases.lose([job for job in held if states.get(job.outbox_id) == "lost"])
        self.leases.renew([job for job in held if states.get(job.outbox_id) == "renewed"], term)

    @contextmanager
    def slot(self) -> Iterator[int]:
        """Return a number that nobody else here has for as long: under which to begin jobs, one batch at a time."""
        free = next(number for number in count() if number not in self._slots)
        self._slots.add(free)
        try:
            yield free
        finally:
            self._slots.remove(free)

    async def begin(self, jobs: Sequence[Job], *, slot: int, is_alone: bool = False) -> Mapping[UUID, int]:
        """Tell that the work on jobs begins in a slot, which ends that of the batch before.

        Returns by the ids of suspect ones how many processes have ended while one was alone.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["begin_run"], self._process, self._table, slot, *_leases(jobs), is_alone
            )
        return {row["outbox_id"]: row["deaths"] for row in rows}

    async def give_up(self, jobs: Sequence[Job], error: str) -> None:
        """Give jobs up: they are not tried again unless an operator says so."""
        self.let_go(jobs)
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["give_up_jobs"], *_leases(jobs), error)
        if rows:
            log.error("jobs_given_up", outbox=self._table, jobs=len(rows), error=error)

    def let_go(self, jobs: Sequence[Job]) -> None:
        """Renew the leases of jobs no longer: nobody here works on them any more."""
        self.leases.end(jobs)

    async def finish(self, jobs: Sequence[Job], connection: Connection | None = None) -> None:
        """End jobs that are done: with the transaction of `connection`, or without one at once.

        Raises LeaseLost when somebody else has leased one since; what the transaction did is to be undone then, which
        is what makes it be done once.
        """
        if connection is not None:
            await self._finish(jobs, connection)
            return
        async with self._database.transaction() as own:
            await self._finish(jobs, own)

    async def _finish(self, jobs: Sequence[Job], connection: Connection) -> None:
        ended = await connection.fetch(self._sql["finish_jobs"], *_leases(jobs))
        if len(ended) < len(jobs):
            raise LeaseLost(f"the leases of {len(jobs) - len(ended)} jobs were lost before they were done")

    async def fail(self, jobs: Sequence[Job], error: str) -> None:
        """Put jobs off, or give them up; `error` is kept redacted and cut to 1,024 characters."""
        with self._owing(jobs):
            async with self._database.connection() as connection:
                rows = await connection.fetch(
                    self._sql["fail_jobs"],
                    *_leases(jobs),
                    [self._retries.delay(job.attempts + 1) for job in jobs],
                    redact(error)[:MAX_ERROR_CHARS],
                    self._retries.most,
                )
        if given_up := sum(row["is_given_up"] for row in rows):
            log.error("jobs_given_up", outbox=self._table, jobs=given_up, attempts=self._retries.most)

    async def release(self, jobs: Sequence[Job]) -> None:
        """Give leased jobs back untouched, due at once."""
        with self._owing(jobs):
            await self._release(jobs)

    async def _release(self, jobs: Sequence[Job]) -> None:
        async with self._database.connection() as connection:
            await connection.execute(self._sql["release_jobs"], *_leases(jobs))

    async def _take_over(self, session: Connection) -> None:
        """Give back all leased or put off jobs, page by page: after a long outage all there are may be put off.

        What others were at is suspect, for they are dead.
        """
        if suspect := await session.fetch(self._sql["suspect_abandoned"], self._process, self._table):
            log.warning("jobs_suspected", outbox=self._table, jobs=len(suspect))
        await session.execute(self._sql["forget_suspicions"], self._table)
        released, page = 0, RELEASED_AT_ONCE
        while page == RELEASED_AT_ONCE:
            page = len(await session.fetch(self._sql["release_abandoned"], RELEASED_AT_ONCE))
            released += page
        if released:
            log.info("abandoned_jobs_taken_over", outbox=self._table, jobs=released)

    async def _come_back(self, session: Connection) -> None:
        await session.execute(self._sql["absolve"], self._process, self._table)

    async def _leave(self, session: Connection) -> None:
        await session.execute(self._sql["end_runs"], self._process, self._table)

    @contextmanager
    def _owing(self, jobs: Sequence[Job]) -> Iterator[None]:
        self.let_go(jobs)
        try:
            yield
        except BaseException:  # also a cancellation
            self._owed.update((job.outbox_id, job) for job in jobs)
            raise

    @property
    def jobs(self) -> OutboxJobs:
        """The jobs as operators see them."""
        return OutboxJobs(self._database, self._sql)

    async def statistics(self) -> OutboxStatistics:
        """Count what waits."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["outbox_statistics"])
        assert row is not None
        return OutboxStatistics(row["pending"], row["failed"], row["oldest"], row["given_up"])


def _leases(jobs: Sequence[Job]) -> tuple[Any, Any]:
    return [job.outbox_id for job in jobs], [job.lease for job in jobs]
