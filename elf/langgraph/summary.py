"""What a checkpoint says, as JSON, for readers that are no graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final, NamedTuple

import msgspec
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

from elf.langgraph.plain import plain

MAX_LEVELS: Final = 16
MAX_BYTES: Final = 4 << 20
MAX_VALUES: Final = 250_000  # the service takes twice as many in a request
MAX_INT: Final = 1 << 53
CONVERSATION: Final = ("messages", "conversation_history")
CONTEXT: Final = ("memory_context", "memory", "context")
INTERNAL: Final = ("__", "branch:", "join:")


def as_json(value: object, levels: int = MAX_LEVELS) -> Any:
    """Return a value as JSON can hold it. What JSON has no form of is its text, as is all below `levels`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _writable(value)
    if isinstance(value, int):
        return plain(value) if abs(value) < MAX_INT else str(plain(value))
    if isinstance(value, float):
        return plain(value) if math.isfinite(value) else None
    if levels == 0:
        return _text(value)
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {_text(key): as_json(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item, levels - 1) for item in value]
    return _text(value)


def _writable(text: str) -> str:
    text = str.__str__(text)  # JSON is written of str alone, and not of its subclasses
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "").encode(errors="replace").decode()


def _text(value: object) -> str:
    return str(as_json(value if isinstance(value, str) else str(value)))


def facts_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what metadata says, as JSON."""
    return {_text(key): as_json(value) for key, value in metadata.items()}


class Told(NamedTuple):
    """What a checkpoint says of a channel: in which part of its summary, and the value."""

    within: str
    value: Any


class Summary(NamedTuple):
    """What a checkpoint says, for msgspec to write, and where of which channel."""

    content: dict[str, Any]
    told: dict[str, Told]


def summary_of(
    checkpoint: Checkpoint, metadata: CheckpointMetadata, *, is_encrypted: bool = False
) -> Summary:
    """Return step, ts, graph_state, memory_context and conversation_history of a checkpoint.

    A channel that would make it larger than 4 MiB, or than 250,000 values, is not told, but named in `left_out`. Of an
    encrypted one only step and ts are told: a copy that anyone can read would undo the encryption.
    """
    metadata_alone = {"step": as_json(metadata.get("step")), "ts": checkpoint["ts"]}
    if is_encrypted:
        return Summary(metadata_alone | {"encrypted": True}, {})
    values = {
        name: value for name, value in checkpoint["channel_values"].items() if not name.startswith(INTERNAL)
    }
    written: dict[str, msgspec.Raw] = {}
    told: dict[str, Told] = {}
    left_out: list[str] = []
    room, values_left = MAX_BYTES, MAX_VALUES
    for name, value in values.items():
        readable = as_json(value)
        as_text = msgspec.json.encode(readable)
        count = (
            sum(map(as_text.count, (b"[", b"{", b","))) + 1
        )  # in strings, too: at least as many as there are
        if len(as_text) > room or count > values_left:
            left_out.append(name)
            continue
        room, values_left = room - len(as_text), values_left - count
        written[_text(name)] = msgspec.Raw(as_text)
        told[_text(name)] = Told("graph_state", readable)
    parts: dict[str, Any] = {"memory_context": None, "conversation_history": []}
    for part, names in (("conversation_history", CONVERSATION), ("memory_context", CONTEXT)):
        if first := next((name for name in names if name in written), None):
            parts[part] = written.pop(first)
            told[first] = told[first]._replace(within=part)
    content = {**metadata_alone, "graph_state": written, **parts}
    return Summary(content | ({"left_out": left_out} if left_out else {}), told)
