"""Conversations on a database of their own, with a clock that a test can turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from uuid import UUID, uuid4

import anyio
import httpx
import pytest

from actors.families import steps_on
from elf.api.operation import Handler
from elf.core.measures import NoMeasures
from elf.db import migration
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.conversations.admin_service import AdminService
from elf.families.conversations.api.operations import OPERATIONS, PATHS
from elf.families.conversations.contexts import ContextReader
from elf.families.conversations.entry_counts import EntryCounts
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.by_words import WordSearch
from elf.families.conversations.finding.corpus import conversations_corpus
from elf.families.conversations.finding.search import ConversationSearch
from elf.families.conversations.grpc.servicers import servicers
from elf.families.conversations.index_texts import IndexTexts
from elf.families.conversations.model import FAMILY
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.recording.recorder import NoRecorder
from elf.families.conversations.service import ConversationService, EntryService, ResponseService
from elf.families.conversations.sessions.service import SessionService
from elf.families.conversations.sessions.store import SessionStore
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.families.conversations.trees import Who
from elf.indexing.fresh import FreshWrites
from elf.indexing.writes import CorpusWrites
from elf.web.app import create_app
from elf.web.readiness import Readiness
from tests.conftest import TEMPLATE, VECTOR_DIM, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.db.conversations.both_wires import BothWires
from tests.db.conversations.recording_kit import Process, opened_process
from tests.notes_kit import TurnedClock
from tests.rpc_kit import named, served

VERSION = "test:model:8"


def nobody() -> None:
    """In place of waking who brings texts into the index."""


@pytest.fixture(scope="package")
def conversations_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: each works in a tenant of its own."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {FAMILY} TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, FAMILY)
    asyncio.run(migration.apply(dsn, steps_on(), vector_dim=VECTOR_DIM))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {FAMILY} WITH (FORCE)"))


@pytest.fixture(scope="package")
async def pool(conversations_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(conversations_dsn, max_conns=20) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, conversations_dsn: str) -> Database:
    """A pool on that database."""
    return await as_new(pool, conversations_dsn)


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def queries() -> Queries:
    return Queries.load(sql_folder() / FAMILY)


@pytest.fixture
def store(database: Database, clock: TurnedClock, queries: Queries) -> ConversationStore:
    return ConversationStore(database, clock, queries, embedding_version=VERSION, ring=nobody)


@pytest.fixture
def sharing(database: Database, clock: TurnedClock, queries: Queries) -> TreeSharing:
    return TreeSharing(database, clock, queries)


@pytest.fixture
def oversight(database: Database, clock: TurnedClock, queries: Queries) -> Oversight:
    return Oversight(database, clock, queries)


@pytest.fixture
def writes(queries: Queries) -> CorpusWrites:
    return CorpusWrites(conversations_corpus(queries, embedding_version=VERSION), FreshWrites(), ring=nobody)


@pytest.fixture
def subjects(database: Database, queries: Queries, writes: CorpusWrites) -> ConversationSubjects:
    """Those of the family, in steps so small that everything takes several."""
    return ConversationSubjects(database, queries, writes, step=3)


@pytest.fixture
def search(database: Database, queries: Queries) -> ConversationSearch:
    """A search by words alone, whatever is asked for."""
    words = WordSearch(database, queries)
    ways = {"auto": words, "semantic": words, "fulltext": words}
    return ConversationSearch(database, queries, ways, measures=NoMeasures(), budget_s=None)


@pytest.fixture
def handlers(
    store: ConversationStore,
    sharing: TreeSharing,
    oversight: Oversight,
    search: ConversationSearch,
    database: Database,
    clock: TurnedClock,
    queries: Queries,
    writes: CorpusWrites,
    subjects: ConversationSubjects,
) -> Mapping[str, Handler]:
    """What carries out each operation of the family, by its name."""
    services = (
        ConversationService(store, sharing),
        EntryService(store, EntryCounts(), indexed_chars=500_000),  # the most that a config may say
        ContextReader(database, queries),
        SessionService(SessionStore(store, database, clock, queries), EntryCounts()),
        IndexTexts(database, clock, queries, writes),
        search,
        ResponseService(NoRecorder()),
        AdminService(oversight, search, Eviction(database, queries, writes), subjects, clock, asks_why=False),
    )
    done_by = {operation: handle for service in services for operation, handle in service.handlers().items()}
    assert set(done_by) == set(OPERATIONS)
    return {operation.name: handle for operation, handle in done_by.items()}


# Those of recordings


@pytest.fixture
def who() -> Who:
    return Who(tenant_id=f"recorded-{uuid4()}", user="ana")


@pytest.fixture
async def id(store: ConversationStore, who: Who) -> UUID:
    return (await store.create(who, title=None, metadata={})).conversation_id


@pytest.fixture
async def processes(conversations_dsn: str) -> AsyncIterator[Sequence[Process]]:
    async with (
        anyio.create_task_group() as group,
        opened_process(conversations_dsn, group) as here,
        opened_process(conversations_dsn, group) as there,
    ):
        await here.start()
        await there.start()
        yield here, there
        group.cancel_scope.cancel()


# Those of both wires


@pytest.fixture
async def both(handlers: Mapping[str, Handler]) -> AsyncIterator[BothWires]:
    app = create_app(
        OPERATIONS,
        handlers,
        readiness=lambda: Readiness(ready=True, parts=[]),
        identify=named,
        policies=PATHS,
    )
    transport = httpx.ASGITransport(app=app)
    async with (
        served(servicers(NoRecorder()), handlers) as channel,
        httpx.AsyncClient(transport=transport, base_url="http://elf") as client,
    ):
        yield BothWires(client, channel)


@pytest.fixture
async def trip(both: BothWires) -> UUID:
    """A conversation of ana's, in which she said three things and her bot remembers one."""
    return await both.begin_trip()
