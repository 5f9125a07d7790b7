"""Chores: what a family does from time to time, once over all processes.

A run of a chore is a row, and a job of a leased outbox, for each subject and time that it is due. So it is done by one
process, for as long as it takes, survives that process, and comes back when it fails.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries, sql_folder
from elf.db.schema import COMMON
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, Retries, outbox_queries
from elf.outbox.leases import Job

NO_SUBJECT: Final = ""
RETRIES: Final = Retries(first_s=60.0, longest_s=3600.0)
LEASE_S: Final = 60.0
KEPT: Final = timedelta(days=30)
LAST_KEPT: Final = timedelta(days=400)  # of a subject that is no more, or a chore

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SUBJECTS_AT_ONCE = 10_000

When = Callable[[datetime], datetime]


class Due(NamedTuple):
    """What a run is for. subject: NO_SUBJECT where the chore has none. attempt: from 1."""

    subject: str
    at: datetime
    attempt: int


async def _no_subjects() -> Sequence[str]:
    return (NO_SUBJECT,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Something to be done when it is due, once for each subject over all processes that run workers.

    `name` is lower_snake_case and one's own in the family. `when` tells of a moment the latest time at or before it
    that the chore is due. Times that pass while nobody runs, or while a run goes on, are one. `subjects` are read when
    it is due: tenants, shards, whatever runs apart. `run` may take hours and call models; it is cancelled when the
    process stops, or has lost touch with Postgres, so that another may begin. It then runs again from the start, as it
    does after it raised, so it goes on from what it finds done.
    """

    family: str
    name: str
    when: When
    run: Callable[[Due], Awaitable[None]]
    subjects: Callable[[], Awaitable[Sequence[str]]] = _no_subjects


def every(interval: timedelta, *, at: timedelta = timedelta(0)) -> When:
    """Return the times of a grid over UTC that begins `at` past midnight: daily at three is every(1 day, at=3 h).

    Raises ValueError when the interval is not above 0.
    """
    if interval <= timedelta(0):
        raise ValueError("the interval of a chore must be above 0")

    def latest(moment: datetime) -> datetime:
        return moment - (moment - _EPOCH - at) % interval

    return latest


class ChoreState(NamedTuple):
    """How many runs of a chore wait or are at work, failed before, or were given up, and when one was done last."""

    family: str
    chore: str
    pending: int
    failed: int
    given_up: int
    last_done: datetime | None


class ChoreRuns:
    """The runs of these chores in Postgres; `outbox` leases them."""

    def __init__(
        self,
        database: Database,
        chores: Sequence[Chore] = (),
        *,
        lease_seconds: float = LEASE_S,
        retries: Retries = RETRIES,
    ) -> None:
        self.chores = {(chore.family, chore.name): chore for chore in chores}
        if len(self.chores) != len(chores):
            raise ValueError("two chores of a family have one name")
        self._database = database
        self._sql = chore_queries()
        names = [family for family, _ in self.chores], [name for _, name in self.chores]
        self.outbox = LeasedOutbox(
            database, self._sql, table="chore_runs", lease_seconds=lease_seconds, terms=names, retries=retries
        )

    async def plan(self, chore: Chore, subjects: Sequence[str], at: datetime) -> int:
        """Make the runs that are due at a time, unless they are there or an older one is not done; returns how many."""
        planned = 0
        async with self._database.connection() as connection:
            for start in range(0, len(subjects), _SUBJECTS_AT_ONCE):
                page = subjects[start : start + _SUBJECTS_AT_ONCE]
                rows = await connection.fetch(self._sql["plan_runs"], chore.family, chore.name, page, at)
                planned += len(rows)
        return planned

    async def read(self, job: Job) -> tuple[Chore, Due]:
        """Return what a leased run is of."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["read_run"], job.outbox_id)
        assert row is not None
        due = Due(row["subject"], row["due_at"], job.attempts + 1)
        return self.chores[row["family"], row["chore"]], due

    async def states(self) -> list[ChoreState]:
        """Return what is known of all chores, those of other processes, too."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["chore_statistics"])
        return [ChoreState(**dict(row)) for row in rows]

    def garbage(self) -> GarbageStep:
        """Return the step that removes runs that were done long ago."""

        async def drop(now: datetime, limit: int) -> int:
            async with self._database.connection() as connection:
                rows = await connection.fetch(self._sql["drop_old_runs"], now - KEPT, now - LAST_KEPT, limit)
            return len(rows)

        return GarbageStep(COMMON, "done_chore_runs", drop)


def chore_queries() -> Queries:
    """Read the statements of chores. Raises StartupError when a file cannot be read."""
    about = JobSubject(kind="o.family || '.' || o.chore", tenant="NULL::text", id="nullif(o.subject, '')")
    own = Queries.load(sql_folder() / "chores")
    return outbox_queries("chore_runs", subject="outbox_id", about=about, own=own)
