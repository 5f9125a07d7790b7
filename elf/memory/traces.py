"""What answers were made of, kept for a while to explain them. No texts of items are in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from elf.core.secrets import redact
from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.asking import Asking
from elf.memory.ranking import LeftOut, Ranked


class Traces:
    """Writes and reads traces, each kept for `keep`. In what is kept of a query, credentials are blanked."""

    def __init__(self, database: Database, queries: Queries, *, keep: timedelta) -> None:
        self._database = database
        self._sql = queries
        self._keep = keep

    async def write(
        self, trace_id: UUID, asking: Asking, query: str, content: Mapping[str, Any], now: datetime
    ) -> None:
        """Keep what an answer was made of."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["keep_memory_trace"], asking.subject.tenant_id, trace_id, *asking.whose,
                redact(query), msgspec.json.encode(content).decode(), now, now + self._keep,
            )  # fmt: skip

    async def read(self, trace_id: UUID, asking: Asking, now: datetime) -> Mapping[str, Any] | None:
        """Return a trace (query, content, created_at) for who asks as it was asked; None where there is none."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                self._sql["read_memory_trace"], asking.subject.tenant_id, trace_id, *asking.whose, now
            )
        return None if row is None else {**row, "content": msgspec.json.decode(row["content"])}

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove traces past their time; returns how many."""
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_expired_memory_traces"], now, limit))


def told(best: Sequence[Ranked], left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """Return items and what was left out as a trace has them."""
    return {
        "items": [
            {
                "family": one.offered.family,
                "kind": one.offered.item.kind,
                "id": one.offered.item.id,
                "score": one.score,
                "terms": dict(one.terms),
                "relevance": one.relevance,
                "also": [
                    {
                        "family": other.family,
                        "kind": other.item.kind,
                        "id": other.item.id,
                        "provenance": list(other.item.provenance),
                    }
                    for other in one.also
                ],
            }
            for one in best
        ],
        "left_out": [
            {
                "family": one.offered.family,
                "kind": one.offered.item.kind,
                "id": one.offered.item.id,
                "reason": one.reason,
                "score": one.score,
                "relevance": one.relevance,
            }
            for one in left_out
        ],
    }
