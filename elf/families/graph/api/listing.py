"""Reading memories, their history and their edges: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.api import fields as f
from elf.families.graph.api.records import Edge, Memory
from elf.families.graph.api.writing import OneMemory

TAG: Final = "graph: reading"

PageSize = Annotated[int, Field(ge=1, le=200, description="How many at most.")]
CursorGiven = Annotated[
    str, Field(max_length=512, description="The next_cursor of the page before, in the same listing.")
]
NextCursor = Annotated[
    str | None, Field(description="What to pass as cursor for the next page; null on the last one.")
]


class Page(Request):
    """A page of a listing."""

    limit: PageSize = 50
    cursor: CursorGiven | None = None


class ListMemories(f.InOrchestrator, Page):
    """Which memories, those changed last first; what is left out takes all, but for the status, which is active."""

    type: m.NodeType | None = None
    status: m.Status | Literal["all"] = "active"
    source_type: m.SourceType | None = None
    conversation_id: f.Id | None = None
    source_path: Annotated[str, Field(max_length=m.MAX_PATH_CHARS)] | None = None
    min_importance: Annotated[int, Field(ge=0, le=m.MAX_IMPORTANCE)] | None = None


class MemoryHistory(OneMemory, Page):
    """Of which memory."""


class EdgesOf(OneMemory, Page):
    """Which edges of a memory."""

    direction: Literal["outgoing", "incoming", "both"] = "both"
    edge_type: m.EdgeType | None = None


class ListContradictions(f.InOrchestrator, Page):
    """The unresolved contradictions, oldest first."""


class GotMemory(Response):
    """A memory."""

    memory: Memory


class Memories(Response):
    """A page of memories."""

    items: list[Memory]
    next_cursor: NextCursor


class MemoryVersion(Response):
    """What a memory was after one of its changes, and who changed it why, as far as that is known."""

    version: int
    operation: m.VersionOperation
    memory: Memory
    reason: str | None
    actor: str | None
    createdAt: datetime


class Versions(Response):
    """A page of what a memory has been, oldest first."""

    items: list[MemoryVersion]
    next_cursor: NextCursor


class Resolution(Response):
    """How a contradiction was resolved."""

    outcome: m.ResolutionOutcome
    reason: str | None
    resolvedAt: datetime


class EdgeOf(Response):
    """An edge, and how it was resolved where it was a contradiction; else null."""

    edge: Edge
    resolution: Resolution | None


class Edges(Response):
    """A page of edges, by id."""

    items: list[EdgeOf]
    next_cursor: NextCursor


class Contradiction(Response):
    """An edge between two memories that cannot both be true, and its ends."""

    edge: Edge
    fromMemory: Memory
    toMemory: Memory


class Contradictions(Response):
    """A page of contradictions."""

    items: list[Contradiction]
    next_cursor: NextCursor


def _get(name: str, path: str, summary: str, request: type[Request], response: type[Response]) -> Operation:
    return Operation(
        name, "GET", f"/v1/graph/{path}", summary, request, response,
        tag=TAG, text="any", errors=(NotFound, ScopeDenied, Unavailable),
    )  # fmt: skip


LIST: Final = _get("graph_list_memories", "memories", "List memories", ListMemories, Memories)
GET: Final = _get("graph_get_memory", "memories/{memory_id}", "Read a memory", OneMemory, GotMemory)
HISTORY: Final = _get(
    "graph_memory_history",
    "memories/{memory_id}/history",
    "Read what a memory has been",
    MemoryHistory,
    Versions,
)
EDGES: Final = _get(
    "graph_memory_edges", "memories/{memory_id}/edges", "Read the edges of a memory", EdgesOf, Edges
)
CONTRADICTIONS: Final = _get(
    "graph_list_contradictions", "contradictions", "List unresolved contradictions", ListContradictions, Contradictions
)  # fmt: skip

LISTING: Final = (LIST, GET, HISTORY, EDGES, CONTRADICTIONS)
