"""Entities as they are made, read, changed and listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid4

import msgspec

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.core.errors import InvalidRequest, NotFound, ScopeDenied
from elf.core.secrets import redact_json
from elf.db.errors import UniqueViolation
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api import rows
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import MAX_METADATA_BYTES
from elf.families.knowledge.writing.events import Event

MERGED_INTO: Final = "merged_into"


class EntityRegistry:
    """Carries out the operations on single entities."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def create(self, request: e.CreateEntity, caller: Caller) -> e.EntityIdOf:
        """Make an entity. Raises InvalidRequest when there is one of this name and type."""
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        aliases, metadata = unique(request.aliases), self._kept(request.metadata)
        async with self._kit.database.transaction() as connection:
            id = await connection.fetchval(
                self._sql["insert_entity"], reach.tenant_id, uuid4(), request.canonical_name, request.entity_type,
                aliases, metadata, now, reach.seen,
            )  # fmt: skip
            if id is None:
                raise _taken(request.canonical_name, request.entity_type)
            event = Event("entity_created", "entity", id, {"entity_type": request.entity_type})
            await self._kit.record(connection, reach, [event], now=now)
        return e.EntityIdOf(entity_id=id)

    async def get(self, request: e.OneEntity, caller: Caller) -> rows.Entity:
        """Read an entity, a merged one, too. Raises NotFound."""
        reach = reach_of(request.tenant_id, caller)
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(
                self._sql["get_entity"], reach.tenant_id, request.entity_id, reach.seen
            )
        if row is None:
            raise _unknown(request.entity_id)
        return rows.Entity(**row)

    async def update(self, request: e.UpdateEntity, caller: Caller) -> rows.Entity:
        """Change an entity.

        Raises NotFound, ScopeDenied for a user where it is not that user's own, and InvalidRequest for a merged one, a
        name that is another's, or too much metadata in all.
        """
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        try:
            async with self._kit.database.transaction() as connection:
                row = await connection.fetchrow(
                    self._sql["lock_entities"], reach.tenant_id, [request.entity_id], reach.seen
                )
                if row is None:
                    raise _unknown(request.entity_id)
                refuse_of_others(row, reach, "$.entity_id")
                refuse_merged(row, "$.entity_id")
                metadata = {**row["metadata"], **self._kept(request.metadata or {})}
                if request.metadata:
                    refuse_long_metadata(metadata, "$.metadata")
                changed = await connection.fetchrow(
                    self._sql["update_entity"], reach.tenant_id, request.entity_id,
                    request.canonical_name or row["canonical_name"],
                    row["aliases"] if request.aliases is None else unique(request.aliases), metadata, now,
                )  # fmt: skip
                fields = sorted(request.model_fields_set - {"tenant_id", "entity_id"})
                event = Event("entity_updated", "entity", request.entity_id, {"fields": fields})
                await self._kit.record(connection, reach, [event], now=now)
        except UniqueViolation as error:
            raise _taken(request.canonical_name or "", "its type") from error
        assert changed is not None, "it is locked"
        return rows.Entity(**changed)

    async def page(self, request: a.ListEntities, caller: Caller) -> a.Entities:
        """List entities, newest first."""
        reach = reach_of(request.tenant_id, caller)
        listing = ("list_entities", request.tenant_id, request.entity_type, str(request.merged))
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._kit.database.connection() as connection:
            found = await connection.fetch(
                self._sql["list_entities"], request.tenant_id, start.moment, start.id, request.limit + 1,
                request.entity_type, request.merged, reach.seen,
            )  # fmt: skip
        shown = found[: request.limit]
        more = len(found) > request.limit
        cursor = encode_cursor(shown[-1]["created_at"], shown[-1]["id"], *listing) if more else None
        return a.Entities(items=[rows.Entity(**row) for row in shown], next_cursor=cursor)

    def _kept(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = redact_json(dict(metadata)) if self._kit.redact else dict(metadata)
        return kept


def unique(names: list[str]) -> list[str]:
    """Return names without those that are there already but for their case."""
    return list({name.lower(): name for name in reversed(names)}.values())[::-1]


def refuse_long_metadata(metadata: Mapping[str, Any], path: str) -> None:
    """Raise InvalidRequest for metadata that became too long with what was there."""
    if len(msgspec.json.encode(metadata)) > MAX_METADATA_BYTES:
        problem = f"with what is there, would be more than {MAX_METADATA_BYTES:,} bytes of JSON"
        raise InvalidRequest(f"{path}: {problem}", fields=[path])


def refuse_of_others(row: Mapping[str, Any], reach: Reach, path: str) -> None:
    """Raise ScopeDenied where a user would change an entity that others see, too."""
    if not reach.may_change(row["user_id"]):
        problem = "this entity is not one user's: a call without a user changes it"
        raise ScopeDenied(f"{path}: {problem}", fields=[path])


def refuse_merged(row: Mapping[str, Any], path: str) -> None:
    """Raise InvalidRequest for an entity that was merged into another."""
    if target := row["metadata"].get(MERGED_INTO):
        raise InvalidRequest(f"{path}: this entity was merged into {target}", fields=[path])


def _taken(name: str, entity_type: str) -> InvalidRequest:
    path = "$.canonical_name"
    return InvalidRequest(
        f"{path}: there is an entity {name!r} already, of type {entity_type}", fields=[path]
    )


def _unknown(id: UUID) -> NotFound:
    path = "$.entity_id"
    return NotFound(f"{path}: there is no entity {id}", fields=[path])
