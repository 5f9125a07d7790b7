"""Entities: whom and what facts are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from elf.client.call import Call, filled, get, post, reader
from elf.client.families.knowledge import results as r
from elf.client.families.knowledge.inputs import EntityType
from elf.client.families.knowledge.storing import ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ENTITY = f"{ROOT}/entities/{{entity_id}}"


class Entities(FamilyClient[C_co]):
    """A name is unique for its type, as it is written. What refers to two entities that are one is merged."""

    @method
    def create_entity(
        self,
        canonical_name: Annotated[str, "its name"],
        entity_type: EntityType,
        *,
        aliases: Annotated[Sequence[str], "another name of it; may be repeated"] = (),
        metadata: Annotated[Mapping[str, object] | None, "a JSON object"] = None,
    ) -> Call[r.EntityId]:
        """Create an entity.

        Raises InvalidRequest when there is one of this name and type; so it is sent again only when the first request
        surely did nothing.
        """
        body = {
            "canonical_name": canonical_name, "entity_type": entity_type, "aliases": list(aliases),
            "metadata": metadata,
        }  # fmt: skip
        return post(f"{ROOT}/entities", {**self.owner, **body}, reader(r.EntityId), repeat="undone")

    @method
    def get_entity(self, entity_id: UUID | str) -> Call[r.Entity]:
        """Read an entity. Raises NotFound."""
        return get(filled(ENTITY, {"entity_id": entity_id}), self.owner, reader(r.Entity))

    @method
    def update_entity(
        self,
        entity_id: UUID | str,
        *,
        canonical_name: Annotated[str | None, "the new name"] = None,
        aliases: Annotated[Sequence[str] | None, "all other names; may be repeated"] = None,
        metadata: Annotated[Mapping[str, object] | None, "keys to add or replace, as JSON"] = None,
    ) -> Call[r.Entity]:
        """Change an entity; what is not given stays as it is.

        Name and aliases are replaced, keys of metadata are added or replaced. Raises NotFound, and InvalidRequest for
        one that was merged.
        """
        body = {
            "canonical_name": canonical_name, "aliases": None if aliases is None else list(aliases),
            "metadata": metadata,
        }  # fmt: skip
        path = f"{filled(ENTITY, {'entity_id': entity_id})}/update"
        return post(path, {**self.owner, **body}, reader(r.Entity))

    @method
    def resolve_entity(
        self,
        name: Annotated[str, "the name that was said"],
        *,
        entity_type: EntityType | None = None,
        context_hints: Annotated[
            Mapping[str, object] | None, "JSON with topic, mentioned_with and domain_scores"
        ] = None,
        enable_fuzzy: Annotated[bool, "names that are merely similar count, too"] = False,
    ) -> Call[r.Candidates]:
        """Find whom a name may mean, best first; it makes no entity.

        `context_hints` may have `topic`, a text, and `mentioned_with`, a list of names, which are compared with what is
        known of each, and `domain_scores`, numbers that are added to the score of an entity by its id.
        """
        body = {
            "name": name, "entity_type": entity_type, "context_hints": context_hints, "enable_fuzzy": enable_fuzzy,
        }  # fmt: skip
        return post(f"{ROOT}/entities/resolve", {**self.owner, **body}, reader(r.Candidates))

    @method
    def merge_entities(
        self,
        source_entity_id: Annotated[UUID | str, "the one that goes"],
        target_entity_id: Annotated[UUID | str, "the one that stays"],
    ) -> Call[r.Merged]:
        """Make two entities one: facts, aliases and metadata of the first go to the second.

        Raises InvalidRequest for one that is unknown or was merged before; so it is sent again only when the first
        request surely did nothing.
        """
        body = {"source_entity_id": source_entity_id, "target_entity_id": target_entity_id}
        return post(f"{ROOT}/entities/merge", {**self.owner, **body}, reader(r.Merged), repeat="undone")
