"""Writes checkpoints, and what tasks wrote after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.core.slices import in_slices
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.api import checkpoints as a
from elf.families.assistant.checkpoints.left_out import whole_values
from elf.families.assistant.checkpoints.owners import agents_of_threads, owner_of
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place


class CheckpointWriting:
    """Carries out the operations that write checkpoints. Each may be done again, and leaves the same."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def put(self, request: a.PutCheckpoint, caller: Caller) -> None:
        """Write a checkpoint, its new values, and what it says for readers that are no graph.

        The first of a thread says to which agent the thread belongs. Raises InvalidRequest where the checkpoint would
        be too large, ScopeDenied where the thread belongs to another agent.
        """
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        values = await in_slices(whole_values(request))
        await retrying(lambda: self._put(place, request, values, caller))

    async def _put(
        self, place: Place, request: a.PutCheckpoint, values: Sequence[a.ChannelValue], caller: Caller
    ) -> None:
        where = (*place, request.thread_id, request.checkpoint_ns)
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_saver_thread"], *place, request.thread_id)
            agent = await self._agent_of(connection, place, request.thread_id, caller)
            await connection.execute(
                self._sql["put_saver_checkpoint"], *where, request.checkpoint_id, request.parent_id,
                request.checkpoint.type, request.checkpoint.data, request.metadata.type, request.metadata.data,
                request.facts, request.versions, [value.channel for value in values],
                [value.version for value in values], [value.type for value in values],
                [value.data for value in values], agent,
            )  # fmt: skip
            await self._refuse_too_large(connection, (*where, request.checkpoint_id), "$.values")
            if request.checkpoint_ns:
                await connection.execute(
                    self._sql["put_agent_state"], *where, request.checkpoint_id, request.facts
                )
            elif request.summary is not None:
                await connection.execute(
                    self._sql["put_supervisor_checkpoint"], *place, request.thread_id, request.checkpoint_id,
                    self._readable(request, request.summary) | {"checkpoint_id": request.checkpoint_id},
                )  # fmt: skip

    def _readable(self, request: a.PutCheckpoint, summary: dict[str, Any]) -> dict[str, Any]:
        """Return what is kept of a summary for readers that are no graph: metadata alone where it is not to be read."""
        if self._kit.config.readable_checkpoints and a.CIPHER_MARK not in request.checkpoint.type:
            return summary
        return {name: summary.get(name) for name in a.READABLE_METADATA} | {"encrypted": True}

    async def _agent_of(
        self, connection: Connection, place: Place, thread: str, caller: Caller
    ) -> str | None:
        """Return to which agent a thread belongs, the caller's where it has no checkpoint yet. Raises ScopeDenied."""
        paths = {thread: "$.thread_id"}
        agents = await agents_of_threads(self._kit, connection, place, paths, caller)
        if not agents:  # two agents may be about to write its first checkpoint
            await connection.execute(self._sql["lock_first_checkpoint"], *place, thread)
            agents = await agents_of_threads(self._kit, connection, place, paths, caller)
        return agents.get(thread, caller.bound.get("agent_id"))

    async def put_writes(self, request: a.PutWrites, caller: Caller) -> None:
        """Write what a task wrote; the checkpoint itself may come later. Raises what `put` does."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        writes: dict[int, a.Write] = {}
        for write in request.writes:
            if write.idx < 0 or write.idx not in writes:
                writes[write.idx] = write
        await retrying(lambda: self._put_writes(place, request, list(writes.values()), caller))

    async def _put_writes(
        self, place: Place, request: a.PutWrites, rows: Sequence[a.Write], caller: Caller
    ) -> None:
        where = (*place, request.thread_id, request.checkpoint_ns, request.checkpoint_id)
        async with self._kit.database.transaction() as connection:
            paths = {request.thread_id: "$.thread_id"}
            await agents_of_threads(self._kit, connection, place, paths, caller)
            await connection.execute(
                self._sql["put_saver_writes"], *where, request.task_id, request.task_path, [row.idx for row in rows],
                [row.channel for row in rows], [row.type for row in rows], [row.data for row in rows],
            )  # fmt: skip
            await self._refuse_too_large(connection, where, "$.writes")

    async def _refuse_too_large(self, connection: Connection, where: Sequence[str], path: str) -> None:
        """Raise InvalidRequest where a checkpoint has become larger than it may be."""
        size: int = await connection.fetchval(self._sql["size_of_saver_checkpoint"], *where)
        if size > a.MAX_CHECKPOINT_BYTES:
            problem = f"would have {size:,} bytes with its values and writes, and at most {a.MAX_CHECKPOINT_BYTES:,}"
            raise InvalidRequest(f"{path}: the checkpoint {problem} are kept", fields=[path])

    async def copy(self, request: a.CopyThread, caller: Caller) -> None:
        """Copy a thread to another one of the same user, which is the caller's agent's unless it has checkpoints.

        Raises ScopeDenied where it belongs to another agent.
        """
        source, target = request.source_thread_id, request.target_thread_id
        place = await owner_of(self._kit, request, caller, "owners_of_saver_threads", [source])
        if place is not None:
            await retrying(lambda: self._copy(place, source, target, caller))

    async def _copy(self, place: Place, source: str, target: str, caller: Caller) -> None:
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_saver_threads_alone"], *place, [source, target])
            paths = {target: "$.target_thread_id"}
            agents = await agents_of_threads(self._kit, connection, place, paths, caller)
            agent = agents.get(target, caller.bound.get("agent_id"))
            await connection.execute(self._sql["copy_saver_thread"], *place, source, target, agent)
