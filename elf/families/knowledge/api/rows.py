"""Memories and entities as they are told: the whole row, without its vectors."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Response
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f

Moment = Annotated[datetime, Field(description="UTC.")]
EffectiveConfidence = Annotated[
    float,
    Field(description="The confidence as it is now: it has faded since the memory was confirmed last."),
]


class Memory(Response):
    """What every memory has."""

    id: f.MemoryId
    tenant_id: f.TenantId
    content: str
    reference_count: int = Field(description="How often it was read or recalled.")
    created_at: Moment
    last_referenced_at: Moment | None
    metadata: dict[str, Any]
    embedding_version: str | None = Field(description="The model of its vector; null while it has none.")
    user_id: str | None = Field(
        description="The user from whose call or messages it is: calls with another user do not see it. null where it"
        " is nobody's."
    )
    shared: bool = Field(description="Whether an admin has it seen by the tenant's other users, too.")


class Episode(Memory):
    """What an agent saw in a session."""

    memory_type: Literal["episode"] = "episode"
    butler: f.Butler
    session_id: UUID | None
    importance: f.Importance
    consolidated: bool
    consolidation_status: Literal["pending", "consolidated", "dead_letter", "discarded"]
    retry_count: int
    last_error: str | None = Field(description="Why it was not consolidated the last time, in a word.")
    expires_at: Moment | None


class Fact(Memory):
    """What is known of a subject."""

    memory_type: Literal["fact"] = "fact"
    subject: str
    predicate: str
    importance: f.Importance
    confidence: float
    effective_confidence: EffectiveConfidence
    decay_rate: float
    permanence: m.Permanence
    source_butler: str | None
    source_episode_id: UUID | None
    supersedes_id: UUID | None
    entity_id: UUID | None
    validity: m.Validity
    scope: str
    last_confirmed_at: Moment | None
    tags: list[str]


class Rule(Memory):
    """How to behave, as learned."""

    memory_type: Literal["rule"] = "rule"
    scope: str
    maturity: m.Maturity
    confidence: float
    effective_confidence: EffectiveConfidence
    decay_rate: float
    permanence: m.Permanence
    effectiveness_score: float
    applied_count: int
    success_count: int
    harmful_count: int
    source_episode_id: UUID | None
    source_butler: str | None
    last_applied_at: Moment | None
    last_evaluated_at: Moment | None
    last_confirmed_at: Moment | None
    tags: list[str]


AnyMemory = Annotated[Episode | Fact | Rule, Field(discriminator="memory_type")]


class Entity(Response):
    """Whom or what facts are about."""

    id: f.EntityId
    tenant_id: f.TenantId
    canonical_name: str
    entity_type: m.EntityType
    aliases: list[str]
    metadata: dict[str, Any]
    created_at: Moment
    updated_at: Moment
