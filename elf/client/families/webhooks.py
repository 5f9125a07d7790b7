"""The client of webhooks, for operators: who is told of changes, and what they never took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from elf.client.call import Call, Listing, filled, get, operators, post, reader
from elf.client.context import Given
from elf.client.family import C_co, FamilyClient
from elf.client.json_value import JsonObject
from elf.client.method import method
from elf.client.results import Page

ADMIN = "/v1/admin/webhooks"

Event = Literal["written", "changed", "forgotten", "contradicted"]
Name = Annotated[str, "the name of a webhook"]
AllTenants = Annotated[bool, "of all tenants, not only of your own"]


class Webhook(Struct, frozen=True, kw_only=True):
    """Who is told, and how far that is. Where families, events or tenants are None, it is told of all."""

    name: str
    families: list[str] | None
    events: list[Event] | None
    tenants: list[str] | None
    waiting: int
    waiting_since: datetime | None
    dead_letters: int
    last_error: str | None
    dropped: int
    last_dropped_at: datetime | None


class Webhooks(Struct, frozen=True):
    items: list[Webhook]


class DeadLetter(Struct, frozen=True, kw_only=True):
    """An event that a receiver never took. `extra` names the item further, or says which other one contradicts it."""

    event_id: UUID
    event: Event
    family: str
    kind: str
    item_id: str
    tenant_id: str
    project_id: str | None
    agent_id: str | None
    user_id: str | None
    extra: JsonObject
    changed_at: datetime
    attempts: int
    last_error: str | None
    given_up_at: datetime


class Retried(Struct, frozen=True):
    """How many events are sent now."""

    retried: int


class WebhooksClient(FamilyClient[C_co]):
    """Asks for operators, on the admin address."""

    name = "webhooks"
    about = "receivers that are told of changes, for operators"
    owned_by = ("tenant_id",)

    def _of(self, all_tenants: bool) -> dict[str, Given]:
        return {} if all_tenants else {**self.owner}

    @method
    def status(self, *, all_tenants: AllTenants = False) -> Call[Webhooks]:
        """For operators: see who is told of changes, and what waits for them."""
        return operators(get(ADMIN, self._of(all_tenants), reader(Webhooks)))

    @method
    def dead_letters(
        self,
        name: Name,
        *,
        all_tenants: AllTenants = False,
        limit: Annotated[int | None, "how many a page, 1 to 200"] = None,
        cursor: str | None = None,
    ) -> Listing[DeadLetter]:
        """For operators: list events that a receiver never took, the oldest first. Raises NotFound."""
        path = filled(f"{ADMIN}/{{name}}/dead_letters", {"name": name})
        params = {**self._of(all_tenants), "limit": limit}
        read = reader(Page[DeadLetter])
        return Listing(lambda cursor: operators(get(path, {**params, "cursor": cursor}, read)), cursor)

    @method
    def retry(
        self,
        name: Name,
        *,
        event_ids: Annotated[Sequence[UUID | str] | None, "these events alone"] = None,
        all_tenants: AllTenants = False,
    ) -> Call[Retried]:
        """For operators: send now what a receiver did not take, given up or put off. Raises NotFound."""
        body = {**self._of(all_tenants), "event_ids": event_ids}
        return operators(post(filled(f"{ADMIN}/{{name}}/retry", {"name": name}), body, reader(Retried)))
