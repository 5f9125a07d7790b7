"""Conversations, their forks, their members and their transfers: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from elf.api.bodies import Request, Response
from elf.api.json_bounds import USUAL, JsonBounds
from elf.api.operation import Operation
from elf.core.errors import Conflict, Forbidden, NotFound, ServiceError
from elf.families.conversations.api import fields as f
from elf.families.conversations.errors import STYLE
from elf.families.conversations.model import AccessLevel

TAG: Final = "conversations"
ONE: Final = "/v1/conversations/{conversationId}"


class NoParameters(Request):
    """Nothing is asked for beyond."""


class ListConversations(f.Paged):
    """Which of one's conversations."""

    mode: Literal["all", "roots", "latest-fork"] = Field(
        default="latest-fork", description="Of each tree all, the root, or the one that was changed last."
    )
    limit: f.Limit = 20
    query: (
        Annotated[
            str,
            f.bound("query_chars"),
            Field(description="Part of the title or of a text in the metadata."),
        ]
        | None
    ) = None


class CreateConversation(Request):
    """How a conversation begins."""

    id: UUID | None = Field(
        default=None,
        description="The id to create it under: a 409 if a conversation has it, deleted ones included.",
    )
    title: f.Title | None = None
    metadata: f.Metadata = Field(default_factory=dict)


class ChangeConversation(f.OneConversation):
    """Its title, null for none; one that is left out stays."""

    title: f.Title | None = None


class PatchConversation(ChangeConversation):
    """Its title, null for none."""

    title: f.Title | None


class ForkEntry(f.OneConversation):
    """At which entry, and what the fork is called: as the conversation where that is left out."""

    entryId: UUID
    title: f.Title | None = None


class ListForks(f.OneConversation, f.Paged):
    """Of which conversation."""

    limit: f.Limit = f.STANDARD.limit


class Share(f.OneConversation):
    """With whom, and what they may do."""

    userId: f.UserId
    accessLevel: f.SharedLevel


class OneMembership(f.OneConversation):
    """Whose membership."""

    userId: f.UserId


class ListTransfers(Request):
    """Which of one's transfers."""

    role: Literal["all", "sender", "recipient"] = "all"
    after: f.OpaqueAfter | None = None
    afterCursor: f.OpaqueAfter | None = None
    limit: f.Limit = f.STANDARD.limit


class CreateTransfer(Request):
    """Which tree is to be whose."""

    conversationId: UUID
    newOwnerUserId: f.UserId


class OneTransfer(Request):
    """Which transfer."""

    transferId: UUID


class Health(Response):
    """It runs."""

    status: Literal["ok"]


class ConversationSummary(Response):
    """A conversation in a list. What it does not have is left out."""

    id: UUID
    title: str | None = None
    ownerUserId: str
    createdAt: datetime
    updatedAt: datetime
    lastMessagePreview: str | None = None
    accessLevel: AccessLevel


class Conversation(ConversationSummary):
    """A conversation. What it does not have is left out."""

    forkedAtEntryId: UUID | None = None
    forkedAtConversationId: UUID | None = None


class ConversationPage(f.Page):
    """Conversations, changed last first. `nextCursor` is null at the end."""

    data: list[ConversationSummary]
    nextCursor: UUID | None


class ForkSummary(Response):
    """A conversation of a tree. What it does not have is left out."""

    conversationId: UUID
    forkedAtEntryId: UUID | None = None
    forkedAtConversationId: UUID | None = None
    title: str | None = None
    createdAt: datetime


class Forks(Response):
    """All conversations of a tree, the root first."""

    data: list[ForkSummary]


class ForkPage(f.Page):
    """Conversations of a tree, the root first. `nextCursor` is null at the end."""

    data: list[ForkSummary]
    nextCursor: UUID | None


class Membership(Response):
    """What a user may do in a tree."""

    conversationId: UUID
    userId: str
    accessLevel: AccessLevel
    createdAt: datetime


class Memberships(Response):
    """The members of a tree."""

    data: list[Membership]


class Transfer(Response):
    """A tree that is to be another's."""

    id: UUID
    conversationId: UUID
    conversationTitle: str | None = None
    fromUserId: str
    toUserId: str
    createdAt: datetime


class Transfers(f.Page):
    """Transfers in which one takes part, oldest first. `nextCursor` is null at the end."""

    data: list[Transfer]
    nextCursor: str | None


