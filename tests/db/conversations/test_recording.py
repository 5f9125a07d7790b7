"""Answers are recorded in one process and replayed in any, from their start to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid4

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elf.core.errors import Forbidden
from elf.core.shares import Shares
from elf.db.database import Database
from elf.families.conversations.errors import (
    Missing,
    RecorderOff,
    RecordingBroken,
    TooManyRecordedBytes,
    TooManyStreams,
)
from elf.families.conversations.recording.content import TEXT_BYTES, Content
from elf.families.conversations.recording.recorder import NoRecorder, Recorded
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who
from tests.db.conftest import until
from tests.db.conversations.conftest import VERSION, nobody
from tests.db.conversations.recording_kit import Process, begun, nothing_is_left, opened_process

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("replayed_by", [0, 1])
async def test_an_answer_is_replayed_from_its_start_while_it_is_made(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, replayed_by: int
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("Once upon ", "a time ")
    first = processes[replayed_by].replay(who, id)
    await first.heard("Once upon a time ")
    late = processes[replayed_by].replay(who, id)
    await late.heard("Once upon a time ")
    assert not first.over.is_set()
    recording.speech.say("\u4e2d\u6587 ", "\U0001f600.")
    recording.speech.stop()
    assert await recording.ended() == "success"
    for replay in (first, late):
        assert await replay.whole() == "Once upon a time \u4e2d\u6587 \U0001f600."
        assert replay.failed is None
    assert await processes[replayed_by].replay(who, id).whole() == ""
    assert not await processes[replayed_by].is_recorded(who, id)
    await nothing_is_left(database, who)


@pytest.mark.parametrize("replayed_by", [0, 1])
async def test_one_that_reads_slowly_has_all_of_it_long_after_the_end(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, replayed_by: int
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("first ")
    slow = processes[replayed_by].recorder.replay(who, id)
    texts = [await anext(slow)]
    recording.speech.say(*["\u00e4" * 50_000] * 10)
    recording.speech.stop()
    assert await recording.ended() == "success"
    await nothing_is_left(database, who)
    texts += [text async for text in slow]
    assert "".join(texts) == "first " + "\u00e4" * 500_000


async def test_what_is_not_read_costs_nothing_and_hinders_nobody(
    processes: Sequence[Process], who: Who, id: UUID
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("a")
    stuck = [process.recorder.replay(who, id) for process in processes for _ in range(20)]
    for one in stuck:
        assert await anext(one) == "a"
    attentive = processes[1].replay(who, id)
    recording.speech.say(*["b" * 100_000] * 20)
    recording.speech.stop()
    assert await recording.ended() == "success"
    assert await attentive.whole() == "a" + "b" * 2_000_000
    for one in stuck:
        await one.aclose()


async def test_a_later_recording_takes_the_place_of_one_in_another_process(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = processes
    earlier = here.record(who, id)
    await begun(here, who, id)
    earlier.speech.say("earlier")
    replay = there.replay(who, id)
    await replay.heard("earlier")
    later = there.record(who, id)
    assert await earlier.ended() == "cancelled"
    assert await replay.whole() == "earlier"
    assert replay.failed is None
    later.speech.say("later")
    assert later.recorded is None
    again = here.record(who, id)
    assert await later.ended() == "cancelled"
    at_home = here.record(who, id)
    assert await again.ended() == "cancelled"
    at_home.speech.say("at home")
    await here.replay(who, id).heard("at home")
    at_home.speech.stop()
    assert await at_home.ended() == "success"
    await nothing_is_left(database, who)


async def test_of_many_that_begin_at_once_one_goes_on(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    recordings = [processes[number % 2].record(who, id) for number in range(8)]

    async def one_is_left() -> bool:
        return sum(not one.over.is_set() for one in recordings) == 1

    await until(one_is_left)
    (last,) = (one for one in recordings if not one.over.is_set())
    last.speech.say("last")
    await processes[0].replay(who, id).heard("last")
    last.speech.stop()
    assert await last.ended() == "success"
    assert [await one.ended() for one in recordings].count("cancelled") == 7
    await nothing_is_left(database, who)


@pytest.mark.parametrize("cancelled_by", [0, 1])
async def test_a_recording_is_cancelled_through_any_process(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, cancelled_by: int
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("so far")
    replays = [process.replay(who, id) for process in processes]
    for replay in replays:
        await replay.heard("so far")
    assert await processes[cancelled_by].recorder.cancel(who, id)
    assert not await processes[cancelled_by].is_recorded(who, id)
    assert await recording.ended() == "cancelled"
    for replay in replays:
        assert await replay.whole() == "so far"
        assert replay.failed is None
    assert not await processes[cancelled_by].recorder.cancel(who, id)
    await nothing_is_left(database, who)


@pytest.mark.parametrize("lost", ["recording_news", "recording_keeper", "recording_follower"])
async def test_it_goes_on_without_news_and_when_an_actor_was_away(
    processes: Sequence[Process], who: Who, id: UUID, lost: str
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("a")
    replay = there.replay(who, id)
    await replay.heard("a")
    there.stop(lost)  # not the keeper that records: being stopped, it breaks off what it keeps
    if lost == "recording_news":
        here.stop(lost)
    recording.speech.say("b")
    if lost != "recording_news":
        await there.restart(lost)
    await replay.heard("ab")
    assert await there.recorder.cancel(who, id)
    assert await recording.ended() == "cancelled"
    assert await replay.whole() == "ab"


async def test_a_client_that_goes_away_breaks_its_recording_off(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("half an ans")
    replays = [process.replay(who, id) for process in processes]
    for replay in replays:
        await replay.heard("half an ans")
    recording.scope.cancel()
    assert await recording.ended() is None
    for replay in replays:
        assert await replay.whole() == "half an ans"
        assert isinstance(replay.failed, RecordingBroken)
    assert await processes[1].replay(who, id).whole() == ""
    await nothing_is_left(database, who)


async def test_a_process_that_stops_tells_that_its_recordings_are_broken_off(
    processes: Sequence[Process], who: Who, id: UUID
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("half")
    replay = there.replay(who, id)
    await replay.heard("half")
    recording.speech.say(" an answer")
    await here.replay(who, id).heard("half an answer")
    recording.scope.cancel()
    await recording.ended()
    here.stop("recording_keeper")
    assert await replay.whole() == "half an answer"
    assert isinstance(replay.failed, RecordingBroken)


async def test_recordings_go_on_when_their_keeper_is_taken_down_and_comes_back(
    processes: Sequence[Process], who: Who, id: UUID, database: Database
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say("a")
    replay = there.replay(who, id)
    await replay.heard("a")
    here.stop("recording_keeper")
    recording.speech.say("b")
    await here.replay(who, id).heard("ab")
    await here.restart("recording_keeper")
    await replay.heard("ab")
    recording.speech.stop()
    assert await recording.ended() == "success"
    assert await replay.whole() == "ab"
    await nothing_is_left(database, who)


async def test_what_is_too_large_ends_with_an_error(
    conversations_dsn: str, who: Who, id: UUID, database: Database
) -> None:
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, recorder_max_bytes=10) as process,
    ):
        await process.start()
        recording = process.record(who, id)
        await begun(process, who, id)
        recording.speech.say("123456")
        replay = process.replay(who, id)
        await replay.heard("123456")
        recording.speech.say("7890", "\u00e4")
        assert await recording.ended() == "error"
        assert recording.recorded == Recorded("error", "an answer has at most 10 bytes")
        assert await replay.whole() == "1234567890"
        assert isinstance(replay.failed, RecordingBroken)
        await nothing_is_left(database, who)
        group.cancel_scope.cancel()


async def test_a_process_has_so_many_streams_and_no_more(conversations_dsn: str, who: Who, id: UUID) -> None:
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, max_streams=2) as process,
    ):
        await process.start()
        gauge, _ = process.opened.gauges
        recording = process.record(who, id)
        await begun(process, who, id)
        recording.speech.say("a")
        replay = process.replay(who, id)
        await replay.heard("a")
        assert gauge.read() == {("recording",): 1, ("replay",): 1}
        refused = process.replay(who, id)
        await refused.whole()
        assert isinstance(refused.failed, TooManyStreams)
        recording.speech.stop()
        await replay.whole()
        assert await recording.ended() == "success"
        assert gauge.read() == {("recording",): 0, ("replay",): 0}
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("limits", "others", "told"),
    [
        (
            {"max_streams_per_user": 1},
            ("bob", None),
            "a user has at most 1 recordings and replays at a time: conversations.max_streams_per_user",
        ),
        (
            {"max_streams_per_tenant": 1},
            (None, f"other-{uuid4()}"),
            "a tenant has at most 1 recordings and replays at a time: conversations.max_streams_per_tenant",
        ),
    ],
)
async def test_one_who_has_all_of_its_streams_keeps_nobody_else_from_recording(
    conversations_dsn: str,
    who: Who,
    id: UUID,
    limits: dict[str, int],
    others: tuple[str | None, str | None],
    told: str,
) -> None:
    user, tenant = others
    other = Who(tenant_id=tenant or who.tenant_id, user=user or who.user)
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, **limits) as process,
    ):
        await process.start()
        mine, theirs = [await conversation(process, one) for one in (who, other)]
        recording = process.record(who, id)
        await begun(process, who, id)
        refused = process.record(who, mine)
        await refused.ended()
        assert isinstance(refused.failed, TooManyStreams)
        assert refused.failed.message == told
        second = process.record(other, theirs)
        await begun(process, other, theirs)
        for one in (recording, second):
            one.speech.stop()
            assert await one.ended() == "success"
        last = process.record(who, mine)
        await begun(process, who, mine)
        last.speech.stop()
        assert await last.ended() == "success"
        group.cancel_scope.cancel()


async def test_the_recordings_of_a_user_have_so_many_bytes_and_no_more(
    conversations_dsn: str, who: Who, id: UUID
) -> None:
    bob = Who(tenant_id=who.tenant_id, user="bob")
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, recorder_total_bytes=4096) as process,
    ):
        await process.start()
        second = await conversation(process, who)
        of_bob = await conversation(process, bob)
        recordings = [process.record(who, id), process.record(who, second), process.record(bob, of_bob)]
        for one, recorded in ((who, id), (who, second), (bob, of_bob)):
            await begun(process, one, recorded)
        recordings[0].speech.say("a" * 1000)
        await process.replay(who, id).heard("a" * 1000)
        for one, text in zip(recordings[1:], ("b" * 25, "c" * 1024), strict=True):
            one.speech.say(text)
        assert await recordings[1].ended() is None
        failed = recordings[1].failed
        assert isinstance(failed, TooManyRecordedBytes)
        assert failed.message == (
            "the recordings of a user have at most 1,024 bytes at a time: conversations.recorder_total_bytes"
        )
        await process.replay(bob, of_bob).heard("c" * 1024)
        for one in (recordings[0], recordings[2]):
            one.speech.stop()
            assert await one.ended() == "success"
        await nothing_is_held(process)
        again = process.record(who, second)
        again.speech.say("d" * 1024)
        again.speech.stop()
        assert await again.ended() == "success"
        await nothing_is_held(process)
        group.cancel_scope.cancel()


async def test_what_is_replayed_slowly_counts_until_the_last_reader_is_gone(
    conversations_dsn: str, who: Who, id: UUID
) -> None:
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, recorder_total_bytes=4096) as here,
        opened_process(conversations_dsn, group, recorder_total_bytes=4096) as there,
    ):
        await here.start()
        await there.start()
        recording = here.record(who, id)
        recording.speech.say("a" * 1000)
        await begun(here, who, id)
        slow = [process.recorder.replay(who, id) for process in (here, there)]
        for one in slow:
            assert await anext(one)
        recording.speech.stop()
        assert await recording.ended() == "success"
        await nothing_is_left(here.database, who)
        assert [held(process) for process in (here, there)] == [1000, 1000]
        for one in slow:
            await one.aclose()
        for process in (here, there):
            await nothing_is_held(process)
        group.cancel_scope.cancel()


async def test_a_process_fetches_no_more_of_others_than_it_may_hold(
    conversations_dsn: str, who: Who, id: UUID
) -> None:
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group) as here,
        opened_process(conversations_dsn, group, recorder_total_bytes=4096) as there,
    ):
        await here.start()
        await there.start()
        recording = here.record(who, id)
        await begun(here, who, id)
        recording.speech.say("a" * 1000)
        replays = [process.replay(who, id) for process in (here, there)]
        for replay in replays:
            await replay.heard("a" * 1000)
        recording.speech.say("b" * 100)
        assert await replays[1].whole() == "a" * 1000
        assert isinstance(replays[1].failed, TooManyRecordedBytes)
        recording.speech.stop()
        assert await recording.ended() == "success"
        assert await replays[0].whole() == "a" * 1000 + "b" * 100
        for process in (here, there):
            await nothing_is_held(process)
        group.cancel_scope.cancel()


async def conversation(process: Process, who: Who) -> UUID:
    """Make a conversation of a user."""
    store = ConversationStore(
        process.database, process.clock, process.queries, embedding_version=VERSION, ring=nobody
    )
    return (await store.create(who, title=None, metadata={})).conversation_id


def held(process: Process) -> float:
    """How many bytes of recordings a process holds."""
    _, gauge = process.opened.gauges
    return gauge.read()[()]


async def nothing_is_held(process: Process) -> None:
    async def is_nothing() -> bool:
        return held(process) == 0

    await until(is_nothing)


async def test_who_may_not_write_cannot_record_and_who_may_not_read_cannot_replay(
    processes: Sequence[Process], who: Who, id: UUID, sharing: TreeSharing
) -> None:
    process = processes[0]
    reader, stranger = (Who(tenant_id=who.tenant_id, user=user) for user in ("rita", "stan"))
    elsewhere = Who(tenant_id=f"other-{uuid4()}", user=who.user)
    await sharing.share(who, id, reader.user, "reader")
    recording = process.record(who, id)
    await begun(process, who, id)
    recording.speech.say("a")
    for caller, failure in ((reader, Forbidden), (stranger, Forbidden), (elsewhere, Missing)):
        refused = process.record(caller, id)
        await refused.ended()
        assert isinstance(refused.failed, failure)
        with pytest.raises(failure):
            await process.recorder.cancel(caller, id)
    await process.replay(reader, id).heard("a")
    for caller, failure in ((stranger, Forbidden), (elsewhere, Missing)):
        replay = process.replay(caller, id)
        assert await replay.whole() == ""
        assert isinstance(replay.failed, failure)
        assert not await process.is_recorded(caller, id)
    assert await process.is_recorded(reader, id)
    assert await process.recorder.check(reader, [uuid4(), id]) == {id}
    assert recording.recorded is None
    recording.speech.stop()
    assert await recording.ended() == "success"


async def test_the_recording_of_a_deleted_conversation_ends(
    processes: Sequence[Process], who: Who, id: UUID, store: ConversationStore, database: Database
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("a")
    replay = processes[1].replay(who, id)
    await replay.heard("a")
    await store.delete(who, id)
    assert await recording.ended() == "cancelled"
    assert await replay.whole() == "a"
    await nothing_is_left(database, who)


async def test_without_a_recorder_nothing_is_recorded(who: Who, id: UUID) -> None:
    recorder = NoRecorder()
    assert not recorder.is_on
    assert [text async for text in recorder.replay(who, id)] == []
    assert await recorder.check(who, [id]) == frozenset()
    with pytest.raises(RecorderOff):
        await recorder.cancel(who, id)

    async def nothing() -> AsyncIterator[str]:
        yield "a"

    with pytest.raises(RecorderOff):
        await recorder.record(who, id, nothing())


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(chunks=st.lists(st.tuples(TEXT, st.integers(1, 3000)), max_size=40), most=st.integers(4, 50))
@settings(max_examples=200)
def test_no_cut_is_within_a_character(chunks: list[tuple[str, int]], most: int) -> None:
    content = Content(Shares(1_000_000))
    for text, times in chunks:
        content.append((text * times).encode())
    whole = "".join(text * times for text, times in chunks)
    for size in (most, TEXT_BYTES):
        start, texts = 0, list[str]()
        while start < content.size:
            data = content.stretch(start, size)
            assert 0 < len(data) <= size
            texts.append(data.decode())
            start += len(data)
            if size == most and len(texts) > 2000:
                break
        assert whole.startswith("".join(texts))
        assert start < content.size or "".join(texts) == whole


@given(spoken=st.lists(st.lists(TEXT, max_size=8), max_size=6))
@settings(max_examples=15)
async def test_whatever_the_chunks_the_text_is_the_same_everywhere(
    conversations_dsn: str, spoken: list[list[str]]
) -> None:
    who = Who(tenant_id=f"recorded-{uuid4()}", user="ana")
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group) as here,
        opened_process(conversations_dsn, group) as there,
    ):
        await here.start()
        await there.start()
        id = await conversation(here, who)
        recording = here.record(who, id)
        await begun(here, who, id)
        whole, replays = "", []
        for texts in [["."], *spoken]:
            recording.speech.say(*texts)
            whole += "".join(texts)
            late = [process.replay(who, id) for process in (here, there)]
            for replay in late:
                await replay.heard(whole)
            replays += late
        recording.speech.stop()
        assert await recording.ended() == "success"
        for replay in replays:
            assert await replay.whole() == whole
        group.cancel_scope.cancel()
