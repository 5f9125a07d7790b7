"""Recalling what is known, over all families: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import WHOLE, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.memory.api import fields as f
from elf.memory.api.asking import AskMemory

TAG: Final = "memory"


class RecallMemory(AskMemory):
    """What one needs to know of somebody, as items."""

    budget_tokens: (
        Annotated[
            int,
            Field(ge=16, le=100_000, description="How many tokens the texts have at most, in all."),
            WHOLE,
        ]
        | None
    ) = None
    explain: Annotated[bool, Field(description="Tell also what was left out, and why.")] = False


class AlsoItem(Response):
    """An item that says the same as one of the answer."""

    family: str
    kind: str
    id: str
    provenance: list[str]


class RecalledItem(f.Item):
    """An item of the answer."""

    score: float = Field(description="By what it is ranked: the sum of its terms.")
    terms: dict[str, float] = Field(
        description="answer: how well it answers the query among all that was compared, 0 to 1; family: how early its "
        "own family names it."
    )
    relevance: float | None = Field(
        description="How much it has to do with the query: 1 for the query's own words, some .3 for nothing in common; "
        "null where it was not compared."
    )
    also: list[AlsoItem] = Field(description="Others that say the same.")


class LeftOut(Response):
    """A candidate that is not in the answer."""

    family: str
    kind: str
    id: str
    reason: str = Field(
        description="NOT_COMPARED: there were too many; SAME_AS_ANOTHER; BELOW_MIN_RELEVANCE; BELOW_TOP_K; "
        "BEYOND_BUDGET."
    )
    score: float | None
    relevance: float | None


class RecallAnswer(Response):
    """What is known that answers a query, best first."""

    trace_id: UUID = Field(
        description="By which the answer can be explained later.", examples=[f.TRACE_EXAMPLE]
    )
    items: list[RecalledItem]
    tokens: int = Field(description="How many tokens the texts have.")
    degraded: list[str] = Field(
        description='What was away or too slow: names of families, "embedding", "rerank", "trace" (it cannot be '
        "explained later); empty when nothing was."
    )
    skipped: dict[str, str] = Field(
        description="Families that do not take the query, and why, such as NON_ENGLISH_INPUT."
    )
    left_out: list[LeftOut] | None = Field(description="Where it was asked for.")


class ExplainRecall(f.AboutSomebody):
    """Why an answer was as it was."""

    trace_id: Annotated[
        UUID, Field(strict=False, description="That of the answer.", examples=[f.TRACE_EXAMPLE])
    ]


class TracedItem(Response):
    """An item of an answer, without its text."""

    family: str
    kind: str
    id: str
    score: float
    terms: dict[str, float]
    relevance: float | None
    also: list[AlsoItem]


class RecallTrace(Response):
    """What an answer was made of. Texts are read by their addresses: they may have changed."""

    trace_id: UUID
    query: str = Field(description="With credentials blanked.")
    at: datetime
    families: list[str] = Field(description="Those that were asked.")
    items: list[TracedItem]
    left_out: list[LeftOut]
    degraded: list[str]
    skipped: dict[str, str]
    milliseconds: dict[str, float] = Field(description="How long each stage took.")
    more: dict[str, int] = Field(
        default_factory=dict,  # in none that was kept before there were bounds
        description="Of items and left_out, how many more there were: a trace has 8 KiB at most. Of also, three.",
    )


RECALL: Final = Operation(
    "recall_memories", "POST", "/v1/recall", "Recall what is known, over all families", RecallMemory, RecallAnswer,
    tag=TAG, text="any", reads=True, errors=(ScopeDenied,),
)  # fmt: skip
EXPLAIN: Final = Operation(
    "explain_recall", "GET", "/v1/recall/{trace_id}", "Explain an answer of recall", ExplainRecall, RecallTrace,
    tag=TAG, errors=(NotFound, ScopeDenied),
)  # fmt: skip
