"""Storing episodes, facts, rules and links: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import ScopeDenied
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f

TAG: Final = "knowledge: writing"


class InTenant(Request):
    """A request within one tenant."""

    tenant_id: f.TenantIdGiven


class NewEpisode(Request):
    """An episode to store."""

    content: f.EpisodeContent
    butler: f.ButlerGiven
    session_id: UUID | None = Field(default=None, description="The session it is of.")
    importance: f.Importance = m.DEFAULT_IMPORTANCE
    metadata: f.Metadata = Field(default_factory=dict)
    idempotency_key: f.IdempotencyKey | None = None


class StoreEpisode(InTenant, NewEpisode):
    """One episode."""


class NewFact(Request):
    """A fact to store. It supersedes the active one of the same scope, subject (or entity) and predicate."""

    subject: f.SubjectGiven
    predicate: f.PredicateGiven
    content: f.Content
    importance: f.Importance = m.DEFAULT_IMPORTANCE
    permanence: f.PermanenceField = "standard"
    scope: f.ScopeGiven = m.GLOBAL_SCOPE
    tags: f.TagsGiven = Field(default_factory=list)
    metadata: f.Metadata = Field(default_factory=dict)
    source_butler: f.ButlerGiven | None = None
    source_episode_id: UUID | None = Field(default=None, description="The episode that it is from.")
    entity_id: f.EntityId | None = None
    idempotency_key: f.IdempotencyKey | None = None


class StoreFact(InTenant, NewFact):
    """One fact."""


class NewRule(Request):
    """A rule to store; it begins as a candidate."""

    content: f.Content
    scope: f.ScopeGiven = m.GLOBAL_SCOPE
    tags: f.TagsGiven = Field(default_factory=list)
    metadata: f.Metadata = Field(default_factory=dict)
    source_butler: f.ButlerGiven | None = None
    source_episode_id: UUID | None = Field(default=None, description="The episode that it is from.")
    idempotency_key: f.IdempotencyKey | None = None


class StoreRule(InTenant, NewRule):
    """One rule."""


class StoreEpisodes(InTenant):
    """Several episodes: all are stored, or none."""

    items: Annotated[list[NewEpisode], Field(min_length=1, max_length=f.MAX_BATCH)]


class StoreFacts(InTenant):
    """Several facts, in their order: all are stored, or none."""

    items: Annotated[list[NewFact], Field(min_length=1, max_length=f.MAX_BATCH)]


class StoreRules(InTenant):
    """Several rules: all are stored, or none."""

    items: Annotated[list[NewRule], Field(min_length=1, max_length=f.MAX_BATCH)]


class CreateLink(InTenant):
    """A link from one memory to another. There is one from the first to the second: another changes nothing."""

    source_type: f.MemoryTypeField
    source_id: f.MemoryId
    target_type: f.MemoryTypeField
    target_id: f.MemoryId
    relation: Annotated[
        m.Relation,
        Field(description="derived_from, supports, contradicts, supersedes or related_to."),
    ]


class StoredEpisode(Response):
    """The id of an episode, and when it goes."""

    id: f.MemoryId
    expires_at: datetime | None
    indexed_chars: int | None = Field(
        description="How many characters of its content it is found by, from the first on; null where these are all."
    )


class StoredFact(Response):
    """The id of a fact, and of the one that it superseded."""

    id: f.MemoryId
    superseded_id: UUID | None


class StoredRule(Response):
    """The id of a rule."""

    id: f.MemoryId


class OneStoredEpisode(StoredEpisode):
    degraded: f.Degraded


class OneStoredFact(StoredFact):
    degraded: f.Degraded


class OneStoredRule(StoredRule):
    degraded: f.Degraded


class StoredEpisodes(Response):
    """What was stored, in the order of the request."""

    items: list[StoredEpisode]
    degraded: f.Degraded


class StoredFacts(Response):
    """What was stored, in the order of the request."""

    items: list[StoredFact]
    degraded: f.Degraded


class StoredRules(Response):
    """What was stored, in the order of the request."""

    items: list[StoredRule]
    degraded: f.Degraded


class Link(Response):
    """A link as it stands."""

    source_type: f.MemoryTypeField
    source_id: f.MemoryId
    target_type: f.MemoryTypeField
    target_id: f.MemoryId
    relation: m.Relation
    created_at: datetime


class CreatedLink(Link):
    """The link that stands now; `created` tells whether it is new."""

    created: bool


def _store(name: str, path: str, summary: str, request: type[Request], response: type[Response]) -> Operation:
    return Operation(
        name, "POST", f"/v1/knowledge/{path}", summary, request, response,
        tag=TAG, text="any", errors=(ScopeDenied,), json_bounds=f.METADATA_BOUNDS,
    )  # fmt: skip


STORE_EPISODE: Final = _store("store_episode", "episodes", "Store an episode", StoreEpisode, OneStoredEpisode)
STORE_EPISODES: Final = _store(
    "store_episodes", "episodes/batch", "Store episodes", StoreEpisodes, StoredEpisodes
)
STORE_FACT: Final = _store("store_fact", "facts", "Store a fact", StoreFact, OneStoredFact)
STORE_FACTS: Final = _store("store_facts", "facts/batch", "Store facts", StoreFacts, StoredFacts)
STORE_RULE: Final = _store("store_rule", "rules", "Store a rule", StoreRule, OneStoredRule)
STORE_RULES: Final = _store("store_rules", "rules/batch", "Store rules", StoreRules, StoredRules)
CREATE_LINK: Final = _store("create_link", "links", "Link two memories", CreateLink, CreatedLink)

WRITING: Final = (
    STORE_EPISODE, STORE_EPISODES, STORE_FACT, STORE_FACTS, STORE_RULE, STORE_RULES, CREATE_LINK,
)  # fmt: skip
