"""What a checkpoint says, as JSON, for readers that are no graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final

import msgspec
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

MAX_LEVELS: Final = 16
MAX_BYTES: Final = 4 << 20
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
        return value if abs(value) < MAX_INT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
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
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "").encode(errors="replace").decode()


def _text(value: object) -> str:
    return str(as_json(str(value)))


def facts_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what metadata says, as JSON."""
    return {_text(key): as_json(value) for key, value in metadata.items()}


def summary_of(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> dict[str, Any]:
    """Return step, ts, graph_state, memory_context and conversation_history of a checkpoint, for msgspec to write.

    A channel that would make it larger than 4 MiB is not told, but named in `left_out`.
    """
    values = {
        name: value for name, value in checkpoint["channel_values"].items() if not name.startswith(INTERNAL)
    }
    told: dict[str, Any] = {}
    left_out: list[str] = []
    room = MAX_BYTES
    for name, value in values.items():
        written = msgspec.json.encode(as_json(value))
        if len(written) > room:
            left_out.append(name)
            continue
        room -= len(written)
        told[_text(name)] = msgspec.Raw(written)
    conversation: Any = next((told.pop(name) for name in CONVERSATION if name in told), [])
    context = next((told.pop(name) for name in CONTEXT if name in told), None)
    return {
        "step": as_json(metadata.get("step")),
        "ts": checkpoint["ts"],
        "graph_state": told,
        "memory_context": context,
        "conversation_history": conversation,
    } | ({"left_out": left_out} if left_out else {})
