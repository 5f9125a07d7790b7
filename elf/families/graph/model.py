"""The words of the graph family: types, states, records and bounds, as they are stored and told.

The records are structs whose fields have the wire's names in JSON: `memory_id` is `memoryId` there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec

FAMILY: Final = "graph"

NodeType: TypeAlias = Literal[
    "Fact", "Preference", "Decision", "Identity", "Event", "Observation", "Goal", "Todo"
]
EdgeType: TypeAlias = Literal["RelatedTo", "Updates", "Contradicts", "CausedBy", "PartOf"]
Status: TypeAlias = Literal["active", "superseded", "retracted"]
SourceType: TypeAlias = Literal[
    "workflow_output", "channel_transcript", "ingest_file", "diagnostics", "manual"
]
CapturedBy: TypeAlias = Literal["extractor", "user", "system"]
Keep: TypeAlias = Literal["FROM", "TO"]
Retract: TypeAlias = Literal["FROM", "TO", "BOTH"]
Outcome: TypeAlias = Literal["ADD", "UPDATE", "NONE"]
"""What became of a record that was written: it is new, it was changed, or it was there already as it is."""
VersionOperation: TypeAlias = Literal["ADD", "UPDATE", "SUPERSEDE", "RETRACT", "RESTORE"]
ResolutionOutcome: TypeAlias = Literal[
    "keep_from", "keep_to", "retract_from", "retract_to", "retract_both", "both_true"
]

NODE_TYPES: Final[tuple[NodeType, ...]] = get_args(NodeType)
EDGE_TYPES: Final[tuple[EdgeType, ...]] = get_args(EdgeType)
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
SOURCE_TYPES: Final[tuple[SourceType, ...]] = get_args(SourceType)
CAPTURERS: Final[tuple[CapturedBy, ...]] = get_args(CapturedBy)

ID_PATTERN: Final = r"^[A-Za-z0-9._:-]{1,128}$"
"""Of the ids of memories, edges, conversations, runs, steps and messages."""

ORCHESTRATOR_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
"""Of the ids of orchestrators, and of tenants that have some: both are names of folders."""

MAX_ID_CHARS: Final = 128
MAX_CONTENT_CHARS: Final = 16_384
MAX_SUMMARY_CHARS: Final = 280
MADE_SUMMARY_CHARS: Final = 120
"""How much of a content becomes the summary of a memory that has none, in whole words."""
MAX_REASON_CHARS: Final = 1_000
MAX_PATH_CHARS: Final = 4_096
MAX_SPAN_CHARS: Final = 320
MAX_IMPORTANCE: Final = 100
MAX_NODES: Final = 100
MAX_EDGES: Final = 500
MAX_QUERY_CHARS: Final = 8_192

Importance: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_IMPORTANCE)]
UnitInterval: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Id: TypeAlias = Annotated[str, msgspec.Meta(pattern=ID_PATTERN)]
UserId: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
Content: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_CHARS)]
Summary: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SUMMARY_CHARS)]
Reason: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_REASON_CHARS)]


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What all records are: they do not change, and have the wire's names in JSON."""


class Source(Record, frozen=True, kw_only=True):
    """Where a memory is from, and who captured it. What does not apply is None."""

    source_type: SourceType
    captured_by: CapturedBy
    source_path: str | None = None
    conversation_id: str | None = None
    workflow_run_id: str | None = None
    step_id: str | None = None


class MemoryNode(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A memory. `content` and `summary` are plain text with whitespace collapsed; times are in UTC.

    `user_id` is the user whose it is: other users are not told of it unless it is `shared`. Without one it is
    everybody's, or from a conversation of which nobody knows whose it is.
    """

    memory_id: Id
    orchestrator_id: str
    type: NodeType
    importance: Importance
    content: Content
    summary: Summary
    confidence: UnitInterval
    source: Source
    status: Status
    created_at: datetime
    updated_at: datetime
    user_id: UserId | None = None
    shared: bool = False


class MemoryEdge(Record, frozen=True, kw_only=True):
    """An edge from one memory to another."""

    edge_id: Id
    from_memory_id: Id
    to_memory_id: Id
    edge_type: EdgeType
    weight: UnitInterval
    created_at: datetime
    reason: Reason | None = None


class Span(Record, frozen=True, kw_only=True):
    """A sentence of a content, or a piece of a long one: `text` is what stands from `start` to `end`."""

    ordinal: int
    start: int
    end: int
    text: str


class MemoryVersion(Record, frozen=True, kw_only=True):
    """What a memory was after one of its changes, and who changed it why, as far as that is known."""

    version: int
    operation: VersionOperation
    memory: MemoryNode
    reason: Reason | None
    actor: str | None
    created_at: datetime


class Resolution(Record, frozen=True, kw_only=True):
    """How a contradiction was resolved."""

    outcome: ResolutionOutcome
    reason: Reason | None
    resolved_at: datetime
