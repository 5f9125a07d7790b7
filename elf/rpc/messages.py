"""Messages and their bytes. Bytes that cannot be read, and answers that do not fit, are failures like any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import unquote

import anyio
import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from elf.api.rpc import Rpc, Servicer
from elf.core.body_budget import BodyBudgetExceeded, HeldBody
from elf.core.errors import InvalidRequest, PayloadTooLarge

Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Where no operation takes more."""
MESSAGE_TIMEOUT_S: Final = 60.0
SLOW_MESSAGE_S: Final = 1.0
"""A message that takes longer to arrive counts as a largest one: gRPC does not tell how much of it is there."""


class MessageTimeout(InvalidRequest):
    """A client began a call and took too long to send its message."""

    status = 408
    rpc_status = "DEADLINE_EXCEEDED"

    def __init__(self) -> None:
        super().__init__(f"no message arrived within {MESSAGE_TIMEOUT_S:g} seconds")


@dataclass(frozen=True, slots=True)
class Shape:
    """A method of a service: its name and path, what its messages are, and which of them come in streams."""

    name: str
    path: str
    asked: type[Message]
    streams_in: bool
    streams_out: bool


def shapes_of(service: ServiceDescriptor) -> Iterator[Shape]:
    """Return the methods of a service."""
    for method in service.methods:
        yield Shape(
            method.name,
            f"/{service.full_name}/{method.name}",
            GetMessageClass(method.input_type),
            method.client_streaming,
            method.server_streaming,
        )


def unpacked(shape: Shape, data: bytes) -> Message:
    """Read a message. Raises InvalidRequest for bytes that are none."""
    try:
        return shape.asked.FromString(data)
    except DecodeError:
        name = shape.asked.DESCRIPTOR.full_name
        raise InvalidRequest(f"this is no {name}, or one that is nested too deeply") from None


async def received(shape: Shape, context: Context, held: HeldBody) -> tuple[Message, int]:
    """Return the message of a call, and how many bytes it had. Nobody waits for one that can say nothing.

    Raises InvalidRequest for bytes that are none, MessageTimeout, BodyBudgetExceeded.
    """
    if not shape.asked.DESCRIPTOR.fields:
        return shape.asked(), 0
    data = await _next_held(context, held)
    if data is None:
        raise InvalidRequest(f"there is no {shape.asked.DESCRIPTOR.full_name}")
    return unpacked(shape, data), len(data)


async def _next_held(context: Context, held: HeldBody) -> bytes | None:
    """Return what `next_message` does, once there is room for it."""
    refusals: list[BodyBudgetExceeded] = []
    with anyio.CancelScope() as scope:

        def count_as_largest() -> None:
            try:
                held.grow(MAX_MESSAGE_BYTES)
            except BodyBudgetExceeded as error:
                refusals.append(error)
                scope.cancel()

        timer = asyncio.get_running_loop().call_later(SLOW_MESSAGE_S, count_as_largest)
        try:
            data = await next_message(context)
        finally:
            timer.cancel()
        held.grow(len(data or b""))
        return data
    raise refusals[0]


def client_of(context: Context) -> tuple[str, int]:
    """Return the address that a call comes from, as ASGI has it; gRPC tells ipv6:%5B::1%5D:80, for example."""
    host, _, _ = unquote(context.peer().partition(":")[2]).rpartition(":")
    return host.strip("[]"), 0


async def each_unpacked(shape: Shape, context: Context, *, may_pause: bool) -> AsyncGenerator[Message, None]:
    """Read messages as they come; `may_pause` lets a client take its time once the first has come.

    Raises InvalidRequest for bytes that are none, MessageTimeout.
    """
    times_out = True
    while (data := await next_message(context, times_out=times_out)) is not None:
        yield unpacked(shape, data)
        times_out = not may_pause


async def next_message(context: Context, *, times_out: bool = True) -> bytes | None:
    """Return the bytes of the next message of a call, None behind the last. Raises MessageTimeout."""
    try:
        with anyio.fail_after(MESSAGE_TIMEOUT_S if times_out else None):
            data: object = await context.read()
    except TimeoutError:
        raise MessageTimeout from None
    return data if isinstance(data, bytes) else None  # or it is gRPC's sign of the end


def largest_message(servicers: Sequence[Servicer]) -> int:
    """Return how many bytes a message may have: as many as the body of any of the operations."""
    rpcs = [rpc for servicer in servicers for rpc in servicer.rpcs.values() if isinstance(rpc, Rpc)]
    return max([MAX_MESSAGE_BYTES, *(rpc.operation.max_body_bytes or 0 for rpc in rpcs)])


def packed(message: Message, most: int) -> bytes:
    """Return the bytes of an answer. Raises PayloadTooLarge for more of them than these."""
    data = message.SerializeToString()
    if len(data) > most:
        raise PayloadTooLarge(f"the answer is larger than {most} bytes: ask for less, or over HTTP")
    return data
