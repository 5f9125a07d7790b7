"""The actor that owns the files of a process: opens one on use, closes what is idle, and bounds how many are open.

A file that is broken disables itself: it is looked at again after a while, and the others go on.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from elf.core.errors import ServiceError, Unavailable
from elf.families.graph.errors import FileUnusable, MemoryDbLost, NoSuchOrchestrator, emptied
from elf.families.graph.memory_place import EmptyPlace, MemoryFolders, MemoryPlace
from elf.families.graph.orchestrators import Orchestrators, Residence
from elf.families.graph.recovery import repair_alone
from elf.families.graph.removal import remove_set_aside, set_aside
from elf.families.graph.steward import Steward
from elf.families.graph.store.damage import Repaired
from elf.families.graph.store.empty import EmptyMemory
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.layout import prepare, there
from elf.families.graph.store.presence import LOOK_S, alone_with, somebody_wants_it_alone
from elf.families.graph.store.statements import OwnerKey

RECHECK_S: Final = 60.0
log = structlog.get_logger()


@dataclass(eq=False, slots=True)
class _Entry:
    """A file that is open or was; `users` are those that work with it now."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    file: MemoryFile | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)
    users: int = 0
    used_at: float = 0.0
    broken: FileUnusable | None = None
    broken_at: float = 0.0


