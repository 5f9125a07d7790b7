"""One memory.db at work in a process: its writer, its readers, and how it is opened and closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import apsw
from anyio import CapacityLimiter, to_thread
from anyio.abc import TaskStatus

from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.db.queries import Queries
from elf.families.graph.bell import Bell
from elf.families.graph.errors import MemoryDbForeign
from elf.families.graph.store.change_feed import are_changes_kept, keep_changes
from elf.families.graph.store.connections import connect, failures, transaction
from elf.families.graph.store.held_read import HeldRead
from elf.families.graph.store.layout import Layout, refuse_replaced_folders
from elf.families.graph.store.opened_file import OpenedFile
from elf.families.graph.store.owner_locks import OwnerLocks, Owners
from elf.families.graph.store.presence import Presence
from elf.families.graph.store.schema import bring_up
from elf.families.graph.store.statements import Change, OwnerKey, Snapshot, Viewer, stored_moment
from elf.families.graph.store.vectors import VectorCache
from elf.families.graph.store.writer import Writer
from elf.families.graph.tallies import Tallies

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKit:
    """What all files of a process share: the statements, the steps of the schema, the clock, the locks of owners, and
    the threads in which files are read and written; these are apart, so that no reader waits for a disk that is written
    to. And what is counted of them. `untold` is there where changes are to be told: whose files were closed with some
    that were not.
    """

    queries: Queries
    steps: tuple[str, ...]
    clock: Clock
    read_threads: CapacityLimiter
    write_threads: CapacityLimiter
    tallies: Tallies = field(default_factory=Tallies)
    untold: set[OwnerKey] | None = None
    locks: OwnerLocks = field(default_factory=lambda: OwnerLocks(None, Queries({})))


class MemoryFile:
    """The memory of one orchestrator. `run` opens it, and closes it in the end; it is read and written in between."""

    def __init__(self, key: OwnerKey, layout: Layout, kit: FileKit) -> None:
        self.key = key
        self.layout = layout
        self.vectors = VectorCache()
        self.written = Bell()
        self._kit = kit
        self._idle: list[apsw.Connection] = []
        self._writer: Writer | None = None
        self._presence: Presence | None = None
        self._opened: OpenedFile | None = None
        self._held: set[HeldRead[Any]] = set()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Open the file, write what comes, and close it when cancelled.

        Raises FileUnusable when the file is damaged or another's, and Unavailable when it cannot be opened now.
        """
        kit = self._kit
        presence = await to_thread.run_sync(Presence.enter, self.layout, limiter=kit.write_threads)
        try:
            await self._run(presence, task_status)
        finally:
            presence.leave()

    async def _run(self, presence: Presence, task_status: TaskStatus[None]) -> None:
        kit = self._kit
        connection, opened = await to_thread.run_sync(self._open, limiter=kit.write_threads)
        self._presence, self._opened = presence, opened
        self._writer = writer = Writer(
            self.layout,
            kit.queries,
            self.key,
            kit.clock,
            kit.write_threads,
            opened,
            kit.tallies,
            self.written,
            kit.locks,
        )
        try:
            task_status.started()
            await writer.run(connection)
        finally:
            self._writer = None
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._close, connection, limiter=self._kit.write_threads)

    async def write(
        self,
        change: Callable[[Change], T],
        *,
        actor: str | None = None,
        viewer: Viewer | None = None,
        owners: Owners | None = None,
        adds: bool = True,
    ) -> T:
        """Make a change, in a thread, and return what it returned once it is on the disk. What it raises undoes it.

        Raises ErasureInProgress while one of its `owners`, or who makes it, is being erased, unless it `adds` nothing
        of anybody's, Unavailable when the file is closed or cannot be written, and FileUnusable when it is damaged.
        """
        return await self._open_writer().write(change, actor=actor, viewer=viewer, owners=owners, adds=adds)

    async def read(self, look: Callable[[Snapshot], T], *, viewer: Viewer | None = None) -> T:
        """Look at one state of the memory, in a thread, and return what was seen.

        Raises Unavailable when the file is closed or cannot be read, and FileUnusable when it is damaged.
        """
        return await to_thread.run_sync(self._read_now, look, viewer, limiter=self._kit.read_threads)

    async def read_on(
        self, look: Callable[[Snapshot], Generator[T]], *, size: int
    ) -> AsyncGenerator[list[T]]:
        """Yield what a look yields, some at a time, all of it of one state of the memory. Close it when it is left.

        Raises as `read` does, also when the file is closed in between.
        """
        held = await to_thread.run_sync(self._hold, look, limiter=self._kit.read_threads)
        try:
            while found := await to_thread.run_sync(held.some, size, limiter=self._kit.read_threads):
                yield found
        finally:
            self._held.discard(held)
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(held.close, limiter=self._kit.read_threads)

    async def truncate_log(self) -> bool:
        """Take all out of the write-ahead log, so that nothing of what was erased is left; False while others read."""
        return await to_thread.run_sync(self._truncate_now, limiter=self._kit.write_threads)

    def _truncate_now(self) -> bool:
        path = self.layout.database
        with self._at_work():
            connection = connect(path, writes=False)
            try:
                with failures(path):
                    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            finally:
                connection.close()
        return not busy

    def _open(self) -> tuple[apsw.Connection, OpenedFile]:
        path, whose = self.layout.database, self.key.orchestrator_id
        connection = connect(path, writes=True)
        try:
            with failures(path):
                bring_up(connection, self._kit.steps, whose=whose)
                self._begin(connection)
            opened = OpenedFile(path)
        except BaseException:
            connection.close()
            raise
        return connection, opened

    def _begin(self, connection: apsw.Connection) -> None:
        """Say whose file it is, and whether it keeps changes. Raises MemoryDbForeign when it is another's."""
        with transaction(connection):
            now = self._kit.clock.now()
            change = Change(connection, self._kit.queries, self.key, now=now, actor=None)
            own(change)
            keep_changes(change, is_on=self._kit.untold is not None)

    def _read_now(self, look: Callable[[Snapshot], T], viewer: Viewer | None) -> T:
        path = self.layout.database
        with self._at_work():
            refuse_replaced_folders(self.layout)
            connection = self._idle_connection() or connect(path, writes=False)
            try:
                assert self._opened is not None, "it is there before the writer"
                self._opened.check(connection)
                with failures(path), transaction(connection):
                    return look(Snapshot(connection, self._kit.queries, self.key, viewer=viewer))
            finally:
                self._idle.append(connection)
                if self._writer is None:
                    self._close_idle()

    def _hold(self, look: Callable[[Snapshot], Generator[T]]) -> HeldRead[T]:
        with self._at_work():
            held = HeldRead(self.layout.database, self._kit.queries, self.key, look)
            self._held.add(held)
            if self._writer is None:
                held.close()
        return held

    def _at_work(self) -> AbstractContextManager[None]:
        """Be one of those who have the file open for the block. Raises Unavailable when it is closed."""
        self._open_writer()
        assert self._presence is not None, "it is there before the writer"
        return self._presence.shared()

    def _open_writer(self) -> Writer:
        """Return what writes the file. Raises Unavailable when it is closed."""
        if self._writer is None:
            raise Unavailable("the memory is being closed: try again")
        return self._writer

    def _idle_connection(self) -> apsw.Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _close(self, writing: apsw.Connection) -> None:
        self._close_idle()
        for held in [*self._held]:
            held.close()
        self._note_untold(writing)
        writing.close()

    def _note_untold(self, connection: apsw.Connection) -> None:
        """Say so where something is still to be told; where nobody can say, somebody looks again."""
        if self._kit.untold is None:
            return
        try:
            is_some_left = are_changes_kept(Snapshot(connection, self._kit.queries, self.key))
        except apsw.Error:
            is_some_left = True
        if is_some_left:
            self._kit.untold.add(self.key)

    def _close_idle(self) -> None:
        """Close the connections that nobody reads by; whoever still does closes its own."""
        while (connection := self._idle_connection()) is not None:
            connection.close()


def own(change: Change) -> None:
    """Say whose file it is, or see that it is said. Raises MemoryDbForeign when it is another's."""
    key, owners = change.key, change.rows("owners")
    if not owners:
        change.run("own", created_at=stored_moment(change.now))
    elif owners != [(key.tenant_id, key.orchestrator_id)]:
        raise MemoryDbForeign(f"the memory.db of {key.orchestrator_id} belongs to another orchestrator")
