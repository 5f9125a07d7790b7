"""Has what cannot be found as it should be mended, in the background."""

from __future__ import annotations

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import Unavailable
from elf.indexing.fleet import Fleet
from elf.indexing.renewal import CorpusRenewal

ADOPT_EVERY_S = 10.0
WALK_EVERY_S = 86_400.0
RETRY_S = 10.0

log = structlog.get_logger()


class CorpusRenewer:
    """Looks through a corpus once the other processes are known, when their models or chunkings change, and daily."""

    def __init__(self, corpus: str, renewal: CorpusRenewal, fleet: Fleet) -> None:
        self.name = f"{corpus}_renewer"
        self._corpus = corpus
        self._renewal = renewal
        self._fleet = fleet

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        await self._fleet.wait_known()
        async with anyio.create_task_group() as group:
            group.start_soon(self._adopt_for_ever)
            group.start_soon(self._walk_for_ever)

    async def _adopt_for_ever(self) -> None:
        while True:
            try:
                await self._renewal.adopt()
            except Unavailable as error:
                log.warning("jobs_not_adopted", corpus=self._corpus, error=error.message)
            with anyio.move_on_after(ADOPT_EVERY_S):
                await self._fleet.wait_changed()

    async def _walk_for_ever(self) -> None:
        while True:
            forms = self._fleet.other_forms
            try:
                await self._renewal.walk()
            except Unavailable as error:
                log.warning("corpus_not_renewed", corpus=self._corpus, error=error.message)
                await anyio.sleep(RETRY_S)
                continue
            with anyio.move_on_after(WALK_EVERY_S):
                while self._fleet.other_forms == forms:
                    await self._fleet.wait_changed()
