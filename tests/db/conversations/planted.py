"""Words that a test says, and a search for them through every column of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from elf.db.database import Database

TABLES = """
SELECT c.relname, array_agg(a.attname::text) FILTER (WHERE a.atttypid = 'bytea'::regtype) AS bytes
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname ORDER BY c.relname
"""


@dataclass
class Planted:
    """Marks that nothing else in the database has: `word` is said, `ana` says it, `bob` and `kept` are to stay."""

    word: str = field(default_factory=lambda: f"word{uuid4().hex}")
    kept: str = field(default_factory=lambda: f"kept{uuid4().hex}")
    ana: str = field(default_factory=lambda: f"ana{uuid4().hex}")
    bob: str = field(default_factory=lambda: f"bob{uuid4().hex}")


def holding(table: str, in_bytes: Sequence[str] | None, *, mark: str = "$1") -> str:
    """Return what tells whether a table has a mark in some column, whatever its type."""
    holds = [f"t::text ILIKE '%' || {mark} || '%'"]
    holds += [f"position(convert_to({mark}, 'UTF8') IN t.{column}) > 0" for column in in_bytes or ()]
    return f"SELECT EXISTS (SELECT FROM {table} AS t WHERE {' OR '.join(holds)})"


async def tables_with(database: Database, mark: str) -> set[str]:
    """Return the tables that have a mark in some column."""
    async with database.connection() as connection:
        return {
            row["relname"]
            for row in await connection.fetch(TABLES)
            if await connection.fetchval(holding(row["relname"], row["bytes"]), mark)
        }
