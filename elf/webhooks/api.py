"""What operators ask about webhooks: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import GivenIdentifier, Request, Response
from elf.api.operation import Operation
from elf.config.webhooks import WebhookEvent
from elf.core.errors import NotFound, ScopeDenied

TAG: Final = "webhooks"
ADMIN: Final = "/v1/admin/webhooks"
MAX_PAGE: Final = 200

TenantIdGiven = Annotated[
    GivenIdentifier, Field(description="Only what is of this tenant. Left out: of all.", examples=["acme"])
]
Name = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="The name of a webhook.", examples=["audit"])
]


class ListWebhooks(Request):
    """Of whom."""

    tenant_id: TenantIdGiven | None = None


class Webhook(Response):
    """Who is told, and how far that is. Where families, events or tenants are null, it is told of all."""

    name: str
    families: list[str] | None
    events: list[WebhookEvent] | None
    tenants: list[str] | None
    waiting: int = Field(description="How many events it has not taken yet.")
    waiting_since: datetime | None = Field(description="When the oldest of them came about.")
    dead_letters: int = Field(description="How many events were given up.")
    last_error: str | None = Field(description="Why it did not take one, the last time that it did not.")
    dropped: int = Field(description="How many events were dropped because too many waited, or for too long.")
    last_dropped_at: datetime | None = Field(description="When one was dropped last.")


class Webhooks(Response):
    items: list[Webhook]


class ListDeadLetters(Request):
    """Of which webhook, and of whom."""

    name: Name
    tenant_id: TenantIdGiven | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many at most, 1 to 200.")] = 50
    cursor: (
        Annotated[str, Field(min_length=1, max_length=512, description="Where the page before ended.")] | None
    ) = None


class DeadLetter(Response):
    """An event that a receiver never took."""

    event_id: UUID
    event: WebhookEvent
    family: str
    kind: str
    item_id: str
    tenant_id: str
    project_id: str | None
    agent_id: str | None
    user_id: str | None
    extra: dict[str, Any] = Field(description="What else names the item, or which other one contradicts it.")
    changed_at: datetime
    attempts: int
    last_error: str | None
    given_up_at: datetime


class DeadLetters(Response):
    items: list[DeadLetter]
    next_cursor: str | None = Field(description="Continues the listing; null on the last page.")


class Retry(Request):
    """Which events that were given up or put off are sent now: these, or all; of a tenant, or of all."""

    name: Name
    tenant_id: TenantIdGiven | None = None
    event_ids: (
        Annotated[
            list[Annotated[UUID, Field(strict=False)]],
            Field(min_length=1, max_length=1000, description="Only these events."),
        ]
        | None
    ) = None


class Retried(Response):
    retried: int = Field(description="How many are sent now.")


LIST: Final = Operation(
    "list_webhooks", "GET", ADMIN, "See who is told of changes, and what waits for them", ListWebhooks, Webhooks,
    tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip
DEAD_LETTERS: Final = Operation(
    "webhook_dead_letters", "GET", f"{ADMIN}/{{name}}/dead_letters", "List events that a receiver never took",
    ListDeadLetters, DeadLetters, tag=TAG, text="any", errors=(NotFound, ScopeDenied),
)  # fmt: skip
RETRY: Final = Operation(
    "retry_webhook", "POST", f"{ADMIN}/{{name}}/retry", "Send what a receiver did not take now", Retry,
    Retried, tag=TAG, text="any", errors=(NotFound, ScopeDenied), counted=("retried",),
)  # fmt: skip
ADMIN_OPERATIONS: Final = (LIST, DEAD_LETTERS, RETRY)
