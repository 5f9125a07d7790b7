"""Fixtures that several folders of tests share: one embedded Postgres a session, one fresh database a test, and one
running service a session, as a user runs it.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import httpx
import pytest
from httpx._transports import default as httpx_transports
from hypothesis import settings

from actors.families import steps_on
from elf.db import migration
from elf.db.cluster import SETTINGS
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from tests.database_template import VECTOR_DIM
from tests.folders import fresh_folder
from tests.in_memory import work_in_memory
from tests.model_caches import linked_cache
from tests.system.fork_server import fork_server
from tests.system.service import RunningService, write_config
from tests.timeouts import pytest_pyfunc_call as pytest_pyfunc_call

# As elf.rpc does it, which not every test that calls gRPC loads: else it breaks children that others start.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# The same examples each time, few of them, and no verdict on how long one takes: the machine may be busy.
# `ops/fuzz/properties` tries many others.
settings.register_profile("elf", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("elf")

RunningService.quick = True

# Each client would read the certificates of all authorities, which takes ten times as long as a request.
vars(httpx_transports)["create_ssl_context"] = functools.cache(httpx.create_ssl_context)

# Before the first folder is made.
IN_MEMORY = work_in_memory()

TESTS = Path(__file__).parent
# The folders whose files take longest, and which share a service; beside them the many short tests fill the gaps.
FIRST = ("system", "chaos", "fronts")

TEMPLATE = "elf_template"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the long files when workers share the tests, or one would be busy with the last of them alone."""
    if config.getoption("workers", 1) > 1:
        items.sort(key=_turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what the collection made, half a million objects, out of every later search for garbage.

    The workers to come share a fork server.
    """
    if session.config.getoption("workers", 1) > 1:
        fork_server()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Give the memory back."""
    if IN_MEMORY is not None:
        shutil.rmtree(IN_MEMORY)


def _turn(item: pytest.Item) -> int:
    folder = item.path.relative_to(TESTS).parts[0]
    return FIRST.index(folder) if folder in FIRST else len(FIRST)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model cache, which all services that tests start can share."""
    return linked_cache(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def service(model_folder: Path) -> Iterator[RunningService]:
    """One service for all tests that leave it running; each test works in a tenant of its own."""
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"')) as service,
    ):
        yield service


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """A tenant that no other test uses."""
    return str(request.node.nodeid)[-128:]


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """The DSN of a server for the whole session; its database `postgres` is empty."""
    parent = Path(tempfile.mkdtemp(prefix="elf-tests-"))
    # Nothing here has to survive a power cut, and every test makes a database.
    server = EmbeddedServer(parent / "postgres", settings={**SETTINGS, "fsync": "off"})
    yield asyncio.run(server.start())
    asyncio.run(server.leave())
    shutil.rmtree(parent)


@pytest.fixture(scope="session")
def template_dsn(postgres_dsn: str) -> str:
    """A database with the whole schema that others are copied from; nobody stays connected to it."""
    dsn = dsn_of(postgres_dsn, TEMPLATE)
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {TEMPLATE}"))
    asyncio.run(migration.apply(dsn, steps_on(), vector_dim=VECTOR_DIM))
    return dsn


@pytest.fixture
def empty_dsn(postgres_dsn: str) -> Iterator[str]:
    """A fresh database without the schema."""
    yield from _made_database(postgres_dsn, template="template1")


@pytest.fixture
def second_dsn(postgres_dsn: str) -> Iterator[str]:
    """Another fresh database without the schema."""
    yield from _made_database(postgres_dsn, template="template1")


@pytest.fixture
def database_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """A fresh database with the schema, for vectors of VECTOR_DIM dimensions."""
    yield from _made_database(postgres_dsn, template=TEMPLATE)


@pytest.fixture
async def database(database_dsn: str) -> AsyncIterator[Database]:
    """An open pool on a fresh database with the schema."""
    database = Database(max_conns=8)
    await database.open(database_dsn)
    yield database
    await database.close()


def dsn_of(dsn: str, name: str) -> str:
    """Return the DSN of another database of the same server."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


async def run_sql(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _made_database(dsn: str, *, template: str) -> Iterator[str]:
    name = f"test_{uuid4().hex}"
    asyncio.run(run_sql(dsn, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY"))
    yield dsn_of(dsn, name)
    asyncio.run(run_sql(dsn, f"DROP DATABASE {name} WITH (FORCE)"))
