"""What a caller writes: memories, their sources and edges. Any mapping with the wire's names does as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import msgspec
from msgspec import Struct

from elf.core.errors import InvalidRequest

NodeType: TypeAlias = Literal[
    "Fact", "Preference", "Decision", "Identity", "Event", "Observation", "Goal", "Todo"
]
EdgeType: TypeAlias = Literal["RelatedTo", "Updates", "Contradicts", "CausedBy", "PartOf"]
Status: TypeAlias = Literal["active", "superseded", "retracted"]
ListedStatus: TypeAlias = Literal["active", "superseded", "retracted", "all"]
SourceType: TypeAlias = Literal[
    "workflow_output", "channel_transcript", "ingest_file", "diagnostics", "manual"
]
CapturedBy: TypeAlias = Literal["extractor", "user", "system"]
IngestStatus: TypeAlias = Literal["processed", "duplicate", "rejected"]

DEFAULT_IMPORTANCE = 50
DEFAULT_CONFIDENCE = 0.8


class Sent(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is sent with the wire's names; what is None is left out."""


class NewSource(Sent, frozen=True, kw_only=True):
    """Where a memory is from. `source_path` is the absolute, real path of a file in a folder of the orchestrator.

    A `workflow_output` has a run and a step, a `channel_transcript` a conversation, an `ingest_file` a path.
    """

    source_type: SourceType = "manual"
    captured_by: CapturedBy = "user"
    source_path: str | None = None
    conversation_id: str | None = None
    workflow_run_id: str | None = None
    step_id: str | None = None


class NewMemory(Sent, frozen=True, kw_only=True):
    """A memory to write. `importance` is 0 to 100, `confidence` 0 to 1.

    One with the id of another takes its place. Without an id it gets one of its own when it is sent, and without a
    summary the beginning of its content.
    """

    content: str
    type: NodeType
    importance: int = DEFAULT_IMPORTANCE
    confidence: float = DEFAULT_CONFIDENCE
    source: NewSource = NewSource()
    memory_id: str | None = None
    summary: str | None = None
    status: Status = "active"
    created_at: datetime | None = None
    updated_at: datetime | None = None


class NewEdge(Sent, frozen=True, kw_only=True):
    """An edge to write, of a `weight` from 0 to 1. There is one of a type from one memory to another."""

    from_memory_id: str
    to_memory_id: str
    edge_type: EdgeType
    weight: float
    edge_id: str | None = None
    created_at: datetime | None = None
    reason: str | None = None


def memory_to_send(memory: object) -> object:
    """Return a memory as it is sent: with an id of its own, unless it has one, so that a repeat writes it once."""
    sent = plain(memory)
    if not isinstance(sent, Mapping):
        return sent  # the service's to refuse
    return {"memoryId": str(uuid4()), **{name: one for name, one in sent.items() if one is not None}}


def plain(value: object) -> object:
    """Return a struct as an object with the wire's names and without what is None; all else as it is."""
    if not isinstance(value, Sent):
        return value
    told: dict[str, Any] = msgspec.to_builtins(value)
    return _without_none(told)


def each(values: object, name: str) -> list[object]:
    """Return several values. Raises InvalidRequest, by the name of the argument, when they are no list."""
    # A text and a mapping can be gone through, too, and give letters and names.
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return [*values]
    raise InvalidRequest(f"{name}: should be a list", fields=[name])


def _without_none(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in told.items()
        if value is not None
    }
