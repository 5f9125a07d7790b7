"""Memories of this host whose files are gone: one by one, or with the whole root folder.

Nothing is made in their place until an operator gives them up, and they are used again when they are put back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskStatus

from elf.core.clock import Clock
from elf.core.errors import ServiceError, Unavailable
from elf.families.graph.errors import FileUnusable, GraphRootLost, MemoryDbLost, emptied
from elf.families.graph.homes import Home, why_elsewhere
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.store.layout import holds_memory, is_empty
from elf.families.graph.store.statements import OwnerKey

LOOK_S: Final = 60.0
MAX_FOLDERS_LOGGED: Final = 20

log = structlog.get_logger()


class Loss(NamedTuple):
    """What is wrong with a memory whose file is gone, and since when that is known."""

    error: FileUnusable
    since: datetime


class Losses:
    """An actor that looks from time to time whether the files of all memories of this host are there."""

    name = "graph_losses"

    def __init__(self, orchestrators: Orchestrators, clock: Clock) -> None:
        self._orchestrators = orchestrators
        self._clock = clock
        self._lost: Mapping[OwnerKey, Loss] = {}

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            try:
                await self.look()
            except ServiceError as error:
                log.warning("graph.losses_unknown", error=error.message)
            await anyio.sleep(LOOK_S)

    async def look(self) -> None:
        """Look for the files of all memories of this host now. Raises Unavailable."""
        self._lost = await self.among(await self._orchestrators.of_this_host())

    def known(self) -> Mapping[OwnerKey, FileUnusable]:
        """Return what was found missing when somebody looked last."""
        return {key: loss.error for key, loss in self._lost.items()}

    async def among(self, homes: Sequence[Home]) -> Mapping[OwnerKey, Loss]:
        """Return which of some memories are lost, and note since when. Raises Unavailable."""
        here = await self._orchestrators.home()
        errors = await to_thread.run_sync(self._missing, homes, here)
        now = self._clock.now()
        new = [one.key for one in homes if one.key in errors and one.lost_at is None]
        is_back = [
            one for one in homes if one.key not in errors and one.lost_at is not None and one.home == here
        ]
        noted = await self._orchestrators.note_losses(new, [one.key for one in is_back], now)
        if noted:
            _log_lost([one for one in homes if one.key in noted], errors)
        if is_back:
            log.info("graph.memories_found_again", memories=len(is_back))
        return {one.key: Loss(errors[one.key], one.lost_at or now) for one in homes if one.key in errors}

    def _missing(self, homes: Sequence[Home], here: str) -> dict[OwnerKey, FileUnusable]:
        """Return what is wrong with those of some memories whose files are gone. Blocks."""
        found = {one.key: self._error(one, here) for one in homes}
        return {key: error for key, error in found.items() if error is not None}

    def _error(self, one: Home, here: str) -> FileUnusable | None:
        residence = self._orchestrators.described(one.key)
        root = Path(one.folder) if residence is None else residence.runtime_root
        if one.home != here:
            error = why_elsewhere(one.key, one.home, one.folder, root)
            return error if isinstance(error, GraphRootLost) else None
        if not one.is_made:
            return None
        try:
            if is_empty(root):
                return emptied(one.key.orchestrator_id)
            return None if holds_memory(root) else MemoryDbLost(one.key.orchestrator_id)
        except Unavailable as error:  # nobody can say, and whoever uses it is told why
            log.warning(
                "graph.memory_not_looked_for", orchestrator_id=one.key.orchestrator_id, error=error.message
            )
            return None


def _log_lost(lost: Sequence[Home], errors: Mapping[OwnerKey, FileUnusable]) -> None:
    log.error(
        "graph.memories_lost",
        memories=len(lost),
        error_codes=sorted({errors[one.key].error_code for one in lost}),
        homes=sorted({one.home for one in lost}),
        folders=[one.folder for one in lost[:MAX_FOLDERS_LOGGED]],
    )
