"""What the service answers of knowledge, as frozen structs. Times are aware datetimes, ids are UUIDs.

Fields that a newer service adds are passed over.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, TypeAlias
from uuid import UUID

from msgspec import Struct

from elf.client.families.knowledge.inputs import (
    Consolidation,
    EntityType,
    Maturity,
    MemoryType,
    Permanence,
    Relation,
    Validity,
)
from elf.client.json_value import JsonObject
from elf.core.structs import read_value

# Memories and entities


class StoredMemory(Struct, frozen=True, kw_only=True, tag_field="memory_type"):
    """What every memory has. `embedding_version` is the model of its vector, None while it has none.

    `user_id` is the user from whose call or messages it is, None where it is nobody's. Calls with another user do not
    see it, unless an admin has it `shared`.
    """

    id: UUID
    tenant_id: str
    content: str
    reference_count: int
    created_at: datetime
    last_referenced_at: datetime | None
    metadata: JsonObject
    embedding_version: str | None
    user_id: str | None
    shared: bool


class Episode(StoredMemory, frozen=True, kw_only=True, tag="episode"):
    """What happened in a session. `last_error` says in a word why it was not consolidated the last time."""

    memory_type: ClassVar[Literal["episode"]] = "episode"
    butler: str
    session_id: UUID | None
    importance: float
    consolidated: bool
    consolidation_status: Consolidation
    retry_count: int
    last_error: str | None
    expires_at: datetime | None


class Fact(StoredMemory, frozen=True, kw_only=True, tag="fact"):
    """What is known of a subject. `effective_confidence` is its confidence as it has faded by now."""

    memory_type: ClassVar[Literal["fact"]] = "fact"
    subject: str
    predicate: str
    importance: float
    confidence: float
    effective_confidence: float
    decay_rate: float
    permanence: Permanence
    source_butler: str | None
    source_episode_id: UUID | None
    supersedes_id: UUID | None
    entity_id: UUID | None
    validity: Validity
    scope: str
    last_confirmed_at: datetime | None
    tags: list[str]


class Rule(StoredMemory, frozen=True, kw_only=True, tag="rule"):
    """How to behave. `effective_confidence` is its confidence as it has faded by now."""

    memory_type: ClassVar[Literal["rule"]] = "rule"
    scope: str
    maturity: Maturity
    confidence: float
    effective_confidence: float
    decay_rate: float
    permanence: Permanence
    effectiveness_score: float
    applied_count: int
    success_count: int
    harmful_count: int
    source_episode_id: UUID | None
    source_butler: str | None
    last_applied_at: datetime | None
    last_evaluated_at: datetime | None
    last_confirmed_at: datetime | None
    tags: list[str]


Memory: TypeAlias = Episode | Fact | Rule


class Entity(Struct, frozen=True):
    """Whom or what facts are about."""

    id: UUID
    tenant_id: str
    canonical_name: str
    entity_type: EntityType
    aliases: list[str]
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime


# Storing


class StoredEpisode(Struct, frozen=True):
    """The id of an episode, and when it goes. `degraded` is ["embedding"] when its vector is made later.

    `indexed_chars` is how many characters of its content it is found by, from the first on; None where these are all.
    """

    id: UUID
    expires_at: datetime | None
    indexed_chars: int | None = None
    degraded: list[str] = []  # in batches it is said once, of all


class StoredFact(Struct, frozen=True):
    """The id of a fact, and of the one that it superseded; `degraded` as in StoredEpisode."""

    id: UUID
    superseded_id: UUID | None
    degraded: list[str] = []


class StoredRule(Struct, frozen=True):
    """The id of a rule; `degraded` as in StoredEpisode."""

    id: UUID
    degraded: list[str] = []


class StoredEpisodes(Struct, frozen=True):
    """What was stored, in the order of the request."""

    items: list[StoredEpisode]
    degraded: list[str]


class StoredFacts(Struct, frozen=True):
    """What was stored, in the order of the request."""

    items: list[StoredFact]
    degraded: list[str]


class StoredRules(Struct, frozen=True):
    """What was stored, in the order of the request."""

    items: list[StoredRule]
    degraded: list[str]


class Link(Struct, frozen=True, kw_only=True):
    """A link as it stands. `missing`: what it leads to, seen from the memory asked about, is gone."""

    source_type: MemoryType
    source_id: UUID
    target_type: MemoryType
    target_id: UUID
    relation: Relation
    created_at: datetime
    missing: bool = False


class CreatedLink(Link, frozen=True, kw_only=True):
    """The link that stands now; `created` tells whether it is new."""

    created: bool


class Links(Struct, frozen=True):
    """The links of a memory."""

    items: list[Link]


class Confirmed(Struct, frozen=True):
    """That a memory was confirmed."""

    confirmed: bool


class Forgotten(Struct, frozen=True):
    """That a memory was forgotten."""

    forgotten: bool


# Finding


class Found(Struct, frozen=True, kw_only=True):
    """A memory and how it was found; a way that was not gone, or did not find it, has None.

    `similarity` is the cosine of query and memory, `rank` the ts_rank of the words of the query in it. Places count
    from 1. `score` is the sum of `terms`.
    """

    memory: Memory
    result_handle: UUID
    similarity: float | None
    rank: float | None
    semantic_rank: int | None
    keyword_rank: int | None
    rrf_score: float | None
    score: float
    terms: dict[str, float]


class Findings(Struct, frozen=True):
    """What was found, best first. `degraded` names what was away."""

    trace_id: UUID
    items: list[Found]
    degraded: list[str]


class RawFindings(Struct, frozen=True):
    """The body that findings come in, each in one object with its memory."""

    trace_id: UUID
    items: list[JsonObject]
    degraded: list[str]

    def read(self) -> Findings:
        """Return them with their memories. Raises ValueError for what is none."""
        items = [read_value({**one, "memory": one}, Found) for one in self.items]
        return Findings(self.trace_id, items, self.degraded)


class ContextBlock(Struct, frozen=True):
    """The text for a prompt, the ids of what stands in it, and what was away."""

    context: str
    facts: list[UUID]
    rules: list[UUID]
    degraded: list[str]


class TraceSummary(Struct, frozen=True, kw_only=True):
    """A search or a recall, as listed. `stages` are milliseconds."""

    trace_id: UUID
    kind: str
    query: str
    limit: int
    candidate_count: int
    result_count: int
    degraded: list[str]
    stages: dict[str, float]
    created_at: datetime


class TracedSearch(TraceSummary, frozen=True, kw_only=True):
    """A search or a recall as it was carried out; `settings` are what its answer depends on."""

    scopes: list[str]
    settings: JsonObject
    expires_at: datetime


class TracedItem(Struct, frozen=True, kw_only=True):
    """A result as it was found; of a memory that is gone, type and content are None."""

    result_handle: UUID
    memory_type: MemoryType | None
    memory_id: UUID
    rank: int
    score: float
    terms: dict[str, float]
    found_by: list[str]
    content: str | None


class DroppedMemory(Struct, frozen=True, kw_only=True):
    """A memory that was found and is no result, and why."""

    memory_id: UUID
    content: str | None
    reason_code: str
    reason: str
    score: float | None


class Explanation(Struct, frozen=True):
    """Why a result is where it is."""

    trace: TracedSearch
    item: TracedItem
    other_items: list[TracedItem]
    dropped: list[DroppedMemory]


class EpisodeStats(Struct, frozen=True):
    """Episodes by state; the age is that of the oldest that waits for consolidation."""

    total: int
    unconsolidated: int
    backlog_age_hours: float | None
    retrying: int
    dead_letter: int


class FactStats(Struct, frozen=True):
    """Facts by state."""

    active: int
    fading: int
    superseded: int
    expired: int
    retracted: int


class RuleStats(Struct, frozen=True):
    """Rules by maturity, and those that are forgotten."""

    candidate: int
    established: int
    proven: int
    anti_pattern: int
    forgotten: int


class Stats(Struct, frozen=True):
    """How many memories there are in which state."""

    episodes: EpisodeStats
    facts: FactStats
    rules: RuleStats


class Event(Struct, frozen=True):
    """A change of a memory or an entity; `actor` is a user, a program, or worker for the service itself."""

    id: UUID
    event_type: str
    actor: str | None
    memory_type: str | None
    memory_id: UUID | None
    request_id: str | None
    payload: JsonObject
    created_at: datetime


class History(Struct, frozen=True):
    """What became of a memory, oldest first; of a fact also the chain that it is a part of, oldest first."""

    events: list[Event]
    supersession: list[Fact]
    links: list[Link]


# Entities


class EntityId(Struct, frozen=True):
    """The id of an entity."""

    entity_id: UUID


class Candidate(Struct, frozen=True):
    """An entity that a name may mean. `score` is the sum of `terms`."""

    entity_id: UUID
    canonical_name: str
    entity_type: EntityType
    score: float
    name_match: str
    aliases: list[str]
    terms: dict[str, float]


class Candidates(Struct, frozen=True):
    """The entities that a name may mean, best first."""

    items: list[Candidate]


class Merged(Struct, frozen=True):
    """What a merge changed."""

    target_entity_id: UUID
    source_entity_id: UUID
    facts_repointed: int
    facts_superseded: int
    aliases_added: list[str]


# Work


class _Consolidated(Struct, frozen=True, kw_only=True):
    episodes_processed: int
    butlers_processed: int
    groups_consolidated: int
    facts_created: int
    facts_updated: int
    rules_created: int
    confirmations_made: int
    episodes_consolidated: int
    errors: list[str]
    remaining: int


class Consolidated(_Consolidated, frozen=True, kw_only=True):
    """What one batch of each agent's episodes came to. `remaining` episodes wait."""

    groups: dict[str, int]


