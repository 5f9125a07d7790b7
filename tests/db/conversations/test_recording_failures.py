"""What is recorded when a process dies, when Postgres is away, and when Postgres has lost it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import anyio
import pytest

from elf.db.database import Database
from elf.families.conversations.errors import RecordingBroken
from elf.families.conversations.trees import Who
from tests.db.conversations.recording_kit import (
    QUICK,
    TABLES,
    Process,
    begun,
    nothing_is_left,
    opened_process,
    rows,
)

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)


async def age(database: Database, who: Who, by: timedelta) -> None:
    """Have all recordings be so much older."""
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE conversation_recordings SET heartbeat_at = heartbeat_at - $2::interval,"
            " ended_at = ended_at - $2::interval WHERE tenant_id = $1",
            who.tenant_id,
            by,
        )


async def kill(process: Process) -> None:
    """End a process as SIGKILL does: it says nothing to anybody."""
    await process.database.close()
    for owner in process.opened.owners:
        process.stop(owner.name)


async def collected(process: Process, *, later: timedelta) -> int:
    (step,) = process.opened.garbage
    return await step.collect(datetime.now(UTC) + later, 100)


@pytest.fixture
async def patient(conversations_dsn: str) -> AsyncIterator[Sequence[Process]]:
    """Two processes that take nothing for broken at once."""
    pace = replace(QUICK, patience_s=30.0)
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, pace=pace) as here,
        opened_process(conversations_dsn, group, pace=pace) as there,
    ):
        await here.start()
        await there.start()
        yield here, there
        group.cancel_scope.cancel()


async def test_of_a_process_that_was_killed_all_that_it_stored_is_replayed(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("half an ", "answer")
    replay = there.replay(who, id)
    await replay.heard("half an answer")
    await kill(here)
    late = there.replay(who, id)
    await late.heard("half an answer")
    assert not replay.over.is_set()
    await age(database, who, timedelta(seconds=16))
    assert not await there.is_recorded(who, id)
    for one in (replay, late):
        assert await one.whole() == "half an answer"
        assert isinstance(one.failed, RecordingBroken)
    assert await there.replay(who, id).whole() == ""
    assert not await there.recorder.cancel(who, id)
    assert (await rows(database, who))[0] == 1
    await age(database, who, HOUR)
    await collected(there, later=timedelta())
    await nothing_is_left(database, who)


async def test_after_a_kill_another_process_records_the_same_conversation(
    processes: Sequence[Process], who: Who, id: UUID
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("lost")
    await there.replay(who, id).heard("lost")
    await kill(here)
    again = there.record(who, id)
    again.speech.say("found")
    replay = there.replay(who, id)
    await replay.heard("found")
    again.speech.stop()
    assert await again.ended() == "success"
    assert await replay.whole() == "found"


async def test_whoever_cancels_does_not_wait_for_a_process_that_is_gone(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = processes
    here.record(who, id)
    await begun(here, who, id)
    await kill(here)
    results = []

    async def cancel() -> None:
        results.append(await there.recorder.cancel(who, id))

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        with anyio.fail_after(10):
            while not await _is_cancelled(database, who):  # noqa: ASYNC110 - Postgres cannot set an event here
                await anyio.sleep(0.01)
        assert results == []
        await age(database, who, timedelta(seconds=16))
    assert results == [True]


async def _is_cancelled(database: Database, who: Who) -> bool:
    async with database.connection() as connection:
        return bool(
            await connection.fetchval(
                "SELECT is_cancelled FROM conversation_recordings WHERE tenant_id = $1", who.tenant_id
            )
        )


async def test_nothing_is_lost_while_postgres_is_away(
    processes: Sequence[Process], who: Who, id: UUID, conversations_dsn: str, database: Database
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("before ")
    elsewhere, at_home = there.replay(who, id), here.replay(who, id)
    await elsewhere.heard("before ")
    for process in processes:
        await process.database.close()
    recording.speech.say("meanwhile ")
    await at_home.heard("before meanwhile ")
    recording.speech.stop()
    assert await at_home.whole() == "before meanwhile "
    assert not elsewhere.over.is_set()
    assert not recording.over.is_set()
    for process in processes:
        await process.database.open(conversations_dsn)
    assert await elsewhere.whole() == "before meanwhile "
    assert elsewhere.failed is None
    assert await recording.ended() == "success"
    await nothing_is_left(database, who)


async def test_after_an_outage_nobody_is_taken_for_dead_before_he_could_speak(
    patient: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = patient
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("a")
    replay = there.replay(who, id)
    await replay.heard("a")
    await age(database, who, HOUR)
    await begun(there, who, id)
    recording.speech.say("b")
    await replay.heard("ab")
    recording.speech.stop()
    assert await recording.ended() == "success"
    assert await replay.whole() == "ab"


async def test_what_postgres_has_lost_in_a_crash_is_stored_again(
    patient: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = patient
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("one ", "two ")
    early = there.replay(who, id)
    await early.heard("one two ")
    async with database.transaction() as connection:  # as Postgres empties tables that it has no log of
        for table in TABLES:
            await connection.execute(f"DELETE FROM {table} WHERE tenant_id = $1", who.tenant_id)
    await begun(there, who, id)
    recording.speech.say("three")
    await early.heard("one two three")
    late = there.replay(who, id)
    await late.heard("one two three")
    recording.speech.stop()
    assert await recording.ended() == "success"
    for replay in (early, late):
        assert await replay.whole() == "one two three"
        assert replay.failed is None
    await nothing_is_left(database, who)


async def test_what_is_lost_while_another_begins_ends(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, conversations_dsn: str
) -> None:
    here, there = processes
    earlier = here.record(who, id)
    await begun(here, who, id)
    await here.database.close()
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM conversation_recordings WHERE tenant_id = $1", who.tenant_id)
    later = there.record(who, id)
    await begun(there, who, id)
    await here.database.open(conversations_dsn)
    assert await earlier.ended() == "cancelled"
    assert not later.over.is_set()
    later.speech.stop()
    assert await later.ended() == "success"


async def test_what_cannot_be_stored_is_given_up(conversations_dsn: str, who: Who, id: UUID) -> None:
    pace = replace(QUICK, end_s=0.2, give_up_s=0.2)
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, pace=pace) as process,
    ):
        await process.start()
        recording = process.record(who, id)
        await begun(process, who, id)
        await process.database.close()
        recording.speech.say("a")
        recording.speech.stop()
        assert await recording.ended() == "error"
        group.cancel_scope.cancel()


async def test_garbage_is_what_nobody_records_or_reads_any_more(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("a")
    await there.replay(who, id).heard("a")
    await collected(there, later=timedelta())
    assert await there.is_recorded(who, id)
    await there.database.close()  # it follows still, and reads no more
    recording.speech.stop()
    assert await recording.ended() == "success"
    assert await rows(database, who) == [1, 1]
    await collected(here, later=timedelta())
    assert await rows(database, who) == [1, 1]
    await age(database, who, HOUR)
    await collected(here, later=timedelta())
    assert await rows(database, who) == [0, 0]
