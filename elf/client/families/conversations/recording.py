"""Answers that are recorded while they are made, and replayed, over gRPC: of `pip install 'elf-memory[grpc]'`.

A client speaks HTTP, and gRPC is served at another address, so a recorder is made of both:

    recorder = Recorder(client, "127.0.0.1:8768")
    with recorder.record(conversation_id) as recording:
        for chunk in model.answer():
            if not recording.write(chunk):
                break  # somebody stopped it

    for chunk in recorder.replay(conversation_id):
        print(chunk, end="")
"""

from __future__ import annotations

from asyncio import InvalidStateError
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Final, Literal, Self, TypeAlias
from uuid import UUID

from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.errors import (
    Conflict,
    ElfError,
    Forbidden,
    InternalError,
    InvalidRequest,
    NotFound,
    NotOffered,
    PayloadTooLarge,
    ServiceError,
    StartupError,
    Unauthorized,
    Unavailable,
    Unreachable,
)

SERVICE: Final = "/memory.v1.ResponseRecorderService"
_IDENTITY: Final = ("authorization", "x-api-key", "x-user-id", "x-client-id")

Metadata: TypeAlias = Sequence[tuple[str, str]]
Status: TypeAlias = Literal["success", "cancelled", "error"]


class RecordingBroken(ElfError):
    """What was replayed is not whole: whoever recorded it went away before its end."""


class _Recorded:
    """How a recording ended: `status` is None before; of an error `message` says why."""

    def __init__(self, conversation_id: bytes, messages: ModuleType) -> None:
        self._id = conversation_id
        self._messages = messages
        self._call: Any = None
        self.status: Status | None = None
        self.message = ""

    def _ended(self, response: Any) -> None:
        self.status, self.message = _status_of(self._messages, response), response.error_message


class Recording(_Recorded):
    """An answer while it is recorded. `status` is how it ended, None before; of an error `message` says why."""

    def __init__(self, conversation_id: bytes, messages: ModuleType) -> None:
        super().__init__(conversation_id, messages)
        self._chunks: SimpleQueue[str | None] = SimpleQueue()

    def write(self, chunk: str) -> bool:
        """Record more of it; tells whether it is recorded still: not when it was stopped, or taken over by another."""
        if self._call.done():
            return False
        self._chunks.put(chunk)
        return True

    def _requests(self) -> Iterator[Any]:
        yield self._messages.RecordRequest(conversation_id=self._id)
        while (chunk := self._chunks.get()) is not None:
            yield self._messages.RecordRequest(content=chunk)
        yield self._messages.RecordRequest(complete=True)


class AsyncRecording(_Recorded):
    """The same for async code."""

    def __init__(self, conversation_id: bytes, grpc: Any, messages: ModuleType) -> None:
        super().__init__(conversation_id, messages)
        self._grpc = grpc

    async def write(self, chunk: str) -> bool:
        """Record more of it, once there is room; tells what `Recording.write` does."""
        return await self._send(content=chunk)

    async def _send(self, **fields: Any) -> bool:
        if self._call.done():
            return False
        try:
            await self._call.write(self._messages.RecordRequest(**fields))
        except InvalidStateError:  # it ended meanwhile
            return False
        except self._grpc.RpcError:
            # The call ends, and what it ends with is not what the write tells.
            with _told(self._grpc):
                await self._call
            return False
        return True