def _operation(
    name: str,
    call: str,
    summary: str,
    request: type[BaseModel],
    response: type[BaseModel] | None,
    *errors: type[ServiceError],
    status: Literal[200, 201, 204] = 200,
    json_bounds: JsonBounds = USUAL,
) -> Operation:
    method, path = call.split(" ")
    return Operation(
        name, method, path, summary, request, response, tag=TAG, errors=errors, text="any",  # type: ignore[arg-type]
        status=status, needs_user=True, error_style=STYLE, json_bounds=json_bounds,
    )  # fmt: skip


HEALTH: Final = Operation(
    "conversations_health", "GET", "/v1/health", "Say that it runs", NoParameters, Health,
    tag=TAG, text="any", is_open=True, error_style=STYLE,
)  # fmt: skip
LIST: Final = _operation(
    "list_conversations", "GET /v1/conversations", "List conversations", ListConversations, ConversationPage
)
CREATE: Final = _operation(
    "create_conversation",
    "POST /v1/conversations",
    "Begin a conversation",
    CreateConversation,
    Conversation,
    Conflict,
    status=201,
    json_bounds=f.metadata_of(f.STANDARD),
)
GET: Final = _operation(
    "get_conversation",
    f"GET {ONE}",
    "Read a conversation",
    f.OneConversation,
    Conversation,
    Forbidden,
    NotFound,
)
PATCH: Final = _operation(
    "update_conversation", f"PATCH {ONE}", "Rename it", PatchConversation, Conversation, Forbidden, NotFound
)
DELETE: Final = _operation(
    "delete_conversation", f"DELETE {ONE}", "Delete its whole tree", f.OneConversation, None, Forbidden, NotFound,
    status=204,
)  # fmt: skip
FORK: Final = _operation(
    "fork_conversation", f"POST {ONE}/entries/{{entryId}}/fork", "Fork it at an entry", ForkEntry, Conversation,
    Forbidden, NotFound, status=201,
)  # fmt: skip
FORKS: Final = _operation(
    "list_forks",
    f"GET {ONE}/forks",
    "List the conversations of its tree",
    ListForks,
    ForkPage,
    Forbidden,
    NotFound,
)
MEMBERSHIPS: Final = _operation(
    "list_memberships",
    f"GET {ONE}/memberships",
    "List its members",
    f.OneConversation,
    Memberships,
    Forbidden,
    NotFound,
)
SHARE: Final = _operation(
    "share_conversation",
    f"POST {ONE}/memberships",
    "Share it",
    Share,
    Membership,
    Forbidden,
    NotFound,
    status=201,
)
CHANGE_MEMBERSHIP: Final = _operation(
    "update_membership", f"PATCH {ONE}/memberships/{{userId}}", "Change what a member may", Share, Membership,
    Forbidden, NotFound,
)  # fmt: skip
REMOVE_MEMBERSHIP: Final = _operation(
    "delete_membership", f"DELETE {ONE}/memberships/{{userId}}", "Take it from a member, or go oneself", OneMembership,
    None, Forbidden, NotFound, status=204,
)  # fmt: skip
TRANSFERS: Final = _operation(
    "list_transfers", "GET /v1/ownership-transfers", "List one's transfers", ListTransfers, Transfers
)
TRANSFER: Final = _operation(
    "create_transfer", "POST /v1/ownership-transfers", "Ask a member to own a conversation", CreateTransfer, Transfer,
    Forbidden, NotFound, Conflict, status=201,
)  # fmt: skip
GET_TRANSFER: Final = _operation(
    "get_transfer",
    "GET /v1/ownership-transfers/{transferId}",
    "Read a transfer",
    OneTransfer,
    Transfer,
    NotFound,
)
END_TRANSFER: Final = _operation(
    "delete_transfer", "DELETE /v1/ownership-transfers/{transferId}", "Cancel or reject a transfer", OneTransfer, None,
    Forbidden, NotFound, status=204,
)  # fmt: skip
ACCEPT_TRANSFER: Final = _operation(
    "accept_transfer", "POST /v1/ownership-transfers/{transferId}/accept", "Take a conversation over", OneTransfer,
    None, Forbidden, NotFound, status=204,
)  # fmt: skip

CONVERSATIONS: Final = (
    HEALTH, LIST, CREATE, GET, PATCH, DELETE, FORK, FORKS, MEMBERSHIPS, SHARE, CHANGE_MEMBERSHIP, REMOVE_MEMBERSHIP,
    TRANSFERS, TRANSFER, GET_TRANSFER, END_TRANSFER, ACCEPT_TRANSFER,
)  # fmt: skip
