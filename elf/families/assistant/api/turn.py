"""Taking in a turn of a conversation: request, answer and operation."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from elf.api.bodies import NulDropped, Request, Response
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound, ScopeDenied
from elf.families.assistant import model as m
from elf.families.assistant.api import fields as f
from elf.families.assistant.api.consent import Choice, ProposalId

TAG: Final = "assistant: turns"
MAX_MESSAGES: Final = 64
MAX_MESSAGE_CHARS: Final = 16_384

Result = Literal["ADD", "UPDATE", "RECREATE", "NONE", "REJECTED", "PROPOSED", "DEFERRED"]


class Message(Request):
    """What somebody said in a turn."""

    role: f.RoleGiven
    content: Annotated[
        str, Field(max_length=MAX_MESSAGE_CHARS), AfterValidator(lambda text: text.replace("\x00", "")), NulDropped()
    ]  # fmt: skip
    actor_id: f.ActorIdGiven | None = None


class Acknowledgement(Request):
    """What a user decided about a proposal, in words that stand in a message of the user's in this turn."""

    proposal_id: ProposalId
    decision: Choice
    quote: Annotated[str, Field(min_length=1, max_length=m.MAX_QUOTE_CHARS)]


class TakeTurn(f.OfUser):
    """A turn of a thread: what was said since the one before."""

    thread_id: f.ThreadIdGiven
    turn_id: Annotated[
        f.ThreadIdGiven,
        Field(description="Makes a repeat harmless: the same turn again has the same answer."),
    ]
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    acknowledgements: Annotated[list[Acknowledgement], Field(max_length=16)] = Field(default_factory=list)
    agent_id: f.AgentIdGiven | None = None
    run_id: f.RunIdGiven | None = None


class TurnResult(Response):
    """What became of something that was said.

    ADD: kept as new; UPDATE: what was known has another value; RECREATE: one with what was known, under a new id; NONE:
    known; REJECTED: not kept, and why; PROPOSED: what the user is known by changes if the user agrees; DEFERRED: a
    language model reads the turn after this answer, and the same turn again tells what came of it by then.
    """

    result: Result
    memory_id: UUID | None
    proposal_id: UUID | None
    category: str | None = Field(description="Null where it was not said, or the turn is not read yet.")
    type: m.MemoryType
    text: str | None = Field(description="What the memory says, or is proposed; null where there is none.")
    reason_code: str | None = Field(description="Why it was rejected, or SIMILARITY_UNCHECKED.")
    similar_to: UUID | None = Field(
        description="A memory that it is very like, and not known to be one with."
    )
    contradicts: list[UUID] = Field(description="Memories that it cannot both be so with; all stay.")
    sim: float | None = Field(description="The cosine to the memory that it was compared with first.")


class TurnTaken(Response):
    """What became of all that a turn told, in the order in which it was said."""

    thread_id: str
    turn_id: str
    repeated: bool = Field(description="Whether the turn was taken in before; nothing is done twice.")
    results: list[TurnResult]
    degraded: f.Degraded


TAKE: Final = Operation(
    "assistant_turn", "POST", "/v1/assistant/turn", "Take in a turn of a conversation", TakeTurn, TurnTaken,
    tag=TAG, text="any", errors=(ScopeDenied, Conflict, NotFound),
)  # fmt: skip
TURN: Final[tuple[Operation, ...]] = (TAKE,)
