"""What operators ask of all conversations of their tenant: requests, answers and operations."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal
from uuid import UUID

from annotated_types import Le
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from elf.api.audit import DataSubject
from elf.api.bodies import WHOLE, Request, Response
from elf.api.caller import DEFAULT_TENANT, Caller
from elf.api.moment import moments
from elf.api.operation import Operation, Watchable
from elf.core.errors import Conflict, Forbidden, NotFound, ServiceError, Unavailable
from elf.families.conversations.api import conversations as c
from elf.families.conversations.api import entries as e
from elf.families.conversations.api import fields as f
from elf.families.conversations.api import search as s
from elf.families.conversations.audit import AdminAudit
from elf.families.conversations.errors import STYLE
from elf.families.conversations.rules.duration import parsed_duration

TAG: Final = "conversations admin"
ROOT: Final = "/v1/admin/conversations"
ONE: Final = f"{ROOT}/{{conversationId}}"
EVICT_PATH: Final = "/v1/admin/evict"
AUDITOR: Final = "auditor"
ADMIN: Final = "admin"

_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_NO_MOMENT: Final = "should be a moment of ISO 8601, such as 2026-01-31T09:30:00Z"


def _duration(text: str) -> str:
    parsed_duration(text)
    return text


Limit = Annotated[int, Field(ge=1, description="How many at most."), f.bound("admin_limit", Le)]
Moment = Annotated[
    datetime,
    BeforeValidator(moments(_MOMENT, _NO_MOMENT)),
    Field(description="A moment; without an offset it is in UTC."),
]
Duration = Annotated[
    str,
    Field(
        min_length=2, max_length=64, description="A duration of ISO 8601, such as P90D; a month has 30 days."
    ),
    AfterValidator(_duration),
]


class Justified(Request):
    """Why an operator asks."""

    justification: (
        Annotated[str, Field(max_length=1000, description="Why this is done; kept in the log.")] | None
    ) = None


class AnyConversations(Justified, f.Paged):
    """Which of all conversations."""

    mode: Literal["all", "roots", "latest-fork"] = Field(
        default="latest-fork", description="Of each tree all, the root, or the one that was changed last."
    )
    userId: Annotated[f.UserId, Field(description="Whose they are.")] | None = None
    includeDeleted: bool = Field(default=False, description="Those that are deleted, too.")
    onlyDeleted: bool = Field(default=False, description="Those that are deleted, and no others.")
    deletedAfter: Annotated[Moment, Field(description="Those deleted at this moment or later.")] | None = None
    deletedBefore: Annotated[Moment, Field(description="Those deleted before this moment.")] | None = None
    limit: Limit = 100


class AnyConversation(f.OneConversation, Justified):
    """Which conversation, of whomever."""


class ReadConversation(AnyConversation):
    """Which conversation, of whomever, deleted or not."""

    includeDeleted: bool = Field(default=True, description="Without effect: deleted ones are shown, too.")


class AnyEntries(AnyConversation, f.Paged):
    """Which entries of a conversation: of every client and every epoch."""

    channel: f.Channel | None = None
    limit: Limit = 50
    forks: Literal["none", "all"] = Field(
        default="none", description="all: of every conversation of the tree, whatever this one shows."
    )


class SearchEverything(Justified, s.SearchConversations):
    """What is looked for, and how, whoever is a member of it."""

    userId: Annotated[f.UserId, Field(description="Whose conversations.")] | None = None
    includeDeleted: bool = Field(default=False, description="Deleted ones, too.")
    limit: Annotated[Limit, WHOLE] = 20


class Evict(Justified):
    """How long ago something was deleted that is to vanish."""

    retentionPeriod: Duration
    resourceTypes: Annotated[list[Literal["conversations"]], Field(min_length=1, max_length=10)]


class Erase(Justified):
    """Whose everything is erased. All of a tenant is the operator's own, and named all the same."""

    what: Annotated[
        Literal["user", "agent", "tenant"], Field(description="What is named: an agent is a client.")
    ]
    name: f.UserId


class AdminSummary(c.ConversationSummary):
    """A conversation in a list of operators. What it does not have is left out."""

    deletedAt: datetime | None = None


class AdminConversation(c.Conversation):
    """A conversation as operators see it. What it does not have is left out."""

    deletedAt: datetime | None = None


class AdminConversationPage(f.Page):
    """Conversations, changed last first. `nextCursor` is null at the end."""

    data: list[AdminSummary]
    nextCursor: UUID | None


class AdminEntry(e.Entry):
    """An entry as operators see it. What it does not have is left out."""

    clientId: str | None = None


