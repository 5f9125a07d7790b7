"""Finds the notes that wait for a vector and that no job is about, as all do after a change of the model."""

from __future__ import annotations

from uuid import UUID

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import Unavailable
from elf.families.notes.reconcile import IndexReconciler

RETRY_S = 1.0

log = structlog.get_logger()


class UnindexedFinder:
    """Goes through all notes once, page by page, while the service serves; then it has nothing to do any more."""

    name = "unindexed_finder"

    def __init__(self, reconciler: IndexReconciler) -> None:
        self._reconciler = reconciler

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        after: UUID | None = UUID(int=0)
        found = 0
        while after is not None:
            try:
                after, jobs = await self._reconciler.enqueue_unindexed(after)
                found += jobs
            except Unavailable as error:
                log.warning("not_looking_for_unindexed_notes", error=error.message)
                await anyio.sleep(RETRY_S)
        if found:
            log.info("unindexed_notes_found", notes=found)
        await anyio.sleep_forever()
