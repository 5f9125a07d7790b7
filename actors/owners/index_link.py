"""The link to an index server that somebody else runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import IndexUnavailable
from elf.index.port import VectorIndex
from elf.index.space import Space

PING_INTERVAL_S: Final = 5.0
RETRY_S: Final = 1.0

log = structlog.get_logger()


def link_name(space: Space) -> str:
    """Return what the link to a space is called."""
    return f"index_link{space.suffix}"


class IndexLink:
    """The actor that keeps a space of a remote index usable.

    It makes the collection when it is missing and has `on_open` bring it up to date: at the start, and whenever the
    index answers again after it did not, because a server may come back without its data. An outage is waited out,
    not a crash: it is not this process that can mend it.
    """

    def __init__(
        self,
        index: VectorIndex,
        *,
        name: str,
        on_open: Callable[[], Awaitable[None]],
        ping_interval_s: float = PING_INTERVAL_S,
        retry_s: float = RETRY_S,
    ) -> None:
        self.name = name
        self._index = index
        self._on_open = on_open
        self._ping_interval_s = ping_interval_s
        self._retry_s = retry_s

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        announced = False
        while True:
            try:
                await self._index.ensure()
                await self._on_open()
                log.info("index_linked")
                if not announced:
                    task_status.started()
                    announced = True
                await self._ping_for_ever()
            except IndexUnavailable as error:
                log.warning("index_away", error=error.message)
                await anyio.sleep(self._retry_s)

    async def _ping_for_ever(self) -> None:
        while True:
            await anyio.sleep(self._ping_interval_s)
            await self._index.scan(after=None, limit=1)  # to count would be to look at everything
