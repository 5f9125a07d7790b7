"""The leased outbox: no job is lost, none is done by two at once, and what fails comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import chain
from uuid import UUID, uuid4

import anyio
import asyncpg
import pytest
from anyio.abc import TaskStatus
from hypothesis import given
from hypothesis import strategies as st

from actors.signals.outbox_wake import OutboxListener
from elf.core.errors import DatabaseUnavailable
from elf.db.database import Database
from elf.families.notes.keeping.queries import NOTE_TABLES
from elf.indexing.worker import LEASE_BYTES
from elf.outbox import leased
from elf.outbox.leased import FOR_EVER, MAX_ERROR_CHARS, LeasedOutbox, Retries
from elf.outbox.leases import Job
from tests.conftest import run_sql
from tests.db.notes.conftest import House
from tests.db.test_notifications import KILL

pytestmark = pytest.mark.anyio


async def enqueue(house: House, *note_ids: UUID) -> None:
    """Make a job for each note, in a transaction of its own."""
    for note_id in note_ids:
        await house.execute(house.queries["enqueue_indexing"], [note_id], ["UPSERT"], house.model.version)


async def finish(house: House, jobs: list[Job], seen: list[datetime | None]) -> None:
    await house.execute(
        house.queries["finish_jobs"],
        [job.outbox_id for job in jobs],
        [job.subject_id for job in jobs],
        seen,
        [None if one is None else house.model.version for one in seen],
    )


async def statuses(house: House) -> list[str]:
    return [status for _, _, status in await house.jobs()]


async def test_due_jobs_are_leased_oldest_first_up_to_the_limit(house: House) -> None:
    notes = [uuid4() for _ in range(3)]
    await enqueue(house, *notes)
    (first,) = await house.outbox.lease(1)
    assert (first.subject_id, first.op, first.attempts) == (notes[0], "UPSERT", 0)
    assert {job.subject_id for job in await house.outbox.lease(10)} == set(notes[1:])


async def test_a_leased_job_is_not_leased_again_while_the_lease_runs(house: House) -> None:
    await enqueue(house, uuid4())
    assert len(await house.outbox.lease(10)) == 1
    assert await house.outbox.lease(10) == []
    due_in = await house.value("SELECT available_at - clock_timestamp() FROM indexing_outbox")
    assert timedelta(seconds=0) < due_in <= timedelta(seconds=60)


async def test_a_cancellation_waits_for_the_lease_so_that_its_jobs_are_known(house: House) -> None:
    await enqueue(house, uuid4())
    leased: list[Job] = []

    async def lease(*, task_status: TaskStatus[anyio.CancelScope]) -> None:
        with anyio.CancelScope() as scope:
            task_status.started(scope)
            leased.extend(await house.outbox.lease(10))

    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with anyio.create_task_group() as tasks, house.database.transaction() as connection:
        await connection.execute("LOCK TABLE indexing_outbox IN SHARE MODE")
        scope = await tasks.start(lease)
        while not await house.value(waiting):  # noqa: ASYNC110 - Postgres sets no event
            await anyio.sleep(0.01)
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
    assert len(leased) == 1


async def test_a_job_whose_lease_ended_is_leased_again(house: House) -> None:
    ended_at_once = house.outbox_of(house.model.version, lease_seconds=0)
    await enqueue(house, uuid4())
    first = await ended_at_once.lease(10)
    assert await ended_at_once.lease(10) == first


async def test_a_job_is_leased_only_by_those_who_serve_its_version(house: House) -> None:
    other = house.outbox_of("fake:newer:384")
    note_id = uuid4()
    await enqueue(house, note_id)
    assert await other.lease(10) == []
    assert [job.subject_id for job in await house.outbox.lease(10)] == [note_id]


async def test_two_lessors_never_lease_the_same_job(house: House, database_dsn: str) -> None:
    await house.execute(
        house.queries["enqueue_indexing"],
        [uuid4() for _ in range(120)],
        ["UPSERT"] * 120,
        house.model.version,
    )
    other = Database(max_conns=4)
    await other.open(database_dsn)
    leased: list[UUID] = []

    async def lease_all(database: Database) -> None:
        terms = (house.model.version, LEASE_BYTES)
        outbox = LeasedOutbox(
            database, house.queries, table=NOTE_TABLES.outbox, lease_seconds=60, terms=terms
        )
        while jobs := await outbox.lease(7):
            leased.extend(job.outbox_id for job in jobs)

    async with anyio.create_task_group() as group:
        for database in (house.database, other) * 2:
            group.start_soon(lease_all, database)
    await other.close()
    assert len(leased) == len(set(leased)) == 120


# Tenants take turns

TENANTS = """SELECT array_agg(n.tenant_id ORDER BY t.place)
FROM unnest($1::uuid[]) WITH ORDINALITY AS t (note_id, place) JOIN memory_notes AS n USING (note_id)"""


async def leased_by_turns(house: House, limit: int) -> list[list[str]]:
    """Lease all that is due; returns of each lease the tenants of the jobs."""
    leases: list[list[str]] = []
    while jobs := await house.outbox.lease(limit):
        leases.append(await house.value(TENANTS, [job.subject_id for job in jobs]))
    return leases


async def test_who_has_much_to_index_holds_up_nobody(house: House) -> None:
    for number in range(12):
        await house.add({"text": f"Fact: {number}.", "key": f"k{number}"}, tenant_id="flood")
    await house.add({"text": "Fact: it is late.", "key": "late"}, tenant_id="late")
    leases = await leased_by_turns(house, 4)
    assert "late" in leases[0][:2]
    assert Counter(chain(*leases)) == {"flood": 12, "late": 1}


async def test_when_there_are_more_tenants_than_a_lease_takes_each_has_its_turn(house: House) -> None:
    for number in range(3):
        for tenant in range(7):
            await house.add({"text": f"Fact: {number}.", "key": f"k{number}"}, tenant_id=f"tenant {tenant}")
    leased = list(chain(*await leased_by_turns(house, 3)))
    assert len(leased) == 21
    for tenant in set(leased):
        assert leased.index(tenant) < 3 + 3 + 3


async def test_long_texts_of_one_tenant_are_leased_one_at_a_time_between_those_of_others(
    house: House,
) -> None:
    for number in range(3):
        await house.add({"text": f"Fact: {number}.", "key": f"k{number}"}, tenant_id="long")
    long = "a" * (2 * LEASE_BYTES)
    await house.execute("UPDATE memory_notes SET text = $1", long)
    for number in range(3):
        await house.add({"text": f"Fact: short {number}.", "key": f"k{number}"}, tenant_id="short")
    leases = await leased_by_turns(house, 10)
    assert sorted(map(len, leases)) == [1, 1, 1, 3]
    assert leases.index(["short"] * 3) <= 1


# By how much text they hold


async def notes_of(house: House, sizes: list[int]) -> list[UUID]:
    """Notes of so many bytes, each with a job; 0 is one that is gone."""
    notes: list[UUID] = [
        await house.add_one(f"Fact: {number}.", key=f"k{number}") for number in range(len(sizes))
    ]
    for note_id, size in zip(notes, sizes, strict=True):
        text = "é" * (size // 2) + "a" * (size % 2)
        await house.execute("UPDATE memory_notes SET text = $2 WHERE note_id = $1", note_id, text)
        if size == 0:
            await house.execute("DELETE FROM memory_notes WHERE note_id = $1", note_id)
    await house.execute("DELETE FROM indexing_outbox")
    await enqueue(house, *notes)
    return notes


@pytest.mark.parametrize(
    ("sizes", "limit", "leases"),
    [
        ([30, 30, 30, 30], 10, [3, 1]),
        ([50, 50, 1], 10, [2, 1]),
        ([30, 30, 30, 30], 2, [2, 2]),
        ([101, 1], 10, [1, 1]),
        ([5000, 5000, 10, 90, 1], 10, [1, 1, 2, 1]),
        ([10, 500, 10], 10, [1, 1, 1]),
        ([0, 100, 0, 0, 1], 10, [4, 1]),
    ],
)
async def test_a_lease_holds_the_first_due_jobs_within_an_amount_of_text_and_one_at_least(
    house: House, sizes: list[int], limit: int, leases: list[int]
) -> None:
    notes = await notes_of(house, sizes)
    outbox = house.outbox_of(house.model.version, lease_bytes=100)
    taken: list[UUID] = []
    for count in leases:
        jobs = await outbox.lease(limit)
        assert len(jobs) == count
        taken += [job.subject_id for job in jobs]
    assert taken == notes, "in the order they are due"
    assert await outbox.lease(limit) == []


async def test_what_did_not_fit_into_a_lease_is_left_to_others(house: House) -> None:
    notes = await notes_of(house, [60, 60, 60])
    one, other = (house.outbox_of(house.model.version, lease_bytes=100) for _ in range(2))
    assert [job.subject_id for outbox in (one, other) for job in await outbox.lease(10)] == notes[:2]


async def test_jobs_of_one_request_are_leased_in_its_order(house: House) -> None:
    results = await house.add(*({"text": f"Fact: {number}.", "key": f"k{number}"} for number in range(40)))
    leased = [job.subject_id for _ in range(4) for job in await house.outbox.lease(10)]
    assert leased == [result.note_id for result in results]


# Renewing


async def leases_left(house: House) -> list[timedelta]:
    rows = await house.rows(
        "SELECT available_at - clock_timestamp() AS left FROM indexing_outbox ORDER BY created_at"
    )
    return [row["left"] for row in rows]


async def shorten(house: House) -> None:
    await house.execute(
        "UPDATE indexing_outbox SET available_at = clock_timestamp() + interval '20 seconds'"
        " WHERE available_at > clock_timestamp()"
    )


async def test_what_is_held_is_leased_anew_and_what_was_let_go_is_not(house: House) -> None:
    await enqueue(house, uuid4(), uuid4(), uuid4())
    held, gone = await house.outbox.lease(2)
    await house.outbox_of(house.model.version).lease(1)
    await shorten(house)
    house.outbox.let_go([gone])
    await house.outbox.renew()
    assert [left > timedelta(seconds=50) for left in await leases_left(house)] == [True, False, False]
    house.outbox.let_go([held])
    await shorten(house)
    await house.outbox.renew()
    assert max(await leases_left(house)) <= timedelta(seconds=20)


@pytest.mark.parametrize("how", ["finish", "fail", "release", "run out"])
async def test_a_lease_that_is_over_is_not_renewed(house: House, how: str) -> None:
    await enqueue(house, uuid4())
    jobs = await house.outbox.lease(1)
    other = house.outbox_of(house.model.version)  # so that the one who renews is not told
    if how == "finish":
        await finish(house, jobs, [None])
    elif how == "fail":
        await other.fail(jobs, "x")
    elif how == "release":
        await other.release(jobs)
    else:
        await house.execute("UPDATE indexing_outbox SET available_at = clock_timestamp()")
    await house.outbox.renew()
    (left,) = await leases_left(house)
    assert left < timedelta(seconds=FOR_EVER.first_s)


async def test_renewing_waits_for_nobody(house: House) -> None:
    await enqueue(house, uuid4(), uuid4())
    await house.outbox.lease(2)
    await shorten(house)
    async with house.database.transaction() as connection:
        await connection.execute(
            "SELECT 1 FROM indexing_outbox ORDER BY created_at LIMIT 1 FOR UPDATE",
        )
        with anyio.fail_after(20):
            await house.outbox.renew()
    assert [left > timedelta(seconds=50) for left in await leases_left(house)] == [False, True]


async def test_a_failed_job_is_put_off_and_remembers_why(house: House) -> None:
    await enqueue(house, uuid4(), uuid4())
    jobs = await house.outbox.lease(1)
    before = await house.moment()
    await house.outbox.fail(jobs, "token AKIAIOSFODNN7QWERTYU " + "x" * 5000)
    row = (await house.rows("SELECT * FROM indexing_outbox WHERE outbox_id = $1", jobs[0].outbox_id))[0]
    assert (row["status"], row["attempts"]) == ("FAILED", 1)
    assert "AKIA" not in row["last_error"]
    assert len(row["last_error"]) == MAX_ERROR_CHARS
    assert row["available_at"] >= before + timedelta(seconds=0.75 * FOR_EVER.first_s)
    assert row["available_at"] <= await house.moment() + timedelta(seconds=FOR_EVER.first_s)
    assert sorted(await statuses(house)) == ["FAILED", "PENDING"]


async def test_a_failed_job_comes_back_with_its_attempts(house: House) -> None:
    await enqueue(house, uuid4())
    for attempts in range(3):
        (job,) = await house.outbox.lease(1)
        assert job.attempts == attempts
        await house.outbox.fail([job], "away")
        await house.execute("UPDATE indexing_outbox SET available_at = now()")


@given(st.integers(1, 10**6), st.floats(0.1, 60), st.floats(0.1, 7200))
def test_the_delay_doubles_with_jitter_up_to_its_cap(attempt: int, first_s: float, longest_s: float) -> None:
    full = min(longest_s, first_s * 2 ** min(attempt - 1, 20))
    delay = Retries(first_s=first_s, longest_s=longest_s).delay(attempt).total_seconds()
    assert 0.75 * full - 1e-6 <= delay <= full + 1e-6


async def test_a_released_job_is_due_at_once_and_unchanged(house: House) -> None:
    await enqueue(house, uuid4())
    jobs = await house.outbox.lease(10)
    await house.outbox.release(jobs)
    assert await house.outbox.lease(10) == jobs


async def test_what_is_done_is_neither_failed_nor_released(house: House) -> None:
    await enqueue(house, uuid4())
    jobs = await house.outbox.lease(10)
    await finish(house, jobs, [None])
    await house.outbox.fail(jobs, "late")
    await house.outbox.release(jobs)
    assert await statuses(house) == ["DONE"]
    assert await house.outbox.lease(10) == []


async def test_statistics_count_what_waits(house: House) -> None:
    assert await house.outbox.statistics() == (0, 0, None, 0)
    await enqueue(house, uuid4(), uuid4(), uuid4())
    oldest = await house.value("SELECT min(created_at) FROM indexing_outbox")
    first, second = sorted(await house.outbox.lease(2), key=lambda job: job.created_at)
    await house.outbox.fail([first], "x")
    await finish(house, [second], [None])
    assert await house.outbox.statistics() == (1, 1, oldest, 0)


# Leases of the dead


@asynccontextmanager
async def process(dsn: str, outbox: LeasedOutbox) -> AsyncIterator[None]:
    """A process's session that tells others of its presence."""
    session = await asyncpg.connect(dsn)
    try:
        await outbox.presence.tell(session)
        yield
    finally:
        outbox.presence.untell()
        await session.close()


