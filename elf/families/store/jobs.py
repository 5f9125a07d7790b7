"""Makes the vectors of values that were written while the model was away, and anew those of another model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from elf.core.batches import batches
from elf.core.slices import in_slices
from elf.db.errors import retrying
from elf.families.store.kit import Kit
from elf.families.store.model import Place, Row
from elf.families.store.writing import Vectors, Writing
from elf.outbox.chores import Due
from elf.outbox.leases import Job

KEPT: Final = timedelta(days=1)  # what is done
PAGE: Final = 1000
BYTES_AT_ONCE: Final = 8 << 20  # of values that are read for their texts


class VectorJobs:
    """Does jobs with one call of the model, and a transaction for each value.

    A value that is gone meanwhile, or that somebody has written again, just ends its job.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._writing = Writing(kit)

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Make vectors and end the jobs, those of large values few at a time. Raises as the model does."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["measure_revisions"], [job.subject_id for job in jobs])
        sizes = {row["revision"]: row["bytes"] for row in rows}
        for part in batches(jobs, lambda job: sizes.get(job.subject_id, 0), most_size=BYTES_AT_ONCE):
            await self._handle(part)

    async def _handle(self, jobs: Sequence[Job]) -> None:
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["read_revisions"], [job.subject_id for job in jobs])
        texts = [await self._texts(row) for row in rows]
        flat = [text for of_row in texts for text in of_row]
        made = iter(await self._kit.embedder.embed(flat) if flat else [])
        vectors = {
            row["revision"]: (row, [next(made) for _ in of_row])
            for row, of_row in zip(rows, texts, strict=True)
        }
        for job in jobs:
            await retrying(partial(self._keep, job, vectors.get(job.subject_id)))

    async def _texts(self, row: Row) -> list[str]:
        value = msgspec.json.decode(row["value"])
        return await in_slices(self._writing.kept_texts(value, row["indexed"]))

    async def _keep(self, job: Job, made: tuple[Row, Vectors] | None) -> None:
        async with self._kit.database.transaction() as connection:
            if made is not None:
                row, vectors = made
                item_id: UUID | None = await connection.fetchval(self._sql["lock_revision"], job.subject_id)
                if item_id is not None:
                    place = Place(row["tenant_id"], row["user_id"])
                    await self._writing.keep_vectors(connection, place, {item_id: vectors})
            await self._kit.outbox.finish([job], connection)

    async def drop_done(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` jobs that were done long ago."""
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_done_jobs"], now - KEPT, limit))

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` values that have expired."""
        async with self._kit.database.transaction() as connection:
            return len(await connection.fetch(self._sql["drop_expired"], now, limit))

    async def leave_outdated(self, due: Due) -> None:
        """Leave the values whose vectors are of another model to be embedded anew."""
        page = PAGE
        while page == PAGE:
            async with self._kit.database.transaction() as connection:
                page = len(
                    await connection.fetch(self._sql["leave_outdated"], self._kit.embedder.version, PAGE)
                )
                connection.after_commit(self._kit.ring)