class TenantsConsolidated(_Consolidated, frozen=True, kw_only=True):
    """The same of several tenants: `groups` are those of the agents of each."""

    groups: dict[str, dict[str, int]]


class CleanedUp(Struct, frozen=True):
    """How many episodes went, and are left."""

    expired_deleted: int
    capacity_deleted: int
    remaining: int


class Swept(Struct, frozen=True):
    """How many were looked at, and what changed."""

    facts_checked: int
    facts_fading: int
    facts_recovered: int
    facts_expired: int
    rules_checked: int
    rules_fading: int
    rules_recovered: int
    rules_expired: int


class Requeued(Struct, frozen=True):
    """How many dead letters are tried again."""

    requeued: int


class Reembedding(Struct, frozen=True):
    """How many memories of each kind have no vector of this version, and whether the work goes on."""

    embedding_version: str
    outdated: dict[str, int]
    running: bool


class Erased(Struct, frozen=True):
    """How many of each kind went for good."""

    erased: dict[str, int]


class Shared(Struct, frozen=True):
    """Whom a memory is from, None where that is nobody, and whether other users see it."""

    memory_type: MemoryType
    memory_id: UUID
    user_id: str | None
    shared: bool


class Schedule(Struct, frozen=True):
    """When a work is due; an empty `cron` is never."""

    chore: str
    cron: str
    timezone: str
    last_done: datetime | None
    next_due: datetime | None


class Schedules(Struct, frozen=True):
    """When each work is due."""

    items: list[Schedule]


class DeadLetter(Struct, frozen=True):
    """An episode that could not be consolidated."""

    episode_id: UUID
    tenant_id: str
    butler: str
    retry_count: int
    last_error: str | None
    created_at: datetime
