"""Answers that are recorded while they are made, and replayed, over gRPC."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final
from uuid import UUID

import anyio
from google.protobuf.empty_pb2 import Empty

from elf.api.caller import Caller
from elf.api.rpc import OwnRpc, Servicer
from elf.core.errors import InvalidRequest
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.fields import id_of
from elf.families.conversations.recording.recorder import Recorder
from elf.families.conversations.service import who_of

GONE_S: Final = 0.1
"""How long after the end of a client's messages gRPC may still say that the client has gone."""

STATUSES: Final = {
    "success": pb.RECORD_STATUS_SUCCESS,
    "cancelled": pb.RECORD_STATUS_CANCELLED,
    "error": pb.RECORD_STATUS_ERROR,
}


def recorder_servicer(recorder: Recorder) -> Servicer:
    """Return the service of a recorder."""
    calls = _Calls(recorder)
    return Servicer(
        service=pb.DESCRIPTOR.services_by_name["ResponseRecorderService"],
        rpcs={
            "Record": OwnRpc(run=calls.record, changes=True, may_pause=True),
            "Replay": OwnRpc(run=calls.replay),
            "Cancel": OwnRpc(run=calls.cancel, changes=True),
            "IsEnabled": OwnRpc(run=calls.is_enabled),
            "CheckRecordings": OwnRpc(run=calls.check),
        },
    )


class _Calls:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def record(self, asked: AsyncGenerator[pb.RecordRequest], caller: Caller) -> pb.RecordResponse:
        async with aclosing(asked):
            first = await anext(asked, pb.RecordRequest())
            recorded = await self._recorder.record(who_of(caller), _conversation(first), _texts(first, asked))
        return pb.RecordResponse(status=STATUSES[recorded.status], error_message=recorded.message)

    async def replay(self, asked: pb.ReplayRequest, caller: Caller) -> AsyncGenerator[pb.ReplayResponse]:
        async with aclosing(self._recorder.replay(who_of(caller), _conversation(asked))) as texts:
            async for text in texts:
                yield pb.ReplayResponse(content=text)

    async def cancel(self, asked: pb.CancelRecordRequest, caller: Caller) -> pb.CancelRecordResponse:
        accepted = await self._recorder.cancel(who_of(caller), _conversation(asked))
        return pb.CancelRecordResponse(accepted=accepted)

    async def is_enabled(self, asked: Empty, caller: Caller) -> pb.IsEnabledResponse:
        return pb.IsEnabledResponse(enabled=self._recorder.is_on)

    async def check(self, asked: pb.CheckRecordingsRequest, caller: Caller) -> pb.CheckRecordingsResponse:
        ids = [_uuid(f"conversation_ids[{place}]", id) for place, id in enumerate(asked.conversation_ids)]
        recorded = await self._recorder.check(who_of(caller), ids)
        return pb.CheckRecordingsResponse(conversation_ids=[id.bytes for id in ids if id in recorded])


def _conversation(asked: Any) -> UUID:
    """Read which conversation a message is about."""
    return _uuid("conversation_id", asked.conversation_id)


def _uuid(name: str, value: bytes) -> UUID:
    """Read a UUID. Raises InvalidRequest naming the field when there is none."""
    id = id_of(name, value)
    if id is None:
        raise InvalidRequest(f"{name}: is required", fields=[f"$.{name}"])
    return UUID(id)


async def _texts(first: pb.RecordRequest, more: AsyncGenerator[pb.RecordRequest]) -> AsyncGenerator[str]:
    """Yield what is to be recorded, up to the message that completes it, or to the client's end.

    Of a client that has gone gRPC first says that it has ended, and then that it has gone, by cancelling the call.
    """
    yield first.content
    if first.complete:
        return
    async for message in more:
        yield message.content
        if message.complete:
            return
    await anyio.sleep(GONE_S)
