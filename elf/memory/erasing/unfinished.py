"""Goes on with erasures that were broken off, such as by the end of the process that was at them."""

from __future__ import annotations

from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import ServiceError
from elf.memory.erasing.service import Erasing

LOOK_S: Final = 15.0

log = structlog.get_logger()


class UnfinishedErasures:
    """An actor that looks for them when it starts, and every LOOK_S from then on."""

    name: Final = "unfinished_erasures"

    def __init__(self, erasing: Erasing) -> None:
        self._erasing = erasing

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """End erasures until cancelled."""
        task_status.started()
        while True:
            try:
                await self._erasing.go_on()
            except ServiceError as error:
                log.warning("erasures_not_looked_for", error=error.message)
            await anyio.sleep(LOOK_S)
