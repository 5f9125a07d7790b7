"""Finds memories by meaning and by words: a statement for each kind gives the places on both lists, with the rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pgvector import Vector

from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.knowledge import model as m
from elf.families.knowledge.access import Reach

EXACT_ROWS: Final = 2000
"""Up to so many rows of a tenant are all compared: that is quicker than the index, which has those of all tenants.

How the index is walked is a setting of all connections (`elf.db.database`).
"""

COUNTED_FOR_S: Final = 60.0
MOST_TENANTS: Final = 10_000

_EXACTLY: Final = "({alias}.embedding <=> $5) + 0"
_BY_INDEX: Final = "{alias}.embedding <=> $5"
_ALIASES: Final[Mapping[m.MemoryType, str]] = {"episode": "e", "fact": "f", "rule": "r"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for. Without a vector only words count, and without words only the vector.

    `since` and `until` bound when it was stored. `named` is a user whose episodes count beside those of the scope:
    those of all agents that name the user as theirs, or of `agent`.
    """

    reach: Reach
    scope: str | None
    words: str
    vector: Vector | None
    version: str
    limit: int
    min_confidence: float
    now: datetime
    since: datetime | None = None
    until: datetime | None = None
    named: str | None = None
    agent: str | None = None

    def arguments(self, kind: m.MemoryType) -> tuple[Any, ...]:
        """Return what the statement of a kind is asked with."""
        whose = (self.named, self.agent) if kind == "episode" else ()
        return (
            self.reach.tenant_id, self.reach.seen, self.scope, self.limit, self.vector, self.version, self.words,
            self.now, self.min_confidence, self.since, self.until, *whose,
        )  # fmt: skip


class Legs:
    """Asks the tables. Rows have `similarity`, `semantic_rank`, `rank` and `keyword_rank`, null where not found so."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._queries = queries
        self._sizes: dict[str, tuple[float, Mapping[str, int]]] = {}

    async def find(self, question: Question, kinds: Sequence[m.MemoryType]) -> dict[m.MemoryType, list[Row]]:
        """Return the rows of both lists, up to `limit` each, by kind and in no order."""
        async with self._database.connection() as connection:
            large = await self._large(connection, question, kinds)
            return {
                kind: await self._rows(connection, question, kind, is_large=kind in large) for kind in kinds
            }

    async def _rows(
        self, connection: Connection, question: Question, kind: m.MemoryType, *, is_large: bool
    ) -> list[Row]:
        """Find by the index, and by comparing everything where it gives too few: it stops after a while."""
        given = question.arguments(kind)
        if is_large:
            rows = await connection.fetch(nearest_first(self._queries, kind, by_index=True), *given)
            if sum(row["semantic_rank"] is not None for row in rows) >= question.limit:
                return rows
        return await connection.fetch(nearest_first(self._queries, kind, by_index=False), *given)

    async def _large(
        self, connection: Connection, question: Question, kinds: Sequence[m.MemoryType]
    ) -> frozenset[m.MemoryType]:
        """Return the kinds of which the tenant has too many to compare all."""
        if question.vector is None:
            return frozenset()
        tenant_id = question.reach.tenant_id
        counted_at, sizes = self._sizes.get(tenant_id, (0.0, {}))
        if not sizes or time.monotonic() - counted_at > COUNTED_FOR_S:
            sizes = await self._count(connection, tenant_id)
            if len(self._sizes) >= MOST_TENANTS:
                self._sizes.clear()
            self._sizes[tenant_id] = (time.monotonic(), sizes)
        return frozenset(kind for kind in kinds if sizes[kind] > EXACT_ROWS)

    async def _count(self, connection: Connection, tenant_id: str) -> Mapping[str, int]:
        row = await connection.fetchrow(self._queries["count_searched"], tenant_id, EXACT_ROWS + 1)
        assert row is not None, "it always counts"
        return dict(row)


def nearest_first(queries: Queries, kind: m.MemoryType, *, by_index: bool) -> str:
    """Return the statement that finds memories of a kind, by the index or by comparing all vectors."""
    nearest = _BY_INDEX if by_index else _EXACTLY
    return queries[f"find_{kind}s"].replace("<nearest>", nearest.format(alias=_ALIASES[kind]))
