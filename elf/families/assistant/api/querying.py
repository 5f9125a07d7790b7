"""Asking an assistant's memory: request, answer and operation."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, create_model

from elf.api.bodies import WHOLE, GivenIdentifier, NulDropped, Request, Response
from elf.api.moment import MomentOrDate
from elf.api.operation import Operation
from elf.core.errors import ScopeDenied
from elf.families.assistant import model as m
from elf.families.assistant.api import fields as f
from elf.families.assistant.api.memories import Memory

TAG: Final = "assistant: query"
PATH: Final = "/v1/assistant/memory/query"

Form = Literal["bullets", "full"]


class QueryFilters(Request):
    """Which memories may be in the answer; what is left out or null lets all through."""

    user_id: f.UserIdGiven | None = None
    agent_id: Annotated[GivenIdentifier, Field(description="The agent that it was kept by.")] | None = None
    run_id: f.RunIdGiven | None = None
    actor_id: f.ActorIdGiven | None = None
    role: f.RoleGiven | None = None
    category: Annotated[f.CategoryGiven, Field(description="One of the agent's categories.")] | None = None
    pinned: Annotated[bool, Field(description="Only what is pinned, or only what is not.")] | None = None
    importance_min: f.Importance | None = None
    importance_max: f.Importance | None = None
    updated_after: (
        Annotated[
            MomentOrDate, Field(description="Changed after this moment, or after a date begins, in UTC.")
        ]
        | None
    ) = None
    updated_before: (
        Annotated[
            MomentOrDate, Field(description="Changed before this moment, or before a date begins, in UTC.")
        ]
        | None
    ) = None


QueryText = Annotated[
    str,
    Field(min_length=1, max_length=2048, description="What to look for, in words of any language.",
          examples=["deployment plan context"], json_schema_extra=f.SEEN),
    AfterValidator(f.seen),
    NulDropped(),
]  # fmt: skip


class Asked(Request):
    """What an agent asks the memory of a user."""

    tenant_id: f.TenantIdGiven
    agent: (
        Annotated[
            GivenIdentifier,
            Field(description="The agent that asks, as allowlists have it.", examples=["planner"]),
        ]
        | None
    ) = None
    agent_id: (
        Annotated[
            GivenIdentifier, Field(description="The same as agent: what a key is bound to fills it in.")
        ]
        | None
    ) = None
    query: QueryText
    categories: (
        Annotated[
            list[f.CategoryGiven],
            Field(min_length=1, max_length=64, description="Left out: all of the agent's but procedural."),
        ]
        | None
    ) = None
    types: (
        Annotated[
            list[f.MemoryTypeField],
            Field(min_length=1, max_length=16, description="Left out: all but procedural."),
        ]
        | None
    ) = None
    filters: QueryFilters = QueryFilters()
    top_k: Annotated[int, Field(ge=1, le=50, description="How many items at most, 1 to 50."), WHOLE] = 3
    budget_tokens: Annotated[
        int, Field(ge=16, le=8192, description="How many tokens the texts of the answer have at most."), WHOLE
    ] = 512
    threshold: Annotated[float, Field(ge=-1.0, le=1.0, description="The least cosine of an item.")] | None = (
        None
    )
    thread_id: f.ThreadIdGiven | None = None
    since_rev: (
        Annotated[
            int,
            Field(ge=0, le=2**63 - 1, description="Tell the changes since this revision of the thread."),
            WHOLE,
        ]
        | None
    ) = None
    explain: Annotated[bool, Field(description="Tell what each score is the sum of.")] = False
    reason: (
        Annotated[
            Literal["recall"],
            Field(description="recall: the agent is not sure. At most 3 bullets of 512 tokens in all."),
        ]
        | None
    ) = None

    @property
    def form(self) -> Form:
        """The form of the items."""
        form: Form = getattr(self, "return")
        return form


# A field of this name cannot be written down in a class.
_RETURN: Final[dict[str, Any]] = {
    "return": (
        Annotated[Form, Field(description="bullets: a line each; full: memories with all that is known.")],
        "bullets",
    )
}
MemoryQuery: Final = create_model("MemoryQuery", __base__=Asked, __doc__=Asked.__doc__, **_RETURN)


class Bullet(Response):
    """A memory in a line."""

    id: f.MemoryId
    category: str
    text: str = Field(description="[category] and the text; of what is done step by step, also the steps.")


class FullMemory(Memory):
    """A memory with all that is known of it."""

    score: float | None = Field(description="By what it was ranked; null in context.")


class Related(Bullet):
    """A memory that is related to an item."""

    of: f.MemoryId = Field(description="The item.")
    relation_type: m.RelationType
    strength: float


class Explanation(Response):
    """What the score of an item is the sum of."""

    id: f.MemoryId
    score: float
    terms: dict[str, float]
    cosine: float | None
    words: float = Field(description="Which share of the words of the query it holds, 0 to 1.")


class Tokens(Response):
    """How many tokens the texts of the answer have, each with its line break."""

    budget: int
    used: int
    tokenizer: str = Field(description="Which tokenizer counts: that of the embedding model.")


class Delta(Response):
    """What changed since the thread was told last: of so many memories in all, the newest three."""

    since_rev: int
    rev: int = Field(description="The revision of the thread.")
    total: int
    text: str = Field(description="Lines that lead the answer; empty when nothing changed, or none fits.")


class QueryAnswer(Response):
    """What is known that helps with a query."""

    delta: Delta | None = Field(description="null where no thread is named.")
    items: list[Bullet] | list[FullMemory]
    context: list[Bullet] | list[FullMemory] = Field(
        description="Memories of categories that come whole, in half of the budget at most."
    )
    related: list[Related]
    tokens: Tokens
    warnings: list[str] = Field(
        description="RECALL_RATE: this agent looks things up in more than a tenth of the turns of the thread."
    )
    degraded: list[str] = Field(
        description='What was away: "embedding", so that words alone were compared; "threshold", which could not hold; '
        '"tracking", so that delta is null and the thread is told of changes another time.'
    )
    explanations: list[Explanation] | None = Field(description="One for each item, where it was asked for.")


QUERY: Final = Operation(
    "memory_query", "POST", PATH, "Ask the memory of a user", MemoryQuery, QueryAnswer,
    tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip

QUERYING: Final[tuple[Operation, ...]] = (QUERY,)
