"""What only Postgres knows: read within limits, and absent rather than a failure while Postgres is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest

from actors.telemetry.stored_readings import (
    OUTBOX_TIMEOUT_S,
    PAGE_TIMEOUT_S,
    PROBE_TIMEOUT_S,
    StoredReadings,
)
from elf.core.errors import DatabaseUnavailable, InternalError
from elf.db.census import COUNTED_FOR_S, TIMEOUT_S
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.notes.keeping.note_counts import NoteCensus
from elf.outbox.chores import ChoreRuns, chore_queries
from elf.outbox.leased import LeasedOutbox
from elf.web.metrics import metrics_page
from tests.metrics_kit import Page
from tests.notes_kit import NOW, TurnedClock

pytestmark = pytest.mark.anyio

QUERIES = Queries({"count_notes": "count notes", "outbox_statistics": "count jobs"})
PROBE = "SELECT true"
CHORES = chore_queries()["chore_statistics"]


class Postgres:
    """Stands for the database; `asked` are the statements it got, `silent` those it never answers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent: set[str] = set()
        self.fails: Exception | None = None
        self.release_s = 0.0
        self.notes: list[dict[str, Any]] = [
            {"status": "active", "notes": 5},
            {"status": "deleted", "notes": 2},
        ]
        self.chores: list[dict[str, Any]] = [
            {"family": "toys", "chore": "tidy", "pending": 2, "failed": 1, "given_up": 3, "last_done": None},
            {"family": "toys", "chore": "sweep", "pending": 0, "failed": 0, "given_up": 0, "last_done": NOW},
        ]
        self.jobs: dict[str, Any] = {
            "pending": 3,
            "failed": 1,
            "oldest": NOW - timedelta(seconds=90),
            "given_up": 2,
        }

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        if self.fails is not None:
            raise self.fails
        try:
            yield cast("Connection", self)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):  # as the pool does with a statement that it gives up
                await anyio.sleep(self.release_s)
            raise

    async def fetchval(self, statement: str) -> Any:
        return await self._answer(statement, True)

    async def fetch(self, statement: str) -> Any:
        return await self._answer(statement, self.chores if statement == CHORES else self.notes)

    async def fetchrow(self, statement: str) -> Any:
        return await self._answer(statement, self.jobs)

    async def _answer(self, statement: str, answer: Any) -> Any:
        self.asked.append(statement)
        if statement in self.silent:
            await anyio.sleep_forever()
        return answer


@pytest.fixture
def postgres() -> Postgres:
    return Postgres()


def readings_of(postgres: Postgres) -> StoredReadings:
    database = cast("Database", postgres)
    return StoredReadings(
        database=database,
        outboxes={("notes", "indexing"): LeasedOutbox(database, QUERIES, table="jobs", lease_seconds=60)},
        chores=ChoreRuns(database),
        gauges=[NoteCensus(database=database, queries=QUERIES).gauge()],
        clock=TurnedClock(),
    )


@asynccontextmanager
async def running(postgres: Postgres) -> AsyncIterator[StoredReadings]:
    readings = readings_of(postgres)
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: readings.run(task_status=task_status))
        yield readings
        group.cancel_scope.cancel()


async def page_of(readings: StoredReadings) -> Page:
    page = Page(metrics_page(await readings.collect()).decode())
    assert page.problems() == []
    return page


async def page_over(postgres: Postgres) -> Page:
    async with running(postgres) as readings:
        return await page_of(readings)


async def test_outboxes_show_their_depth_and_the_age_of_their_oldest_job(postgres: Postgres) -> None:
    page = await page_over(postgres)
    assert page.value("elf_database_up") == 1
    assert page.value("elf_outbox_jobs", family="notes", outbox="indexing", status="pending") == 3
    assert page.value("elf_outbox_jobs", family="notes", outbox="indexing", status="failed") == 1
    assert page.value("elf_outbox_jobs", family="notes", outbox="indexing", status="given_up") == 2
    assert page.value("elf_outbox_oldest_job_age_seconds", family="notes", outbox="indexing") == 90


async def test_chores_show_what_waits_what_fails_and_when_one_was_done(postgres: Postgres) -> None:
    page = await page_over(postgres)
    assert page.value("elf_chore_runs", family="toys", chore="tidy", status="pending") == 2
    assert page.value("elf_chore_runs", family="toys", chore="tidy", status="failed") == 1
    assert page.value("elf_chore_runs", family="toys", chore="tidy", status="given_up") == 3
    assert page.value("elf_chore_last_done_timestamp_seconds", family="toys", chore="tidy") == 0
    done = page.value("elf_chore_last_done_timestamp_seconds", family="toys", chore="sweep")
    assert done == pytest.approx(NOW.timestamp())


@pytest.mark.parametrize("oldest", [None, NOW + timedelta(seconds=5)], ids=["none waits", "a clock is ahead"])
async def test_an_age_is_never_negative_or_missing(postgres: Postgres, oldest: Any) -> None:
    postgres.jobs["oldest"] = oldest
    page = await page_over(postgres)
    assert page.has("elf_outbox_oldest_job_age_seconds", family="notes", outbox="indexing")
    assert page.value("elf_outbox_oldest_job_age_seconds", family="notes", outbox="indexing") == 0