async def test_where_nobody_works_all_that_is_leased_or_put_off_is_given_back(
    house: House, database_dsn: str
) -> None:
    await enqueue(house, *[uuid4() for _ in range(4)])
    leased = await house.outbox.lease(3)
    await house.outbox.fail(leased[:1], "x")
    await finish(house, leased[1:2], [None])
    starting = house.outbox_of(house.model.version)
    async with process(database_dsn, starting):
        assert len(await starting.lease(10)) == 3


async def test_a_great_many_leases_are_given_back_page_by_page(
    house: House, database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leased, "RELEASED_AT_ONCE", 2)
    await enqueue(house, *[uuid4() for _ in range(5)])
    assert len(await house.outbox.lease(10)) == 5
    starting = house.outbox_of(house.model.version)
    async with process(database_dsn, starting):
        assert len(await starting.lease(10)) == 5


async def test_where_a_process_works_its_leases_are_left_alone(house: House, database_dsn: str) -> None:
    await enqueue(house, uuid4())
    living, starting, last = (house.outbox_of(house.model.version) for _ in range(3))
    async with process(database_dsn, living):
        await living.lease(1)
        async with process(database_dsn, starting):
            assert await starting.lease(1) == []
    await until_nobody_works(house)
    async with process(database_dsn, last):
        assert len(await last.lease(1)) == 1


