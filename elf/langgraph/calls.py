"""The requests of a saver and their answers, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from elf.client.call import Call, nothing, reader
from elf.langgraph.plain import plain_of_subclass

PATH: Final = "/v1/assistant/checkpoints"


class Value(msgspec.Struct, frozen=True):
    """A value as the serializer made it."""

    type: str
    data: bytes


class ChannelValue(Value, frozen=True, kw_only=True):
    channel: str


class TaskWrite(ChannelValue, frozen=True, kw_only=True):
    task_id: str


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint as the service has it."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_id: str | None
    checkpoint: Value
    metadata: Value
    values: list[ChannelValue]
    writes: list[TaskWrite]


class Found(msgspec.Struct, frozen=True):
    checkpoint: Stored | None


class Listed(msgspec.Struct, frozen=True):
    items: list[Stored]
    next_cursor: str | None


read_found: Final = reader(Found)
read_listed: Final = reader(Listed)


def told(path: str, body: Mapping[str, Any]) -> Call[None]:
    """Make a call that has no answer. Done twice, it is as if done once."""
    return asked(path, body, nothing)


def asked(path: str, body: Mapping[str, Any], read: Any) -> Call[Any]:
    """Make a call; bytes go as base64, and what is None is left out."""
    given = {name: value for name, value in body.items() if value is not None}
    content = msgspec.json.encode(given, enc_hook=plain_of_subclass)
    return Call("POST", f"{PATH}{path}", content, read)
