"""The fields that requests and responses share: their types and bounds, and what they mean."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from elf.api.bodies import GivenIdentifier, NulDropped, Request, Response
from elf.api.seen_text import SEEN, seen
from elf.memory import model as m

TRACE_EXAMPLE: Final = "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20"

TenantIdGiven = Annotated[
    GivenIdentifier,
    Field(
        description="The organisation or application the memory belongs to. Tenants never see each other's.",
        examples=["acme"],
    ),
]
UserIdGiven = Annotated[
    GivenIdentifier,
    Field(description="The user it is about. Left out, the caller's own user.", examples=["ana"]),
]
AgentIdGiven = Annotated[
    GivenIdentifier,
    Field(description="The agent at work: what is its own is looked at, too.", examples=["planner"]),
]
ProjectIdGiven = Annotated[
    GivenIdentifier,
    Field(
        description="The project whose notes are looked at. Left out, that of the user's name.",
        examples=["website"],
    ),
]
FamilyName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="The name of a family.", examples=["notes"])
]
Kind = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="What sort of item it is in its family: note, fact, rule, episode, entry, conversation, memory; of "
        "the graph it is the name of the orchestrator.",
        examples=["note"],
    ),
]
ItemId = Annotated[
    str,
    Field(min_length=1, max_length=128, pattern=r"^[^/\x00-\x1f\x7f]+$",
          description="The id of an item in its family; of a conversation also the user's name for it.",
          examples=["0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001"]),
]  # fmt: skip
QueryText = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_QUERY_CHARS, description="What to look for, in words of any language.",
          examples=["what does Ana drink in the morning?"], json_schema_extra=SEEN),
    AfterValidator(seen),
    NulDropped(),
]  # fmt: skip


class AboutSomebody(Request):
    """A request about what is known of somebody."""

    tenant_id: TenantIdGiven
    user_id: UserIdGiven | None = None
    agent_id: AgentIdGiven | None = None
    project_id: ProjectIdGiven | None = None


class Item(Response):
    """Something that a family keeps."""

    family: str
    kind: str
    id: str
    text: str
    provenance: list[str] = Field(
        description='What it rests on, as "kind:id": messages, entries, episodes, files.'
    )
    at: datetime | None = Field(description="When it was said, or last changed; null where nobody knows.")
    states: list[str] = Field(
        description='What makes it less than it seems: "fading", "contradicted", "superseded_by:<id>".'
    )
    agent_id: str | None = Field(
        default=None, description="The agent that it is of; null where it is of none."
    )
    conversation: str | None = Field(
        default=None, description="The name of the conversation that it was said in; null where nobody knows."
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="What its writer gave with it, such as with `add` of Memory."
    )
