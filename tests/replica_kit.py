"""A Postgres with a copy that follows it by streaming replication, and that a test can hold back."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import asyncpg

from elf.db.cluster import SETTINGS
from elf.db.embedded import EmbeddedServer
from elf.db.programs import find_programs, run
from elf.db.server_user import Account

REPLICATING = {**SETTINGS, "fsync": "off", "wal_level": "replica", "max_wal_senders": "4"}


@dataclass(frozen=True)
class Pair:
    """The DSNs of a primary and of its replica."""

    primary: str
    replica: str

    async def catch_up(self) -> None:
        """Wait until the replica has everything that the primary has by now."""
        place = await _ask(self.primary, "SELECT pg_current_wal_flush_lsn()::text")
        behind = "SELECT pg_last_wal_replay_lsn() < $1::text::pg_lsn"
        with anyio.fail_after(30):
            while await _ask(self.replica, behind, place):  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.01)

    async def hold_back(self) -> None:
        """Keep the replica as it is now, whatever the primary sends."""
        await _ask(self.replica, "SELECT pg_wal_replay_pause()::text")
        with anyio.fail_after(30):
            while await _ask(self.replica, "SELECT pg_get_wal_replay_pause_state()") != "paused":  # noqa: ASYNC110
                await anyio.sleep(0.01)

    async def let_go(self) -> None:
        """Let the replica follow again."""
        await _ask(self.replica, "SELECT pg_wal_replay_resume()::text")


@asynccontextmanager
async def streaming_replica(folder: Path) -> AsyncIterator[Pair]:
    """Run a primary and its replica in `folder`, whose path must be short."""
    primary = EmbeddedServer(folder / "primary", settings=REPLICATING)
    dsn = await primary.start()
    try:
        _copy(dsn, folder / "replica")
        replica = EmbeddedServer(folder / "replica", settings=REPLICATING)
        try:
            yield Pair(dsn, await replica.start())
        finally:
            await replica.leave()
    finally:
        await primary.leave()


def _copy(dsn: str, folder: Path) -> None:
    """Make a base backup that follows its source when it is started."""
    account = Account.choose(folder.parent / "primary" / "data")
    folder.mkdir()
    account.own(folder)
    command = [str(find_programs() / "pg_basebackup"), f"--pgdata={folder / 'data'}", f"--dbname={dsn}"]
    command += ["--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream"]
    made: subprocess.CompletedProcess[str] = run(command, account, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr


async def _ask(dsn: str, query: str, *values: Any) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query, *values)
    finally:
        await connection.close()
