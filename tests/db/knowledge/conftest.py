"""Knowledge on a database of its own, with a model and a clock that a test can turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from elf.api.caller import Caller
from elf.config.tables.knowledge import KnowledgeTable
from elf.db.database import Database
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.api.lifecycle import OneMemory
from elf.families.knowledge.kit import OUTBOX, Kit, knowledge_queries
from elf.families.knowledge.reading.listing import MemoryListing
from elf.families.knowledge.writing.links import LinkWriting
from elf.families.knowledge.writing.service import MemoryWriting
from elf.indexing.embedding import TextEmbedder
from elf.outbox.leased import LeasedOutbox
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.notes_kit import FakeEmbedder, TurnedClock, WordTokens

ANA = Caller(user="ana")
AGENT = Caller(client="travel-bot")
"""An agent that calls for no user."""
TENANT = "acme"
# What others refer to goes last.
EMPTY = """
DELETE FROM knowledge_rule_applications; DELETE FROM knowledge_links; DELETE FROM knowledge_outbox;
DELETE FROM knowledge_events; DELETE FROM knowledge_facts; DELETE FROM knowledge_rules; DELETE FROM knowledge_entities;
DELETE FROM knowledge_episodes; DELETE FROM knowledge_embedding_versions; DELETE FROM chore_runs;
DELETE FROM search_traces; DELETE FROM search_trace_outbox;
"""


@pytest.fixture(scope="package")
def knowledge_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this folder: emptying it is quicker than making it."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE knowledge TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "knowledge")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE knowledge WITH (FORCE)"))


@dataclass
class KnowledgeHouse:
    """The knowledge family around one database. Requests are of the tenant acme unless they say otherwise, and made by
    `caller`.
    """

    database: Database
    config: KnowledgeTable = field(default_factory=KnowledgeTable)
    clock: TurnedClock = field(default_factory=TurnedClock)
    model: FakeEmbedder = field(default_factory=FakeEmbedder)
    caller: Caller = ANA
    rings: int = 0

    def __post_init__(self) -> None:
        queries = knowledge_queries()
        self.kit = Kit(
            config=self.config,
            database=self.database,
            reads=self.database,
            clock=self.clock,
            queries=queries,
            outbox=LeasedOutbox(self.database, queries, table=OUTBOX, lease_seconds=60),
            texts=TextEmbedder(self.model, WordTokens(), 8, 0, "words"),
            redact=True,
            ring=self.ring,
        )
        self.writing = MemoryWriting(self.kit)
        self.linking = LinkWriting(self.kit)
        self.listing = MemoryListing(self.kit)

    def ring(self) -> None:
        self.rings += 1

    async def episode(self, content: str = "Ana flew.", caller: Caller | None = None, **fields: Any) -> UUID:
        request = w.StoreEpisode(**({"tenant_id": TENANT, "butler": "travel", "content": content} | fields))
        return (await self.writing.store_episode(request, caller or self.caller)).id

    async def fact(self, caller: Caller | None = None, **fields: Any) -> w.OneStoredFact:
        said = {"tenant_id": TENANT, "subject": "Ana", "predicate": "seat", "content": "by the window"}
        return await self.writing.store_fact(w.StoreFact(**(said | fields)), caller or self.caller)

    async def rule(self, content: str = "Ask first", caller: Caller | None = None, **fields: Any) -> UUID:
        request = w.StoreRule(**({"tenant_id": TENANT, "content": content} | fields))
        return (await self.writing.store_rule(request, caller or self.caller)).id

    async def link(
        self,
        source: tuple[str, UUID],
        target: tuple[str, UUID],
        relation: str = "supports",
        caller: Caller | None = None,
    ) -> w.CreatedLink:
        request = w.CreateLink(
            tenant_id=TENANT,
            source_type=source[0],  # type: ignore[arg-type]
            source_id=source[1],
            target_type=target[0],  # type: ignore[arg-type]
            target_id=target[1],
            relation=relation,  # type: ignore[arg-type]
        )
        return await self.linking.create(request, caller or self.caller)

    async def read(self, kind: str, id: UUID, caller: Caller | None = None, tenant_id: str = TENANT) -> Any:
        """Read a memory as a caller does, which counts as a reference."""
        request = OneMemory(tenant_id=tenant_id, memory_type=kind, memory_id=id)  # type: ignore[arg-type]
        return (await self.listing.get(request, caller or self.caller)).root

    async def history(self, kind: str, id: UUID, caller: Caller | None = None) -> a.MemoryHistory:
        request = OneMemory(tenant_id=TENANT, memory_type=kind, memory_id=id)  # type: ignore[arg-type]
        return await self.listing.history(request, caller or self.caller)

    async def rows(self, sql: str, *arguments: Any) -> list[Mapping[str, Any]]:
        """Look into the database."""
        async with self.database.connection() as connection:
            return await connection.fetch(sql, *arguments)

    async def row(self, kind: str, id: UUID) -> Mapping[str, Any]:
        """Look at a row, which counts as nothing."""
        table = {"episode": "episodes", "fact": "facts", "rule": "rules"}[kind]
        (row,) = await self.rows(f"SELECT * FROM knowledge_{table} WHERE id = $1", id)
        return row

    async def events(self, id: UUID | None = None) -> list[str]:
        """Return the types of all events, or of those of a memory, in their order."""
        rows = await self.rows(
            "SELECT event_type FROM knowledge_events WHERE $1::uuid IS NULL OR memory_id = $1 ORDER BY seq",
            id,
        )
        return [row["event_type"] for row in rows]


@pytest.fixture(scope="package")
async def pool(knowledge_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(knowledge_dsn, max_conns=20) as pool:
        yield pool


@pytest.fixture
async def knowledge(pool: Database, knowledge_dsn: str) -> KnowledgeHouse:
    """Knowledge on that database, emptied."""
    return KnowledgeHouse(await as_new(pool, knowledge_dsn, EMPTY))
