"""Traces in Postgres: in through the outbox without loss or doubling, and out with every digit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import anyio
import msgspec
import pytest

from actors.kernel import Channel
from actors.workers.trace_writer import TraceWriter
from elf.core.errors import InternalError
from elf.db.database import Database
from elf.db.queries import Queries
from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job
from elf.search.trace import DroppedCandidate, SearchTrace
from elf.search.trace_store import Payload, TraceStore, trace_outbox
from tests.notes_kit import NOW
from tests.traces_kit import a_dropped, a_trace, an_item

pytestmark = pytest.mark.anyio


@pytest.fixture
def outbox(database: Database, queries: Queries) -> LeasedOutbox:
    return trace_outbox(database, queries)


async def rows(database: Database, statement: str) -> list[Any]:
    async with database.connection() as connection:
        return list(await connection.fetch(statement))


async def jobs_in(database: Database) -> list[tuple[str, int]]:
    found = await rows(
        database, "SELECT status, attempts FROM search_trace_outbox ORDER BY created_at, outbox_id"
    )
    return [(row["status"], row["attempts"]) for row in found]


async def make_due(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("UPDATE search_trace_outbox SET available_at = now()")


async def enqueue(store: TraceStore, *traces: SearchTrace) -> list[Job]:
    return await store.enqueue([Payload.of(trace) for trace in traces])


async def keep(store: TraceStore, *traces: SearchTrace) -> None:
    await store.write(await enqueue(store, *traces))


# In


async def test_a_trace_comes_back_as_it_was(store: TraceStore) -> None:
    trace = a_trace(
        items=[an_item(2), an_item(1)], dropped=[a_dropped("NOT_LIVE"), a_dropped(final_score=1 / 3)]
    )
    await keep(store, trace)
    found = await store.trace("notes", trace.trace_id, now=NOW)
    assert found is not None
    row, items = found
    plain = {
        name: getattr(trace, name)
        for name in msgspec.structs.asdict(trace)
        if name not in ("items", "dropped")
    }
    plain["stages"] = [list(stage) for stage in trace.stages]
    assert {name: row[name] for name in plain} == plain
    assert msgspec.json.decode(row["dropped"], type=list[DroppedCandidate]) == trace.dropped
    assert [dict(item) for item in items] == [
        msgspec.to_builtins(item, builtin_types=(UUID,)) | {"trace_id": trace.trace_id}
        for item in reversed(trace.items)
    ]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
async def test_the_boosts_that_are_read_back_add_up_to_the_final_score(
    store: TraceStore, scale: float
) -> None:
    boosts = [
        ("rerank", scale * 0.7 / 3),
        ("retrieval", -scale / 7),
        ("recency_importance", 0.123456789012345),
    ]
    item = an_item(
        boosts=[{"name": name, "score": score} for name, score in boosts],
        final_score=sum(score for _, score in boosts),
    )
    trace = a_trace(items=[item])
    await keep(store, trace)
    found = await store.trace("notes", trace.trace_id, now=NOW)
    assert found is not None
    (row,) = found[1]
    assert row["final_score"] == item.final_score
    assert sum(boost["score"] for boost in row["boosts"]) == pytest.approx(
        row["final_score"], abs=1e-6, rel=0
    )


async def test_a_done_job_keeps_nothing_of_the_search(store: TraceStore, database: Database) -> None:
    await keep(store, a_trace())
    (row,) = await rows(database, "SELECT * FROM search_trace_outbox")
    assert (row["status"], row["payload"], row["last_error"]) == ("DONE", {}, None)


async def test_an_empty_answer_is_kept_too(store: TraceStore) -> None:
    trace = a_trace(items=[], dropped=[], candidate_count=0, stages=[])
    await keep(store, trace)
    found = await store.trace("notes", trace.trace_id, now=NOW)
    assert found is not None
    assert found[1] == []


async def test_what_is_put_in_twice_is_one_job(store: TraceStore, database: Database) -> None:
    trace = a_trace()
    assert len(await enqueue(store, trace)) == 1
    assert await enqueue(store, trace) == []
    assert await jobs_in(database) == [("PENDING", 0)]


async def test_writing_twice_changes_nothing(store: TraceStore, database: Database) -> None:
    jobs = await enqueue(store, a_trace())
    await store.write(jobs)
    before = await rows(database, "SELECT * FROM search_trace_items ORDER BY rank")
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE search_trace_outbox SET status = 'PENDING', payload = $1",
            _payload(a_trace(items=[an_item(9)])),
        )
    await store.write(jobs)
    after = await rows(database, "SELECT * FROM search_trace_items WHERE rank < 9 ORDER BY rank")
    assert after == before
    assert await rows(database, "SELECT count(*) FROM search_traces") == [(1,)]


async def test_writers_at_once_write_each_trace_once(store: TraceStore, database: Database) -> None:
    jobs = await enqueue(store, *[a_trace() for _ in range(20)])
    async with anyio.create_task_group() as group:
        for order in (jobs, jobs[:10], jobs[10:]):
            group.start_soon(store.write, order)
    assert await rows(database, "SELECT count(*) FROM search_traces") == [(20,)]
    assert await rows(database, "SELECT count(*) FROM search_trace_items") == [(40,)]
    assert set(await jobs_in(database)) == {("DONE", 0)}


async def test_no_commit_of_a_trace_waits_for_the_disk(database: Database, queries: Queries) -> None:
    payload = Payload.of(a_trace())
    values = {
        "enqueue_traces": ([payload.trace_id], [msgspec.Raw(payload.json)], timedelta(seconds=1)),
        "write_traces": ([payload.trace_id],),
    }
    for name, arguments in values.items():
        async with database.transaction() as connection:
            await connection.execute(queries[name], *arguments)
            assert await connection.fetchval("SHOW synchronous_commit") == "off", name
        async with database.connection() as connection:
            assert await connection.fetchval("SHOW synchronous_commit") == "on", (
                "it ends with its transaction"
            )


# The outbox


async def test_a_trace_is_leased_by_the_one_who_puts_it_in(store: TraceStore, outbox: LeasedOutbox) -> None:
    await enqueue(store, a_trace())
    assert await outbox.lease(10) == []


async def test_a_trace_whose_writer_died_is_written_by_another(
    store: TraceStore, outbox: LeasedOutbox, database: Database
) -> None:
    jobs = await enqueue(store, a_trace())
    await make_due(database)
    taken = await outbox.lease(10)
    assert taken == jobs
    await store.write(taken)
    assert await rows(database, "SELECT count(*) FROM search_traces") == [(1,)]


async def test_where_nobody_works_what_is_leased_is_given_back(
    store: TraceStore, outbox: LeasedOutbox, database: Database
) -> None:
    jobs = await enqueue(store, a_trace())
    async with database.transaction() as session:
        await outbox.presence.tell(session)
    assert await outbox.lease(10) == jobs


async def test_a_released_job_is_due_at_once(store: TraceStore, outbox: LeasedOutbox) -> None:
    jobs = await enqueue(store, a_trace())
    await outbox.release(jobs)
    assert await outbox.lease(10) == jobs


async def test_a_trace_that_cannot_be_written_comes_back_and_is_given_up_in_the_end(
    store: TraceStore, outbox: LeasedOutbox, database: Database
) -> None:
    jobs = await enqueue(store, a_trace(items=[an_item(final_score=float("nan"))]))
    for attempt in range(1, 13):
        with pytest.raises(InternalError, match="final_score"):
            await store.write(jobs)
        assert await jobs_in(database) == [("PENDING" if attempt == 1 else "FAILED", attempt - 1)]
        await outbox.fail(jobs, "InternalError: final_score is null")
        await make_due(database)
        jobs = await outbox.lease(10)
    assert jobs == []
    (row,) = await rows(database, "SELECT * FROM search_trace_outbox")
    assert (row["status"], row["attempts"], row["payload"]) == ("GIVEN_UP", 12, {})
    assert row["last_error"] == "InternalError: final_score is null"
    assert (await outbox.statistics()).given_up == 1


async def test_statistics_count_what_waits(store: TraceStore, outbox: LeasedOutbox) -> None:
    jobs = await enqueue(store, a_trace(), a_trace(), a_trace())
    await outbox.fail(jobs[:1], "x")
    await store.write(jobs[1:2])
    waiting = await outbox.statistics()
    assert (waiting.pending, waiting.failed, waiting.given_up) == (1, 1, 0)
    assert waiting.oldest is not None


# Out


async def test_an_expired_trace_is_gone_before_it_is_collected(store: TraceStore) -> None:
    trace = a_trace()
    await keep(store, trace)
    assert await store.trace("notes", trace.trace_id, now=trace.expires_at - timedelta(seconds=1)) is not None
    assert await store.trace("notes", trace.trace_id, now=trace.expires_at) is None
    assert await store.trace_of_item("notes", trace.items[0].item_id, now=trace.expires_at) is None


# The writer over the real thing


async def test_the_writer_stores_what_searches_leave_and_drops_only_the_bad_one(
    store: TraceStore, outbox: LeasedOutbox, database: Database
) -> None:
    traces: Channel[SearchTrace] = Channel("traces", 64, "drop")
    good = [a_trace() for _ in range(5)]
    for trace in [*good[:2], a_trace(expanded_queries=["a NUL \x00"]), *good[2:]]:
        traces.send_nowait(trace)
    async with anyio.create_task_group() as group:
        await group.start(TraceWriter(traces, store=store, outbox=outbox, redact=True).run)
        group.cancel_scope.cancel()
    found = await rows(database, "SELECT trace_id FROM search_traces")
    assert {row["trace_id"] for row in found} == {trace.trace_id for trace in good}
    assert await jobs_in(database) == [("DONE", 0)] * 5


def _payload(trace: SearchTrace) -> Any:
    return msgspec.json.decode(Payload.of(trace).json)
