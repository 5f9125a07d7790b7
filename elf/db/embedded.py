"""The embedded Postgres server: started by the first process that needs it, shared, stopped by the last that
leaves.

Nothing is believed that was not proved: a server is there when a query over its socket names this very data
folder; it is gone when none of its processes is alive. A process that is killed leaves the server running,
and the next start attaches to it; a server that is killed is found by its holders, cleared up and started
again.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import structlog
from anyio import to_thread

from elf.core.errors import DatabaseUnavailable, StartupError
from elf.db import file_lock
from elf.db.cluster import SETTINGS, Cluster
from elf.db.connect import connect
from elf.db.errors import map_errors
from elf.db.file_lock import FileLock
from elf.db.postmaster import PidFile, send

START_TIMEOUT_S = 120.0  # recovery after a crash reads up to max_wal_size of log
STOP_TIMEOUT_S = 5.0
KILL_TIMEOUT_S = 1.0
LEAVE_TIMEOUT_S = 9.0  # more than an orderly stop, a prompt one and a forced one together
PROBE_INTERVAL_S = 1.0
PROBE_TIMEOUT_S = 5.0
RECOVERY_TIMEOUT_S = 120.0  # the same as a start: it says so itself while it recovers
SILENCE_S = 3.0  # a new session is answered or refused within milliseconds
POLL_S = 0.01

log = structlog.get_logger()


class EmbeddedServer:
    """This process's hold on the Postgres server of a folder. Use: `start`, then `watch`, then `leave`.

    `settings` are the server's parameters, if it is this process that starts it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] = SETTINGS,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._cluster = Cluster(folder, settings=settings)
        self._start_timeout_s = start_timeout_s
        self._hold: FileLock | None = None
        self._hangs = False

    async def start(self) -> str:
        """Attach to the folder's server, or start it, and return its DSN once a query has succeeded.

        Raises StartupError when the folder cannot be used: not writable, of another major version, not a
        Postgres folder, or in use by a server that does not answer.
        """
        await to_thread.run_sync(self._cluster.prepare)
        with anyio.move_on_after(self._start_timeout_s):
            async with file_lock.exclusive(self._cluster.start_lock):
                self._hold = FileLock(self._cluster.holders_lock)
                try:
                    self._hold.try_shared()  # succeeds: it is taken alone only by who has the start lock
                    return await self._attach_or_launch()
                except BaseException:
                    with anyio.CancelScope(shield=True):
                        await self._let_go()
                    raise
        raise StartupError(await to_thread.run_sync(self._why_unusable))

    async def leave(self) -> None:
        """Give up the server, and stop it when no other process holds it.

        Cannot be cancelled; takes 9 s at most.
        """
        if self._hold is None:
            return
        with anyio.move_on_after(LEAVE_TIMEOUT_S, shield=True):
            async with file_lock.exclusive(self._cluster.start_lock):
                await self._let_go()
        self._drop_hold()  # without the start lock when another process kept it: that one holds the server

    async def watch(self) -> None:
        """Wait until the server is gone or hangs. Raises DatabaseUnavailable then.

        A server that is gone is noticed at once; one that hangs within some ten seconds, and `leave` ends it by force.
        """
        while True:
            await self._watch_session()
            await self._expect_recovery()

    async def _attach_or_launch(self) -> str:
        dsn = await self._settle()
        if dsn is not None:
            log.info("postgres_attached", folder=str(self._cluster.folder))
            return dsn
        await to_thread.run_sync(self._cluster.remove_traces)
        if not self._cluster.has_data:
            log.info("postgres_being_made", folder=str(self._cluster.folder))
            await to_thread.run_sync(self._cluster.initialise)
        await to_thread.run_sync(self._cluster.launch)
        while (dsn := await self._proven_dsn()) is None:
            if not self._cluster.is_running:
                raise StartupError(f"Postgres ended while it started:\n{self._cluster.log_tail()}")
            await anyio.sleep(POLL_S)
        log.info("postgres_started", folder=str(self._cluster.folder))
        return dsn

    async def _settle(self) -> str | None:
        """Wait until the folder is served (its DSN) or nothing is left of an earlier server (None)."""
        while True:
            if (dsn := await self._proven_dsn()) is not None:
                return dsn
            remains = await to_thread.run_sync(self._cluster.remains)
            if remains.is_nothing:
                return None
            if remains.postmaster is None:
                # Without their main process these only end their last command; killed, they leave what a
                # crash leaves, and the next start recovers from that in any case.
                for pid in remains.orphans:
                    send(pid, signal.SIGKILL)
            await anyio.sleep(POLL_S)

    async def _proven_dsn(self) -> str | None:
        """Return the DSN when a server answers on it and says that it serves this folder."""
        pid_file = self._cluster.read_pid_file()
        if pid_file is None or not pid_file.is_ready:
            return None
        try:
            return await self._prove(pid_file)
        except DatabaseUnavailable:
            return None

    async def _prove(self, pid_file: PidFile) -> str | None:
        dsn = self._cluster.dsn(pid_file)
        try:
            with map_errors():
                connection = await _connect(dsn)
                try:
                    served = await connection.fetchval("SELECT current_setting('data_directory')")
                finally:
                    await _disconnect(connection)
        except StartupError as error:
            raise StartupError(f"the Postgres folder {self._cluster.folder}: {error}") from error
        return dsn if Path(await anyio.Path(served).resolve()) == self._cluster.data else None

    async def _watch_session(self) -> None:
        """Return when a session that is kept open ends, or does not answer."""
        pid_file = self._cluster.read_pid_file()
        if pid_file is None:
            return
        try:
            with map_errors():
                connection = await _connect(self._cluster.dsn(pid_file))
                try:
                    await self._ask_until_closed(connection)
                finally:
                    await _disconnect(connection)
        except DatabaseUnavailable as error:
            log.info("postgres_watch_interrupted", reason=error.message)

    async def _ask_until_closed(self, connection: Any) -> None:
        closed = anyio.Event()
        connection.add_termination_listener(lambda _: closed.set())
        while not connection.is_closed():
            with anyio.move_on_after(PROBE_INTERVAL_S):
                await closed.wait()
                return
            await connection.fetchval("SELECT 1", timeout=PROBE_TIMEOUT_S)

    async def _expect_recovery(self) -> None:
        """Return when the server answers again, as after the crash of one backend; raise when it is gone or
        silent.
        """
        with anyio.move_on_after(RECOVERY_TIMEOUT_S):
            while not self._hangs:
                with anyio.move_on_after(SILENCE_S) as patience:
                    if await self._proven_dsn() is not None:
                        return
                self._hangs = patience.cancelled_caught
                remains = await to_thread.run_sync(self._cluster.remains)
                if remains.postmaster is None:
                    raise DatabaseUnavailable(f"the Postgres server of {self._cluster.folder} is gone")
                await anyio.sleep(POLL_S)
        raise DatabaseUnavailable(f"the Postgres server of {self._cluster.folder} does not answer")

    async def _let_go(self) -> None:
        """Stop the server when this hold is the last one. The start lock is held."""
        try:
            if self._hold is not None and self._hold.try_exclusive():
                await self._stop()
        finally:
            self._drop_hold()

    def _drop_hold(self) -> None:
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    async def _stop(self) -> None:
        """End the server: orderly, else at once, else by force. What was committed survives each of them."""
        ways = (
            (signal.SIGINT, STOP_TIMEOUT_S),
            (signal.SIGQUIT, KILL_TIMEOUT_S),
            (signal.SIGKILL, KILL_TIMEOUT_S),
        )
        for number, patience_s in ways[-1:] if self._hangs else ways:
            with anyio.move_on_after(patience_s):
                await self._end_with(number)
                await to_thread.run_sync(self._cluster.remove_traces)
                return
            log.warning("postgres_stop_slow", signal=number.name, after_s=patience_s)

    async def _end_with(self, number: signal.Signals) -> None:
        remains = await to_thread.run_sync(self._cluster.remains)
        if remains.postmaster is not None:
            send(remains.postmaster, number)
        while not remains.is_nothing:
            await anyio.sleep(POLL_S)
            remains = await to_thread.run_sync(self._cluster.remains)
            if remains.postmaster is None:
                for pid in remains.orphans:
                    send(pid, signal.SIGKILL)

    def _why_unusable(self) -> str:
        remains = self._cluster.remains()
        folder = f"the Postgres folder {self._cluster.folder}"
        if remains.postmaster is not None:
            return f"{folder} is in use by a server that does not answer (pid {remains.postmaster})"
        if remains.is_locked:
            return f"{folder} is in use by a server that cannot be seen from here, perhaps in a container"
        return f"{folder} is held by another process that is starting or stopping its server"


async def _connect(dsn: str) -> Any:
    try:
        return await connect(dsn, timeout=PROBE_TIMEOUT_S, command_timeout=PROBE_TIMEOUT_S)
    except asyncpg.InvalidAuthorizationSpecificationError as error:
        raise StartupError("it is in use by a server that ELF did not make") from error
    except PermissionError as error:
        raise StartupError("its server runs as another user") from error


async def _disconnect(connection: Any) -> None:
    with anyio.CancelScope(shield=True):
        await connection.close(timeout=KILL_TIMEOUT_S)
