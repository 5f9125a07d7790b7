"""Taking memories along and in: what a line of an export is, requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from elf.api.bodies import WHOLE, Request, Response
from elf.api.operation import Operation, Stream
from elf.core.errors import Conflict, NotFound, ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.api import fields as f
from elf.families.graph.api.writing import Confidence, Content, Reason, Weight
from elf.families.graph.ingest.json_shape import Moment, Plain

TAG: Final = "graph: keeping"
MOST_LINES: Final = 1_000
MOST_QUOTED_CHARS: Final = 1_000_000
"""A quote has all the whitespace that a content has not."""
MAX_BODY_BYTES: Final = 8 * 1024 * 1024

Count = Annotated[int, Field(ge=1, le=2**31), WHOLE]
Offset = Annotated[int, Field(ge=0, le=2**31), WHOLE]


class ExportedSource(Request):
    """Where a memory is from, and who captured it."""

    sourceType: m.SourceType
    capturedBy: m.CapturedBy
    sourcePath: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=m.MAX_PATH_CHARS,
                description="Of a file in the folder of the memory from there on, of another one its whole path.",
            ),
        ]
        | None
    ) = None
    conversationId: f.Id | None = None
    workflowRunId: f.Id | None = None
    stepId: f.Id | None = None


class ExportedMemory(Request):
    """A memory."""

    memoryId: f.Id
    orchestratorId: f.OrchestratorId
    type: m.NodeType
    importance: f.Importance
    content: Content
    summary: Annotated[str, Field(min_length=1, max_length=m.MAX_SUMMARY_CHARS), Plain]
    confidence: Confidence
    source: ExportedSource
    status: m.Status
    createdAt: Moment
    updatedAt: Moment
    userId: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        default=None, description="Whose it is; null: everybody's."
    )
    shared: bool = Field(default=False, description="Whether other users are told of it.")


class ExportedQuote(Request):
    """The words of a file that a memory was made of: they stand in its text from start to end, in code points."""

    quote: Annotated[str, Field(min_length=1, max_length=MOST_QUOTED_CHARS)]
    start: Offset
    end: Offset


class ExportedVersion(Request):
    """What a memory was after one of its changes, and who changed it why, as far as that is known."""

    version: Count
    operation: m.VersionOperation
    memory: ExportedMemory
    reason: Reason | None = None
    actor: Annotated[str, Field(max_length=1_000)] | None = None
    createdAt: Moment


class ExportedEdge(Request):
    """An edge from one memory to another."""

    edgeId: f.Id
    fromMemoryId: f.Id
    toMemoryId: f.Id
    edgeType: m.EdgeType
    weight: Weight
    createdAt: Moment
    reason: Reason | None = None


class ExportedResolution(Request):
    """How a contradiction was resolved."""

    outcome: m.ResolutionOutcome
    reason: Reason | None = None
    resolvedAt: Moment


class ExportedLine(Request):
    """A memory with its last version and the words that it was made of; what a memory has been; or an edge."""

    memory: ExportedMemory | None = None
    version: Count | None = None
    indexed: bool = Field(
        default=True, description="Whether the memory is found; one that is not was too far behind in a file."
    )
    quote: ExportedQuote | None = None
    memory_version: ExportedVersion | None = None
    edge: ExportedEdge | None = None
    resolution: ExportedResolution | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(one is not None for one in (self.memory, self.memory_version, self.edge)) != 1:
            raise ValueError("a line has exactly one of memory, memory_version and edge")
        if (self.memory is None) != (self.version is None):
            raise ValueError("version is that of a memory, which always has one")
        if not self.indexed and self.memory is None:
            raise ValueError("indexed is said of a memory")
        if self.quote is not None and self.memory is None:
            raise ValueError("quote is that of a memory")
        if self.resolution is not None and (self.edge is None or self.edge.edgeType != "Contradicts"):
            raise ValueError("resolution is that of an edge of the type Contradicts")
        return self


class Export(f.InOrchestrator):
    """Whose memory."""


class Import(f.InOrchestrator):
    """Lines in the order of the export; they may come in several requests, and again."""

    items: Annotated[list[ExportedLine], Field(min_length=1, max_length=MOST_LINES)]


class Imported(Response):
    """How many lines were new, and how many told what is there already, which stays as it is."""

    new: int
    known: int


EXPORT: Final = Stream(
    "graph_export", "GET", "/v1/admin/graph/export", "Take a memory along, line by line", Export, ExportedLine,
    tag=TAG, text="any", errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
IMPORT: Final = Operation(
    "graph_import", "POST", "/v1/admin/graph/import", "Take lines of an export in", Import, Imported,
    tag=TAG, text="any", max_body_bytes=MAX_BODY_BYTES, errors=(NotFound, Conflict, ScopeDenied, Unavailable),
    counted=("new",),
)  # fmt: skip

TRANSFERRING: Final = (EXPORT, IMPORT)
