"""A note family on a database of its own, with models and an index that a test can look into."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from elf.core.ids import NoteId
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.api.requests import AddNoteRequest, DeleteRequest, NewNote, UpdateRequest
from elf.families.notes.keeping.corpus import notes_corpus
from elf.families.notes.keeping.queries import NOTE_TABLES, note_queries
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import Note
from elf.families.notes.writing.resolver import ResolverRules
from elf.families.notes.writing.service import NotePolicy, NoteService
from elf.families.notes.writing.write_rules import WriteGate
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshNews, FreshWrites
from elf.indexing.reconcile import Drift, IndexReconciler
from elf.indexing.worker import LEASE_BYTES, IndexWorker
from elf.outbox.leased import JobsFailed, LeasedOutbox
from elf.outbox.leases import Job
from elf.providers.port import LateInteraction
from elf.search.token_store import TokenStore
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.notes_kit import CONTEXT, RULES, FakeEmbedder, MemoryIndex, TurnedClock, WordTokens, scope_rules

# Deleting a few rows is quicker than truncating, which writes new files.
EMPTY = """
DO $$
DECLARE name text;
BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_steps' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
END $$
"""


@pytest.fixture(scope="session")
def queries() -> Queries:
    return note_queries()


@pytest.fixture(scope="package")
def notes_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: emptying it is quicker than making it."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE notes TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "notes")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE notes WITH (FORCE)"))


@pytest.fixture(scope="package")
async def pool(notes_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(notes_dsn) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, notes_dsn: str) -> Database:
    """A pool on that database, emptied."""
    return await as_new(pool, notes_dsn, EMPTY)


@pytest.fixture
def database_dsn(notes_dsn: str, database: Database) -> str:
    """That database, emptied."""
    return notes_dsn


@dataclass
class House:
    """Everything of the notes family around one database."""

    database: Database
    queries: Queries
    clock: TurnedClock = field(default_factory=TurnedClock)
    model: FakeEmbedder = field(default_factory=FakeEmbedder)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    rules: ResolverRules = RULES
    rings: int = 0
    tokens: TokenStore | None = None
    late: LateInteraction | None = None

    def __post_init__(self) -> None:
        self.told: list[FreshNews] = []
        self.fresh = FreshWrites(tell=self.told.append)
        self.store = NoteStore(self.queries, self.fresh, self.tokens)
        self.texts = TextEmbedder(self.model, WordTokens(), 8, 0, "words", late=self.late)
        self.fleet = Fleet(self.texts.version, self.texts.chunking, others=frozenset())
        self.outbox = self.outbox_of(self.model.version)
        scopes = scope_rules(org_shared=False)
        self.policy = NotePolicy(gate=WriteGate(scopes, 240), scopes=scopes, rules=self.rules, redact=True)
        self.service = NoteService(
            database=self.database,
            store=self.store,
            embedder=self.texts,
            policy=self.policy,
            clock=self.clock,
            ring=self.ring,
        )
        self.corpus = notes_corpus(self.queries, self.store, embedding_version=self.model.version)
        self.indexing = self.indexing_of(self.texts, self.fleet)
        self.reconciler = IndexReconciler(
            database=self.database,
            corpus=self.corpus,
            index=self.index,
            clock=self.clock,
            ring=self.ring,
        )

    def indexing_of(self, texts: TextEmbedder, fleet: Fleet) -> IndexWorker:
        return IndexWorker(
            database=self.database,
            corpus=self.corpus,
            texts=texts,
            index=self.index,
            fleet=fleet,
            fresh=self.fresh,
            clock=self.clock,
        )

    def outbox_of(
        self, version: str, *, lease_seconds: float = 60, lease_bytes: int = LEASE_BYTES
    ) -> LeasedOutbox:
        return LeasedOutbox(
            self.database,
            self.queries,
            table=NOTE_TABLES.outbox,
            lease_seconds=lease_seconds,
            terms=(version, lease_bytes),
        )

    def ring(self) -> None:
        self.rings += 1

    async def add(self, *notes: dict[str, Any], scope: str = "project_shared", **context: str) -> list[Any]:
        request = AddNoteRequest(
            **(CONTEXT_FIELDS | context),
            scope=scope,
            notes=[
                NewNote(**({"type": "fact", "importance": 0.5, "confidence": 0.9} | note)) for note in notes
            ],
        )
        return (await self.service.add_note(request)).results

    async def add_one(self, text: str, **fields: Any) -> NoteId:
        (result,) = await self.add({"text": text} | fields)
        assert result.op in ("ADD", "UPDATE"), result
        return NoteId(result.note_id)

    async def update(self, note_id: UUID, **fields: Any) -> str:
        request = UpdateRequest(**CONTEXT_FIELDS, note_id=note_id, **fields)
        return (await self.service.update(request)).op

    async def delete(self, note_id: UUID) -> str:
        return (await self.service.delete(DeleteRequest(**CONTEXT_FIELDS, note_id=note_id))).op

    async def note(self, note_id: UUID) -> Note | None:
        async with self.database.connection() as connection:
            return await self.store.lock(connection, note_id)

    async def index_all(self) -> list[Job]:
        """Lease everything that is due and handle it."""
        jobs = await self.outbox.lease(1000)
        if jobs:
            await self.handle(jobs)
        return jobs

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Handle jobs and put off those that fail, as an indexer does."""
        try:
            await self.indexing.handle(jobs)
        except JobsFailed as some:
            for job, error in some.failed:
                await self.outbox.fail([job], str(error))

    async def drift(self) -> Drift:
        """Reconcile, let the handler mend what was found, and return what was found."""
        found = await self.reconciler.reconcile()
        await self.index_all()
        return found

    async def rows(self, statement: str, *values: Any) -> list[Any]:
        async with self.database.connection() as connection:
            return list(await connection.fetch(statement, *values))

    async def value(self, statement: str, *values: Any) -> Any:
        async with self.database.connection() as connection:
            return await connection.fetchval(statement, *values)

    async def execute(self, statement: str, *values: Any) -> None:
        async with self.database.connection() as connection:
            await connection.execute(statement, *values)

    async def jobs(self) -> list[tuple[UUID, str, str]]:
        """The outbox as (note_id, op, status), the oldest first."""
        rows = await self.rows(
            "SELECT note_id, op, status FROM indexing_outbox ORDER BY created_at, outbox_id"
        )
        return [(row["note_id"], row["op"], row["status"]) for row in rows]

    async def versions(self, note_id: UUID) -> Sequence[Any]:
        return await self.rows("SELECT * FROM memory_note_versions WHERE note_id = $1 ORDER BY ts", note_id)

    async def moment(self) -> datetime:
        """The database's own time."""
        moment: datetime = await self.value("SELECT clock_timestamp()")
        return moment


CONTEXT_FIELDS = {
    "tenant_id": CONTEXT.tenant_id,
    "project_id": CONTEXT.project_id,
    "agent_id": CONTEXT.agent_id,
}


@pytest.fixture
def house(database: Database, queries: Queries) -> House:
    return House(database, queries)
