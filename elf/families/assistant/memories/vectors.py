"""Makes the vectors of memories that were stored while the embedding model was away."""

from __future__ import annotations

from collections.abc import Sequence

from pgvector import Vector

from elf.db.errors import retrying
from elf.families.assistant.jobs import Work
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import WORKER, Memory
from elf.families.assistant.store.rows import memory_of


class VectorJobs:
    """Does the jobs of vectors: with one call of the model, and a transaction for each memory.

    A memory that is gone meanwhile, or has its vector, just ends its job. One that says something else by now has
    another job.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._writer = kit.writer
        self._embedder = kit.embedder

    async def __call__(self, work: Sequence[Work]) -> None:
        """Make vectors and end the jobs. Raises as the model does."""
        memories = await self._lacking(work)
        vectors = (
            await self._embedder.embed([memory.embedded_text for memory in memories]) if memories else []
        )
        made = {memory.memory_id: (memory, vector) for memory, vector in zip(memories, vectors, strict=True)}
        for one in work:
            found = made.pop(one.subject_id, None)
            if found is None:
                await self._kit.outbox.finish([one.job])
            else:
                await self._keep(one, *found)

    async def _lacking(self, work: Sequence[Work]) -> list[Memory]:
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["lacking_vectors"], [one.place.tenant_id for one in work],
                [one.place.user_id for one in work], [one.subject_id for one in work], self._embedder.version,
            )  # fmt: skip
        return [memory_of(row) for row in rows]

    async def _keep(self, work: Work, memory: Memory, vector: Vector | None) -> None:
        async def once() -> None:
            async with self._writer.changing(memory.place, {memory.category}, actor=WORKER) as changes:
                now = await changes.read(memory.memory_id)
                if vector is not None and now is not None and now.embedded_text == memory.embedded_text:
                    await changes.put_vector(now, vector)
                await self._kit.outbox.finish([work.job], changes.connection)

        await retrying(once)
