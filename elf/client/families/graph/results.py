"""What the service answers of the graph, as frozen structs. Times are aware datetimes.

Fields that a newer service adds are passed over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from elf.client.families.graph.inputs import (
    CapturedBy,
    EdgeType,
    IngestStatus,
    NodeType,
    SourceType,
    Status,
)

Outcome: TypeAlias = Literal["ADD", "UPDATE", "NONE"]


class Wired(Struct, frozen=True, kw_only=True, rename="camel"):
    """A record, whose fields have camelCase names on the wire."""


# Records


class Source(Wired, frozen=True, kw_only=True):
    """Where a memory is from, and who captured it; what does not apply is None."""

    source_type: SourceType
    captured_by: CapturedBy
    source_path: str | None
    conversation_id: str | None
    workflow_run_id: str | None
    step_id: str | None


class Memory(Wired, frozen=True, kw_only=True):
    """A memory. `importance` is 0 to 100, `confidence` 0 to 1.

    `user_id` is the user whose it is, None where it is everybody's. Other users are told of it where it is `shared`,
    and not whose it is.
    """

    memory_id: str
    orchestrator_id: str
    type: NodeType
    importance: int
    content: str
    summary: str
    confidence: float
    source: Source
    status: Status
    created_at: datetime
    updated_at: datetime
    user_id: str | None = None
    shared: bool = False


class Edge(Wired, frozen=True, kw_only=True):
    """An edge from one memory to another, of a `weight` from 0 to 1."""

    edge_id: str
    from_memory_id: str
    to_memory_id: str
    edge_type: EdgeType
    weight: float
    created_at: datetime
    reason: str | None


class Citation(Wired, frozen=True, kw_only=True):
    """Where a memory that is told of is from."""

    memory_id: str
    source_type: SourceType
    source_path: str | None
    conversation_id: str | None
    workflow_run_id: str | None
    step_id: str | None


# Finding


class ScoreTerms(Wired, frozen=True, kw_only=True):
    """The terms of a score: `fused` is the sum of both terms, `final_score` is it times the four factors.

    Ranks count from 1, and are None where that way did not find it.
    """

    text_rank: int | None
    vector_rank: int | None
    text_term: float
    vector_term: float
    fused: float
    importance_factor: float
    confidence_factor: float
    recency_factor: float
    contradiction_factor: float
    final_score: float


class RecalledMemory(Wired, frozen=True, kw_only=True):
    """A memory that was found; `snippet` is the sentence that the words of the query found."""

    memory: Memory
    snippet: str | None
    final_score: float
    unresolved_contradiction: bool
    explain: ScoreTerms | None


class Bundle(Struct, frozen=True, kw_only=True):
    """What was found, best first, the edges that touch it, and where it is from. `degraded` names what was away."""

    nodes: list[RecalledMemory]
    edges: list[Edge]
    citations: list[Citation]
    mode: Literal["hybrid", "full_text_only"]
    degraded: list[str]


class BulletinLine(Wired, frozen=True, kw_only=True):
    """A line, and the memory that it cites."""

    memory_id: str
    text: str


class Bulletin(Wired, frozen=True, kw_only=True):
    """What an agent is told before it works on a message: `rendered` is the text."""

    message_id: str
    rendered: str
    sections: dict[str, list[BulletinLine]]
    citations: list[Citation]
    generated_at: datetime
    status: Literal["fresh", "previous", "empty"]


class Evidence(Wired, frozen=True, kw_only=True):
    """A memory as diagnostics are shown it."""

    memory_id: str
    type: NodeType
    status: Status
    importance: int
    confidence: float
    text: str
    final_score: float
    unresolved_contradiction: bool


class Findings(Struct, frozen=True, kw_only=True):
    """What diagnostics are shown: at most 20 memories, and what stands around them."""

    evidence: list[Evidence]
    edges: list[Edge]
    contradictions: list[Edge]
    citations: list[Citation]


class Context(Struct, frozen=True, kw_only=True):
    """The context of a message, a step or an investigation; what does not belong to its purpose is None."""

    status: Literal["ok", "fallback", "disabled"]
    bulletin: Bulletin | None
    recall: Bundle | None
    findings: Findings | None
    degraded: list[str]


# Writing


class WrittenMemory(Wired, frozen=True, kw_only=True):
    """What became of a memory: it is new, it was changed, or it was there as it is."""

    memory_id: str
    outcome: Outcome


class WrittenEdge(Wired, frozen=True, kw_only=True):
    """What became of an edge; the id is that of the edge that stands."""

    edge_id: str
    outcome: Outcome


class Written(Struct, frozen=True, kw_only=True):
    """What became of memories and edges, in their order, and the contradictions that were seen."""

    memories: list[WrittenMemory]
    edges: list[WrittenEdge]
    contradictions: list[Edge]


class Changed(Struct, frozen=True, kw_only=True):
    """The memories that were changed, as they are now, and the edges that came with it."""

    memories: list[Memory]
    edges: list[Edge]


class RefusedText(Struct, frozen=True, kw_only=True):
    """What was not taken in, and why."""

    field: str
    reason: str


class WrittenBack(Struct, frozen=True, kw_only=True):
    """What was written back. `duplicate`: it was before; `outdated`: a later attempt was, and nothing is changed."""

    status: Literal["written", "duplicate", "outdated"]
    key: str
    memories: list[WrittenMemory]
    edge_ids: list[str]
    skipped: list[RefusedText]


# Reading


class GotMemory(Struct, frozen=True):
    """The body that a memory comes in."""

    memory: Memory


class MemoryVersion(Wired, frozen=True, kw_only=True):
    """What a memory was after one of its changes, and who changed it why, as far as that is known."""

    version: int
    operation: Literal["ADD", "UPDATE", "SUPERSEDE", "RETRACT", "RESTORE"]
    memory: Memory
    reason: str | None
    actor: str | None
    created_at: datetime


class Resolution(Wired, frozen=True, kw_only=True):
    """How a contradiction was resolved."""

    outcome: Literal["keep_from", "keep_to", "retract_from", "retract_to", "retract_both", "both_true"]
    reason: str | None
    resolved_at: datetime


class EdgeOf(Struct, frozen=True, kw_only=True):
    """An edge, and how it was resolved where it was a contradiction."""

    edge: Edge
    resolution: Resolution | None


class Contradiction(Wired, frozen=True, kw_only=True):
    """An edge between two memories that cannot both be true, and its ends."""

    edge: Edge
    from_memory: Memory
    to_memory: Memory


# Keeping


class SkippedStatement(Struct, frozen=True, kw_only=True):
    """A statement that did not become a memory, by where it starts in the text of its file, and why."""

    start: int | None
    reason: str


class IngestError(Struct, frozen=True, kw_only=True):
    """Why a file was rejected."""

    code: str
    message: str
    fields: list[str]


class IngestedFile(Wired, frozen=True, kw_only=True):
    """What became of a file that was dropped. The key is None where its bytes were not read.

    `indexed_chars` is how many characters of its text it is found by, from the first on; None where these are all.
    """

    status: IngestStatus
    source_path: str
    idempotency_key: str | None
    memories_written: int
    edges_written: int
    memory_ids: list[str]
    extractor: str | None
    skipped: list[SkippedStatement]
    indexed_chars: int | None = None
    error: IngestError | None


class EndedFile(Wired, frozen=True, kw_only=True):
    """What became of a file, and where it is now."""

    status: IngestStatus
    source_path: str
    reason_code: str | None


class LookedNow(Struct, frozen=True, kw_only=True):
    """What became of the files that were waiting.

    `here` is False where another process looks; what it takes in is then found by listing the files.
    """

    here: bool
    files: list[EndedFile]


class MemoryCounts(Struct, frozen=True, kw_only=True):
    """What a memory holds: memories by status and type, edges by type. `file_bytes` has the write-ahead log in it, and
    is None for a user.
    """

    memories: dict[str, dict[str, int]]
    edges: dict[str, int]
    unresolved_contradictions: int
    vectors_to_make: int
    file_bytes: int | None


class MemoryStatus(Struct, frozen=True, kw_only=True):
    """How the memory of an orchestrator is; one that is not ok says why, and may have nothing to count."""

    orchestrator_id: str
    status: Literal["ok", "disabled"]
    error_code: str | None
    message: str | None
    counts: MemoryCounts | None


class Imported(Struct, frozen=True, kw_only=True):
    """How many lines were new, and how many told what is there already, which stays as it is."""

    new: int
    known: int


class RetakenFile(Wired, frozen=True, kw_only=True):
    """A processed file that was taken in again, or why it could not be."""

    source_path: str
    memories_written: int
    edges_written: int
    error: IngestError | None


class Recovered(Struct, frozen=True, kw_only=True):
    """Whether memory.db was lost; what was damaged, by the names that it has been given; how much of it was sound and
    kept, and how much was not, by kind; and the files that the memory did not know.
    """

    was_lost: bool
    put_aside: list[str]
    kept: dict[str, int]
    lost: dict[str, int]
    files: list[RetakenFile]


class Erased(Struct, frozen=True, kw_only=True):
    """How many of each kind went for good, and whether nothing is left in the write-ahead log."""

    erased: dict[str, int]
    log_truncated: bool


class OrchestratorState(Struct, frozen=True, kw_only=True):
    """An orchestrator that has a memory: for which root folder, in which folder, and how it is as a process sees it.

    One that is disabled says why; `lost_at` is since when its files are missed.
    """

    tenant_id: str
    orchestrator_id: str
    home: str
    folder: str
    created_at: datetime
    lost_at: datetime | None
    state: Literal["open", "closed", "disabled", "elsewhere"]
    error_code: str | None
    message: str | None
