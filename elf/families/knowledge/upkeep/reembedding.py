"""Moves memories to the configured model: each gets a job, and the queue of the family does it while others search."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from elf.api.caller import Caller
from elf.families.knowledge.api import working as k
from elf.families.knowledge.kit import Kit

PAGE: Final = 1000
_BEFORE_THE_FIRST: Final = UUID(int=0)


class Reembedding:
    """Until a memory has its new vector it is found by its words: vectors of two models never meet."""

    def __init__(self, kit: Kit, version: str) -> None:
        """`version` is that of the configured model."""
        self._kit = kit
        self._sql = kit.queries
        self._version = version

    async def run(self, request: k.Reembed, caller: Caller) -> k.ReembedAnswer:
        """Make jobs for all memories without a vector of the model, unless it is a dry run; tell how many there are.

        Asked again, it goes on where it was cut off, and a dry run tells how far it has come.
        """
        if not request.dry_run:
            await self._enqueue(request.tenant_id)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["count_outdated"], request.tenant_id, self._version)
            running = await connection.fetchval(self._sql["has_vector_jobs"], request.tenant_id)
        outdated = {row["kind"]: row["memories"] for row in rows}
        return k.ReembedAnswer(embedding_version=self._version, outdated=outdated, running=running)

    async def _enqueue(self, tenant_id: str | None) -> None:
        after = _BEFORE_THE_FIRST
        while True:
            async with self._kit.database.transaction() as connection:
                row = await connection.fetchrow(
                    self._sql["enqueue_outdated"], tenant_id, self._version, after, PAGE
                )
                connection.after_commit(self._kit.ring)
            if row is None or row["last_id"] is None:
                return
            after = row["last_id"]