async def until_nobody_works(house: House) -> None:
    """The server ends a session a little after its client."""
    with anyio.fail_after(20):
        while await house.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_a_lease_that_nobody_heard_of_is_given_back_when_the_session_begins_anew(
    house: House, database_dsn: str
) -> None:
    """As when Postgres ends between a lease and its answer."""
    await enqueue(house, uuid4(), uuid4())
    async with process(database_dsn, house.outbox):
        held = await house.outbox.lease(1)
        unheard = await house.outbox_of(house.model.version).lease(1)
        assert len(unheard) == 1
        assert await house.outbox.lease(10) == []
    await until_nobody_works(house)
    async with process(database_dsn, house.outbox):
        assert len(await house.outbox.lease(10)) == 2
        await house.outbox.release(held)
        assert await house.outbox.lease(10) == [], "what was lost cannot be given back"


async def test_a_process_whose_session_is_gone_has_lost_its_leases_before_another_takes_them(
    house: House, database_dsn: str
) -> None:
    await enqueue(house, uuid4(), uuid4())
    cut_off, starting = house.outbox, house.outbox_of(house.model.version)
    listener = OutboxListener(lambda: database_dsn)
    listener.tell(cut_off.presence)
    async with anyio.create_task_group() as group:
        await group.start(listener.run)
        await cut_off.presence.wait_told()
        jobs = await cut_off.lease(2)
        with cut_off.leases.at_work(jobs) as scope:
            group.start_soon(run_sql, database_dsn, KILL)
            await anyio.sleep_forever()
        assert scope.cancelled_caught
        assert cut_off.leases.held() == []
        async with process(database_dsn, starting):
            taken_over = await starting.lease(2)  # which are due at once, in any order
            assert {job.outbox_id for job in taken_over} == {job.outbox_id for job in jobs}
            await cut_off.release(jobs)
            await cut_off.fail(jobs, "late")
            assert await starting.lease(2) == []
        group.cancel_scope.cancel()


