"""asyncpg runs on asyncio only; servers of one's own are copies of one that was initialised once."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from elf.db.cluster import Cluster
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from elf.db.postmaster import postgres_processes_in, send


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def open_pool(dsn: str, *, max_conns: int = 8) -> AsyncIterator[Database]:
    """An open pool. Tests of a folder share one, for new sessions would have to learn the schema for each test, which
    takes Postgres longer than what most tests ask of it.
    """
    pool = Database(max_conns=max_conns)
    await pool.open(dsn)
    try:
        yield pool
    finally:
        await pool.close()


async def as_new(pool: Database, dsn: str, statement: str = "SELECT 1") -> Database:
    """Return a folder's pool as a test expects it: open, and with nobody in it; run a statement, such as one that
    deletes what the test before has written.
    """
    if pool.statistics().size == 0:  # a test has closed it
        await pool.open(dsn)
    assert pool.statistics().idle == pool.statistics().size, "the test before has kept a connection"
    async with pool.connection() as connection:
        await connection.execute(statement)
    return pool


@pytest.fixture(scope="session")
def initialised_folder() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="elf-pg-"))
    server = EmbeddedServer(parent / "made")
    asyncio.run(server.start())
    asyncio.run(server.leave())
    yield parent / "made"
    shutil.rmtree(parent)


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path where a test makes folders; servers left running there are ended."""
    parent = Path(tempfile.mkdtemp(prefix="elf-pg-"))
    yield parent
    for data in parent.glob("**/data"):
        _end_servers(data)
    shutil.rmtree(parent)


@pytest.fixture
def folder(place: Path, initialised_folder: Path) -> Path:
    """The folder of a server that has run once and is stopped."""
    copied = place / "postgres"
    copy_folder(initialised_folder, copied)
    return copied


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait for something that another process does, for at most 30 s."""
    with anyio.fail_after(30):
        while not await condition():  # noqa: ASYNC110 - another process cannot set an event here
            await anyio.sleep(0.01)


def copy_folder(source: Path, target: Path) -> None:
    # cp keeps the owner, which the copying of the standard library does not.
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def _end_servers(data: Path) -> None:
    for pid in postgres_processes_in(data):
        send(pid, signal.SIGKILL)
    cluster = Cluster(data.parent)
    while not cluster.remains().is_nothing:
        for pid in cluster.remains().orphans:
            send(pid, signal.SIGKILL)
