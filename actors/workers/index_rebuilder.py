"""Rebuilds the index when it is asked to."""

from __future__ import annotations

import anyio
from anyio.abc import TaskStatus

from elf.index.space import Space
from elf.indexing.rebuild_runs import RebuildRuns


class IndexRebuilder:
    """Carries out the rebuilds that requests ask for, so that none ends with its request.

    It needs Postgres alone: an index that is away comes back, and a rebuild waits for it.
    """

    def __init__(self, space: Space, runs: RebuildRuns) -> None:
        self.name = f"index_rebuilder{space.suffix}"
        self._runs = runs

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        await self._runs.serve()
