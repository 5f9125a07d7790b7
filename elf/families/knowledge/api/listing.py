"""Reading what is kept: one memory, its history and links, and pages of everything."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field, RootModel

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f
from elf.families.knowledge.api import rows
from elf.families.knowledge.api.lifecycle import OneMemory
from elf.families.knowledge.api.writing import InTenant, Link

TAG: Final = "knowledge: reading"


class Page(InTenant):
    """A page of a listing, newest first."""

    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class ListEpisodes(Page):
    """Which episodes."""

    butler: f.ButlerGiven | None = None
    session_id: UUID | None = None
    status: Literal["pending", "consolidated", "dead_letter", "discarded"] | None = None


class ListFacts(Page):
    """Which facts; without a validity the active ones."""

    scope: f.ScopeGiven | None = None
    subject: f.Subject | None = None
    predicate: f.Predicate | None = None
    entity_id: f.EntityId | None = None
    validity: m.Validity = "active"
    tag: f.Tag | None = None


class ListRules(Page):
    """Which rules; forgotten ones when they are asked for."""

    scope: f.ScopeGiven | None = None
    maturity: m.Maturity | None = None
    forgotten: bool = False
    tag: f.Tag | None = None


class ListEntities(Page):
    """Which entities; merged ones when they are asked for."""

    entity_type: m.EntityType | None = None
    merged: bool = False


class ListEvents(Page):
    """Which events."""

    event_type: Annotated[str, Field(max_length=64)] | None = None
    memory_type: Literal["episode", "fact", "rule", "entity"] | None = None
    memory_id: UUID | None = None


class Links(OneMemory):
    """Which links of a memory."""

    direction: Literal["outgoing", "incoming", "both"] = "both"


class Episodes(Response):
    items: list[rows.Episode]
    next_cursor: f.NextCursor


class Facts(Response):
    items: list[rows.Fact]
    next_cursor: f.NextCursor


class Rules(Response):
    items: list[rows.Rule]
    next_cursor: f.NextCursor


class Entities(Response):
    items: list[rows.Entity]
    next_cursor: f.NextCursor


class Event(Response):
    """A change of a memory or an entity."""

    id: UUID
    event_type: str
    actor: str | None = Field(description="Who did it: a user, a program, or worker for the service itself.")
    memory_type: str | None
    memory_id: UUID | None
    request_id: str | None
    payload: dict[str, Any]
    created_at: datetime


class Events(Response):
    items: list[Event]
    next_cursor: f.NextCursor


class LinkEnd(Link):
    """A link; `missing` when what it leads to, seen from the memory asked about, is gone."""

    missing: bool


class LinksOf(Response):
    items: list[LinkEnd]


class MemoryHistory(Response):
    """What became of a memory, oldest first; of a fact also the chain of those it superseded, and that did it."""

    events: list[Event]
    supersession: list[rows.Fact] = Field(
        description="Oldest first, the fact itself among them; empty but for facts."
    )
    links: list[LinkEnd]


def _get(
    name: str, path: str, summary: str, request: type[Request], response: Any, *errors: Any
) -> Operation:
    return Operation(
        name, "GET", f"/v1/knowledge/{path}", summary, request, response, tag=TAG, text="any", errors=errors
    )


MEMORY: Final = "memories/{memory_type}/{memory_id}"


class GotMemory(RootModel[rows.AnyMemory]):
    """A memory, as it is after this reading."""


GET_MEMORY: Final = _get(
    "get_memory", MEMORY, "Read a memory, which counts as a reference", OneMemory, GotMemory, NotFound
)
MEMORY_HISTORY: Final = _get(
    "memory_history", f"{MEMORY}/history", "Read what became of a memory", OneMemory, MemoryHistory, NotFound
)
MEMORY_LINKS: Final = _get(
    "memory_links", f"{MEMORY}/links", "Read the links of a memory", Links, LinksOf, NotFound
)
LIST_EPISODES: Final = _get("list_episodes", "episodes", "List episodes", ListEpisodes, Episodes, ScopeDenied)
LIST_FACTS: Final = _get("list_facts", "facts", "List facts", ListFacts, Facts, ScopeDenied)
LIST_RULES: Final = _get("list_rules", "rules", "List rules", ListRules, Rules, ScopeDenied)
LIST_ENTITIES: Final = _get("list_entities", "entities", "List entities", ListEntities, Entities)
LIST_EVENTS: Final = _get("list_events", "events", "List what changed", ListEvents, Events)

LISTING: Final = (
    GET_MEMORY, MEMORY_HISTORY, MEMORY_LINKS, LIST_EPISODES, LIST_FACTS, LIST_RULES, LIST_ENTITIES, LIST_EVENTS,
)  # fmt: skip