class OpenFiles:
    """Gives out files, each to as many as want it, while it runs."""

    name = "graph_files"

    def __init__(
        self,
        orchestrators: Orchestrators,
        kit: FileKit,
        *,
        most: int,
        idle_s: float,
        steward: Steward | None = None,
        recheck_s: float = RECHECK_S,
    ) -> None:
        self._orchestrators = orchestrators
        self._kit = kit
        self._empty = EmptyMemory(kit)
        self._most = most
        self._idle_s = idle_s
        self._steward = steward
        self._recheck_s = recheck_s
        self._entries: dict[OwnerKey, _Entry] = {}
        self._taken = 0  # of the places for open files, those that are being opened or closed included
        self._group: TaskGroup | None = None

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            try:
                while True:
                    await anyio.sleep(self._idle_s / 2)
                    self._close_idle()
            finally:
                self._group = None
                group.cancel_scope.cancel()

    @property
    def open_count(self) -> int:
        """How many files are open."""
        return sum(entry.file is not None for entry in self._entries.values())

    def is_open(self, key: OwnerKey) -> bool:
        """Tell whether the file of an orchestrator is open."""
        entry = self._entries.get(key)
        return entry is not None and entry.file is not None

    def broken(self) -> dict[OwnerKey, FileUnusable]:
        """Return what is wrong with the files that cannot be used."""
        return {key: entry.broken for key, entry in self._entries.items() if entry.broken is not None}

    @asynccontextmanager
    async def using(self, tenant_id: str, orchestrator_id: str) -> AsyncIterator[MemoryPlace]:
        """Keep the memory of an orchestrator open for the block.

        Raises what `Orchestrators.residence` does, FileUnusable while the file is broken, and Unavailable when it
        cannot be opened now or too many are in use.
        """
        key = OwnerKey(tenant_id, orchestrator_id)
        self._look_anew(key)
        async with self._at(await self._orchestrators.residence(key)) as place:
            yield place

    @asynccontextmanager
    async def found(self, tenant_id: str, orchestrator_id: str) -> AsyncIterator[MemoryPlace | EmptyPlace]:
        """Keep a memory open that there is already, or give an empty place where there may be one. Raises as `using`.

        Nothing is made, and nothing is kept of who asked.
        """
        key = OwnerKey(tenant_id, orchestrator_id)
        self._look_anew(key)
        residence = await self._orchestrators.known(key)
        if residence is None:
            yield EmptyPlace(self._orchestrators.configured(key), self._empty, self._kit)
        else:
            async with self._at(residence) as place:
                yield place

    @asynccontextmanager
    async def known(self, tenant_id: str, orchestrator_id: str) -> AsyncIterator[MemoryPlace]:
        """Keep a memory open that there is already. Raises NoSuchOrchestrator where there is none, and as `using`."""
        async with self._at(await self._known(tenant_id, orchestrator_id)) as place:
            yield place

    async def recover(self, tenant_id: str, orchestrator_id: str) -> tuple[Repaired, bool]:
        """Repair the file of a memory if it is damaged, or give it up if it is lost: then a new one is made as soon as
        the memory is used.

        Return what `repair_alone` does, and whether it was lost. Raises as `known`, but for such a file.
        """
        residence = await self._known(tenant_id, orchestrator_id)
        entry = self._entries.setdefault(residence.key, _Entry())
        async with entry.lock:
            self._close(entry)
            layout = await to_thread.run_sync(
                prepare, residence.runtime_root, limiter=self._kit.write_threads
            )
            was_lost = await self._orchestrators.is_lost(residence)
            repaired = await repair_alone(layout, residence.key, self._kit)
            if await self._orchestrators.is_lost(residence):
                await self._orchestrators.give_up(residence.key)
            entry.broken = None
        return repaired, was_lost and not repaired.is_resumed and not any(repaired.kept.values())

    async def folders(self, tenant_id: str, orchestrator_id: str) -> MemoryFolders | None:
        """Return where the files of a memory are; None where there are none, or where they lead is not safe."""
        residence = self._orchestrators.described(OwnerKey(tenant_id, orchestrator_id))
        if residence is None:
            return None
        layout = await to_thread.run_sync(there, residence.runtime_root, limiter=self._kit.read_threads)
        return None if layout is None else MemoryFolders(layout, residence)

    def _look_anew(self, key: OwnerKey) -> None:
        """Ask Postgres again where a memory is that is not open here: whoever erases it waits for those who have it."""
        if not self.is_open(key):
            self._orchestrators.look_anew(key)

    async def remove(self, key: OwnerKey, runtime_root: Path) -> Mapping[str, int]:
        """Remove the memory of an orchestrator with its folder, and forget that there was one.

        Return how much of each kind it had. Whoever has the lock of the orchestrator sees that nobody makes it anew
        meanwhile. Raises Unavailable when another process does not let go of the file.
        """
        entry = self._entries.setdefault(key, _Entry())
        async with entry.lock:
            self._close(entry)
            counts: Mapping[str, int] = {}
            memory = runtime_root / "memory"
            if await to_thread.run_sync(os.path.lexists, memory):
                layout = await to_thread.run_sync(prepare, runtime_root, limiter=self._kit.write_threads)
                async with alone_with(layout):
                    counts = await to_thread.run_sync(set_aside, layout, limiter=self._kit.write_threads)
            await to_thread.run_sync(
                remove_set_aside, memory, self._orchestrators.root, limiter=self._kit.write_threads
            )
            await self._orchestrators.forget(key)
            entry.broken = None
        return counts

    async def _known(self, tenant_id: str, orchestrator_id: str) -> Residence:
        self._look_anew(OwnerKey(tenant_id, orchestrator_id))
        residence = await self._orchestrators.known(OwnerKey(tenant_id, orchestrator_id))
        if residence is None:
            raise NoSuchOrchestrator(orchestrator_id)
        return residence

    @asynccontextmanager
    async def _at(self, residence: Residence) -> AsyncIterator[MemoryPlace]:
        key = residence.key
        entry = self._entries.setdefault(key, _Entry())
        entry.users += 1
        file = None
        try:
            file = await self._opened(residence, entry)
            yield MemoryPlace(file, residence)
        except FileUnusable as error:
            if file is None or file is entry.file:  # else it is of a file that was put aside meanwhile
                self._break(key, entry, error)
            raise
        finally:
            entry.users -= 1
            entry.used_at = anyio.current_time()

    async def _opened(self, residence: Residence, entry: _Entry) -> MemoryFile:
        async with entry.lock:
            if entry.broken is not None:
                if anyio.current_time() < entry.broken_at + self._recheck_s:
                    raise entry.broken
                entry.broken = None
            if entry.file is None:
                entry.file = await self._open(residence, entry)
            return entry.file

    async def _open(self, residence: Residence, entry: _Entry) -> MemoryFile:
        """Open a file, or make it. Raises ErasureInProgress while its orchestrator is being erased."""
        async with self._kit.locks.of_memory(residence.key):
            self._look_anew(residence.key)
            return await self._open_now(await self._orchestrators.residence(residence.key), entry)

    async def _open_now(self, residence: Residence, entry: _Entry) -> MemoryFile:
        await self._make_room()
        self._taken += 1  # until it is closed
        ready = _Ready()
        try:
            if await self._orchestrators.is_lost(residence):
                raise MemoryDbLost(residence.key.orchestrator_id)
            if await self._orchestrators.is_emptied(residence):
                raise emptied(residence.key.orchestrator_id)
            layout = await to_thread.run_sync(
                prepare, residence.runtime_root, limiter=self._kit.write_threads
            )
            if self._group is None:
                raise Unavailable("memories are not served at this moment: try again")
            file = MemoryFile(residence.key, layout, self._kit)
            entry.scope, entry.closed = anyio.CancelScope(), anyio.Event()
            self._group.start_soon(self._work, residence.key, entry, file, ready)
        except BaseException:
            self._taken -= 1
            raise
        try:
            await ready.wait()
            await self._orchestrators.note_made(residence)
        except BaseException:  # who wanted it left, and nobody else knows of it
            entry.scope.cancel()
            raise
        return file

    async def _work(self, key: OwnerKey, entry: _Entry, file: MemoryFile, ready: _Ready) -> None:
        """Run a file, and what is to be done for it, until it is closed, or breaks."""
        served, closed = anyio.CancelScope(), entry.closed
        try:
            with entry.scope:
                if self._group is not None:
                    self._group.start_soon(self._serve, key, entry, file, ready, served)
                await file.run(task_status=ready)
        except ServiceError as error:
            ready.failed(error)
            if isinstance(error, FileUnusable):
                self._break(key, entry, error)
        finally:
            served.cancel()
            if entry.file is file:
                entry.file = None
            self._taken -= 1
            closed.set()
            ready.failed(Unavailable("the memory is being closed: try again"))

    async def _serve(
        self, key: OwnerKey, entry: _Entry, file: MemoryFile, ready: _Ready, scope: anyio.CancelScope
    ) -> None:
        """Have done what is to be done for a file once it is open, until somebody wants to be alone with it."""
        with scope:
            if not await ready.is_open():
                return
            async with anyio.create_task_group() as group:
                if self._steward is not None:
                    group.start_soon(self._steward_of, self._steward, key, entry, file)
                await self._until_it_is_wanted(entry, file)
                self._close(entry)

    async def _steward_of(self, steward: Steward, key: OwnerKey, entry: _Entry, file: MemoryFile) -> None:
        """Have done what is to be done for a file, which breaks where it cannot be used any more."""
        try:
            await steward.run(file)
        except* FileUnusable as errors:
            error = next(leaf for leaf in _leaves(errors) if isinstance(leaf, FileUnusable))
            if file is entry.file:
                self._break(key, entry, error)

    async def _until_it_is_wanted(self, entry: _Entry, file: MemoryFile) -> None:
        """Wait until somebody, who may be in another process, wants to be alone with a file."""
        while entry.file is not file or not somebody_wants_it_alone(file.layout):  # noqa: ASYNC110 - no event tells
            await anyio.sleep(LOOK_S)

    def _break(self, key: OwnerKey, entry: _Entry, error: FileUnusable) -> None:
        if entry.broken is None:
            entry.broken, entry.broken_at = error, anyio.current_time()
            log.error(
                "memory.worker.degraded", orchestrator_id=key.orchestrator_id, error_code=error.error_code,
                error=error.message,
            )  # fmt: skip
        entry.scope.cancel()

    async def _make_room(self) -> None:
        """Close the file that was not used for the longest time where there are as many as may be.

        Raises Unavailable when all are in use.
        """
        while self._taken >= self._most:
            idle = [entry for entry in self._entries.values() if entry.file is not None and not entry.users]
            if not idle:
                raise Unavailable("as many memories are in use as may be at a time: try again")
            oldest = min(idle, key=lambda entry: entry.used_at)
            self._close(oldest)
            await oldest.closed.wait()

    def _close_idle(self) -> None:
        before = anyio.current_time() - self._idle_s
        for entry in self._entries.values():
            if entry.file is not None and not entry.users and entry.used_at <= before:
                self._close(entry)

    def _close(self, entry: _Entry) -> None:
        entry.file = None
        entry.scope.cancel()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


class _Ready(TaskStatus[None]):
    """Tells whoever opens a file that it is open, or why it is not."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._failure: ServiceError | None = None

    def started(self, value: None = None) -> None:
        self._event.set()

    def failed(self, failure: ServiceError) -> None:
        """Say why it cannot be opened; that is of no interest once it was."""
        if not self._event.is_set():
            self._failure = failure
            self._event.set()

    async def is_open(self) -> bool:
        """Wait until it is open, or cannot be opened; tell which."""
        await self._event.wait()
        return self._failure is None

    async def wait(self) -> None:
        """Wait until it is open. Raises why it is not."""
        await self._event.wait()
        if self._failure is not None:
            raise self._failure
