"""The trace writer: batches, outages, traces that cannot be stored, and a stop that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import anyio
import msgspec
import pytest
from anyio import wait_all_tasks_blocked
from structlog.testing import capture_logs

from actors.kernel import Channel
from actors.workers.trace_writer import BATCH_SIZE, FLUSH_TIMEOUT_S, GATHER_S, POLL_S, RETRY_S, TraceWriter
from elf.core.errors import DatabaseUnavailable, InternalError, ServiceError
from elf.outbox.leases import Job
from elf.search.trace import SearchTrace
from elf.search.trace_store import Payload, TraceStore
from tests.actors.outbox_kit import FakeOutbox, on_virtual_time, running
from tests.traces_kit import a_trace

pytestmark = pytest.mark.anyio

SECRET = "AKIAIOSFODNN7QWERTYU"


class FakeStore:
    """Traces in a list. `away`, when set, is raised by every call; those in `hangs` wait for ever."""

    def __init__(self) -> None:
        self.batches: list[list[UUID]] = []
        self.payloads: list[bytes] = []
        self.written: list[UUID] = []
        self.away: ServiceError | None = None
        self.hangs: set[str] = set()
        self.cannot_enqueue: set[UUID] = set()
        self.cannot_write: set[UUID] = set()

    async def enqueue(self, payloads: Sequence[Payload]) -> list[Job]:
        await self._answer("enqueue")
        ids = [payload.trace_id for payload in payloads]
        if self.cannot_enqueue & set(ids):
            raise InternalError("Postgres refused a statement: UntranslatableCharacterError")
        self.batches.append(ids)
        self.payloads += [payload.json for payload in payloads]
        return [Job(id, id, 0, datetime(2026, 3, 1, tzinfo=UTC)) for id in ids]

    async def write(self, jobs: Sequence[Job]) -> None:
        await self._answer("write")
        ids = [job.subject_id for job in jobs]
        if self.cannot_write & set(ids):
            raise InternalError("Postgres refused a statement: NotNullViolationError")
        self.written += ids

    async def _answer(self, call: str) -> None:
        await anyio.lowlevel.checkpoint()
        if call in self.hangs:
            await anyio.sleep_forever()
        if self.away is not None:
            raise self.away


class Desk:
    """A writer with its channel, store and outbox."""

    def __init__(self, *, capacity: int = 1024, redact: bool = True) -> None:
        self.traces: Channel[SearchTrace] = Channel("traces", capacity, "drop")
        self.store = FakeStore()
        self.outbox = FakeOutbox()
        self.writer = TraceWriter(
            self.traces, store=cast("TraceStore", self.store), outbox=self.outbox, redact=redact
        )

    def take(self, count: int = 1, **fields: Any) -> list[UUID]:
        traces = [a_trace(**fields) for _ in range(count)]
        for trace in traces:
            self.traces.send_nowait(trace)
        return [trace.trace_id for trace in traces]

    def fails(self, error: ServiceError | None) -> None:
        self.store.away = self.outbox.fault = error


async def a_while() -> None:
    """Longer than it takes to gather a batch and write it."""
    await anyio.sleep(2 * GATHER_S)
    await wait_all_tasks_blocked()


@on_virtual_time
async def test_searches_of_one_moment_share_a_batch() -> None:
    desk = Desk()
    async with running(desk.writer):
        await wait_all_tasks_blocked()
        ids = desk.take(2)
        await anyio.sleep(GATHER_S / 2)
        ids += desk.take(3)
        await a_while()
        assert desk.store.batches == [ids]
        assert desk.store.written == ids


@on_virtual_time
async def test_a_flood_is_written_in_batches_without_waiting_between_them() -> None:
    desk = Desk()
    ids = desk.take(2 * BATCH_SIZE + 1)
    async with running(desk.writer):
        await anyio.sleep(1.5 * GATHER_S)
    assert [len(batch) for batch in desk.store.batches] == [BATCH_SIZE, BATCH_SIZE, 1]
    assert desk.store.written == ids


@pytest.mark.parametrize(("redact", "kept"), [(True, False), (False, True)])
@on_virtual_time
async def test_secrets_are_redacted_when_the_config_says_so(redact: bool, kept: bool) -> None:
    desk = Desk(redact=redact)
    desk.take(query=f"who has {SECRET}", expanded_queries=[f"owner of {SECRET}"])
    async with running(desk.writer):
        await a_while()
    (payload,) = desk.store.payloads
    assert (SECRET.encode() in payload) is kept


# Outages


@on_virtual_time
async def test_an_outage_is_outlived_with_the_batch_in_hand() -> None:
    desk = Desk()
    async with running(desk.writer):
        await wait_all_tasks_blocked()
        desk.fails(DatabaseUnavailable("Postgres is away"))
        ids = desk.take(3)
        await anyio.sleep(30.0)
        assert desk.store.written == []
        desk.fails(None)
        await anyio.sleep(RETRY_S + GATHER_S)
        assert desk.store.written == ids


@on_virtual_time
async def test_a_full_channel_drops_and_says_how_many() -> None:
    desk = Desk(capacity=4)
    with capture_logs() as logs:
        async with running(desk.writer):
            await wait_all_tasks_blocked()
            desk.fails(DatabaseUnavailable("Postgres is away"))
            in_hand = desk.take(1)
            await anyio.sleep(10.0)
            kept, lost = desk.take(4), desk.take(3)
            await anyio.sleep(10.0)
            desk.fails(None)
            await anyio.sleep(RETRY_S + 3 * GATHER_S)
    assert desk.store.written == [*in_hand, *kept]
    assert not set(lost) & set(desk.store.written)
    assert [line["traces"] for line in logs if line["event"] == "traces_dropped"] == [3]


@on_virtual_time
async def test_a_start_while_postgres_is_away_is_no_failure() -> None:
    desk = Desk()
    desk.fails(DatabaseUnavailable("Postgres is away"))
    async with running(desk.writer):
        ids = desk.take(1)
        await anyio.sleep(5.0)
        desk.fails(None)
        await anyio.sleep(RETRY_S + GATHER_S)
        assert desk.store.written == ids


# What cannot be stored


@on_virtual_time
async def test_a_trace_that_has_no_json_is_dropped_alone() -> None:
    desk = Desk()
    before, _, behind = desk.take(1), desk.take(1, expanded_queries=["half a pair: \ud83d"]), desk.take(1)
    async with running(desk.writer):
        await a_while()
    assert desk.store.written == [*before, *behind]


@on_virtual_time
async def test_a_trace_that_postgres_refuses_is_dropped_alone() -> None:
    desk = Desk()
    ids = desk.take(5)
    desk.store.cannot_enqueue = {ids[2]}
    with capture_logs() as logs:
        async with running(desk.writer):
            await a_while()
    assert desk.store.written == [*ids[:2], *ids[3:]]
    (line,) = [line for line in logs if line["event"] == "trace_not_stored"]
    assert line["trace_id"] == str(ids[2])
    assert "tea" not in msgspec.json.encode(line).decode(), "no words of a query in the log"


@on_virtual_time
async def test_a_trace_that_cannot_be_written_goes_back_to_the_outbox_alone() -> None:
    desk = Desk()
    ids = desk.take(3)
    desk.store.cannot_write = {ids[0]}
    async with running(desk.writer):
        await a_while()
    assert desk.store.written == ids[1:]
    assert [job.subject_id for job, _ in desk.outbox.failed] == [ids[0]]


@on_virtual_time
async def test_what_is_due_in_the_outbox_is_written_while_searches_come() -> None:
    desk = Desk()
    async with running(desk.writer):
        (job,) = await desk.store.enqueue([Payload.of(a_trace())])
        desk.outbox.due.append(job)
        for _ in range(int(POLL_S / GATHER_S) + 2):
            desk.take(1)
            await anyio.sleep(GATHER_S)
        assert job.subject_id in desk.store.written


@on_virtual_time
async def test_nothing_is_put_in_while_others_do_not_know_that_it_leases() -> None:
    desk = Desk(capacity=2)
    desk.outbox.presence.untell()
    async with running(desk.writer):
        in_hand = desk.take(1)
        with capture_logs() as logs:
            await anyio.sleep(10 * RETRY_S)
            desk.take(3)
            await anyio.sleep(2 * RETRY_S)
        assert desk.store.batches == []
        assert {line["event"] for line in logs} == {"traces_wait", "traces_dropped"}
        desk.outbox.presence._told.set()
        await anyio.sleep(RETRY_S + 3 * GATHER_S)
        assert desk.store.written[:1] == in_hand
        assert len(desk.store.written) == 3


# Stopping


async def test_a_stop_writes_what_is_in_the_channel_and_in_hand() -> None:
    desk = Desk()
    async with running(desk.writer):
        in_hand = desk.take(1)
        await wait_all_tasks_blocked()
        waiting = desk.take(BATCH_SIZE + 3)
    assert desk.store.written == [*in_hand, *waiting]


async def test_a_stop_amid_a_write_gives_the_jobs_back() -> None:
    desk = Desk()
    ids = desk.take(BATCH_SIZE)
    desk.store.hangs = {"write"}
    async with running(desk.writer):
        await wait_all_tasks_blocked()
        desk.store.hangs.clear()
    assert [job.subject_id for job in desk.outbox.released] == ids


async def test_a_write_whose_leases_are_lost_is_given_back() -> None:
    desk = Desk()
    ids = desk.take(BATCH_SIZE)
    desk.store.hangs = {"write"}
    async with running(desk.writer):
        await wait_all_tasks_blocked()
        desk.outbox.presence.untell()
        await wait_all_tasks_blocked()
        assert [job.subject_id for job in desk.outbox.released] == ids
        assert desk.store.written == []


@on_virtual_time
@pytest.mark.parametrize("hangs", [True, False])
async def test_a_stop_while_postgres_is_away_ends_in_time_and_says_what_is_lost(hangs: bool) -> None:
    desk = Desk()
    with capture_logs() as logs:
        async with running(desk.writer):
            await wait_all_tasks_blocked()
            desk.take(2)
            desk.store.hangs = {"enqueue"} if hangs else set()
            desk.fails(None if hangs else DatabaseUnavailable("Postgres is away"))
            began = anyio.current_time()
        assert anyio.current_time() - began <= FLUSH_TIMEOUT_S + 0.001
    assert [line["traces"] for line in logs if line["event"] == "traces_lost"] == [2]


async def test_it_may_be_run_again() -> None:
    desk = Desk()
    for _ in range(2):
        ids = desk.take(1)
        async with running(desk.writer):
            await wait_all_tasks_blocked()
        assert desk.store.written[-1:] == ids


async def test_any_other_fault_is_the_supervisors_business_and_loses_nothing() -> None:
    desk = Desk()
    desk.outbox.lease = None  # type: ignore[method-assign, assignment]
    ids = desk.take(1)
    with pytest.raises(BaseExceptionGroup) as caught:
        async with running(desk.writer):
            await anyio.sleep_forever()
    assert caught.group_contains(TypeError)
    assert desk.store.written == ids
