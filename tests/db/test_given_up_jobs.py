"""The contract of every outbox with operators: they see its jobs, and retry or discard those that were given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.assistant.kit import assistant_queries
from elf.families.conversations.finding.corpus import TABLES as CONVERSATION_TABLES
from elf.families.knowledge.kit import knowledge_queries
from elf.families.notes.keeping.queries import note_queries
from elf.families.store.kit import store_queries
from elf.memory.remembering.opening import remember_queries
from elf.outbox.chores import chore_queries
from elf.outbox.given_up import JOB_STATES, JobState, OutboxJobs, Place
from elf.outbox.leased import LeasedOutbox
from elf.search.trace_store import search_queries
from elf.webhooks.opening import MOST_OF_A_LANE, webhook_queries
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.db.notes.conftest import EMPTY
from tests.db.notes.test_query_plans import explain

pytestmark = pytest.mark.anyio

VERSION: Final = "fake:hash:8"
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
NEWEST: Final = Place(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """An outbox, and how a job of it ($1) about a subject ($2) of a tenant ($3) is made, with what it is about."""

    table: str
    queries: Callable[[], Queries]
    make: str
    kind: str
    terms: Sequence[Any] = ()
    has_tenant: bool = True


OUTBOXES: Final = (
    Outbox(
        table="indexing_outbox",
        queries=note_queries,
        kind="note",
        terms=(VERSION, 1_000_000),
        make=f"""
            WITH note AS (
              INSERT INTO memory_notes VALUES (
                $2, $3, 'p', 'a', 'agent_private', 'fact', NULL, 'Fact: one.', 0.5, 0.5, 'active', now(), now(), NULL,
                NULL, '{VERSION}', '{{}}'))
            INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
            VALUES ($1, $2, 'UPSERT', '{VERSION}', 'PENDING')
        """,
    ),
    Outbox(
        table="conversations_indexing_outbox",
        queries=lambda: CONVERSATION_TABLES.queries(Queries.load(sql_folder() / "conversations")),
        kind="entry",
        terms=(VERSION, 1_000_000),
        make=f"""
            WITH entry AS (
              INSERT INTO conversation_texts VALUES (
                $2, $3, gen_random_uuid(), gen_random_uuid(), 1, 'u', NULL, 'Said.', '', '{VERSION}', now(), now(),
                now()))
            INSERT INTO conversations_indexing_outbox (outbox_id, subject_id, op, embedding_version, status)
            VALUES ($1, $2, 'UPSERT', '{VERSION}', 'PENDING')
        """,
    ),
    Outbox(
        table="knowledge_outbox",
        queries=knowledge_queries,
        kind="fact",
        make="""
            INSERT INTO knowledge_outbox (outbox_id, tenant_id, memory_type, memory_id, kind)
            VALUES ($1, $3, 'fact', $2, 'vector')
        """,
    ),
    Outbox(
        table="assistant_outbox",
        queries=assistant_queries,
        kind="memory",
        make="""
            INSERT INTO assistant_outbox (outbox_id, tenant_id, user_id, kind, subject_id)
            VALUES ($1, $3, 'u', 'vector', $2)
        """,
    ),
    Outbox(
        table="store_outbox",
        queries=store_queries,
        kind="value",
        make="INSERT INTO store_outbox (outbox_id, tenant_id, user_id, revision) VALUES ($1, $3, 'u', $2)",
    ),
    Outbox(
        table="memory_said_outbox",
        queries=lambda: remember_queries(Queries.load(sql_folder() / "memories")),
        kind="remember_request",
        terms=(["notes"],),
        make="""
            WITH said AS (
              INSERT INTO memory_said (
                tenant_id, said_id, conversation, conversation_id, digest, messages, who, said_at)
              VALUES ($3, $2, 'talk', gen_random_uuid(), '', '[]', '{}', now()))
            INSERT INTO memory_said_outbox (outbox_id, tenant_id, said_id, family, place)
            VALUES ($1, $3, $2, 'notes', 0)
        """,
    ),
    Outbox(
        table="search_trace_outbox",
        queries=search_queries,
        kind="search_trace",
        make="""
            INSERT INTO search_trace_outbox (outbox_id, trace_id, status, payload)
            VALUES ($1, $2, 'PENDING', jsonb_build_object('tenant_id', $3::text, 'query', 'secret'))
        """,
    ),
    Outbox(
        table="webhook_outbox",
        queries=lambda: webhook_queries("mirror"),
        kind="note",
        terms=(MOST_OF_A_LANE,),
        make="""
            INSERT INTO webhook_outbox (
              outbox_id, webhook, event_id, event, family, kind, item_id, tenant_id, lane)
            VALUES ($1, 'mirror', gen_random_uuid(), 'written', 'notes', 'note', $2::uuid::text, $3, $2::uuid::text)
        """,
    ),
    Outbox(
        table="chore_runs",
        queries=chore_queries,
        kind="toys.tidy",
        terms=(["toys"], ["tidy"]),
        has_tenant=False,
        make="""
            INSERT INTO chore_runs (outbox_id, family, chore, subject, due_at)
            SELECT $1::uuid, 'toys', 'tidy', $2::uuid::text, now() WHERE $3::text IS NOT NULL
        """,
    ),
)
EVERY = pytest.mark.parametrize("outbox", OUTBOXES, ids=[one.table for one in OUTBOXES])


@pytest.fixture(scope="module")
def dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE given_up TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "given_up")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE given_up WITH (FORCE)"))


@pytest.fixture(scope="module")
async def pool(dsn: str) -> AsyncIterator[Database]:
    async with open_pool(dsn, max_conns=2) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, dsn: str) -> Database:
    return await as_new(pool, dsn, EMPTY)


@dataclass(frozen=True, slots=True)
class Made:
    id: UUID
    subject_id: UUID
    tenant_id: str
    state: str


class Desk:
    """An operator in front of an outbox."""

    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox
        self._made = 0
        self.leased = LeasedOutbox(
            database, outbox.queries(), table=outbox.table, lease_seconds=60, terms=outbox.terms
        )
        self.jobs: OutboxJobs = self.leased.jobs

    async def make(self, state: str, tenant_id: str = "acme") -> Made:
        """Make a job, a minute younger than the one before."""
        made = Made(uuid4(), uuid4(), tenant_id, state)
        self._made += 1
        created = START + timedelta(minutes=self._made)
        async with self._database.transaction() as connection:
            await connection.execute(
                "SET LOCAL session_replication_role = replica"
            )  # what it hangs on is not there
            await connection.execute(self._outbox.make, made.id, made.subject_id, tenant_id)
            await connection.execute(
                f"UPDATE {self._outbox.table} SET status = $2, attempts = 3, last_error = 'Away: gone',"
                " created_at = $3 WHERE outbox_id = $1",
                made.id, state, created,
            )  # fmt: skip
        return made

    async def listed(
        self, *states: JobState, after: Place = NEWEST, limit: int = 100, tenant_id: str | None = None
    ) -> list[UUID]:
        page = await self.jobs.page(states or JOB_STATES, after, limit, tenant_id=tenant_id)
        return [job.id for job in page]

    async def states(self) -> dict[UUID, str]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(f"SELECT outbox_id, status FROM {self._outbox.table}")
        return {row["outbox_id"]: row["status"] for row in rows}


async def test_every_outbox_is_tried_here(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT table_name FROM information_schema.columns "
            "WHERE column_name = 'leases' AND table_schema = 'public' AND table_name <> 'job_runs'"
        )
    assert {row["table_name"] for row in rows} == {one.table for one in OUTBOXES}


@EVERY
async def test_jobs_are_listed_newest_first_by_state_and_tenant(database: Database, outbox: Outbox) -> None:
    desk = Desk(database, outbox)
    made = [await desk.make(state, tenant) for tenant in ("acme", "other") for state in (*JOB_STATES, "DONE")]
    shown = [one for one in reversed(made) if one.state != "DONE"]
    assert await desk.listed() == [one.id for one in shown]
    for state in JOB_STATES:
        assert await desk.listed(state) == [one.id for one in shown if one.state == state]
    own = [one.id for one in shown if one.tenant_id == "acme"] if outbox.has_tenant else []
    assert await desk.listed(tenant_id="acme") == own
    (first,) = await desk.jobs.page(["GIVEN_UP"], NEWEST, 1, tenant_id=None)
    given_up = [one for one in shown if one.state == "GIVEN_UP"]
    assert (first.id, first.subject_kind, first.subject_id) == (
        given_up[0].id, outbox.kind, str(given_up[0].subject_id),
    )  # fmt: skip
    assert (first.attempts, first.last_error) == (3, "Away: gone")
    assert first.tenant_id == ("other" if outbox.has_tenant else None)
    behind = Place(first.created_at, first.id)
    assert await desk.listed("GIVEN_UP", after=behind) == [given_up[1].id]


@EVERY
async def test_jobs_are_counted_by_state_and_tenant(database: Database, outbox: Outbox) -> None:
    desk = Desk(database, outbox)
    for tenant in ("acme", "acme", "other"):
        for state in (*JOB_STATES, "DONE"):
            await desk.make(state, tenant)
    assert await desk.jobs.counts(tenant_id=None) == dict.fromkeys(JOB_STATES, 3)
    own = dict.fromkeys(JOB_STATES, 2) if outbox.has_tenant else {}
    assert await desk.jobs.counts(tenant_id="acme") == own
    assert (await desk.leased.statistics()).given_up == 3


@EVERY
async def test_only_jobs_given_up_are_retried_and_those_of_the_tenant_alone(
    database: Database, outbox: Outbox
) -> None:
    desk = Desk(database, outbox)
    made = [await desk.make(state) for state in ("FAILED", "GIVEN_UP", "DISCARDED", "DONE")]
    others = await desk.make("GIVEN_UP", "other")
    ids = [*(one.id for one in made), others.id, uuid4()]
    if outbox.has_tenant:
        assert await desk.jobs.retry(ids, tenant_id="acme", by=None) == [made[1].id]
        assert (await desk.states())[others.id] == "GIVEN_UP"
        assert await desk.jobs.retry(ids, tenant_id="acme", by=None) == []
    else:
        assert await desk.jobs.retry(ids, tenant_id="acme", by=None) == []
    assert set(await desk.jobs.retry(ids, tenant_id=None, by=None)) == (
        {others.id} if outbox.has_tenant else {made[1].id, others.id}
    )
    states = await desk.states()
    assert [states[one.id] for one in made] == ["FAILED", "PENDING", "DISCARDED", "DONE"]
    leased = {job.outbox_id: job for job in await desk.leased.lease(10)}
    assert {made[1].id, others.id} <= leased.keys()
    assert leased[made[1].id].attempts == 0
    assert {made[2].id, made[3].id}.isdisjoint(leased)


@EVERY
async def test_only_jobs_given_up_are_discarded_and_are_never_leased_again(
    database: Database, outbox: Outbox
) -> None:
    desk = Desk(database, outbox)
    made = [await desk.make(state) for state in ("PENDING", "FAILED", "GIVEN_UP", "DONE")]
    others = await desk.make("GIVEN_UP", "other")
    ids = [*(one.id for one in made), others.id, uuid4()]
    if outbox.has_tenant:
        assert await desk.jobs.discard(ids, tenant_id="acme", by=None) == [made[2].id]
    assert others.id in await desk.jobs.discard(ids, tenant_id=None, by=None)
    states = await desk.states()
    assert [states[one.id] for one in (*made, others)] == [
        "PENDING", "FAILED", "DISCARDED", "DONE", "DISCARDED",
    ]  # fmt: skip
    assert {job.outbox_id for job in await desk.leased.lease(10)} == {made[0].id, made[1].id}
    assert await desk.jobs.retry([made[2].id], tenant_id=None, by=None) == []


@EVERY
async def test_who_lost_a_job_before_it_was_retried_does_nothing_to_it(
    database: Database, outbox: Outbox
) -> None:
    desk = Desk(database, outbox)
    made = await desk.make("PENDING")
    (lost,) = await desk.leased.lease(1)
    async with database.connection() as connection:
        await connection.execute(f"UPDATE {outbox.table} SET status = 'GIVEN_UP'")
    assert await desk.jobs.retry([made.id], tenant_id=None, by=None) == [made.id]
    await desk.leased.fail([lost], "late")
    await desk.leased.release([lost])
    assert await desk.states() == {made.id: "PENDING"}


@EVERY
@pytest.mark.parametrize("kind", ["custom", "generic"])
async def test_jobs_that_are_done_are_not_read_to_list_or_count_the_others(
    database: Database, dsn: str, outbox: Outbox, kind: str
) -> None:
    desk = Desk(database, outbox)
    sql = outbox.queries()
    for state in JOB_STATES:
        await desk.make(state)
    async with database.connection() as connection:
        columns = await connection.fetchval(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns"
            " WHERE table_name = $1 AND column_name NOT IN ('outbox_id', 'status', 'subject', 'said_id', 'seq')",
            outbox.table,
        )
        more = {"chore_runs": ", subject", "memory_said_outbox": ", said_id"}.get(outbox.table, "")
        values = {"chore_runs": ", i::text", "memory_said_outbox": ", gen_random_uuid()"}.get(
            outbox.table, ""
        )
        await connection.execute(
            f"SET session_replication_role = replica; INSERT INTO {outbox.table} (outbox_id, status, {columns}{more})"
            f" SELECT gen_random_uuid(), 'DONE', {columns}{values} FROM {outbox.table}, generate_series(1, 5000) AS i"
            f" WHERE status = 'GIVEN_UP'; RESET session_replication_role; ANALYZE {outbox.table}"
        )
    listing = await explain(dsn, sql["list_jobs"], (["GIVEN_UP"], *NEWEST, None, 51), kind)
    counting = await explain(dsn, sql["count_jobs"], (None,), kind)
    assert outbox.table not in listing.scanned | counting.scanned


async def test_a_run_of_a_chore_is_not_retried_beside_an_open_one(database: Database) -> None:
    (outbox,) = (one for one in OUTBOXES if one.table == "chore_runs")
    desk = Desk(database, outbox)
    older, newer, beside = [await desk.make("GIVEN_UP") for _ in range(3)]
    open_run = await desk.make("PENDING")
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE chore_runs SET subject = 'one', due_at = created_at WHERE outbox_id = ANY ($1)",
            [older.id, newer.id],
        )
        await connection.execute(
            "UPDATE chore_runs SET subject = 'two', due_at = created_at WHERE outbox_id = ANY ($1)",
            [beside.id, open_run.id],
        )
    ids = [older.id, newer.id, beside.id]
    assert await desk.jobs.retry(ids, tenant_id=None, by=None) == [newer.id]


async def test_of_a_trace_that_was_given_up_nothing_is_left_to_be_retried(database: Database) -> None:
    (outbox,) = (one for one in OUTBOXES if one.table == "search_trace_outbox")
    desk = Desk(database, outbox)
    made, kept = [await desk.make("GIVEN_UP") for _ in range(2)]
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE search_trace_outbox SET payload = '{}' WHERE outbox_id = $1", made.id
        )
    assert await desk.jobs.retry([made.id], tenant_id=None, by=None) == []
    assert set(await desk.jobs.discard([made.id, kept.id], tenant_id=None, by=None)) == {made.id, kept.id}
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT DISTINCT payload FROM search_trace_outbox") == {}


async def test_what_was_said_stays_until_the_last_family_is_done_with_it(database: Database) -> None:
    (outbox,) = (one for one in OUTBOXES if one.table == "memory_said_outbox")
    desk = Desk(database, outbox)
    made = await desk.make("GIVEN_UP")
    second = uuid4()
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO memory_said_outbox (outbox_id, tenant_id, said_id, family, place, status)"
            " VALUES ($1, 'acme', $2, 'assistant', 1, 'GIVEN_UP')",
            second, made.subject_id,
        )  # fmt: skip
        sql = outbox.queries()
        await connection.execute(sql["forget_messages"], "acme", made.subject_id)
        for id, kept in ((made.id, 1), (second, 0)):
            assert await connection.fetchval("SELECT count(messages) FROM memory_said") == 1
            assert await desk.jobs.discard([id], tenant_id=None, by=None) == [id]
            assert await connection.fetchval("SELECT count(messages) FROM memory_said") == kept