class AdminEntryPage(f.Page):
    """Entries in their order. `nextCursor` is null at the end."""

    data: list[AdminEntry]
    nextCursor: UUID | None


class EvictionProgress(Response):
    """How much of what is to vanish has vanished, in percent."""

    progress: int = Field(ge=0, le=100)


class Erased(Response):
    """How much of each kind was erased; a kind of which there was nothing is left out."""

    erased: dict[str, int]


def period_of(request: Evict) -> timedelta:
    """Return how long ago something was deleted that is to vanish."""
    return parsed_duration(request.retentionPeriod)


def _who_is_erased(request: Erase, caller: Caller) -> DataSubject | None:
    if request.what == "tenant":
        return None  # the tenant has more than this family keeps
    return DataSubject(caller.bound.get("tenant_id", DEFAULT_TENANT), request.what, request.name)


def _operation(
    action: str,
    name: str,
    call: str,
    summary: str,
    request: type[BaseModel],
    response: type[BaseModel] | None,
    *errors: type[ServiceError],
) -> Operation:
    method, path = call.split(" ")
    return Operation(
        name, method, path, summary, request, response, tag=TAG, errors=errors, text="any",  # type: ignore[arg-type]
        status=200 if response is not None else 204, role=AUDITOR if method == "GET" else ADMIN, needs_user=True,
        takes_body=method == "DELETE", error_style=STYLE, audit=AdminAudit(action), is_audited=True,
    )  # fmt: skip


LIST: Final = _operation(
    "listConversations", "admin_list_conversations", f"GET {ROOT}", "List conversations of whomever",
    AnyConversations, AdminConversationPage,
)  # fmt: skip
GET: Final = _operation(
    "getConversation", "admin_get_conversation", f"GET {ONE}", "Read a conversation of whomever",
    ReadConversation, AdminConversation, NotFound,
)  # fmt: skip
DELETE: Final = _operation(
    "deleteConversation", "admin_delete_conversation", f"DELETE {ONE}", "Delete the whole tree of a conversation",
    AnyConversation, None, NotFound,
)  # fmt: skip
RESTORE: Final = Operation(
    "admin_restore_conversation", "POST", f"{ONE}/restore", "Bring the deleted tree of a conversation back",
    AnyConversation, AdminConversation, tag=TAG, errors=(NotFound, Conflict), text="any", role=ADMIN, needs_user=True,
    error_style=STYLE, audit=AdminAudit("restoreConversation"), is_audited=True,
)  # fmt: skip
ENTRIES: Final = _operation(
    "getEntries", "admin_list_entries", f"GET {ONE}/entries", "List the entries of a conversation of whomever",
    AnyEntries, AdminEntryPage, NotFound,
)  # fmt: skip
MEMBERSHIPS: Final = _operation(
    "getMemberships", "admin_list_memberships", f"GET {ONE}/memberships", "List the members of a conversation",
    AnyConversation, c.Memberships, NotFound,
)  # fmt: skip
FORKS: Final = _operation(
    "listForks", "admin_list_forks", f"GET {ONE}/forks", "List the conversations of a tree", AnyConversation, c.Forks,
    NotFound,
)  # fmt: skip
SEARCH: Final = Operation(
    "admin_search_conversations", "POST", f"{ROOT}/search", "Search conversations of whomever", SearchEverything,
    s.SearchPage, tag=TAG, errors=(Unavailable,), text="any", role=AUDITOR, needs_user=True, reads=True,
    query=("justification",), error_style=STYLE, audit=AdminAudit("searchConversations"), is_audited=True,
)  # fmt: skip
EVICT: Final = Watchable(
    "admin_evict", "POST", EVICT_PATH, "Remove for good what was deleted long ago", Evict, None, tag=TAG, text="any",
    status=204, role=ADMIN, needs_user=True, error_style=STYLE, audit=AdminAudit("evict"), is_audited=True,
    event=EvictionProgress,
)  # fmt: skip
ERASE: Final = Operation(
    "admin_erase_conversations", "POST", f"{ROOT}/erase", "Erase all of a user, an agent or the tenant for good", Erase,
    Erased, tag=TAG, errors=(Conflict, Forbidden), text="any", role=ADMIN, needs_user=True, error_style=STYLE,
    audit=AdminAudit("erase"), is_audited=True, counted=("erased",), erases=_who_is_erased,
)  # fmt: skip

ADMINISTRATION: Final = (LIST, GET, DELETE, RESTORE, ENTRIES, MEMBERSHIPS, FORKS, SEARCH, EVICT, ERASE)
