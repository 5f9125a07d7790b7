"""asyncpg runs on asyncio only; servers of one's own are copies of one that was initialised once."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from elf.db.cluster import Cluster
from elf.db.embedded import EmbeddedServer
from elf.db.postmaster import postgres_processes_in, send


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
