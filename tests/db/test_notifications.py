"""Wake-ups across processes: a NOTIFY is heard, and a lost connection is noticed and replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import asyncpg
import pytest

from actors.kernel import Channel
from actors.signals import outbox_wake
from actors.signals.outbox_wake import OUTBOX_CHANNEL, OutboxBell, OutboxListener, OutboxRinger
from elf.core.errors import DatabaseUnavailable
from elf.db import notifications
from elf.db.database import Database
from elf.db.notifications import listen, notify
from tests.conftest import dsn_of, run_sql

pytestmark = pytest.mark.anyio

PATIENCE_S = 20.0  # a bound on hanging, never a measure
KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {}".format(
    "application_name = 'elf listener' AND datname = current_database()"
)


@pytest.fixture(scope="module")
def notes_dsn(postgres_dsn: str) -> str:
    """A database without tables: wake-ups need none."""
    import asyncio

    asyncio.run(run_sql(postgres_dsn, "CREATE DATABASE wake_ups"))
    dsn = dsn_of(postgres_dsn, "wake_ups")
    asyncio.run(run_sql(dsn, "CREATE EXTENSION vector"))
    return dsn


@pytest.fixture
def database_dsn(notes_dsn: str) -> str:
    return notes_dsn


async def listeners(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        count: int = await connection.fetchval(KILL.replace("pg_terminate_backend(pid)", "count(*)"))
        return count
    finally:
        await connection.close()


async def rung_until_woken(database: Database, wake: Channel[None]) -> None:
    """Send wake-ups until one is heard: there is no telling when a listener listens again."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            await notify(database, OUTBOX_CHANNEL, sender=" toy")
            with anyio.move_on_after(0.02):
                return await wake.receive()


async def test_a_notification_is_heard_by_those_who_listen_to_its_channel(
    database: Database, database_dsn: str
) -> None:
    heard: list[str] = []
    both = anyio.Event()

    def hear(name: str) -> Any:
        def note(_sender: str) -> None:
            heard.append(name)
            if len(heard) == 2:
                both.set()

        return note

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for name, channel in (("a", "one"), ("b", "one"), ("c", "two")):

                async def run(*, task_status: Any, name: str = name, channel: str = channel) -> None:
                    await listen(database_dsn, channel, hear(name), task_status=task_status)

                await group.start(run)
            await notify(database, "one")
            await both.wait()
            group.cancel_scope.cancel()
    assert sorted(heard) == ["a", "b"]


async def test_a_listener_that_is_cancelled_leaves_no_connection(database_dsn: str) -> None:
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:

            async def run(*, task_status: Any) -> None:
                await listen(database_dsn, "one", lambda _: None, task_status=task_status)

            await group.start(run)
            assert await listeners(database_dsn) == 1
            group.cancel_scope.cancel()
        while await listeners(database_dsn):
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("ping_interval_s", [0.01, 600.0])
async def test_a_killed_connection_is_noticed_at_once(
    database_dsn: str, monkeypatch: pytest.MonkeyPatch, ping_interval_s: float
) -> None:
    monkeypatch.setattr(notifications, "PING_INTERVAL_S", ping_interval_s)
    noticed = anyio.Event()

    async def run(*, task_status: Any) -> None:
        with pytest.raises(DatabaseUnavailable):
            await listen(database_dsn, "one", lambda _: None, task_status=task_status)
        noticed.set()

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(run)
            await run_sql(database_dsn, KILL)
            await noticed.wait()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(DatabaseUnavailable):
        await listen("postgresql://elf@127.0.0.1:1/none", "one", lambda _: None)


# The actors


def listener(dsn: Callable[[], str], wake: Channel[None], but_not_from: str | None = None) -> OutboxListener:
    """A listener that hears of one queue."""
    made = OutboxListener(dsn, but_not_from=but_not_from)
    made.wake("toy", wake)
    return made


def test_a_bell_never_blocks_and_rings_both_ways() -> None:
    wake: Channel[None] = Channel("wake", 1, "drop")
    announce: Channel[str] = Channel("announce", 8, "drop")
    bell = OutboxBell("toy", wake, announce)
    for _ in range(3):
        bell.ring()
    assert wake.statistics().fill == 1
    assert announce.statistics().fill == 3
    assert wake.statistics().dropped == 2


async def test_a_ring_here_wakes_there(database: Database, database_dsn: str) -> None:
    wake: Channel[None] = Channel("wake", 1, "drop")
    announce: Channel[str] = Channel("announce", 8, "drop")
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(listener(lambda: database_dsn, wake).run)
            await group.start(OutboxRinger(database, announce).run)
            await rung_until_woken(database, wake)
            OutboxBell("toy", Channel("not here", 1, "drop"), announce).ring()
            await wake.receive()
            group.cancel_scope.cancel()


async def test_a_process_does_not_hear_its_own_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    wake: Channel[None] = Channel("wake", 8, "drop")
    said = anyio.Event()

    async def fake_listen(dsn: str, channel: str, heard: Callable[[str], object], **_: Any) -> None:
        for message in ("me toy", "other toy", "me toy", " toy", "other elsewhere"):
            heard(message)
        said.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(outbox_wake, "listen", fake_listen)
    async with anyio.create_task_group() as group:
        await group.start(listener(lambda: "a dsn", wake, but_not_from="me").run)
        await said.wait()
        group.cancel_scope.cancel()
    assert wake.statistics().fill == 2


async def test_a_listener_whose_connection_is_killed_listens_again(
    database: Database, database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_wake, "RETRY_S", 0.01)
    wake: Channel[None] = Channel("wake", 1, "drop")
    async with anyio.create_task_group() as group:
        await group.start(listener(lambda: database_dsn, wake).run)
        for _ in range(2):
            await rung_until_woken(database, wake)
            await run_sql(database_dsn, KILL)
        await rung_until_woken(database, wake)
        group.cancel_scope.cancel()


async def test_a_listener_outlives_an_outage(
    database: Database, database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_wake, "RETRY_S", 0.01)
    wake: Channel[None] = Channel("wake", 1, "drop")
    asked: list[str] = []

    def dsn() -> str:
        asked.append("postgresql://elf@127.0.0.1:1/none" if len(asked) < 3 else database_dsn)
        return asked[-1]

    async with anyio.create_task_group() as group:
        await group.start(listener(dsn, wake).run)
        await rung_until_woken(database, wake)
        group.cancel_scope.cancel()
    assert len(asked) == 4


async def test_a_ringer_outlives_an_outage(database: Database, database_dsn: str) -> None:
    announce: Channel[str] = Channel("announce", 8, "drop")
    wake: Channel[None] = Channel("wake", 1, "drop")
    closed = Database(max_conns=2)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(listener(lambda: database_dsn, wake).run)
            await group.start(OutboxRinger(closed, announce).run)
            await rung_until_woken(database, wake)
            await announce.send("toy")
            await anyio.wait_all_tasks_blocked()
            await closed.open(database_dsn)
            await announce.send("toy")
            await wake.receive()
            group.cancel_scope.cancel()
    await closed.close()
