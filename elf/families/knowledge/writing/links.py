"""Links from one memory to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.knowledge import model as m
from elf.families.knowledge.access import reach_of
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.events import Event
from elf.families.knowledge.writing.to_store import columns


class NewLink(NamedTuple):
    """A link that is to be there."""

    source_type: m.MemoryType
    source_id: UUID
    target_type: m.MemoryType
    target_id: UUID
    relation: m.Relation

    def event(self) -> Event:
        """Return the event that it was made."""
        payload = {
            "target_type": self.target_type,
            "target_id": str(self.target_id),
            "relation": self.relation,
        }
        return Event("link_created", self.source_type, self.source_id, payload)


async def insert_links(
    connection: Connection, queries: Queries, links: Sequence[NewLink], *, tenant_id: str, now: datetime
) -> list[Mapping[str, Any]]:
    """Add links between memories that are there; returns the rows of those that are new."""
    return await connection.fetch(queries["insert_links"], tenant_id, now, *columns(links, 5))


class LinkWriting:
    """Links memories on request."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def create(self, request: w.CreateLink, caller: Caller) -> w.CreatedLink:
        """Link two memories, unless they are. Raises InvalidRequest, naming the path, for one that is not there."""
        reach = reach_of(request.tenant_id, caller)
        source, target = (request.source_type, request.source_id), (request.target_type, request.target_id)
        if source == target:
            raise InvalidRequest("$.target_id: a memory is not linked to itself", fields=["$.target_id"])
        link = NewLink(*source, *target, request.relation)
        now = self._kit.now()
        async with self._kit.database.transaction() as connection:
            ends = await connection.fetch(
                self._kit.queries["find_ends"], reach.tenant_id, reach.seen, [source[1], target[1]]
            )
            _refuse_missing({(row["kind"], row["id"]) for row in ends}, request)
            new = await insert_links(
                connection, self._kit.queries, [link], tenant_id=reach.tenant_id, now=now
            )
            if new:
                await self._kit.record(connection, reach, [link.event()], now=now)
                return w.CreatedLink(**new[0], created=True)
            row = await connection.fetchrow(self._kit.queries["read_link"], reach.tenant_id, *source, *target)
        assert row is not None, "links are never removed while their memories are there"
        return w.CreatedLink(**row, created=False)


def _refuse_missing(known: set[tuple[str, UUID]], request: w.CreateLink) -> None:
    ends = {
        "$.source_id": (request.source_type, request.source_id),
        "$.target_id": (request.target_type, request.target_id),
    }
    if missing := [path for path, end in ends.items() if end not in known]:
        said = "; ".join(f"{path}: there is no {ends[path][0]} {ends[path][1]}" for path in missing)
        raise InvalidRequest(said, fields=missing)
