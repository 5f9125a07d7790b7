"""The recorder over gRPC: what clients send, and what they are told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import UUID, uuid4

import anyio
import grpc
import pytest
from google.protobuf.empty_pb2 import Empty

from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import ResponseRecorderServiceStub
from elf.families.conversations.grpc.recording import recorder_servicer
from elf.families.conversations.recording.recorder import NoRecorder, Recorder
from elf.families.conversations.trees import Who
from tests.db.conversations.recording_kit import Process, begun, nothing_is_left, opened_process
from tests.rpc_kit import served

pytestmark = pytest.mark.anyio


class Client:
    """A user of a recorder."""

    def __init__(self, channel: grpc.aio.Channel, who: Who) -> None:
        self._stub: Any = ResponseRecorderServiceStub(channel)
        self._headers = [("x-tenant", who.tenant_id)] + ([("x-user", who.user)] if who.user else [])

    def record(self) -> Any:
        return self._stub.Record(metadata=self._headers)

    async def recording(self, id: UUID, *texts: str) -> Any:
        """A call that has said something."""
        call = self.record()
        await call.write(pb.RecordRequest(conversation_id=id.bytes))
        for text in texts:
            await call.write(pb.RecordRequest(content=text))
        return call

    def replay(self, id: UUID) -> Replay:
        return Replay(self._stub.Replay(pb.ReplayRequest(conversation_id=id.bytes), metadata=self._headers))

    async def cancel(self, id: UUID) -> bool:
        answer = await self._stub.Cancel(
            pb.CancelRecordRequest(conversation_id=id.bytes), metadata=self._headers
        )
        assert not answer.redirect_address
        return bool(answer.accepted)

    async def check(self, *ids: bytes) -> list[bytes]:
        asked = pb.CheckRecordingsRequest(conversation_ids=ids)
        return list((await self._stub.CheckRecordings(asked, metadata=self._headers)).conversation_ids)

    async def is_enabled(self) -> bool:
        return bool((await self._stub.IsEnabled(Empty(), metadata=self._headers)).enabled)


class Replay:
    """What a client hears."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.text = ""

    async def heard(self, text: str) -> None:
        """Read until it has heard this."""
        with anyio.fail_after(30):
            while not self.text.startswith(text):
                self.text += (await self._call.read()).content

    async def rest(self) -> tuple[str, grpc.StatusCode]:
        """Read to the end; returns all of it, and how it ended."""
        with anyio.fail_after(30):
            with suppress(grpc.aio.AioRpcError):  # the code tells it
                while (answer := await self._call.read()) is not grpc.aio.EOF:
                    assert not answer.redirect_address
                    self.text += answer.content
            return self.text, await self._call.code()


@asynccontextmanager
async def client_of(recorder: Recorder, who: Who) -> AsyncIterator[Client]:
    async with served([recorder_servicer(recorder)], {}) as channel:
        yield Client(channel, who)


@pytest.fixture
async def clients(processes: Sequence[Process], who: Who) -> AsyncIterator[Sequence[Client]]:
    here, there = processes
    async with client_of(here.recorder, who) as one, client_of(there.recorder, who) as other:
        yield one, other


async def test_what_one_records_another_replays_from_its_start(
    clients: Sequence[Client], processes: Sequence[Process], who: Who, id: UUID
) -> None:
    here, there = clients
    assert await here.is_enabled()
    call = await here.recording(id, "Once ", "upon ")
    await begun(processes[0], who, id)
    replay = there.replay(id)
    await replay.heard("Once upon ")
    assert await there.check(uuid4().bytes, id.bytes) == [id.bytes]
    await call.write(pb.RecordRequest(content="a \u4e2d time\x00", complete=True))
    answer = await call
    assert answer == pb.RecordResponse(status=pb.RECORD_STATUS_SUCCESS)
    assert await replay.rest() == ("Once upon a \u4e2d time\x00", grpc.StatusCode.OK)
    assert await there.replay(id).rest() == ("", grpc.StatusCode.OK)
    assert await there.check(id.bytes) == []


async def test_a_client_that_has_no_more_to_say_need_not_say_so(
    clients: Sequence[Client], processes: Sequence[Process], who: Who, id: UUID
) -> None:
    call = await clients[0].recording(id, "all")
    await begun(processes[0], who, id)
    replay = clients[1].replay(id)
    await call.done_writing()
    assert (await call).status == pb.RECORD_STATUS_SUCCESS
    assert (await replay.rest())[1] is grpc.StatusCode.OK