async def test_who_starts_waits_until_another_has_taken_over(house: House, database_dsn: str) -> None:
    first, second = (house.outbox_of(house.model.version) for _ in range(2))
    told: list[str] = []

    async def tell(name: str, outbox: LeasedOutbox) -> None:
        async with process(database_dsn, outbox):
            told.append(name)
            await outbox.presence.wait_told()
            await anyio.sleep_forever()

    await enqueue(house, uuid4())
    await house.outbox.lease(1)
    async with anyio.create_task_group() as group, house.database.transaction() as connection:
        await connection.execute("LOCK TABLE indexing_outbox IN SHARE MODE")  # the takeover waits
        for name, outbox in (("first", first), ("second", second)):
            group.start_soon(tell, name, outbox)
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            with anyio.fail_after(20):
                while await house.value(waiting) <= (name == "second"):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
        assert told == []
        await connection.execute("ROLLBACK")
        await connection.execute("BEGIN")
        with anyio.fail_after(20):
            while len(told) < 2:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert sorted(told) == ["first", "second"]
        group.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["renew", "release", "fail"])
async def test_who_lost_a_lease_does_nothing_to_that_of_another(house: House, how: str) -> None:
    await enqueue(house, uuid4())
    jobs = await house.outbox.lease(1)
    await house.execute("UPDATE indexing_outbox SET available_at = now()")
    other = house.outbox_of(house.model.version)
    assert await other.lease(1) == jobs
    if how == "renew":
        for outbox in (house.outbox, other):
            await outbox.renew()
        assert (house.outbox.leases.held(), other.leases.held()) == ([], jobs)
    elif how == "release":
        await house.outbox.release(jobs)
    else:
        await house.outbox.fail(jobs, "late")
    assert await statuses(house) == ["PENDING"]
    assert await house.outbox_of(house.model.version).lease(1) == []


