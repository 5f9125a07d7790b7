"""What operators can ask of the audit log, as data."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.moment import MomentOrDate
from elf.api.operation import Operation
from elf.core.errors import ScopeDenied
from elf.identity.roles import AUDITOR

MAX_PAGE: Final = 200
MAX_NAME_CHARS: Final = 256

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]


class ListAudit(Request):
    """Which calls; each filter may be left out."""

    tenant_id: (
        Annotated[Name, Field(description="Only calls of this tenant. Left out: of all.", examples=["acme"])]
        | None
    ) = None
    caller: (
        Annotated[Name, Field(description="Only calls of this user, or of this client.", examples=["ana"])]
        | None
    ) = None
    operation: (
        Annotated[
            str,
            Field(
                pattern=r"^[a-z][a-z0-9_]{0,63}$",
                description="Only calls of this operation, by its name.",
                examples=["export_memory"],
            ),
        ]
        | None
    ) = None
    subject: (
        Annotated[
            Name,
            Field(
                description="Only calls about this user, agent, conversation or other id.", examples=["ana"]
            ),
        ]
        | None
    ) = None
    since: Annotated[MomentOrDate, Field(description="Only calls from this moment on.")] | None = None
    until: Annotated[MomentOrDate, Field(description="Only calls before this moment.")] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many at most, 1 to 200.")] = 50
    cursor: (
        Annotated[str, Field(min_length=1, max_length=512, description="Where the page before ended.")] | None
    ) = None


class AuditedCallItem(Response):
    """One call: the caller, the operation, the subject and the outcome; never a text."""

    call_id: UUID = Field(description="The id of the row.")
    called_at: datetime = Field(description="When the call came.")
    ended_at: datetime | None = Field(description="When it ended; null while it has not.")
    request_id: UUID = Field(description="The X-Request-Id of the call.")
    operation: str = Field(description="The name of the operation, as the document of the API has it.")
    user: str | None = Field(description="The user who called; null where nobody proved it.")
    client: str | None = Field(description="The client that called: the name of its key.")
    role: str | None = Field(description="The caller's role: user, indexer, auditor or admin.")
    tenant_id: str | None = Field(
        description="The tenant that the caller is bound to, or that the request names."
    )
    subject: dict[str, str | list[str]] = Field(
        description="The ids that the request names, by field. Of an erased user, a keyed hash as in the receipt."
    )
    outcome: str = Field(
        description="done, left (the client broke it off), an error code; begun: it goes on, or the service was killed."
    )
    status: int | None = Field(description="The HTTP status; null without an answer.")
    items: int | None = Field(
        description="How many items the answer has, or how many were changed; null where they are not counted."
    )


class AuditedCalls(Response):
    """A page of calls, newest first."""

    items: list[AuditedCallItem] = Field(description="The calls of this page.")
    next_cursor: str | None = Field(description="Continues the listing; null on the last page.")


LIST_AUDIT: Final = Operation(
    "list_audit", "GET", "/v1/admin/audit", "List who called which operation of the admin server", ListAudit,
    AuditedCalls, tag="audit", text="any", errors=(ScopeDenied,), role=AUDITOR, spans_tenants=True,
)  # fmt: skip
