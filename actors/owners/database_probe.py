"""The actor that finds out, again and again, whether the database can be read and written."""

from __future__ import annotations

from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.db.health import DatabaseHealth, DatabaseState

INTERVAL_S: Final = 5.0
AGAIN_S: Final = 1.0  # while something does not work

log = structlog.get_logger()


class DatabaseProbe:
    """Looks every few seconds and logs what changed. Ready once it has looked, whatever it found."""

    name = "database_probe"

    def __init__(self, health: DatabaseHealth) -> None:
        self._health = health

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        try:
            before = await self._health.look()
            _tell(before)
            task_status.started()
            while True:
                await anyio.sleep(AGAIN_S if any(before) else INTERVAL_S)
                now = await self._health.look()
                if now != before:
                    _tell(now)
                before = now
        finally:
            self._health.forget()


def _tell(state: DatabaseState) -> None:
    if any(state):
        log.warning("database_impaired", reads=state.reads, writes=state.writes)
    else:
        log.info("database_works")
