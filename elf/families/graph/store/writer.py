"""The writer of a file: an actor that commits waiting changes together.

Each change has a savepoint of its own, so one that fails takes no other with it. Nobody is answered before the commit,
which waits for the disk: up to 64 changes share that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import anyio
import apsw
from anyio import CapacityLimiter, to_thread

from elf.core.clock import Clock
from elf.core.errors import ErasureInProgress, Unavailable
from elf.db.queries import Queries
from elf.families.graph.bell import Bell
from elf.families.graph.errors import FileUnusable
from elf.families.graph.store.connections import failures, transaction
from elf.families.graph.store.layout import Layout, refuse_replaced_folders
from elf.families.graph.store.log_file import append_events
from elf.families.graph.store.opened_file import OpenedFile
from elf.families.graph.store.owner_locks import OwnerLocks, Owners
from elf.families.graph.store.statements import Change, OwnerKey, Viewer
from elf.families.graph.tallies import Tallies

AT_ONCE: Final = 64
T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Waiting(Generic[T]):
    """A change, until it is answered; `wanted` as long as somebody waits for it."""

    change: Callable[[Change], T]
    actor: str | None
    viewer: Viewer | None
    owners: Owners | None
    done: anyio.Event = field(default_factory=anyio.Event)
    wanted: bool = True
    result: T | None = None
    failure: Exception | None = None
    events: Sequence[Any] = ()

    def answer(self, failure: Exception | None) -> None:
        """Let whoever waits go on; with a `failure` nothing was changed."""
        self.failure = failure or self.failure
        self.done.set()


class Writer:
    """Takes changes at any time, and makes them while it runs; rings after each commit."""

    def __init__(
        self,
        layout: Layout,
        queries: Queries,
        key: OwnerKey,
        clock: Clock,
        threads: CapacityLimiter,
        opened: OpenedFile,
        tallies: Tallies,
        written: Bell,
        locks: OwnerLocks,
    ) -> None:
        self._layout = layout
        self._queries = queries
        self._key = key
        self._clock = clock
        self._threads = threads
        self._opened = opened
        self._tallies = tallies
        self._written = written
        self._locks = locks
        self._send, self._receive = anyio.create_memory_object_stream[_Waiting[Any]](AT_ONCE)

    async def write(
        self,
        change: Callable[[Change], T],
        *,
        actor: str | None = None,
        viewer: Viewer | None = None,
        owners: Owners | None = None,
        adds: bool = True,
    ) -> T:
        """Make a change, in a thread, and return what it returned. What it raises undoes it.

        Raises ErasureInProgress while somebody whose it is, or who makes it, is being erased, unless it `adds` nothing
        of anybody's; Unavailable when the file is closed; and what `failures` says.
        """
        waiting = _Waiting(change, actor, viewer, _owners(owners, actor, viewer) if adds else None)
        self._tallies.waiting += 1
        try:
            await self._send.send(waiting)
            await waiting.done.wait()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise _closed() from error
        finally:
            self._tallies.waiting -= 1
            waiting.wanted = False
        if waiting.failure is not None:
            raise waiting.failure
        return waiting.result  # type: ignore[return-value]  # there is one: it did not fail

    async def run(self, connection: apsw.Connection) -> None:
        """Make changes until cancelled, or until the file turns out to be damaged, which is raised."""
        try:
            while True:
                await self._commit(connection, [await self._receive.receive(), *self._more()])
        finally:
            self._send.close()
            for waiting in self._more(everything=True):
                waiting.answer(_closed())
            self._receive.close()

    def _more(self, *, everything: bool = False) -> list[_Waiting[Any]]:
        found: list[_Waiting[Any]] = []
        while everything or len(found) < AT_ONCE - 1:
            try:
                found.append(self._receive.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream):
                break
        return found

    async def _commit(self, connection: apsw.Connection, batch: Sequence[_Waiting[Any]]) -> None:
        now, began = self._clock.now(), anyio.current_time()
        failure: Exception | None = None
        owned = [(waiting, waiting.owners) for waiting in batch if waiting.owners is not None]
        try:
            async with self._locks.held(self._key, [owners for _, owners in owned]) as free:
                for (waiting, _), is_free in zip(owned, free, strict=True):
                    if not is_free:
                        waiting.wanted, waiting.failure = False, ErasureInProgress()
                await to_thread.run_sync(self._commit_now, connection, batch, now, limiter=self._threads)
            self._tallies.committed(len(batch), anyio.current_time() - began)
            self._written.ring()
        except FileUnusable as error:
            failure = error
            raise
        except Unavailable as error:
            failure = error
        except BaseException:
            failure = _closed()
            raise
        finally:
            for waiting in batch:
                waiting.answer(failure)

    def _commit_now(self, connection: apsw.Connection, batch: Sequence[_Waiting[Any]], now: datetime) -> None:
        refuse_replaced_folders(self._layout)
        self._opened.check(connection)
        with failures(self._layout.database), transaction(connection):
            for waiting in batch:
                if waiting.wanted:
                    self._attempt(connection, waiting, now)
        self._opened.check_place()  # else it was written into what nobody will find
        append_events(self._layout.log_file, [event for waiting in batch for event in waiting.events])

    def _attempt(self, connection: apsw.Connection, waiting: _Waiting[Any], now: datetime) -> None:
        """Make a change within its savepoint. Raises apsw.Error where the whole transaction is lost."""
        change = Change(
            connection, self._queries, self._key, now=now, actor=waiting.actor, viewer=waiting.viewer
        )
        try:
            with transaction(connection):
                waiting.result = waiting.change(change)
            waiting.events = change.events
        except apsw.ConstraintError as error:
            waiting.failure = _as_failure(error, self._layout)
        except apsw.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised where the change is waited for
            waiting.failure = error


def _owners(owners: Owners | None, actor: str | None, viewer: Viewer | None) -> Owners | None:
    """Return whose a change is; None for what the service does by itself, which is no new data of anybody's."""
    names = {actor, None if viewer is None else viewer.user} - {None}
    if owners is None and not names:
        return None
    known = owners or Owners()
    return Owners(known.users | {name for name in names if name is not None}, known.conversations)


def _as_failure(error: apsw.ConstraintError, layout: Layout) -> Exception:
    try:
        with failures(layout.database):
            raise error
    except Exception as translated:  # noqa: BLE001 - it is raised where the change is waited for
        return translated


def _closed() -> Unavailable:
    return Unavailable("the memory is being closed: try again")
