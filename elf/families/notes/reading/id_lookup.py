"""Whole ids from how they begin, for people, who type and compare no more of one than they must."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from elf.core.clock import Clock
from elf.core.scopes import Readable
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.api.id_requests import MAX_IDS, FindIdsRequest, FindIdsResponse, FoundId, Kind

_QUERIES: Final[dict[Kind, str]] = {
    "note": "notes_by_id_range",
    "version": "versions_by_id_range",
    "search": "traces_by_id_range",
    "result": "results_by_id_range",
}
_EXPIRING: Final = frozenset({"search", "result"})


class IdLookup:
    """Looks ids up in the ranges of the primary keys that their beginnings stand for."""

    def __init__(self, *, database: Database, queries: Queries, clock: Clock) -> None:
        """`queries` are those of the folder sql/notes."""
        self._database = database
        self._sql = queries
        self._clock = clock

    async def find(self, request: FindIdsRequest, readable: Readable = None) -> FindIdsResponse:
        """Return the ids that begin so, of what the context may read and what is of readable scopes alone."""
        digits = request.prefix.replace("-", "")
        values: list[Any] = [UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))]
        values += [request.tenant_id, request.project_id, request.agent_id, MAX_IDS, readable]
        if request.kind in _EXPIRING:
            values.append(self._clock.now())
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql[_QUERIES[request.kind]], *values)
        return FindIdsResponse(items=[FoundId(id=row["id"], text=row["text"]) for row in rows])
