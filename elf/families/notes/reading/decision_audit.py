"""Looking up what was decided about incoming notes."""

from __future__ import annotations

from elf.core.errors import InvalidRequest
from elf.core.scopes import Readable
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.api.audit_requests import DecisionItem, DecisionsRequest, DecisionsResponse

_BEYOND_THE_NEWEST = 2**63 - 1


class DecisionAudit:
    """Reads memory_ingest_decisions."""

    def __init__(self, *, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def page(self, request: DecisionsRequest, readable: Readable = None) -> DecisionsResponse:
        """Read a page of decisions, newest first. Raises InvalidRequest for a cursor that is none."""
        before = _BEYOND_THE_NEWEST if request.cursor is None else _decode(request.cursor)
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_decisions"],
                request.tenant_id, request.project_id, request.agent_id, request.note_id, request.op, before,
                request.limit + 1, readable,
            )  # fmt: skip
        items = [DecisionItem(**dict(row)) for row in rows[: request.limit]]
        more = len(rows) > request.limit
        return DecisionsResponse(items=items, next_cursor=str(items[-1].decision_id) if more else None)


def _decode(cursor: str) -> int:
    if cursor.isascii() and cursor.isdecimal() and 0 < int(cursor[:20]) <= _BEYOND_THE_NEWEST:
        return int(cursor[:20])
    raise InvalidRequest("the cursor is not one that a listing returned", fields=["$.cursor"])
