"""A small family whose entries are a corpus: what somebody said in a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from actors.families import steps_on
from elf.db import migration
from elf.db.database import Database
from elf.db.schema import schema_steps
from elf.index.port import VectorIndex
from elf.indexing.chunks import Document
from elf.indexing.corpus import Corpus, CorpusTables
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshNews, FreshWrites
from elf.indexing.indexed import IndexedCorpus, IndexingPace
from elf.indexing.rebuild import RebuildReport
from elf.outbox.leased import JobsFailed
from elf.outbox.leases import Job
from tests.conftest import TEMPLATE, VECTOR_DIM, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.db.notes.conftest import EMPTY
from tests.index_kit import TALKS
from tests.notes_kit import NOW, FakeEmbedder, MemoryIndex, TurnedClock, WordTokens

SQL = Path(__file__).parent / "talks"
TABLES = CorpusTables.of(
    "talks", kind="talk", rows="talk_entries", key="entry_id", fields=("tenant_id", "group_id", "speaker")
)
PLACE = ("acme", "g")
ADD = """
INSERT INTO talk_entries (entry_id, tenant_id, group_id, speaker, said, expires_at, embedding_version)
VALUES ($1, 'acme', 'g', 'anna', $2, $3, $4)
"""


def talks_corpus(version: str) -> Corpus:
    return Corpus(
        family="talks",
        name="talks",
        space=TALKS,
        tables=TABLES,
        queries=TABLES.queries(),
        document=document,
        embedding_version=version,
        queue="talks_indexing",
    )


def document(row: Mapping[str, Any]) -> Document:
    return Document({name: row[name] for name in TABLES.fields})


@dataclass
class Talks:
    """Everything of the family around one database; `rings` counts how often its workers were woken."""

    database: Database
    index: VectorIndex = field(default_factory=MemoryIndex)
    model: FakeEmbedder = field(default_factory=FakeEmbedder)
    clock: TurnedClock = field(default_factory=lambda: TurnedClock(NOW))
    max_tokens: int = 8
    rings: int = 0

    def __post_init__(self) -> None:
        self.texts = TextEmbedder(self.model, WordTokens(), self.max_tokens, 0, "words")
        self.corpus = talks_corpus(self.model.version)
        self.told: list[FreshNews] = []
        self.fresh = FreshWrites(tell=self.told.append)
        self.fleet = Fleet(self.texts.version, self.texts.chunking, others=frozenset())
        self.indexed = IndexedCorpus(
            corpus=self.corpus, index=self.index, database=self.database, clock=self.clock, ring=self.ring,
            fresh=self.fresh, texts=self.texts, fleet=self.fleet, pace=IndexingPace(),
        )  # fmt: skip
        self.writes = self.indexed.writes
        self.queue = self.indexed.queue()

    def ring(self) -> None:
        self.rings += 1

    @property
    def memory(self) -> MemoryIndex:
        assert isinstance(self.index, MemoryIndex)
        return self.index

    async def say(self, text: str, *, expires_at: datetime | None = None) -> UUID:
        entry_id = uuid4()
        async with self.database.transaction() as connection:
            await connection.execute(ADD, entry_id, text, expires_at, self.model.version)
            await self.writes.wrote(connection, PLACE, [entry_id])
        return entry_id

    async def change(self, entry_id: UUID, what: str, *values: object) -> None:
        """Change an entry as the words behind SET say, with values from $2 on."""
        async with self.database.transaction() as connection:
            statement = f"UPDATE talk_entries SET {what}, changed_at = clock_timestamp() WHERE entry_id = $1"
            await connection.execute(statement, entry_id, *values)
            await self.writes.wrote(connection, PLACE, [entry_id])

    async def remove(self, entry_id: UUID) -> None:
        async with self.database.transaction() as connection:
            await connection.execute("DELETE FROM talk_entries WHERE entry_id = $1", entry_id)
            await self.writes.wrote(connection, PLACE, [entry_id])

    async def index_all(self) -> Sequence[Job]:
        """Lease everything that is due and handle it, putting off what fails."""
        jobs = await self.queue.outbox.lease(1000)
        try:
            if jobs:
                await self.queue.handle(jobs)
        except JobsFailed as some:
            for job, error in some.failed:
                await self.queue.outbox.fail([job], str(error))
        return jobs

    async def rebuilt(self) -> RebuildReport:
        """Rebuild the index, as the actor that serves rebuilds does."""
        async with anyio.create_task_group() as group:
            await group.start(self.indexed.runs.serve)
            report = await self.indexed.runs.ask()
            group.cancel_scope.cancel()
        return report

    async def statuses(self) -> list[str]:
        """Those of the jobs, the oldest first."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT status FROM talks_indexing_outbox ORDER BY created_at, outbox_id"
            )
        return [row["status"] for row in rows]

    async def value(self, statement: str, *values: Any) -> Any:
        async with self.database.connection() as connection:
            return await connection.fetchval(statement, *values)


@contextmanager
def talks_database(postgres_dsn: str, name: str) -> Iterator[str]:
    """A database with the notes' tables beside those of the talks."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, name)
    steps = (*steps_on(), *(step for step in schema_steps([("talks", SQL)]) if step.family == "talks"))
    asyncio.run(migration.apply(dsn, steps, vector_dim=VECTOR_DIM))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="package")
def talks_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder."""
    with talks_database(postgres_dsn, "talks") as dsn:
        yield dsn


@pytest.fixture(scope="package")
async def pool(talks_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(talks_dsn) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, talks_dsn: str) -> Database:
    """A pool on that database, emptied."""
    return await as_new(pool, talks_dsn, EMPTY)


@pytest.fixture
def talks(database: Database) -> Talks:
    return Talks(database)
