"""The owner of the embedded index: starts the index process, watches it, and stops it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import IndexUnavailable, StartupError
from elf.index.edge.client import EdgeIndex, IndexInfo, SpaceUnusable
from elf.index.edge.folder import FolderInUse
from elf.index.edge.process import EdgeProcess
from elf.index.space import Space

log = structlog.get_logger()

OnOpen: TypeAlias = Callable[[IndexInfo], Awaitable[None]]

START_DEADLINE_S: Final = 120.0  # a load reads everything: about 0.5 s for 20,000 points, more after a crash
ATTACH_DEADLINE_S: Final = 120.0  # the other process may be loading, too
ATTACH_RETRY_S: Final = 0.2
PING_INTERVAL_S: Final = 2.0
PING_TIMEOUT_S: Final = 5.0  # an engine call that cannot be interrupted takes a fifth of a second


class IndexHost:
    """The actor that keeps the index process of `folder` alive.

    It is ready once all `spaces` answer and what is given with each returned: that is told in which state the space
    was found and brings it up to date, also when its shard was opened anew since. When the index process ends or falls
    silent, or its folder was deleted, the actor fails, so that its supervisor starts it again. When another living
    process serves the folder already, the actor is ready as soon as that index answers and only watches; when it ends
    the actor fails, and its next run takes over.
    """

    name = "index_host"

    def __init__(
        self,
        folder: Path,
        spaces: Mapping[Space, OnOpen],
        *,
        vector_dim: int,
        ping_interval_s: float = PING_INTERVAL_S,
        ping_timeout_s: float = PING_TIMEOUT_S,
    ) -> None:
        self._folder = folder
        self._spaces = spaces
        self._vector_dim = vector_dim
        self._ping_interval_s = ping_interval_s
        self._ping_timeout_s = ping_timeout_s
        self._has_run = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Serve or attach until cancelled.

        Raises StartupError when the folder cannot be used (once the index has run IndexUnavailable, because what
        worked may work again), IndexUnavailable when the index died or does not answer, and what brings it up to date
        raises.
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
        process = await EdgeProcess.start(self._folder, vector_dim=self._vector_dim)
        try:
            await process.wait_ready(deadline_s=START_DEADLINE_S)
            await self._tend(process, task_status)
        except IndexUnavailable:
            process.kill()  # dead already or hung: there is no orderly end to wait for
            raise
        finally:
            await process.stop()

    async def _tend(self, process: EdgeProcess, task_status: TaskStatus[None]) -> None:
        async with self._connected() as indexes:
            for space, index in indexes.items():
                await self._bring_up_to_date(space, index)
            self._has_run = True
            task_status.started()
            while True:
                with anyio.move_on_after(self._ping_interval_s):
                    code = await process.wait()
                    raise IndexUnavailable(
                        f"the index process for {self._folder} ended with exit code {code}"
                    )
                for space, index in indexes.items():
                    await self._look_after(space, index)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[dict[Space, EdgeIndex]]:
        indexes = {
            space: EdgeIndex(self._folder, space, timeout_s=self._ping_timeout_s) for space in self._spaces
        }
        try:
            yield indexes
        finally:
            for index in indexes.values():
                await index.aclose()

    async def _bring_up_to_date(self, space: Space, index: EdgeIndex) -> None:
        try:
            info = await index.open(deadline_s=START_DEADLINE_S)
        except SpaceUnusable as error:
            raise StartupError(error.message) from error
        log.info(
            "index_open",
            space=space.name, pid=info.pid, points=info.points, fresh=info.fresh, clean=info.clean,
        )  # fmt: skip
        await self._spaces[space](info)
        await index.settle()

    async def _look_after(self, space: Space, index: EdgeIndex) -> None:
        info = await index.info()
        index.check_files()
        if not info.settled:  # its shard was damaged, and has been opened anew for whoever asked first
            await self._bring_up_to_date(space, index)

    async def _attach(self, task_status: TaskStatus[None]) -> None:
        """Watch the index of another owner; ends by an exception, or at once when nothing answers there.

        To bring it up to date is the owner's business.
        """
        async with self._connected() as indexes:
            try:
                found = [await index.info() for index in indexes.values()]
            except IndexUnavailable:
                return
            points = sum(info.points for info in found)
            log.info("index_attached", folder=str(self._folder), pid=found[0].pid, points=points)
            self._has_run = True
            task_status.started()
            await self._watch_other(list(indexes.values()))

    async def _watch_other(self, indexes: Sequence[EdgeIndex]) -> None:
        while True:
            with anyio.move_on_after(self._ping_interval_s):
                await indexes[0].wait_lost()
                raise IndexUnavailable(f"the process that served the index in {self._folder} is gone")
            for index in indexes:
                await index.info()
