"""No table that says whose its rows are takes rows of somebody who is being erased."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from elf.core.clock import SystemClock
from elf.core.errors import Conflict, ErasureInProgress
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.erasing import erasing, named
from elf.memory.kept_tokens import KeptTokens
from elf.offers import Subject
from elf.providers.token_vectors import TokenVectors
from elf.search.trace_store import Payload, TraceStore, search_queries
from tests.traces_kit import a_trace

pytestmark = pytest.mark.anyio

FREE = {
    "search_traces": "its rows come from an outbox, from which they are erased",
    "memory_erasures": "it says who is being erased",
    "webhook_outbox": "it is told of what goes, too, and is erased with the rest",
    "webhook_drops": "it counts events of a tenant",
    "audit_log": "names in it are replaced",
}
WITHOUT_LOCK = """
SELECT c.relname FROM pg_class AS c
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')
  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname IN (
    'user_id', 'owner_user_id', 'project_id', 'agent_id', 'client_id', 'butler', 'scope', 'orchestrator_id', 'actor'))
  AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgname = c.relname || '_owners_held')
"""


async def test_each_table_with_owners_holds_their_locks(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(WITHOUT_LOCK)
    assert {row["relname"] for row in rows} <= FREE.keys()


async def test_a_writer_is_waited_for_and_then_rejected_until_the_erasure_ends(database: Database) -> None:
    async def add() -> None:
        async with database.transaction() as connection:
            await connection.execute(
                "INSERT INTO memory_said "
                "(tenant_id, said_id, user_id, conversation, conversation_id, digest, who, said_at) VALUES "
                "('acme', gen_random_uuid(), 'ana', '', gen_random_uuid(), '', '{}', now())"
            )

    ana = named(Subject(tenant_id="acme", user="ana"))
    await add()
    async with erasing(database, ana):
        with pytest.raises(ErasureInProgress):
            await add()
        with pytest.raises(Conflict, match="by another request"):
            async with erasing(database, ana):
                raise AssertionError("two erase at once")
        async with erasing(database, named(Subject(tenant_id="acme", user="bob"))):
            pass
    await add()


async def test_what_was_asked_before_an_erasure_is_not_kept_when_it_is_written_afterward(
    database: Database,
) -> None:
    store = TraceStore(database, search_queries(), lease_seconds=60)
    context = {"tenant_id": "acme", "read_profile": "all_scopes"}
    places = [
        {"project_id": "ana", "agent_id": "a"},
        {"project_id": "p", "agent_id": "user:ana"},
        {"project_id": "p", "agent_id": "a", "allowed_scopes": ["global", "user:ana"]},
        {"project_id": "bob", "agent_id": "a"},
    ]

    def asked() -> list[Payload]:
        return [Payload.of(a_trace(**context, **place, created_at=datetime.now(UTC))) for place in places]

    async def kept(payloads: Sequence[Payload]) -> int:
        jobs = []
        for payload in payloads:
            with suppress(ErasureInProgress):
                jobs += await store.enqueue([payload])
        await store.write(jobs)
        return len(jobs)

    assert await kept(asked()) == 4
    before = asked()
    async with erasing(database, named(Subject(tenant_id="acme", user="ana"))):
        during = asked()
    assert await kept(before) == await kept(during) == 1
    async with erasing(database, named(Subject(tenant_id="acme", agent_id="planner"))):
        pass
    assert await kept(asked()) == 4


async def test_token_vectors_of_what_was_told_before_an_erasure_are_not_kept(database: Database) -> None:
    queries = Queries.load(sql_folder() / "memories")
    kept = KeptTokens(database, queries, SystemClock(), version="v1")
    vectors = {"tea": TokenVectors(bytes(8), 1)}
    before = datetime.now(UTC)
    async with erasing(database, named(Subject(tenant_id="acme", user="ana"))):
        pass
    await kept.keep("acme", vectors, known_at=before)
    assert (await kept.read("acme", ["tea"])).vectors == {}
    await kept.keep("acme", vectors, known_at=datetime.now(UTC))
    assert [*(await kept.read("acme", ["tea"])).vectors] == ["tea"]
