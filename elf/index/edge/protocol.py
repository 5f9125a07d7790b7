"""What client and server say to each other: length-prefixed msgpack frames with request ids.

A frame is a big-endian u32 length and that many bytes of msgpack. Both ends run on one machine, so vectors
and scores travel as raw float32 in native byte order and ids as the 16 bytes of the UUID, lists of them
concatenated: a result of 120 hits is then six byte strings instead of some hundreds of objects. One
connection carries any number of requests at once; replies carry the id of their request and come in any
order. A connection is for one space, which its first request names.

The process itself says one line on stdout: READY_LINE once it listens, or FAILED and why it cannot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, TypeAlias

import msgspec

from elf.index.space import Space
from elf.index.within import Within

READY_LINE: Final = "ready"
FAILED: Final = "failed: "
ID_BYTES: Final = 16
FLOAT_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class ExitCode(IntEnum):
    """How the index process ends; 2 is a wrong command line."""

    OK = 0
    FOLDER_IN_USE = 3
    FOLDER_UNUSABLE = 4


Payload: TypeAlias = dict[str, str | int | float | bool | None]


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A request or a reply; `id` ties the two together within one connection."""

    id: int


class WirePoint(msgspec.Struct, frozen=True, array_like=True):
    """A point to write: ids of 16 bytes, the dense vector as float32 bytes, tags as 16 bytes each, concatenated."""

    point_id: bytes
    owner_id: bytes
    dense: bytes
    text: str
    payload: Payload
    tags: bytes = b""


class WireFilter(msgspec.Struct, frozen=True, array_like=True):
    """The filter of the port; periods are pairs of RFC 3339 moments, tags are concatenated."""

    must: dict[str, str]
    any_of: list[dict[str, list[str]]] | None = None
    key_prefix: str | None = None
    periods: dict[str, tuple[str | None, str | None]] = {}
    tags: bytes = b""
    within: Within | None = None


class WireQuery(msgspec.Struct, frozen=True, array_like=True):
    """One hybrid query; a leg whose input is None is not run."""

    dense: bytes | None
    text: str | None
    where: WireFilter
    limit: int


class WireLeg(msgspec.Struct, frozen=True, array_like=True):
    """The hits of one leg, best first: ids and scores concatenated."""

    point_ids: bytes = b""
    owner_ids: bytes = b""
    scores: bytes = b""


class WireResult(msgspec.Struct, frozen=True, array_like=True):
    """Both legs of one query."""

    dense: WireLeg
    bm25: WireLeg


class Open(Message, frozen=True):
    """Opens the space that the connection is for, and asks for Info; comes first, and once."""

    space: Space


class Upsert(Message, frozen=True):
    points: list[WirePoint]


class DeleteOwners(Message, frozen=True):
    owner_ids: bytes
    keep: bytes


class DeletePoints(Message, frozen=True):
    point_ids: bytes


class Query(Message, frozen=True):
    queries: list[WireQuery]


class Scan(Message, frozen=True):
    after: bytes | None
    limit: int


class Count(Message, frozen=True):
    pass


class Inspect(Message, frozen=True):
    """Asks for Info; also the ping."""


class Settle(Message, frozen=True):
    """Tells that the owner has compared the index with its source: an orderly close may call it clean."""


class Done(Message, frozen=True):
    """A write is durable and visible."""


class Failed(Message, frozen=True):
    """The request was refused or the engine failed at it."""

    reason: str


class Unusable(Message, frozen=True):
    """A space cannot be opened: not even a new shard can be made for it."""

    reason: str


class Results(Message, frozen=True):
    results: list[WireResult]


class Page(Message, frozen=True):
    point_ids: bytes
    owner_ids: bytes
    updated_at: list[str]


class Counted(Message, frozen=True):
    points: int


class Info(Message, frozen=True):
    """The state the shard was opened in, how many points it holds now, and the process that serves it.

    settled: the shard was clean, or Settle was asked since it was opened.
    """

    fresh: bool
    clean: bool
    settled: bool
    points: int
    pid: int


Write: TypeAlias = Upsert | DeleteOwners | DeletePoints
Read: TypeAlias = Query | Scan | Count | Inspect | Settle
Request: TypeAlias = Open | Write | Read
Reply: TypeAlias = Done | Failed | Unusable | Results | Page | Counted | Info


class ProtocolError(Exception):
    """The other end sent bytes that are no frame of this protocol."""


class RequestDecoder:
    """Reads requests; one for each thread."""

    def __init__(self) -> None:
        self._decoder: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)

    def decode(self, frame: bytes) -> Request:
        """Raises ProtocolError."""
        try:
            return self._decoder.decode(frame)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ProtocolError(f"a request cannot be read: {error}") from error


class ReplyDecoder:
    """Reads replies; one for each thread."""

    def __init__(self) -> None:
        self._decoder: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)

    def decode(self, frame: bytes) -> Reply:
        """Raises ProtocolError."""
        try:
            return self._decoder.decode(frame)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ProtocolError(f"a reply cannot be read: {error}") from error


class FrameEncoder:
    """Writes frames; one for each thread."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder()

    def encode(self, message: Message) -> bytes:
        """Raises ProtocolError when a value has no msgpack form or the frame is too long."""
        frame = bytearray(_LENGTH.size)
        try:
            self._encoder.encode_into(message, frame, _LENGTH.size)
        except (msgspec.MsgspecError, UnicodeError, TypeError, OverflowError) as error:
            raise ProtocolError(f"a message cannot be written: {error}") from error
        length = len(frame) - _LENGTH.size
        if length > MAX_FRAME_BYTES:
            raise ProtocolError(f"a message of {length} bytes is longer than {MAX_FRAME_BYTES}")
        _LENGTH.pack_into(frame, 0, length)
        return bytes(frame)


class FrameBuffer:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add received bytes and yield each frame that is whole. Raises ProtocolError."""
        self._bytes += data
        start = 0
        while len(self._bytes) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._bytes, start)
            if length > MAX_FRAME_BYTES:
                raise ProtocolError(f"a frame of {length} bytes is longer than {MAX_FRAME_BYTES}")
            end = start + _LENGTH.size + length
            if len(self._bytes) < end:
                break
            yield bytes(self._bytes[start + _LENGTH.size : end])
            start = end
        del self._bytes[:start]


def split_ids(ids: bytes) -> list[bytes]:
    """Cut concatenated ids apart. Raises ProtocolError when the length is no multiple of 16."""
    if len(ids) % ID_BYTES:
        raise ProtocolError(f"{len(ids)} bytes are no list of ids of {ID_BYTES} bytes")
    return [ids[start : start + ID_BYTES] for start in range(0, len(ids), ID_BYTES)]