@pytest.mark.parametrize("number", range(5))
async def test_a_client_that_goes_away_breaks_its_recording_off(
    clients: Sequence[Client], processes: Sequence[Process], who: Who, id: UUID, number: int
) -> None:
    """gRPC tells of it as of a client that has ended, at first."""
    call = await clients[0].recording(id, "half")
    await begun(processes[0], who, id)
    replays = [client.replay(id) for client in clients]
    for replay in replays:
        await replay.heard("half")
    call.cancel()
    for replay in replays:
        assert await replay.rest() == ("half", grpc.StatusCode.ABORTED)


async def test_one_who_stops_replaying_is_followed_no_longer(
    clients: Sequence[Client], processes: Sequence[Process], who: Who, id: UUID, database: Any
) -> None:
    call = await clients[0].recording(id, "a")
    await begun(processes[0], who, id)
    replay = clients[1].replay(id)
    await replay.heard("a")
    replay._call.cancel()
    gauge, _ = processes[1].opened.gauges
    with anyio.fail_after(30):
        while gauge.read()["replay",]:  # noqa: ASYNC110 - gRPC sets no event here
            await anyio.sleep(0.01)
    await call.done_writing()
    assert (await call).status == pb.RECORD_STATUS_SUCCESS
    await nothing_is_left(database, who)


async def test_a_recording_ends_when_it_is_cancelled_or_another_begins(
    clients: Sequence[Client], processes: Sequence[Process], who: Who, id: UUID
) -> None:
    here, there = clients
    earlier = await here.recording(id, "earlier")
    await begun(processes[0], who, id)
    later = await there.recording(id, "later")
    assert (await earlier).status == pb.RECORD_STATUS_CANCELLED
    assert await here.cancel(id)
    assert (await later).status == pb.RECORD_STATUS_CANCELLED
    assert not await here.cancel(id)


async def test_what_is_too_large_is_an_error_that_says_so(
    processes: Sequence[Process], who: Who, id: UUID
) -> None:
    async with client_of(processes[0].recorder, who) as client:
        call = await client.recording(id)
        for _ in range(17):
            if call.done():
                break
            await call.write(pb.RecordRequest(content="x" * 1024 * 1024))
        answer = await call
    assert answer.status == pb.RECORD_STATUS_ERROR
    assert answer.error_message == "an answer has at most 16,777,216 bytes"


async def test_a_message_without_a_conversation_is_refused_by_its_field(
    clients: Sequence[Client], id: UUID
) -> None:
    nameless = clients[0].record()
    await nameless.write(pb.RecordRequest(content="a"))
    silent = clients[0].record()
    await silent.done_writing()
    for call in (nameless, silent):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert refused.value.details() == "conversation_id: is required"
    with pytest.raises(grpc.aio.AioRpcError, match=r"conversation_ids\[1\]: should be 16 bytes"):
        await clients[0].check(id.bytes, b"short")


async def test_more_streams_than_may_be_are_refused(conversations_dsn: str, who: Who, id: UUID) -> None:
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group, max_streams=2) as process,
        client_of(process.recorder, who) as client,
    ):
        await process.start()
        call = await client.recording(id, "a")
        await begun(process, who, id)
        replay = client.replay(id)
        await replay.heard("a")
        assert (await client.replay(id).rest())[1] is grpc.StatusCode.RESOURCE_EXHAUSTED
        await call.done_writing()
        assert (await call).status == pb.RECORD_STATUS_SUCCESS
        assert await replay.rest() == ("a", grpc.StatusCode.OK)
        group.cancel_scope.cancel()


async def test_without_a_recorder_nothing_is_recorded(who: Who, id: UUID) -> None:
    async with client_of(NoRecorder(), who) as client:
        assert not await client.is_enabled()
        assert await client.replay(id).rest() == ("", grpc.StatusCode.OK)
        assert await client.check(id.bytes) == []
        for refused in (client.cancel(id), await client.recording(id)):
            with pytest.raises(grpc.aio.AioRpcError) as told:
                await refused
            assert told.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize(
    ("user", "code"), [("bob", grpc.StatusCode.PERMISSION_DENIED), ("", grpc.StatusCode.UNAUTHENTICATED)]
)
async def test_strangers_are_refused(
    processes: Sequence[Process], who: Who, id: UUID, user: str, code: grpc.StatusCode
) -> None:
    async with client_of(processes[0].recorder, Who(tenant_id=who.tenant_id, user=user)) as client:
        assert (await client.replay(id).rest())[1] is code
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await client.cancel(id)
        assert refused.value.code() is code
