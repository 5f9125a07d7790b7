"""Watches the drop folders of all memories on this host, and opens those for which something was dropped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from elf.core.errors import ServiceError, Unavailable
from elf.families.graph.errors import NoSuchOrchestrator
from elf.families.graph.ingest.drop_folder import DropFolder
from elf.families.graph.ingest.folder_watch import FolderWatch
from elf.families.graph.ingest.folders import open_folders
from elf.families.graph.ingest.ingestion import Ingestion
from elf.families.graph.ingest.rest import REST_S
from elf.families.graph.ingest.settling import EndedFile
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.statements import OwnerKey

TAKE_UP_S: Final = 5.0
"""How long it takes at most until the folder of an orchestrator is watched that another process has made."""
AT_ONCE: Final = 4
"""How many memories are open at a time because something was dropped for them."""
log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What came of a look: `here` is whether this process took it, or had another one look that has the lock."""

    here: bool
    ended: Sequence[EndedFile]


class IngestActor:
    """Sees to it that what is dropped is taken in, by the process that has the lock of the memory."""

    name = "graph_ingest"

    def __init__(
        self, orchestrators: Orchestrators, files: OpenFiles, ingestion: Ingestion, *, poll_s: float
    ) -> None:
        self._orchestrators = orchestrators
        self._files = files
        self._ingestion = ingestion
        self._poll_s = poll_s
        self._watch = FolderWatch()
        self._rung: dict[OwnerKey, anyio.Event] = {}
        self._room = anyio.Semaphore(AT_ONCE)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        self._rung.clear()
        async with anyio.create_task_group() as group:
            await group.start(self._watch.run)
            task_status.started()
            while True:
                await self._take_up_new(group)
                await anyio.sleep(TAKE_UP_S)

    async def look_now(self, key: OwnerKey) -> Looked:
        """Have the folder of an orchestrator looked at now. Raises a ServiceError where that cannot be.

        Where it has no memory, one is made only for a file that lies there.
        """
        async with self._files.found(key.tenant_id, key.orchestrator_id) as place:
            if place.is_there:
                return await self._look_at(key, place.layout)
            if not await to_thread.run_sync(_is_anything_dropped, place.layout):
                return Looked(here=True, ended=[])
        async with self._files.using(key.tenant_id, key.orchestrator_id) as made:
            return await self._look_at(key, made.layout)

    async def _look_at(self, key: OwnerKey, layout: Layout) -> Looked:
        """Look at a folder whose memory is open, or have the process look that has its lock."""
        ended = await self._ingestion.look_now(key)
        if ended is None:
            await to_thread.run_sync(_knock, layout)
        return Looked(here=ended is not None, ended=ended or [])

    async def _take_up_new(self, group: TaskGroup) -> None:
        try:
            keys = await self._orchestrators.here()
        except Unavailable as error:
            log.warning("memory.ingest.homes_unknown", error=error.message)
            return
        for key in keys:
            if key not in self._rung:
                self._rung[key] = anyio.Event()
                group.start_soon(self._mind, key)

    async def _mind(self, key: OwnerKey) -> None:
        """Watch one folder. What cannot be used is tried again after a while."""
        while True:
            try:
                layout = await self._prepared(key)
                with self._watch.watching(str(layout.ingest), lambda: self._ring(key)):
                    while True:
                        await self._pause(key)
                        if await to_thread.run_sync(_is_anything_waiting, layout):
                            await self._have_taken_in(key, layout)
            except NoSuchOrchestrator:  # it was erased; if it comes again, it is taken up again
                del self._rung[key]
                return
            except (ServiceError, OSError) as error:
                log.warning("memory.ingest.stopped", error_class=type(error).__name__)
                await self._pause(key)

    async def _prepared(self, key: OwnerKey) -> Layout:
        """Open a memory for once, as something may have been begun in it; return where it is."""
        async with self._room, self._files.known(key.tenant_id, key.orchestrator_id) as place:
            return place.layout

    async def _have_taken_in(self, key: OwnerKey, layout: Layout) -> None:
        """Keep a memory open until nothing waits for it, or for a while."""
        async with self._room, self._files.known(key.tenant_id, key.orchestrator_id):
            with anyio.move_on_after(self._poll_s):
                while await to_thread.run_sync(_is_anything_waiting, layout):
                    self._ingestion.ring(key)
                    await anyio.sleep(REST_S)

    def _ring(self, key: OwnerKey) -> None:
        self._rung[key].set()
        self._ingestion.ring(key)

    async def _pause(self, key: OwnerKey) -> None:
        with anyio.move_on_after(self._poll_s):
            await self._rung[key].wait()
        self._rung[key] = anyio.Event()


def _is_anything_waiting(layout: Layout) -> bool:
    with open_folders(str(layout.memory)) as folders:
        return bool(DropFolder(folders).waiting())


def _is_anything_dropped(layout: Layout) -> bool:
    """Tell whether a file lies in a folder of which nobody knows yet that it is one to take files in from."""
    try:
        with os.scandir(layout.ingest) as entries:
            return any(not entry.is_dir(follow_symlinks=False) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _knock(layout: Layout) -> None:
    with open_folders(str(layout.memory)) as folders:
        DropFolder(folders).knock()
