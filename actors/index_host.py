"""The owner of the embedded index: starts the index process, watches it, and stops it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import IndexUnavailable, StartupError
from elf.index.edge.client import EdgeIndex, IndexInfo
from elf.index.edge.folder import FolderInUse
from elf.index.edge.process import EdgeProcess

log = structlog.get_logger()

OnOpen: TypeAlias = Callable[[IndexInfo], Awaitable[None]]

START_DEADLINE_S: Final = 120.0  # a load reads everything: about 0.5 s for 20,000 points, more after a crash
ATTACH_DEADLINE_S: Final = 120.0  # the other process may be loading, too
ATTACH_RETRY_S: Final = 0.2
PING_INTERVAL_S: Final = 2.0
PING_TIMEOUT_S: Final = 5.0  # an engine call that cannot be interrupted takes a fifth of a second


class IndexHost:
    """The actor that keeps the index process of `folder` alive.

    It is ready once the index answers and `on_open` returned; `on_open` is told in which state the index was
    found and brings it up to date. When the index process ends or falls silent, or its folder was deleted, the
    actor fails, so that its supervisor starts it again. When another living process serves the folder already,
    the actor is ready as soon as that index answers and only watches; when it ends the actor fails, and its next
    run takes over.
    """

    name = "index_host"

    def __init__(
        self,
        folder: Path,
        *,
        vector_dim: int,
        avg_len: float,
        on_open: OnOpen,
        ping_interval_s: float = PING_INTERVAL_S,
        ping_timeout_s: float = PING_TIMEOUT_S,
    ) -> None:
        self._folder = folder
        self._vector_dim = vector_dim
        self._avg_len = avg_len
        self._on_open = on_open
        self._ping_interval_s = ping_interval_s
        self._ping_timeout_s = ping_timeout_s
        self._has_run = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Serve or attach until cancelled.

        Raises StartupError when the folder cannot be used (once the index has run IndexUnavailable, because what
        worked may work again), IndexUnavailable when the index died or does not answer, and whatever `on_open` raises.
        """
        try:
            await self._serve_or_attach(task_status)
        except StartupError as error:
            if self._has_run:
                raise IndexUnavailable(str(error)) from error
            raise

    async def _serve_or_attach(self, task_status: TaskStatus[None]) -> None:
        deadline = anyio.current_time() + ATTACH_DEADLINE_S
        while True:
            await self._attach(
                task_status
            )  # first: to start a process that finds the folder in use takes a second
            try:
                await self._own(task_status)
            except FolderInUse as error:
                if anyio.current_time() > deadline:
                    raise StartupError(f"{error}, which does not answer") from error
                await anyio.sleep(ATTACH_RETRY_S)

    async def _own(self, task_status: TaskStatus[None]) -> None:
        """Run an index process of this actor's own; ends only by an exception."""
        process = await EdgeProcess.start(self._folder, vector_dim=self._vector_dim, avg_len=self._avg_len)
        try:
            await process.wait_ready(deadline_s=START_DEADLINE_S)
            await self._tend(process, task_status)
        except IndexUnavailable:
            process.kill()  # dead already or hung: there is no orderly end to wait for
            raise
        finally:
            await process.stop()

    async def _tend(self, process: EdgeProcess, task_status: TaskStatus[None]) -> None:
        index = EdgeIndex(self._folder, timeout_s=self._ping_timeout_s)
        try:
            info = await index.info()
            log.info("index_open", pid=info.pid, points=info.points, fresh=info.fresh, clean=info.clean)
            await self._on_open(info)
            await index.settle()
            self._has_run = True
            task_status.started()
            await self._watch(process, index)
        finally:
            await index.aclose()

    async def _watch(self, process: EdgeProcess, index: EdgeIndex) -> None:
        while True:
            with anyio.move_on_after(self._ping_interval_s):
                code = await process.wait()
                raise IndexUnavailable(f"the index process for {self._folder} ended with exit code {code}")
            await index.ensure()

    async def _attach(self, task_status: TaskStatus[None]) -> None:
        """Watch the index of another owner; ends by an exception, or at once when nothing answers there."""
        index = EdgeIndex(self._folder, timeout_s=self._ping_timeout_s)
        try:
            try:
                info = await index.info()
            except IndexUnavailable:
                return
            log.info("index_attached", folder=str(self._folder), pid=info.pid, points=info.points)
            self._has_run = True
            task_status.started()
            await self._watch_other(index)
        finally:
            await index.aclose()

    async def _watch_other(self, index: EdgeIndex) -> None:
        while True:
            with anyio.move_on_after(self._ping_interval_s):
                await index.wait_lost()
                raise IndexUnavailable(f"the process that served the index in {self._folder} is gone")
            await index.info()