class Recorder:
    """Records and replays for whoever a client is, at the `address` of gRPC. A context manager."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._grpc, self._messages = _packages()
        self._channel = _channel(self._grpc, self._grpc, client.base_url, address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    @contextmanager
    def record(self, conversation_id: UUID | str) -> Iterator[Recording]:
        """Record an answer until the block ends; a block that fails leaves it broken.

        Raises NotFound, Forbidden, Conflict where recording is off, and Unavailable where as much is recorded as
        may be.
        """
        recording = Recording(_id(conversation_id), self._messages)
        recording._call = self._method("stream_unary", "Record", "RecordResponse").future(
            recording._requests(), metadata=self._metadata()
        )
        try:
            yield recording
        except BaseException:
            recording._call.cancel()
            raise
        finally:
            recording._chunks.put(None)
        with _told(self._grpc):
            recording._ended(recording._call.result())

    def replay(self, conversation_id: UUID | str) -> Iterator[str]:
        """Replay the answer that is recorded, from its start, and then as it is made; nothing when there is none.

        Raises NotFound, Forbidden, RecordingBroken, and Unavailable where as much is replayed as may be.
        """
        request = self._messages.ReplayRequest(conversation_id=_id(conversation_id))
        call = self._method("unary_stream", "Replay", "ReplayResponse")(request, metadata=self._metadata())
        try:
            with _told(self._grpc):
                for response in call:
                    yield response.content
        finally:
            call.cancel()

    def _metadata(self) -> Metadata:
        return _metadata(self._client._headers, self._client._credentials.headers())

    def _method(self, kind: str, name: str, response: str) -> Any:
        return _method(self._channel, kind, name, getattr(self._messages, response))


class AsyncRecorder:
    """The same for async code, on asyncio. An async context manager."""

    def __init__(self, client: AsyncClient, address: str) -> None:
        self._client = client
        self._grpc, self._messages = _packages()
        self._channel = _channel(self._grpc, self._grpc.aio, client.base_url, address)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection."""
        await self._channel.close()

    @asynccontextmanager
    async def record(self, conversation_id: UUID | str) -> AsyncIterator[AsyncRecording]:
        """Do what `Recorder.record` does."""
        recording = AsyncRecording(_id(conversation_id), self._grpc, self._messages)
        call = self._method("stream_unary", "Record", "RecordResponse")(metadata=await self._metadata())
        recording._call = call
        try:
            with _told(self._grpc):
                await recording._send(conversation_id=recording._id)
            yield recording
        except BaseException:
            call.cancel()
            raise
        with _told(self._grpc):
            await recording._send(complete=True)
            recording._ended(await call)

    async def replay(self, conversation_id: UUID | str) -> AsyncIterator[str]:
        """Do what `Recorder.replay` does."""
        request = self._messages.ReplayRequest(conversation_id=_id(conversation_id))
        metadata = await self._metadata()
        call = self._method("unary_stream", "Replay", "ReplayResponse")(request, metadata=metadata)
        try:
            with _told(self._grpc):
                async for response in call:
                    yield response.content
        finally:
            call.cancel()

    async def _metadata(self) -> Metadata:
        return _metadata(self._client._headers, await self._client._credentials.headers_soon())

    def _method(self, kind: str, name: str, response: str) -> Any:
        return _method(self._channel, kind, name, getattr(self._messages, response))


def _packages() -> tuple[Any, ModuleType]:
    """Return gRPC and the messages. Raises StartupError when the packages for them are not installed."""
    try:
        import grpc

        from elf.families.conversations.grpc import memory_service_pb2
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise StartupError(
            f"recording needs gRPC, and {package} is not installed: pip install 'elf-memory[grpc]'"
        ) from error
    return grpc, memory_service_pb2


def _channel(grpc: Any, kind: Any, base_url: str, address: str) -> Any:
    if base_url.startswith("https:"):
        return kind.secure_channel(address, grpc.ssl_channel_credentials())
    return kind.insecure_channel(address)


def _method(channel: Any, kind: str, name: str, response: Any) -> Any:
    return getattr(channel, kind)(
        f"{SERVICE}/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response.FromString,
    )


def _metadata(given: Mapping[str, str], identity: Mapping[str, str]) -> Metadata:
    sent = {name.lower(): value for name, value in {**given, **identity}.items()}
    return [(name, sent[name]) for name in _IDENTITY if name in sent]


def _id(conversation_id: UUID | str) -> bytes:
    try:
        return UUID(str(conversation_id)).bytes
    except ValueError as error:
        raise InvalidRequest("conversation_id: should be a UUID", fields=["conversation_id"]) from error


def _status_of(messages: ModuleType, response: Any) -> Status:
    name = messages.RecordStatus.Name(response.status)
    match name.removeprefix("RECORD_STATUS_"):
        case "SUCCESS":
            return "success"
        case "CANCELLED":
            return "cancelled"
    return "error"


@contextmanager
def _told(grpc: Any) -> Iterator[None]:
    """Raise what gRPC tells of as the errors that the client has for it."""
    try:
        yield
    except grpc.RpcError as error:
        code, message = error.code().name, error.details() or error.code().name
        if code == "ABORTED":
            raise RecordingBroken(message) from error
        if wait := dict(error.trailing_metadata() or ()).get("retry-after"):
            raise Unavailable(message, retry_after_s=int(wait)) from error
        kinds: Mapping[str, type[ServiceError]] = {
            "INVALID_ARGUMENT": InvalidRequest, "UNAUTHENTICATED": Unauthorized, "PERMISSION_DENIED": Forbidden,
            "NOT_FOUND": NotFound, "FAILED_PRECONDITION": Conflict, "RESOURCE_EXHAUSTED": PayloadTooLarge,
            "UNIMPLEMENTED": NotOffered, "UNAVAILABLE": Unreachable, "DEADLINE_EXCEEDED": Unreachable,
        }  # fmt: skip
        raise kinds.get(code, InternalError)(message) from error
