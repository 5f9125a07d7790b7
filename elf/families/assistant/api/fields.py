"""The fields that requests and responses of the assistant share: their types and bounds, and what they mean."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, Field

from elf.api.bodies import WHOLE, GivenIdentifier, Identifier, NulDropped, Request, no_credential
from elf.api.moment import MomentGiven as MomentGiven
from elf.api.seen_text import SEEN as SEEN
from elf.api.seen_text import seen as seen
from elf.core.blank_text import NOT_BLANK
from elf.families.assistant import model as m

MAX_PAGE: Final = 200
MAX_CURSOR_CHARS: Final = 512
EXAMPLE: Final = "5b0a6c1e-7a4f-4a55-9a0e-2d1f7c3b8e10"


def _tag(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must hold no NUL")
    return text.strip()


def _each_once(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


# Whose it is

_TENANT = "The organisation or application the memory belongs to. Tenants never see each other's."
TenantId = Annotated[Identifier, Field(description=_TENANT, examples=["acme"])]
TenantIdGiven = Annotated[GivenIdentifier, Field(description=_TENANT, examples=["acme"])]
_USER = "Whose memory it is: the user that the assistant speaks with."
UserId = Annotated[str, Field(description=_USER, examples=["ana"])]
UserIdGiven = Annotated[
    GivenIdentifier, Field(description=f"{_USER} Left out, the caller's own user.", examples=["ana"])
]
AgentIdGiven = Annotated[GivenIdentifier, Field(description="The agent at work.", examples=["planner"])]
RunIdGiven = Annotated[GivenIdentifier, Field(description="The run of the agent.")]
ActorIdGiven = Annotated[GivenIdentifier, Field(description="Who said it, among several.")]
ThreadIdGiven = Annotated[
    GivenIdentifier, Field(description="The thread of the conversation.", examples=["t-1"])
]
RoleGiven = Annotated[m.Role, Field(description="Who said it: user, assistant or tool.")]

# What is kept

MemoryId = Annotated[UUID, Field(description="The id of a memory.", examples=[EXAMPLE])]
MemoryTypeField = Annotated[
    m.MemoryType,
    Field(
        description="semantic: a lasting fact; episodic: what was discussed or done; insight; procedural: how to."
    ),
]
CategoryGiven = Annotated[
    Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")],
    Field(
        description="What it is about, such as preferences: letters, digits, dots, _ and -.",
        examples=["goals"],
    ),
]
TextGiven = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_TEXT_CHARS, description="What is remembered, in a sentence or two.",
          examples=["User prefers tea."], json_schema_extra=SEEN),
    AfterValidator(seen),
    NulDropped(),
]  # fmt: skip
StepsGiven = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_STEPS_CHARS, description="How it is done, a line for each step.",
          json_schema_extra=SEEN),
    AfterValidator(seen),
    NulDropped(),
]  # fmt: skip
Tag = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_TAG_CHARS, pattern=NOT_BLANK),
    AfterValidator(_tag),
    AfterValidator(no_credential),
]
TagsGiven = Annotated[
    list[Tag], Field(max_length=m.MAX_TAGS, description="Words to sort it by.", examples=[["food"]]),
    AfterValidator(_each_once),
]  # fmt: skip
Importance = Annotated[
    int, Field(ge=1, le=5, description="How much it matters, 1 to 5.", examples=[2]), WHOLE
]
ImportanceBound = Annotated[int, Field(ge=1, le=5, description="1 to 5, this one among them.")]
Pinned = Annotated[bool, Field(description="Whether it stays however long nobody asks for it.")]


class QuoteGiven(Request):
    """Words that a memory is drawn from."""

    quote: Annotated[
        str, Field(min_length=1, max_length=m.MAX_QUOTE_CHARS), AfterValidator(seen), NulDropped()
    ]
    role: RoleGiven | None = None
    turn_id: GivenIdentifier | None = None


EvidenceGiven = Annotated[
    list[QuoteGiven], Field(max_length=m.MAX_QUOTES, description="The words that it is drawn from.")
]

# How it is listed

PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many at most, 1 to 200.", examples=[50])]
CursorGiven = Annotated[
    str,
    Field(
        max_length=MAX_CURSOR_CHARS, description="The next_cursor of the page before, in the same listing."
    ),
]
NextCursor = Annotated[
    str | None, Field(description="What to pass as cursor for the next page; null on the last one.")
]
Moment = Annotated[datetime, Field(description="UTC.")]
Degraded = Annotated[list[str], Field(description='What was away: "embedding"; empty when nothing was.')]


class OfUser(Request):
    """A request about the memory of one user."""

    tenant_id: TenantIdGiven
    user_id: UserIdGiven | None = None
