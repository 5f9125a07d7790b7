"""Entities: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from elf.api.bodies import Request, Response, no_credential
from elf.api.operation import Operation
from elf.core.errors import NotFound
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f
from elf.families.knowledge.api import rows
from elf.families.knowledge.api.writing import InTenant

TAG: Final = "knowledge: entities"

Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=m.MAX_NAME_CHARS,
        description="A name.",
        examples=["Ana Lima"],
        json_schema_extra=f.SEEN,
    ),
    AfterValidator(f.named),
]


def _short(aliases: list[str]) -> list[str]:
    if sum(map(len, aliases)) > m.MAX_ALIAS_CHARS:
        raise ValueError(f"should have at most {m.MAX_ALIAS_CHARS:,} characters together")
    return aliases


NameGiven = Annotated[Name, AfterValidator(no_credential)]
Aliases = Annotated[
    list[NameGiven],
    Field(
        max_length=m.MAX_ALIASES,
        description="Other names of it, of at most 16,384 characters together.",
        examples=[["Ana", "A. Lima"]],
    ),
    AfterValidator(_short),
]
EntityTypeField = Annotated[m.EntityType, Field(description="person, organization, place or other.")]


class CreateEntity(InTenant):
    canonical_name: NameGiven
    entity_type: EntityTypeField
    aliases: Aliases = Field(default_factory=list)
    metadata: f.Metadata = Field(default_factory=dict)


class OneEntity(InTenant):
    entity_id: f.EntityId


class UpdateEntity(OneEntity):
    """What changes: the name and the list of aliases are replaced, keys of metadata are added or replaced."""

    canonical_name: NameGiven | None = None
    aliases: Aliases | None = None
    metadata: f.Metadata | None = None


class ContextHints(Request):
    """What is known of the situation in which the name was said."""

    topic: Annotated[str, Field(max_length=m.MAX_QUERY_CHARS)] | None = None
    mentioned_with: Annotated[
        list[Annotated[str, Field(max_length=m.MAX_NAME_CHARS)]], Field(max_length=256)
    ] = Field(default_factory=list)
    domain_scores: Annotated[
        dict[str, float],
        Field(max_length=1000, description="What to add to the score of an entity, by its id."),
    ] = Field(default_factory=dict)


class ResolveEntity(InTenant):
    name: Annotated[str, Field(max_length=m.MAX_NAME_CHARS, description="The name that was said.")]
    entity_type: EntityTypeField | None = None
    context_hints: ContextHints | None = None
    enable_fuzzy: bool = Field(default=False, description="Whether names that are merely similar count.")


class MergeEntities(InTenant):
    source_entity_id: f.EntityId
    target_entity_id: f.EntityId


class EntityIdOf(Response):
    entity_id: f.EntityId


class EntityCandidate(Response):
    entity_id: f.EntityId
    canonical_name: str
    entity_type: m.EntityType
    score: float
    name_match: Annotated[str, Field(description="exact, alias, prefix or fuzzy.")]
    aliases: list[str]
    terms: dict[str, float] = Field(description="What the score is the sum of.")


class EntityCandidates(Response):
    items: list[EntityCandidate]


class MergedEntities(Response):
    target_entity_id: f.EntityId
    source_entity_id: f.EntityId
    facts_repointed: int
    facts_superseded: int
    aliases_added: list[str]


CREATE_ENTITY: Final = Operation(
    "create_entity", "POST", "/v1/knowledge/entities", "Create an entity", CreateEntity, EntityIdOf,
    tag=TAG, text="any", json_bounds=f.METADATA_BOUNDS,
)  # fmt: skip
GET_ENTITY: Final = Operation(
    "get_entity", "GET", "/v1/knowledge/entities/{entity_id}", "Read an entity", OneEntity, rows.Entity,
    tag=TAG, text="any", errors=(NotFound,),
)  # fmt: skip
UPDATE_ENTITY: Final = Operation(
    "update_entity", "POST", "/v1/knowledge/entities/{entity_id}/update", "Change an entity", UpdateEntity, rows.Entity,
    tag=TAG, text="any", errors=(NotFound,), json_bounds=f.METADATA_BOUNDS,
)  # fmt: skip
RESOLVE_ENTITY: Final = Operation(
    "resolve_entity", "POST", "/v1/knowledge/entities/resolve", "Find whom a name may mean", ResolveEntity,
    EntityCandidates, tag=TAG, text="any", reads=True,
)  # fmt: skip
MERGE_ENTITIES: Final = Operation(
    "merge_entities", "POST", "/v1/knowledge/entities/merge", "Make two entities one", MergeEntities, MergedEntities,
    tag=TAG, text="any",
)  # fmt: skip

ENTITIES: Final = (CREATE_ENTITY, GET_ENTITY, UPDATE_ENTITY, RESOLVE_ENTITY, MERGE_ENTITIES)
