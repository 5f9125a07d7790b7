"""Erasures that go on, and receipts, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.erasing.whose import Somebody


@dataclass(slots=True)
class Job:
    """An erasure that goes on: what is known of it, and what went so far, by family and kind."""

    of: Somebody
    receipt_id: UUID
    conversations: Collection[str]
    began_at: datetime
    erased: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, family: str, counts: Mapping[str, int]) -> None:
        """Add what went."""
        so_far = self.erased.setdefault(family, {})
        for kind, count in counts.items():
            so_far[kind] = so_far.get(kind, 0) + count


class ErasureStore:
    """Keeps an erasure with the name of whom it is of until its receipt is written, so that a repeat goes on."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def begin(self, of: Somebody, conversations: Collection[str], now: datetime) -> Job:
        """Begin an erasure, or go on with one that was broken off, with the conversations that were known then."""
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["begin_erasure"], *of, uuid4(), sorted(conversations), now
            )
            await connection.execute(self._sql["wait_for_writers_from_conversations"], of.tenant_id)
        assert row is not None, "it always tells"
        return Job(of, row["receipt_id"], row["conversations"], row["began_at"], row["erased"])

    async def unfinished(self) -> Sequence[Somebody]:
        """Return who is being erased, or was until that was broken off."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["unfinished_erasures"])
        return [Somebody(row["tenant_id"], row["kind"], row["name"]) for row in rows]

    async def tell(self, job: Job) -> None:
        """Keep what went so far."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["tell_erased"], *job.of, job.erased)

    async def end(self, job: Job, receipt: Mapping[str, Any], now: datetime) -> None:
        """Keep the receipt, and forget whom it is of."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["keep_receipt"], job.receipt_id, receipt, now)
            await connection.execute(self._sql["end_erasure"], *job.of)
            if job.of.kind == "tenant":
                await connection.execute(self._sql["drop_erasures_of_tenant"], job.of.tenant_id)

    async def receipt(self, receipt_id: UUID, *, of: str) -> Mapping[str, Any] | None:
        """Return a receipt of whoever has this hash; None where there is none."""
        async with self._database.connection() as connection:
            found: Mapping[str, Any] | None = await connection.fetchval(
                self._sql["read_receipt"], receipt_id, of
            )
        return found