async def test_notes_are_shown_by_status_with_those_there_are_none_of(postgres: Postgres) -> None:
    page = await page_over(postgres)
    counts = {
        status: page.value("elf_notes", status=status) for status in ("active", "deleted", "deprecated")
    }
    assert counts == {"active": 5, "deleted": 2, "deprecated": 0}
    assert page.has("elf_notes", status="deprecated")


async def test_notes_are_counted_once_a_minute(
    postgres: Postgres, anyio_backend: tuple[str, dict[str, Any]]
) -> None:
    async with running(postgres) as readings:
        for _ in range(3):
            await readings.collect()
        assert postgres.asked.count("count notes") == 1
        if anyio_backend[0] == "trio":  # where a minute takes no time
            await anyio.sleep(COUNTED_FOR_S)
            postgres.notes = [{"status": "active", "notes": 6}]
            assert (await page_of(readings)).value("elf_notes", status="active") == 6
            assert postgres.asked.count("count notes") == 2


async def test_each_page_is_read_anew(postgres: Postgres) -> None:
    async with running(postgres) as readings:
        for pending in (3, 2, 1):
            postgres.jobs["pending"] = pending
            page = await page_of(readings)
            assert (
                page.value("elf_outbox_jobs", family="notes", outbox="indexing", status="pending") == pending
            )


async def test_pages_that_ask_at_once_share_a_reading(postgres: Postgres) -> None:
    pages: list[Page] = []

    async def ask(readings: StoredReadings) -> None:
        pages.append(await page_of(readings))

    async with running(postgres) as readings, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask, readings)
    assert postgres.asked.count("count jobs") == 1
    assert [page.value("elf_database_up") for page in pages] == [1] * 5


async def test_readers_at_once_share_a_count(postgres: Postgres) -> None:
    census = NoteCensus(database=cast("Database", postgres), queries=QUERIES)
    counts: list[Any] = []

    async def read() -> None:
        counts.append(await census.counts())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(read)
    assert postgres.asked == ["count notes"]
    assert counts == [{"active": 5, "deleted": 2, "deprecated": 0}] * 5


@pytest.mark.parametrize("failure", [DatabaseUnavailable("away"), InternalError("no such table")])
async def test_while_postgres_is_away_the_page_says_so_and_nothing_else(
    postgres: Postgres, failure: Exception
) -> None:
    postgres.fails = failure
    page = await page_over(postgres)
    assert set(page.families) == {"elf_database_up"}
    assert page.has("elf_database_up")
    assert page.value("elf_database_up") == 0


class TestWithVirtualTime:
    """What does not answer, on trio alone, where waiting takes no time."""

    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, Any]]:
        from trio.testing import MockClock

        return ("trio", {"clock": MockClock(autojump_threshold=0)})

    async def test_a_postgres_that_is_silent_counts_as_away_after_a_second(self, postgres: Postgres) -> None:
        postgres.silent = {PROBE}
        async with running(postgres) as readings:
            began = anyio.current_time()
            page = await page_of(readings)
            assert anyio.current_time() - began == pytest.approx(PROBE_TIMEOUT_S)
        assert page.value("elf_database_up") == 0
        assert postgres.asked == [PROBE]

    async def test_no_page_waits_for_a_connection_that_is_slow_to_come_back(self, postgres: Postgres) -> None:
        postgres.silent, postgres.release_s = {PROBE}, 30.0
        async with running(postgres) as readings:
            for _ in range(3):
                began = anyio.current_time()
                page = await page_of(readings)
                assert anyio.current_time() - began == pytest.approx(PAGE_TIMEOUT_S)
                assert page.value("elf_database_up") == 0
            postgres.silent = set()
            await anyio.sleep(30.0)
            assert (await page_of(readings)).value("elf_database_up") == 1
        assert postgres.asked.count(PROBE) == 2

    async def test_what_was_read_before_the_page_had_to_come_is_on_it(self, postgres: Postgres) -> None:
        postgres.silent, postgres.release_s = {"count jobs"}, 30.0
        async with running(postgres) as readings:
            page = await page_of(readings)
        assert page.value("elf_database_up") == 1
        assert set(page.families) == {"elf_database_up"}

    async def test_nothing_old_is_shown_while_nobody_reads(self, postgres: Postgres) -> None:
        async with running(postgres) as readings:
            assert (await page_of(readings)).value("elf_database_up") == 1
        page = await page_of(readings)
        assert page.value("elf_database_up") == 0
        assert set(page.families) == {"elf_database_up"}

    async def test_what_takes_too_long_is_absent_and_the_rest_is_there(self, postgres: Postgres) -> None:
        postgres.silent = {"count jobs"}
        async with running(postgres) as readings:
            began = anyio.current_time()
            page = await page_of(readings)
            assert anyio.current_time() - began == pytest.approx(OUTBOX_TIMEOUT_S)
        assert page.value("elf_database_up") == 1
        assert page.value("elf_notes", status="active") == 5
        assert not page.has("elf_outbox_jobs", family="notes", outbox="indexing", status="pending")

    async def test_a_count_that_took_too_long_is_left_alone_for_a_minute(self, postgres: Postgres) -> None:
        postgres.silent = {"count notes"}
        census = NoteCensus(database=cast("Database", postgres), queries=QUERIES)
        began = anyio.current_time()
        assert await census.counts() is None
        assert anyio.current_time() - began == pytest.approx(TIMEOUT_S)
        postgres.silent = set()
        assert await census.counts() is None
        await anyio.sleep(COUNTED_FOR_S)
        assert await census.counts() == {"active": 5, "deleted": 2, "deprecated": 0}
