"""How notes end: expiry and purges on a moved clock, in batches, by one process at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import anyio
import pytest
from structlog.testing import capture_logs

from elf.core.errors import DatabaseUnavailable, InternalError
from elf.db.database import Database
from elf.db.garbage import GarbageCollector, GarbageStep
from elf.db.queries import Queries
from elf.families.notes.keeping.lifecycle import LifecycleRules
from elf.search import trace_store
from elf.search.retention import retention_steps
from tests.db.notes.aging import assert_gapless, collect, collector, places_of, steps_of, trace
from tests.db.notes.conftest import House

pytestmark = pytest.mark.anyio


@pytest.fixture
def house(house: House) -> House:
    """A house whose clock begins with the database's: ages of jobs are counted from the one in the other."""
    house.clock.moment = datetime.now(UTC)
    return house


@pytest.fixture(scope="module")
def search_queries() -> Queries:
    return trace_store.search_queries()


# Expiry


async def test_an_expired_note_is_deleted_with_a_version_and_leaves_the_index(house: House) -> None:
    note_id = await house.add_one("Plan: paint the gate.", type="plan", ttl_days=0.5)
    other = await house.add_one("Fact: the gate is old.")
    await house.index_all()
    house.clock.turn(hours=12, seconds=-1)
    assert await collect(house) == {}
    house.clock.turn(seconds=1)
    assert await collect(house) == {"expired_notes": 1}
    note = await house.note(note_id)
    assert note is not None
    assert note.status == "deleted"
    *_, version = await house.versions(note_id)
    assert (version["op"], version["reason"], version["actor"]) == ("DELETE", "expired", "gc")
    assert version["ts"] == note.updated_at == house.clock.now()
    assert_gapless(await house.versions(note_id))
    assert await places_of(house, note_id) == {
        "indexing_outbox.note_id": 2, "memory_ingest_decisions.note_id": 1, "memory_note_versions.note_id": 2,
        "memory_notes.note_id": 1,
    }  # fmt: skip
    assert house.rings == 3
    await house.index_all()
    assert house.index.owners() == {other}


async def test_a_note_that_somebody_works_on_is_left_for_the_next_time(house: House) -> None:
    note_id = await house.add_one("Plan: paint the gate.", ttl_days=2)
    house.clock.turn(days=3)
    async with house.database.transaction() as connection:
        await house.store.lock(connection, note_id)
        assert await collect(house) == {}
    assert await collect(house) == {"expired_notes": 1}


async def test_everything_is_collected_however_small_a_batch_is(house: House) -> None:
    notes = [{"text": f"Plan: number {number}.", "key": f"k{number}", "ttl_days": 1} for number in range(7)]
    await house.add(*notes)
    house.clock.turn(days=1)
    assert await collect(house, batch_size=3) == {"expired_notes": 7}
    house.clock.turn(days=31)
    counts = await collect(house, batch_size=2)
    assert counts["purged_deleted_notes"] == 7
    assert await house.value("SELECT count(*) FROM memory_notes") == 0


# Purges