@pytest.mark.parametrize("how", ["fail", "release"])
async def test_what_could_not_be_given_back_is_due_with_the_next_lease(
    house: House, database_dsn: str, how: str
) -> None:
    await enqueue(house, uuid4())
    jobs = await house.outbox.lease(1)
    await house.database.close()
    with pytest.raises(DatabaseUnavailable):
        await (house.outbox.fail(jobs, "x") if how == "fail" else house.outbox.release(jobs))
    with pytest.raises(DatabaseUnavailable):
        await house.outbox.lease(1)
    await house.database.open(database_dsn)
    assert await house.outbox.lease(1) == jobs
    assert await house.outbox.lease(1) == [], "once is enough"


# Finishing


async def noted(house: House) -> tuple[UUID, datetime]:
    """A stored note with its one job taken away."""
    note_id = await house.add_one("Fact: a.", key="k")
    await house.execute("DELETE FROM indexing_outbox")
    note = await house.note(note_id)
    assert note is not None
    return note_id, note.updated_at


async def test_a_job_supersedes_the_older_ones_of_its_note(house: House) -> None:
    note_id, updated_at = await noted(house)
    other = uuid4()
    await enqueue(house, note_id, other, note_id)
    newest = max(await house.outbox.lease(10), key=lambda job: job.created_at)
    await finish(house, [newest], [updated_at])
    assert await house.jobs() == [
        (note_id, "UPSERT", "DONE"), (other, "UPSERT", "PENDING"), (note_id, "UPSERT", "DONE"),
    ]  # fmt: skip


