"""Knows which processes share the memory, and says loudly when their models differ."""

from __future__ import annotations

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import Unavailable
from elf.indexing.fleet import Fleet, FleetRegister

LOOK_EVERY_S = 10.0
LOOK_EVERY_S_IN_DISCORD = 2.0  # somebody waits for the end of it
REMIND_EVERY_S = 600.0
LEAVE_TIMEOUT_S = 2.0

log = structlog.get_logger()


class FleetWatch:
    """Looks at intervals, tells the others that this process lives, and warns of what it sees, again after a while."""

    name = "fleet_watch"

    def __init__(self, fleet: Fleet, register: FleetRegister) -> None:
        self._fleet = fleet
        self._register = register
        self._told: object = None  # what was warned of last; not the words, which count how much waits
        self._remind_at = 0.0

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            while True:
                await self._look()
                await anyio.sleep(LOOK_EVERY_S_IN_DISCORD if self._told else LOOK_EVERY_S)
        finally:
            await self._leave()

    async def _look(self) -> None:
        try:
            await self._register.look()
        except Unavailable as error:
            log.warning("fleet_not_seen", error=error.message)
        else:
            self._warn(self._fleet.warnings())

    def _warn(self, warnings: list[str]) -> None:
        now = anyio.current_time()
        telling = (self._fleet.others, frozenset(self._fleet.waiting)) if warnings else None
        if telling == self._told and (not warnings or now < self._remind_at):
            return
        for warning in warnings:
            log.warning("fleet_differs", warning=warning)
        if not warnings:
            log.info("fleet_agrees")
        self._told = telling
        self._remind_at = now + REMIND_EVERY_S

    async def _leave(self) -> None:
        with anyio.move_on_after(LEAVE_TIMEOUT_S, shield=True):
            try:
                await self._register.leave()
            except Unavailable as error:  # the others find out by its silence
                log.info("leave_not_told", error=error.message)