async def test_a_deleted_note_is_purged_when_its_days_are_over(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.", key="tea", source_ref={"chat": "Anna said it"})
    other = await house.add_one("Fact: ice is cold.", key="ice")
    await house.update(note_id, text="Fact: tea is warm.")
    await house.delete(note_id)
    await house.index_all()
    house.clock.turn(days=30)
    assert "purged_deleted_notes" not in await collect(house)
    house.clock.turn(seconds=1)
    assert (await collect(house))["purged_deleted_notes"] == 1
    assert await house.note(note_id) is None
    assert await house.note(other) is not None
    assert [job for job in await house.jobs() if job[2] != "DONE"] == [(note_id, "DELETE", "PENDING")]
    await house.index_all()
    house.clock.turn(days=2)
    await collect(house)
    assert await places_of(house, note_id) == {"memory_note_versions.note_id": 4}
    assert house.index.owners() == {other}


async def test_the_versions_of_a_purged_note_stay_without_a_word_of_the_writer(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.", key="tea", source_ref={"chat": "Anna said it"})
    await house.update(note_id, text="Fact: tea is warm.", importance=0.75)
    await house.delete(note_id)
    house.clock.turn(days=31)
    await collect(house)
    versions = await house.versions(note_id)
    assert [version["op"] for version in versions] == ["ADD", "UPDATE", "DELETE", "PURGE"]
    assert_gapless(versions)
    assert (versions[-1]["reason"], versions[-1]["actor"]) == ("deleted for 30 days", "gc")
    assert versions[-1]["new_snapshot"] is None
    snapshots = [version["prev_snapshot"] for version in versions[1:]]
    assert all((shot["text"], shot["key"], shot["source_ref"]) == ("", None, {}) for shot in snapshots)
    assert [shot["importance"] for shot in snapshots] == [0.5, 0.75, 0.75]
    assert [shot["status"] for shot in snapshots] == ["active", "active", "deleted"]
    everything = " ".join(str(list(version.values())) for version in versions)
    assert not [word for word in ("tea", "warm", "Anna") if word in everything]


@pytest.mark.parametrize(("hit", "left"), [(False, 0), (True, 1)])
async def test_a_deprecated_note_is_purged_when_nobody_has_found_it_for_long(
    house: House, hit: bool, left: int
) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.execute("UPDATE memory_notes SET status = 'deprecated'")
    house.clock.turn(days=100)
    if hit:
        async with house.database.connection() as connection:
            hits = [(note_id, uuid4(), 1, 0.5)]
            await house.store.record_hits(connection, hits, query_hash="q", now=house.clock.now())
    house.clock.turn(days=81)
    await collect(house)
    assert await house.value("SELECT count(*) FROM memory_notes") == left
    assert await house.value("SELECT count(*) FROM memory_hits") == left
    house.clock.turn(days=100)
    await collect(house)
    assert await house.value("SELECT count(*) FROM memory_notes") == 0
    assert await house.value("SELECT count(*) FROM memory_hits") == 0
    *_, version = await house.versions(note_id)
    assert version["reason"] == "deprecated and not found for 180 days"


async def test_a_purge_takes_hits_traced_results_and_what_other_decisions_matched(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    other = await house.add_one("Fact: ice is cold.")
    assert await house.value(
        "SELECT matched_note_id FROM memory_ingest_decisions WHERE note_id = $1", other
    ) == (note_id)
    async with house.database.connection() as connection:
        hits = [(note_id, uuid4(), 1, 0.5), (other, uuid4(), 2, 0.4)]
        await house.store.record_hits(connection, hits, query_hash="q", now=house.clock.now())
    await trace(house, note_id, other, days=365)
    await house.delete(note_id)
    await house.index_all()
    house.clock.turn(days=31)
    await collect(house)
    await house.index_all()
    house.clock.turn(days=2)
    await collect(house)
    assert set(await places_of(house, note_id)) == {"memory_note_versions.note_id"}
    assert await places_of(house, other) == {
        "memory_hits.note_id": 1, "memory_ingest_decisions.note_id": 1, "memory_note_chunks.note_id": 1,
        "memory_note_versions.note_id": 1, "memory_notes.note_id": 1, "note_embeddings.note_id": 1,
        "search_trace_items.note_id": 1,
    }  # fmt: skip


async def test_a_search_that_outlives_a_note_leaves_no_hit_of_it(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.delete(note_id)
    house.clock.turn(days=31)
    await collect(house)
    async with house.database.connection() as connection:
        await house.store.record_hits(
            connection, [(note_id, uuid4(), 1, 0.5)], query_hash="q", now=house.clock.now()
        )
    assert await house.value("SELECT count(*) FROM memory_hits") == 0


async def test_zero_days_purge_nothing(house: House) -> None:
    await house.delete(await house.add_one("Fact: tea is hot."))
    await house.execute(
        "UPDATE memory_notes SET status = 'deprecated' WHERE note_id = $1",
        await house.add_one("Fact: ice is cold."),
    )
    house.clock.turn(days=10_000)
    await collect(house, rules=LifecycleRules(purge_deleted_after_days=0, purge_deprecated_after_days=0))
    assert await house.value("SELECT count(*) FROM memory_notes") == 2


# What is done, and what was refused


async def test_done_jobs_go_after_a_day_and_open_ones_never(house: House) -> None:
    await house.add_one("Fact: tea is hot.")
    await house.index_all()
    await house.add_one("Fact: ice is cold.")
    house.clock.turn(days=1, minutes=-5)
    assert await collect(house) == {}
    house.clock.turn(minutes=10)
    assert await collect(house) == {"done_jobs": 1}
    house.clock.turn(days=100)
    assert await collect(house) == {}
    assert [(op, status) for _, op, status in await house.jobs()] == [("UPSERT", "PENDING")]


async def test_decisions_stay_as_long_as_their_note_and_others_for_thirty_days(house: House) -> None:
    await house.add({"text": "Fact: tea is hot."}, {"text": ""})
    house.clock.turn(days=30)
    assert "old_decisions" not in await collect(house)
    house.clock.turn(seconds=1)
    assert await collect(house) == {"old_decisions": 1}
    house.clock.turn(days=100)
    assert "old_decisions" not in await collect(house)
    assert await house.value("SELECT op FROM memory_ingest_decisions") == "ADD"


async def test_traces_and_cached_answers_go_when_they_expire(house: House, search_queries: Queries) -> None:
    await trace(house, uuid4(), days=7)
    await trace(house, uuid4(), days=9)
    for number, days in enumerate((7, 9)):
        await house.execute(
            "INSERT INTO llm_cache VALUES (gen_random_uuid(), 'rerank', $1::text, '{}', $2, $2, $3)",
            str(number), house.clock.now(), house.clock.now() + timedelta(days=days),
        )  # fmt: skip
    await house.execute(
        "INSERT INTO search_trace_outbox (outbox_id, trace_id, status, payload) SELECT gen_random_uuid(),"
        " gen_random_uuid(), status, '{}' FROM unnest(ARRAY['DONE', 'PENDING']) AS status"
    )
    steps = retention_steps(house.database, search_queries)
    gc = GarbageCollector(house.database, steps, clock=house.clock, batch_size=500)
    assert set((await gc.collect()).counts.values()) == {0}
    house.clock.turn(days=8)
    assert (await gc.collect()).counts == {"expired_traces": 1, "done_trace_jobs": 1, "expired_answers": 1}
    assert await house.value("SELECT count(*) FROM search_trace_items") == 1
    assert await house.value("SELECT status FROM search_trace_outbox") == "PENDING"


# One at a time, while others work


async def test_a_second_collector_does_nothing_while_one_is_at_work(house: House) -> None:
    at_work, go_on = anyio.Event(), anyio.Event()

    async def slow(now: datetime, limit: int) -> int:
        at_work.set()
        await go_on.wait()
        return 0

    note_id = await house.add_one("Plan: paint the gate.", ttl_days=1)
    house.clock.turn(days=2)
    steps = [GarbageStep("toys", "slow", slow), *steps_of(house)]
    first = GarbageCollector(house.database, steps, clock=house.clock, batch_size=500)
    async with anyio.create_task_group() as group:
        group.start_soon(first.collect)
        await at_work.wait()
        second = await collector(house).collect()
        go_on.set()
    assert (second.ran, second.counts) == (False, {})
    assert [version["op"] for version in await house.versions(note_id)] == ["ADD", "DELETE"]
    assert (await collector(house).collect()).ran


async def test_two_connections_are_enough_to_collect(house: House, database_dsn: str) -> None:
    await house.add_one("Plan: paint the gate.", ttl_days=1)
    house.clock.turn(days=2)
    small = Database(max_conns=2)
    await small.open(database_dsn)
    try:
        steps = steps_of(House(small, house.queries, clock=house.clock))
        collected = await GarbageCollector(small, steps, clock=house.clock, batch_size=500).collect()
    finally:
        await small.close()
    assert collected.counts["expired_notes"] == 1


async def test_what_was_done_before_an_outage_stays_done_and_the_rest_is_done_next_time(house: House) -> None:
    await house.add(*({"text": f"Plan: {n}.", "key": f"k{n}", "ttl_days": 1} for n in range(6)))
    house.clock.turn(days=2)
    (expire, *_) = steps_of(house)
    batches = iter([False, True])

    async def cut_off(now: datetime, limit: int) -> int:
        if next(batches):
            raise DatabaseUnavailable("Postgres is away")
        return await expire.collect(now, limit)

    broken = GarbageCollector(
        house.database, [GarbageStep("toys", "expired_notes", cut_off)], clock=house.clock, batch_size=4
    )
    collected = await broken.collect()
    assert (collected.counts, collected.failed) == (
        {"expired_notes": 4},
        {"expired_notes": "Postgres is away"},
    )
    assert await house.value("SELECT count(*) FROM memory_notes WHERE status = 'deleted'") == 4
    assert await collect(house) == {"expired_notes": 2}


async def test_postgres_away_ends_a_collection(house: House) -> None:
    async def restart(now: datetime, limit: int) -> int:
        await house.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return limit

    gc = GarbageCollector(
        house.database, [GarbageStep("toys", "restart", restart)], clock=house.clock, batch_size=4
    )
    with pytest.raises(DatabaseUnavailable):
        await gc.collect()


@pytest.mark.parametrize("fault", [InternalError("no such column"), ZeroDivisionError()], ids=repr)
async def test_a_step_that_fails_is_told_and_counted_and_the_later_ones_run(
    house: House, fault: Exception
) -> None:
    fails = True

    async def failing(now: datetime, limit: int) -> int:
        if fails:
            raise fault
        return 0

    await house.add_one("Plan: paint the gate.", ttl_days=1)
    house.clock.turn(days=2)
    steps = [GarbageStep("toys", "failing", failing), *steps_of(house)]
    gc = GarbageCollector(house.database, steps, clock=house.clock, batch_size=500)
    with capture_logs() as logs:
        collected = await gc.collect()
    assert collected.counts["expired_notes"] == 1
    assert collected.failed == {"failing": str(fault) or "ZeroDivisionError"}
    told = [(line["family"], line["step"]) for line in logs if line["event"] == "garbage_step_failed"]
    assert told == [("toys", "failing")]
    fails = False
    assert (await gc.collect()).failed == {}
    assert gc.failures["toys", "failing"] == 1


async def test_a_step_without_an_end_takes_turns_with_the_others(house: House) -> None:
    rounds = 0

    async def endless(now: datetime, limit: int) -> int:
        nonlocal rounds
        rounds += 1
        if rounds == 3:  # what becomes garbage meanwhile is collected, too
            await house.add_one("Plan: mend the fence.", ttl_days=1)
            house.clock.turn(days=2)
        await anyio.lowlevel.checkpoint()
        return limit

    await house.add(*({"text": f"Plan: {n}.", "key": f"k{n}", "ttl_days": 1} for n in range(3)))
    house.clock.turn(days=2)
    steps = [GarbageStep("toys", "endless", endless), *steps_of(house)]
    gc = GarbageCollector(house.database, steps, clock=house.clock, batch_size=2)
    left = "SELECT count(*) FROM memory_notes WHERE status = 'active'"
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(gc.collect)
            while rounds < 3 or await house.value(left):  # noqa: ASYNC110 - Postgres sets no event
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()


async def test_collectors_at_once_do_the_work_once(house: House) -> None:
    await house.add(*({"text": f"Plan: {n}.", "key": f"k{n}", "ttl_days": 1} for n in range(40)))
    house.clock.turn(days=2)
    collected: list[dict[str, int]] = []

    async def run() -> None:
        collected.append((await collector(house, batch_size=4).collect()).counts)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(run)
    assert sum(counts.get("expired_notes", 0) for counts in collected) == 40
    assert await house.value("SELECT count(*) FROM memory_note_versions WHERE op = 'DELETE'") == 40


class Bustle:
    """Writers, a reader with an indexer, and a collector in a hurry, all at once on one house."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.written = anyio.Event()

    async def run(self, *agents: str) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._find_and_index)
            group.start_soon(self._collect)
            async with anyio.create_task_group() as writers:
                for agent in agents:
                    writers.start_soon(self._write, agent)
            self.written.set()

    async def _write(self, agent: str) -> None:
        for turn in range(15):
            notes = [{"text": f"Plan: {turn} {n}.", "key": f"k{n}", "ttl_days": 1} for n in range(6)]
            await self.house.add(*notes, agent_id=agent)
            await self.house.add({"text": f"Fact: {agent} has come to turn {turn}."}, agent_id=agent)

    async def _find_and_index(self) -> None:
        while not self.written.is_set():
            rows = await self.house.rows("SELECT note_id FROM memory_notes WHERE status = 'active' LIMIT 20")
            async with self.house.database.connection() as connection:
                for row in rows:
                    hit = (row["note_id"], uuid4(), 1, 0.5)
                    await self.house.store.record_hits(
                        connection, [hit], query_hash="q", now=self.house.clock.now()
                    )
            await self.house.index_all()

    async def _collect(self) -> None:
        while not self.written.is_set():
            self.house.clock.turn(days=9)
            await collector(self.house, batch_size=5).collect()


async def test_collecting_goes_on_while_notes_are_written_and_searched(house: House) -> None:
    await Bustle(house).run("anna", "bob", "carl")
    for days in (400, 400, 2):  # the first ends what lives, the second purges it, the third drops the jobs
        house.clock.turn(days=days)
        await collect(house)
        await house.index_all()
    for row in await house.rows("SELECT DISTINCT note_id FROM memory_note_versions"):
        versions = await house.versions(row["note_id"])
        assert_gapless(versions)
        assert versions[-1]["op"] == "PURGE"
        assert await places_of(house, row["note_id"]) == {"memory_note_versions.note_id": len(versions)}
    assert house.index.points == {}
