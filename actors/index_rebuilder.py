"""Rebuilds indexes when it is asked to."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from anyio.abc import TaskStatus

from elf.indexing.rebuild_runs import RebuildRuns


class IndexRebuilder:
    """Carries out the rebuilds of all corpora that requests ask for, so that none ends with its request.

    It needs Postgres alone: an index that is away comes back, and a rebuild waits for it.
    """

    name = "index_rebuilder"

    def __init__(self, runs: Sequence[RebuildRuns]) -> None:
        self._runs = runs

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with anyio.create_task_group() as group:
            for runs in self._runs:
                await group.start(runs.serve)
            task_status.started()
