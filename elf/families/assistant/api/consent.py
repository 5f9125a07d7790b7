"""What a user agreed to be known by, and what waits for a decision: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound, ScopeDenied
from elf.families.assistant.api import fields as f
from elf.families.assistant.api.memories import Quote
from elf.families.assistant.rules.user_context import ContextField

TAG: Final = "assistant: consent"

ProposalState = Literal["pending", "approved", "rejected", "expired", "superseded"]
Choice = Literal["approve", "reject"]
ProposalId = Annotated[UUID, Field(description="The id of a proposal.", examples=[f.EXAMPLE])]


class ReadUserContext(f.OfUser):
    """Whose."""


class UserContext(Response):
    """What a user is known by; null is what nobody knows, or agreed to."""

    preferred_name: str | None = None
    pronouns: str | None = None
    city: str | None = None
    language: str | None = None
    tone: str | None = None
    goals: list[str] = Field(default_factory=list)


class ListProposals(f.OfUser):
    """Which proposals, newest first."""

    state: ProposalState | None = None
    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class Proposal(Response):
    """A value that a field gets if the user agrees."""

    proposal_id: ProposalId
    field: ContextField
    value: str
    state: ProposalState
    thread_id: str | None
    evidence: list[Quote]
    created_at: f.Moment
    expires_at: f.Moment = Field(description="Until when it can be decided.")
    decided_at: f.Moment | None
    decided_by: str | None


class Proposals(Response):
    items: list[Proposal]
    next_cursor: f.NextCursor


class DecideProposal(f.OfUser):
    """What a user decided about a proposal."""

    proposal_id: ProposalId
    decision: Choice


CONTEXT: Final = Operation(
    "assistant_user_context", "GET", "/v1/assistant/user_context", "Read what a user agreed to be known by",
    ReadUserContext, UserContext, tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip
LIST: Final = Operation(
    "assistant_proposals", "GET", "/v1/assistant/proposals", "List what waits for a user's decision",
    ListProposals, Proposals, tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip
DECIDE: Final = Operation(
    "decide_assistant_proposal", "POST", "/v1/assistant/proposals/{proposal_id}/decision",
    "Decide about a proposal as the user did", DecideProposal, Proposal, tag=TAG, text="any",
    errors=(NotFound, ScopeDenied, Conflict),
)  # fmt: skip

CONSENT: Final[tuple[Operation, ...]] = (CONTEXT, LIST, DECIDE)
