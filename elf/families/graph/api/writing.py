"""Writing and changing memories and edges: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from elf.api.bodies import Request, Response, no_credential
from elf.api.operation import Operation
from elf.core.errors import Conflict, Forbidden, NotFound, ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.api import fields as f
from elf.families.graph.api.records import Edge, Memory
from elf.families.graph.ingest.json_shape import Moment, Plain

TAG: Final = "graph: writing"

Content = Annotated[f.Text, Plain]
Summary = Annotated[
    str,
    Field(max_length=m.MAX_SUMMARY_CHARS, description="Null: the beginning of the content, in whole words."),
    Plain,
]
Reason = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_REASON_CHARS, description="Why."),
    Plain,
    AfterValidator(no_credential),
]
Confidence = Annotated[float, Field(ge=0.0, le=1.0, description="How sure it is.")]
Weight = Annotated[float, Field(ge=0.0, le=1.0, description="How strong it is.")]
MemoryId = Annotated[f.GivenId, Field(description="Null: a new one is made.")]


class NewSource(Request):
    """Where a memory is from, and who captured it."""

    sourceType: m.SourceType
    capturedBy: m.CapturedBy
    sourcePath: (
        Annotated[
            str,
            Field(
                max_length=m.MAX_PATH_CHARS,
                description="The absolute, real path of a file in a folder of the orchestrator.",
            ),
        ]
        | None
    ) = None
    conversationId: f.GivenId | None = None
    workflowRunId: f.GivenId | None = None
    stepId: f.GivenId | None = None


class NewMemory(Request):
    """A memory to write. One with the id of another takes its place; when it was created stays."""

    memoryId: MemoryId | None = None
    orchestratorId: f.OrchestratorId | None = Field(
        default=None, description="The same as that of the request, or left out."
    )
    type: m.NodeType
    importance: f.Importance
    content: Content
    summary: Summary | None = None
    confidence: Confidence
    source: NewSource
    status: m.Status = "active"
    createdAt: Moment | None = None
    updatedAt: Moment | None = None


class NewEdge(Request):
    """An edge to write. There is one of a type from one memory to another: again, it changes weight and reason."""

    edgeId: MemoryId | None = None
    fromMemoryId: f.Id
    toMemoryId: f.Id
    edgeType: m.EdgeType
    weight: Weight
    createdAt: Moment | None = None
    reason: Reason | None = None


class WriteMemories(f.InOrchestrator):
    """Memories, and edges between them and those that there are: all are written, or none."""

    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=m.MAX_NODES)]
    edges: Annotated[list[NewEdge], Field(max_length=m.MAX_EDGES)] = []  # noqa: RUF012 - pydantic copies it


class WriteEdges(f.InOrchestrator):
    """Edges between memories that there are: all are written, or none."""

    edges: Annotated[list[NewEdge], Field(min_length=1, max_length=m.MAX_EDGES)]


class OneMemory(f.InOrchestrator):
    """Which memory."""

    memory_id: f.Id


class UpdateMemory(OneMemory):
    """What is different from now on; what is left out stays. A new content without a summary gets one made."""

    type: m.NodeType | None = None
    importance: f.Importance | None = None
    content: Content | None = None
    summary: Summary | None = None
    confidence: Confidence | None = None
    source: NewSource | None = None
    reason: Reason | None = None


class SupersedeMemory(OneMemory):
    """By what a memory is superseded: one that there is, or a new one."""

    by_memory_id: f.Id | None = None
    memory: NewMemory | None = None
    reason: Reason | None = None

    @model_validator(mode="after")
    def _has_one_of_both(self) -> Self:
        if (self.by_memory_id is None) == (self.memory is None):
            raise ValueError("either by_memory_id or memory says by what it is superseded")
        return self


class ChangeStatus(OneMemory):
    """Which memory, and why."""

    reason: Reason | None = None


class Resolve(f.InOrchestrator):
    """How a contradiction is resolved: exactly one of keep, retract and both_true."""

    edge_id: f.Id
    keep: m.Keep | None = Field(default=None, description="This end stays; the other is superseded by it.")
    retract: m.Retract | None = Field(default=None, description="What is not true.")
    both_true: Annotated[Literal[True], Field(description="It is no contradiction.")] | None = None
    reason: Reason

    @model_validator(mode="after")
    def _has_one_of_all(self) -> Self:
        if sum(one is not None for one in (self.keep, self.retract, self.both_true)) != 1:
            raise ValueError("exactly one of keep, retract and both_true says how it is resolved")
        return self

    @property
    def outcome(self) -> m.ResolutionOutcome:
        """How it is resolved, in one word."""
        if self.keep is not None:
            return "keep_from" if self.keep == "FROM" else "keep_to"
        if self.retract is None:
            return "both_true"
        outcomes: dict[m.Retract, m.ResolutionOutcome] = {
            "FROM": "retract_from", "TO": "retract_to", "BOTH": "retract_both",
        }  # fmt: skip
        return outcomes[self.retract]


class WrittenMemory(Response):
    """What became of a memory."""

    memoryId: str
    outcome: m.Outcome = Field(
        description="ADD: it is new. UPDATE: it was changed. NONE: it was there as it is."
    )


class WrittenEdge(Response):
    """What became of an edge; the id is that of the edge that stands."""

    edgeId: str
    outcome: m.Outcome


class Written(Response):
    """What became of memories and edges, in the order of the request."""

    memories: list[WrittenMemory]
    edges: list[WrittenEdge]
    contradictions: list[Edge] = Field(description="Those between what was written and what was there.")


class Changed(Response):
    """The memories that were changed, as they are now, and the edges that came with it."""

    memories: list[Memory]
    edges: list[Edge]


def _post(
    name: str, path: str, summary: str, request: type[Request], response: type[Response], *errors: type
) -> Operation:
    return Operation(
        name, "POST", f"/v1/graph/{path}", summary, request, response,
        tag=TAG, text="any", errors=(NotFound, ScopeDenied, Forbidden, Unavailable, *errors),
    )  # fmt: skip


WRITE: Final = _post("graph_write_memories", "memories", "Write memories", WriteMemories, Written, Conflict)
WRITE_EDGES: Final = _post("graph_write_edges", "edges", "Write edges", WriteEdges, Written, Conflict)
UPDATE: Final = _post(
    "graph_update_memory", "memories/{memory_id}/update", "Change a memory", UpdateMemory, Changed
)
SUPERSEDE: Final = _post(
    "graph_supersede_memory",
    "memories/{memory_id}/supersede",
    "Supersede a memory",
    SupersedeMemory,
    Changed,
    Conflict,
)
RETRACT: Final = _post(
    "graph_retract_memory", "memories/{memory_id}/retract", "Retract a memory", ChangeStatus, Changed
)
RESTORE: Final = _post(
    "graph_restore_memory",
    "memories/{memory_id}/restore",
    "Make a memory active again",
    ChangeStatus,
    Changed,
)
RESOLVE: Final = _post(
    "graph_resolve_contradiction", "contradictions/{edge_id}/resolve", "Resolve a contradiction", Resolve, Changed,
    Conflict,
)  # fmt: skip

WRITING: Final = (WRITE, WRITE_EDGES, UPDATE, SUPERSEDE, RETRACT, RESTORE, RESOLVE)
