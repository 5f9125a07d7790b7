"""Messages and their bytes. Bytes that cannot be read, and answers that do not fit, are failures like any other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from elf.api.rpc import Rpc, Servicer
from elf.core.errors import InvalidRequest, PayloadTooLarge

MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""Where no operation takes more."""


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


async def each_unpacked(shape: Shape, messages: AsyncIterator[bytes]) -> AsyncGenerator[Message, None]:
    """Read messages as they come. Raises InvalidRequest for bytes that are none."""
    async for data in messages:
        yield unpacked(shape, data)


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
