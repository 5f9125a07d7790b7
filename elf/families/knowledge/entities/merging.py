"""Two entities become one: the facts of both, their names and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.entities.registry import (
    MERGED_INTO,
    refuse_long_metadata,
    refuse_merged,
    refuse_of_others,
)
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import MAX_ALIAS_CHARS, MAX_ALIASES
from elf.families.knowledge.writing.events import Event

Row = Mapping[str, Any]


class EntityMerging:
    """Carries out the operation of that name."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def merge(self, request: e.MergeEntities, caller: Caller) -> e.MergedEntities:
        """Merge the source into the target, all or nothing.

        Of two active facts with one scope and predicate the more confident one stays, the target's among equals. Raises
        InvalidRequest, naming the path, for an entity that is unknown or merged already, for one with itself, and where
        the target would have too many aliases or too much metadata; ScopeDenied for a user who did not make both.
        """
        if request.source_entity_id == request.target_entity_id:
            path = "$.target_entity_id"
            raise InvalidRequest(f"{path}: an entity is not merged into itself", fields=[path])
        reach = reach_of(request.tenant_id, caller)
        return await retrying(lambda: self._merge(reach, request))

    async def _merge(self, reach: Reach, request: e.MergeEntities) -> e.MergedEntities:
        now = self._kit.now()
        source_id, target_id = request.source_entity_id, request.target_entity_id
        async with self._kit.database.transaction() as connection:
            source, target = await self._lock(connection, reach, request)
            conflicts = await connection.fetch(
                self._sql["conflicting_facts"], reach.tenant_id, source_id, target_id, reach.seen
            )
            settled = [_settled(row) for row in conflicts]
            gone = [goes for _, goes in settled]
            if gone:
                await connection.execute(self._sql["supersede_facts"], reach.tenant_id, gone)
            left = await connection.fetchval(
                self._sql["count_active_facts"], reach.tenant_id, source_id, reach.seen
            )
            await connection.execute(self._sql["move_facts"], reach.tenant_id, source_id, target_id)
            if settled:
                stays = [one for one, _ in settled]
                await connection.execute(self._sql["note_what_stays"], reach.tenant_id, stays, gone, now)
            told = [row for row in conflicts if row["is_told"]]
            merged = e.MergedEntities(
                target_entity_id=target_id,
                source_entity_id=source_id,
                facts_repointed=left - sum(row["source_stays"] for row in told),
                facts_superseded=len(told),
                aliases_added=await self._join(connection, source, target, now),
            )
            await self._kit.record(connection, reach, _events(merged, settled), now=now)
        return merged

    async def _lock(self, connection: Connection, reach: Reach, request: e.MergeEntities) -> tuple[Row, Row]:
        ids = {"$.source_entity_id": request.source_entity_id, "$.target_entity_id": request.target_entity_id}
        rows = await connection.fetch(
            self._sql["lock_entities"], reach.tenant_id, list(ids.values()), reach.seen
        )
        known = {row["id"]: row for row in rows}
        if missing := [path for path, id in ids.items() if id not in known]:
            said = "; ".join(f"{path}: there is no entity {ids[path]}" for path in missing)
            raise InvalidRequest(said, fields=missing)
        for path, id in ids.items():
            refuse_merged(known[id], path)
            refuse_of_others(known[id], reach, path)
        return known[request.source_entity_id], known[request.target_entity_id]

    async def _join(self, connection: Connection, source: Row, target: Row, now: datetime) -> list[str]:
        """Give the aliases and the metadata of the source to the target, and say of the source where it is now."""
        known = {name.lower() for name in (target["canonical_name"], *target["aliases"])}
        added = [alias for alias in source["aliases"] if alias.lower() not in known]
        place, path = target["tenant_id"], "$.target_entity_id"
        aliases, metadata = [*target["aliases"], *added], {**source["metadata"], **target["metadata"]}
        if len(aliases) > MAX_ALIASES or sum(map(len, aliases)) > MAX_ALIAS_CHARS:
            problem = f"would have more than {MAX_ALIASES} aliases, or {MAX_ALIAS_CHARS:,} characters of them"
            raise InvalidRequest(f"{path}: {problem}", fields=[path])
        refuse_long_metadata(metadata, path)
        await connection.fetchrow(
            self._sql["update_entity"], place, target["id"], target["canonical_name"], aliases, metadata, now
        )
        await connection.fetchrow(
            self._sql["update_entity"], place, source["id"], source["canonical_name"], source["aliases"],
            {**source["metadata"], MERGED_INTO: str(target["id"])}, now,
        )  # fmt: skip
        return added


def _settled(conflict: Row) -> tuple[UUID, UUID]:
    """Return which fact of a conflict stays, and which goes."""
    source_id, target_id = conflict["source_id"], conflict["target_id"]
    return (source_id, target_id) if conflict["source_stays"] else (target_id, source_id)


def _events(merged: e.MergedEntities, settled: Sequence[tuple[UUID, UUID]]) -> list[Event]:
    superseded = [
        Event("fact_superseded", "fact", goes, {"superseded_by": str(stays)}) for stays, goes in settled
    ]
    payload = {
        "source_entity_id": str(merged.source_entity_id),
        "target_entity_id": str(merged.target_entity_id),
        "facts_repointed": merged.facts_repointed,
        "facts_superseded": merged.facts_superseded,
        "aliases_added": len(merged.aliases_added),
    }
    return [*superseded, Event("entity_merge", "entity", merged.target_entity_id, payload)]
