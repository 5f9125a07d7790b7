"""Reading what is kept: one memory, its history and links, and listings of everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, cast
from uuid import UUID

from elf.client.call import Call, Listing, T, filled, get, listing, reader
from elf.client.context import Given
from elf.client.families.knowledge import results as r
from elf.client.families.knowledge.inputs import Consolidation, EntityType, Maturity, MemoryType, Validity
from elf.client.families.knowledge.storing import MEMORY, ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.method import method
from elf.client.results import Page
from elf.core.structs import read_json

PageSize = Annotated[int | None, "how many a page, 1 to 200"]


class Reading(FamilyClient[C_co]):
    """Listings are newest first, and count as no reference."""

    @method
    def get(self, memory_type: MemoryType, memory_id: UUID | str) -> Call[r.Memory]:
        """Read a memory, which counts as a reference.

        It counts once more when the call had to be sent again. Raises NotFound.
        """
        path = filled(MEMORY, {"memory_type": memory_type, "memory_id": memory_id})
        return get(path, self.owner, _memory)

    @method
    def history(self, memory_type: MemoryType, memory_id: UUID | str) -> Call[r.History]:
        """Read what became of a memory. Raises NotFound."""
        path = filled(f"{MEMORY}/history", {"memory_type": memory_type, "memory_id": memory_id})
        return get(path, self.owner, reader(r.History))

    @method
    def links(
        self,
        memory_type: MemoryType,
        memory_id: UUID | str,
        *,
        direction: Annotated[Literal["outgoing", "incoming", "both"], "(default: both)"] = "both",
    ) -> Call[r.Links]:
        """Read the links of a memory. Raises NotFound."""
        path = filled(f"{MEMORY}/links", {"memory_type": memory_type, "memory_id": memory_id})
        return get(path, {**self.owner, "direction": direction}, reader(r.Links))

    @method
    def episodes(
        self,
        *,
        butler: Annotated[str | None, "the agent whose they are"] = None,
        session_id: UUID | str | None = None,
        status: Annotated[Consolidation | None, "what became of them"] = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Episode]:
        """List episodes."""
        filters: dict[str, Given] = {"butler": butler, "session_id": session_id, "status": status}
        return self._listed("episodes", {**filters, "limit": limit}, Page[r.Episode], cursor)

    @method
    def facts(
        self,
        *,
        scope: str | None = None,
        subject: str | None = None,
        predicate: str | None = None,
        entity_id: UUID | str | None = None,
        validity: Annotated[Validity, "(default: active)"] = "active",
        tag: str | None = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Fact]:
        """List facts. Raises ScopeDenied for the scope of another user."""
        filters: dict[str, Given] = {
            "scope": scope, "subject": subject, "predicate": predicate, "entity_id": entity_id,
            "validity": validity, "tag": tag,
        }  # fmt: skip
        return self._listed("facts", {**filters, "limit": limit}, Page[r.Fact], cursor)

    @method
    def rules(
        self,
        *,
        scope: str | None = None,
        maturity: Maturity | None = None,
        forgotten: Annotated[bool, "those that are forgotten"] = False,
        tag: str | None = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Rule]:
        """List rules. Raises ScopeDenied for the scope of another user."""
        filters: dict[str, Given] = {
            "scope": scope, "maturity": maturity, "forgotten": _said(forgotten), "tag": tag,
        }  # fmt: skip
        return self._listed("rules", {**filters, "limit": limit}, Page[r.Rule], cursor)

    @method
    def entities(
        self,
        *,
        entity_type: EntityType | None = None,
        merged: Annotated[bool, "those that were merged into others"] = False,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Entity]:
        """List entities."""
        filters: dict[str, Given] = {"entity_type": entity_type, "merged": _said(merged)}
        return self._listed("entities", {**filters, "limit": limit}, Page[r.Entity], cursor)

    @method
    def events(
        self,
        *,
        event_type: str | None = None,
        memory_type: Literal["episode", "fact", "rule", "entity"] | None = None,
        memory_id: UUID | str | None = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Event]:
        """List what changed."""
        filters: dict[str, Given] = {
            "event_type": event_type,
            "memory_type": memory_type,
            "memory_id": memory_id,
        }
        return self._listed("events", {**filters, "limit": limit}, Page[r.Event], cursor)

    def _listed(
        self, kind: str, params: Mapping[str, Given], page: type[Page[T]], cursor: str | None
    ) -> Listing[T]:
        return listing(f"{ROOT}/{kind}", {**self.owner, **params}, page, cursor)


def _memory(content: bytes) -> r.Memory:
    return read_json(content, cast("type[r.Memory]", r.Memory))


def _said(flag: bool) -> str | None:
    return "true" if flag else None
