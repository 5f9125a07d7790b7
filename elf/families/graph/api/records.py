"""The records of the graph in answers, with the names of the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from elf.api.bodies import Response
from elf.families.graph import model as m


class Source(Response):
    """Where a memory is from, and who captured it; what does not apply is null."""

    sourceType: m.SourceType
    capturedBy: m.CapturedBy
    sourcePath: str | None = Field(description="The absolute, real path of its file.")
    conversationId: str | None
    workflowRunId: str | None
    stepId: str | None


class Memory(Response):
    """A memory."""

    memoryId: str
    orchestratorId: str
    type: m.NodeType
    importance: Annotated[int, Field(ge=0, le=m.MAX_IMPORTANCE)]
    content: str
    summary: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    source: Source
    status: m.Status
    createdAt: datetime
    updatedAt: datetime
    userId: str | None = Field(
        default=None, description="The user whose it is; other users are not named. Left out: everybody's."
    )
    shared: bool = Field(
        default=False, description="Whether other users are told of it. Left out where they are not."
    )


class Edge(Response):
    """An edge from one memory to another."""

    edgeId: str
    fromMemoryId: str
    toMemoryId: str
    edgeType: m.EdgeType
    weight: Annotated[float, Field(ge=0, le=1)]
    createdAt: datetime
    reason: str | None


class Citation(Response):
    """Where a memory that is told of is from."""

    memoryId: str
    sourceType: m.SourceType
    sourcePath: str | None
    conversationId: str | None
    workflowRunId: str | None
    stepId: str | None
