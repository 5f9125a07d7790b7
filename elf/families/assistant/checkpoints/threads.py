"""What the newest checkpoint of a thread says, for readers that are no graph, and threads that no saver keeps."""

from __future__ import annotations

from typing import Final

from elf.api.caller import Caller
from elf.core.errors import Conflict, NotFound
from elf.families.assistant.api import checkpoints as a
from elf.families.assistant.kit import Kit

REDACTED_BATCH: Final = 500


class ThreadCheckpoints:
    """Carries out the operations on the checkpoint of a thread."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def read(self, request: a.OfOneThread, caller: Caller) -> a.ThreadCheckpoint:
        """Read what a thread's newest checkpoint says. Raises NotFound."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        async with self._kit.database.connection() as connection:
            row = await connection.fetchrow(self._sql["get_supervisor_checkpoint"], *place, request.thread_id)
        if row is None:
            path = "$.thread_id"
            raise NotFound(f"{path}: there is no checkpoint of {request.thread_id}", fields=[path])
        return a.ThreadCheckpoint(**row)

    async def redact(self, request: a.RedactCheckpoints, caller: Caller) -> a.RedactedCheckpoints:
        """Leave metadata alone of what savers' checkpoints say, some threads at a time."""
        redacted = 0
        while True:
            async with self._kit.database.connection() as connection:
                rows = await connection.fetch(
                    self._sql["redact_supervisor_checkpoints"],
                    request.tenant_id,
                    request.user_id,
                    REDACTED_BATCH,
                )
            redacted += len(rows)
            if len(rows) < REDACTED_BATCH:
                return a.RedactedCheckpoints(redacted=redacted)

    async def save(self, request: a.SaveThread, caller: Caller) -> a.ThreadCheckpoint:
        """Keep what somebody says of a thread. Raises Conflict when a saver keeps its checkpoints."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        where = (*place, request.thread_id)
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_saver_threads_alone"], *place, [request.thread_id])
            if await connection.fetchval(self._sql["has_saver_thread"], *where):
                path = "$.thread_id"
                raise Conflict(f"{path}: a graph's saver keeps its checkpoints", fields=[path])
            row = await connection.fetchrow(
                self._sql["save_supervisor_checkpoint"], *where, request.checkpoint_data
            )
        assert row is not None, "what a saver wrote goes with its checkpoints"
        return a.ThreadCheckpoint(**row)
