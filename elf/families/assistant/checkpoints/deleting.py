"""Deletes checkpoints: whole threads, what runs made, and all but the newest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from elf.api.caller import Caller
from elf.db.errors import retrying
from elf.families.assistant.api import checkpoints as a
from elf.families.assistant.checkpoints.owners import agents_of_threads, owner_of
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place


class CheckpointDeleting:
    """Carries out the operations that delete checkpoints. What was told of one that is gone goes with it.

    Each raises ScopeDenied, with nothing done of threads or of runs, where one belongs to another agent.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def delete(self, request: a.DeleteCheckpoints, caller: Caller) -> None:
        """Delete threads with all that is of them, and what runs made."""
        if threads := request.thread_ids:
            place = await owner_of(self._kit, request, caller, "owners_of_saver_threads", threads)
            if place is not None:
                await retrying(partial(self._delete, place, threads, "delete_saver_threads", caller))
        if runs := request.run_ids:
            place = await owner_of(self._kit, request, caller, "owners_of_saver_runs", runs)
            if place is not None:
                await retrying(partial(self._delete_runs, place, runs, caller))

    async def prune(self, request: a.PruneThreads, caller: Caller) -> None:
        """Delete all of threads, or all but the newest of each namespace."""
        threads = request.thread_ids
        place = await owner_of(self._kit, request, caller, "owners_of_saver_threads", threads)
        if place is None:
            return
        how: Literal["delete_saver_threads", "prune_saver_threads"] = (
            "delete_saver_threads" if request.strategy == "delete" else "prune_saver_threads"
        )
        await retrying(partial(self._delete, place, threads, how, caller))

    async def _delete(
        self,
        place: Place,
        threads: Sequence[str],
        how: Literal["delete_saver_threads", "prune_saver_threads"],
        caller: Caller,
    ) -> None:
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_saver_threads_alone"], *place, threads)
            paths = {thread: f"$.thread_ids[{index}]" for index, thread in enumerate(threads)}
            await agents_of_threads(self._kit, connection, place, paths, caller)
            await connection.execute(self._sql[how], *place, threads)
            await connection.execute(self._sql["sweep_saver_threads"], *place, threads)

    async def _delete_runs(self, place: Place, runs: Sequence[str], caller: Caller) -> None:
        async with self._kit.database.transaction() as connection:
            rows = await connection.fetch(self._sql["threads_of_saver_runs"], *place, runs)
            threads = [row["thread_id"] for row in rows]
            await connection.execute(self._sql["lock_saver_threads_alone"], *place, threads)
            paths = dict.fromkeys(threads, "$.run_ids")
            await agents_of_threads(self._kit, connection, place, paths, caller)
            await connection.execute(self._sql["delete_saver_runs"], *place, runs)
            await connection.execute(self._sql["sweep_saver_threads"], *place, threads)
