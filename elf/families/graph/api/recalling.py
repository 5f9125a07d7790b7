"""Recall and context: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from elf.api.bodies import NulDropped, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.api import fields as f
from elf.families.graph.api.records import Citation, Edge, Memory

TAG: Final = "graph: finding"


class Recall(f.InOrchestrator):
    """What is looked for, among which memories, and how many are wanted."""

    query: f.Query
    top_n: f.TopN | None = Field(default=None, description="Null: as the config says.")
    rrf_k: f.RrfK | None = Field(default=None, description="Null: as the config says.")
    top_k_vector: f.LegSize | None = Field(default=None, description="Null: as the config says.")
    top_k_text: f.LegSize | None = Field(default=None, description="Null: as the config says.")
    statuses: Annotated[
        list[Literal["active", "superseded"]],
        Field(min_length=1, max_length=2, description="What is retracted is never recalled."),
    ] = ["active"]  # noqa: RUF012 - pydantic copies it
    types: Annotated[list[m.NodeType], Field(min_length=1, max_length=8)] | None = None
    conversations: (
        Annotated[list[f.Id], Field(min_length=1, max_length=100, description="Of which conversations.")]
        | None
    ) = None
    min_importance: f.Importance | None = None
    explain: bool = Field(default=False, description="Whether each memory comes with the terms of its score.")


class Explained(Response):
    """The terms of a score: fused is textTerm + vectorTerm, finalScore is fused times the four factors."""

    textRank: int | None = Field(description="Its place by words, from 1; null where they did not find it.")
    vectorRank: int | None = Field(
        description="Its place by meaning, from 1; null where it was not found so."
    )
    textTerm: float
    vectorTerm: float
    fused: float
    importanceFactor: float
    confidenceFactor: float
    recencyFactor: float
    contradictionFactor: float
    finalScore: float


class RecalledMemory(Response):
    """A memory that was found."""

    memory: Memory
    snippet: str | None = Field(description="The sentence that the words of the query found.")
    finalScore: float
    unresolvedContradiction: bool
    explain: Explained | None


class Bundle(Response):
    """What was found, best first, the edges that touch it, and where it is from."""

    nodes: list[RecalledMemory]
    edges: Annotated[list[Edge], Field(description="The weightiest first, at most 64.")]
    citations: list[Citation]
    mode: Literal["hybrid", "full_text_only"]
    degraded: f.Degraded


AnyText = Annotated[str, NulDropped()]


class Context(f.InOrchestrator):
    """What a context is for. selector and step need message_id and message; step and diagnostics need prompt.

    A message or a prompt of which nothing can be made (it is blank, holds U+0000 or has more than 8,192 characters)
    is no error: the answer is a fallback, and names it in `degraded`.
    """

    purpose: Literal["selector", "step", "diagnostics"]
    message_id: f.GivenId | None = Field(default=None, description="Each message has one bulletin.")
    message: AnyText | None = Field(default=None, description="What the message says.")
    prompt: AnyText | None = Field(default=None, description="Of the step, or what is investigated.")
    max_chars: f.BulletinChars = f.DEFAULT_BULLETIN_CHARS

    @model_validator(mode="after")
    def _has_what_it_is_for(self) -> Self:
        needed = {"selector": ("message_id", "message"), "step": ("message_id", "message", "prompt")}
        missing = [name for name in needed.get(self.purpose, ("prompt",)) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"the purpose {self.purpose} needs {', '.join(missing)}")
        return self


class BulletinLine(Response):
    """A line, and the memory that it cites."""

    memoryId: str
    text: str


class Bulletin(Response):
    """What an agent is told before it works on a message."""

    messageId: str
    rendered: str
    sections: dict[str, list[BulletinLine]] = Field(
        description="knowledge_summary, active_goals, open_todos, recent_decisions, preference_profile and "
        "conflicts_and_uncertainties, as far as there is room for them."
    )
    citations: list[Citation]
    generatedAt: datetime
    status: Literal["fresh", "previous", "empty"]


class Evidence(Response):
    """A memory as diagnostics are shown it."""

    memoryId: str
    type: m.NodeType
    status: m.Status
    importance: int
    confidence: float
    text: str
    finalScore: float
    unresolvedContradiction: bool


class Findings(Response):
    """At most 20 memories of at most 8,000 characters, and what stands around them."""

    evidence: list[Evidence]
    edges: list[Edge]
    contradictions: list[Edge]
    citations: list[Citation]


class ContextAnswer(Response):
    """The context; what does not belong to its purpose is null."""

    status: Literal["ok", "fallback", "disabled"]
    bulletin: Bulletin | None
    recall: Bundle | None
    findings: Findings | None
    degraded: f.Degraded


RECALL: Final = Operation(
    "graph_recall", "POST", "/v1/graph/recall", "Recall memories of an orchestrator", Recall, Bundle,
    tag=TAG, text="any", reads=True, errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
CONTEXT: Final = Operation(
    "graph_context", "POST", "/v1/graph/context", "Get the context of a message, a step or an investigation", Context,
    ContextAnswer, tag=TAG, text="any", errors=(NotFound, ScopeDenied),
)  # fmt: skip

FINDING: Final = (RECALL, CONTEXT)
