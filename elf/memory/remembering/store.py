"""What was said, in Postgres: kept with a transaction, left to families, and told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.memory.asking import Asking
from elf.memory.remembering import said as s
from elf.memory.remembering.outcome import Outcome
from elf.offers import Message, Said
from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job

TABLE: Final = "memory_said_outbox"
KEPT: Final = timedelta(days=30)
"""For so long it is known what became of it, and a repeat is known as one."""

Row = Mapping[str, Any]


class SaidStore:
    """Keeps what was said until every family is done with it, and for a while what became of it."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self.database = database
        self._sql = queries

    async def keep(
        self, connection: Connection, said: Said, asking: Asking, *, digest: bytes, now: datetime
    ) -> bool:
        """Begin to keep what was said; False when the same is there."""
        kept = await connection.fetchval(
            self._sql["keep_said"], said.subject.tenant_id, said.id, *asking.whose, said.conversation,
            said.conversation_id, digest, s.who(asking.caller), now,
        )  # fmt: skip
        return kept is not None

    async def leave(
        self,
        connection: Connection,
        said: Said,
        families: Mapping[str, Outcome | None],
        messages: Sequence[Message],
    ) -> None:
        """Leave it to families, in this order; those with an outcome are done with it."""
        key = said.subject.tenant_id, said.id
        left = [
            {
                "family": family,
                "place": place,
                "is_over": outcome is not None,
                **(outcome or Outcome()).stored(),
            }
            for place, (family, outcome) in enumerate(families.items())
        ]
        await connection.execute(self._sql["leave_said"], *key, left)
        if None in families.values():
            await connection.execute(self._sql["keep_messages"], *key, s.kept(messages))

    async def read(
        self, said_id: UUID, asking: Asking, connection: Connection | None = None
    ) -> Sequence[Row]:
        """Return what became of it, a row a family; none where who asks did not say it."""
        if connection is None:
            async with self.database.connection() as own:
                return await self.read(said_id, asking, own)
        return await connection.fetch(
            self._sql["read_said"], asking.subject.tenant_id, said_id, *asking.whose
        )

    async def job(self, job: Job) -> tuple[str, Said, Caller] | None:
        """Return what a leased job is: the family, what was said, and for whom; None when it is no more."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow(self._sql["read_job"], job.outbox_id)
        return None if row is None else (row["family"], s.read(row), s.caller_of(row["who"]))

    async def end(
        self, connection: Connection, outbox: LeasedOutbox, job: Job, said: Said, outcome: Outcome
    ) -> None:
        """End a job with a transaction. Raises LeaseLost when somebody else has it."""
        key = said.subject.tenant_id, said.id
        # Who ends last sees that all others did.
        await connection.execute(self._sql["lock_said"], *key)
        await connection.execute(self._sql["tell_written"], job.outbox_id, outcome.stored())
        await outbox.finish([job], connection)
        await connection.execute(self._sql["forget_messages"], *key)

    async def drop_old(self, now: datetime, limit: int) -> int:
        """Remove what is long done with; returns how much."""
        async with self.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_old_said"], now - KEPT, limit))