async def test_a_job_does_not_end_a_newer_one(house: House) -> None:
    note_id, updated_at = await noted(house)
    await enqueue(house, note_id)
    jobs = await house.outbox.lease(1)
    await enqueue(house, note_id)
    await finish(house, jobs, [updated_at])
    assert await statuses(house) == ["DONE", "PENDING"]


async def test_a_job_whose_note_changed_meanwhile_is_due_again(house: House) -> None:
    note_id, updated_at = await noted(house)
    await enqueue(house, note_id)
    jobs = await house.outbox.lease(1)
    await finish(house, jobs, [updated_at - timedelta(microseconds=1)])
    assert await statuses(house) == ["PENDING"]
    assert await house.outbox.lease(1) == jobs


async def test_it_is_due_again_even_when_another_worker_ended_it(house: House) -> None:
    note_id, updated_at = await noted(house)
    await enqueue(house, note_id)
    slow = await house.outbox.lease(1)
    await finish(house, slow, [updated_at])
    await finish(house, slow, [updated_at - timedelta(seconds=1)])
    assert await house.outbox.lease(1) == slow


async def test_a_job_of_a_note_that_is_gone_ends(house: House) -> None:
    await enqueue(house, uuid4())
    await finish(house, await house.outbox.lease(1), [None])
    assert await statuses(house) == ["DONE"]


async def test_workers_that_finish_jobs_of_the_same_notes_at_once_all_end(house: House) -> None:
    notes = [uuid4() for _ in range(40)]
    for _ in range(3):
        await house.execute(
            house.queries["enqueue_indexing"], notes, ["UPSERT"] * len(notes), house.model.version
        )
    jobs = await house.outbox.lease(1000)
    async with anyio.create_task_group() as group:
        for turn in range(4):
            group.start_soon(house.indexing.handle, jobs if turn % 2 else jobs[::-1])
    assert set(await statuses(house)) == {"DONE"}
