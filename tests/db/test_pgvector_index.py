"""What only the index in Postgres does; the rest is in the contract."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import anyio
import numpy as np
import pytest
from pgvector import Vector

from elf.core.errors import IndexUnavailable
from elf.db.database import Connection, Database
from elf.families.notes.keeping.space import NOTES
from elf.index.pgvector import PgvectorIndex, statements
from elf.index.port import IndexFilter, IndexPoint, IndexQuery

pytestmark = pytest.mark.anyio

DIM = 8
TABLES = ("index_shelves", "index_points", "index_postings")
EVERYTHING = IndexFilter(must={})


def index_on(database: Database, *, vector_dim: int = DIM) -> PgvectorIndex:
    return PgvectorIndex(database, space=NOTES, vector_dim=vector_dim, timeout_s=10)


@pytest.fixture
async def index(database: Database) -> PgvectorIndex:
    index = index_on(database)
    await index.ensure()
    return index


def point(text: str, *, point_id: UUID | None = None, tenant: str = "acme") -> IndexPoint:
    moment = "2026-01-01T00:00:00+00:00"
    payload = {"tenant_id": tenant, "project_id": "alpha", "created_at": moment, "updated_at": moment}
    return IndexPoint(point_id or uuid4(), uuid4(), np.ones(DIM, np.float32), text, payload)


def words(text: str, *, where: IndexFilter = EVERYTHING) -> IndexQuery:
    return IndexQuery(None, text, where, 100)


async def rows(database: Database, statement: str, *args: object) -> list[Mapping[str, Any]]:
    async with database.connection() as connection:
        return await connection.fetch(statement, *args)


# Tables


async def test_a_service_with_another_index_has_none_of_its_tables(database: Database) -> None:
    found = await rows(database, "SELECT to_regclass(t) FROM unnest($1::text[]) AS t", list(TABLES))
    assert [row["to_regclass"] for row in found] == [None] * len(TABLES)


async def test_any_number_of_processes_may_make_the_tables_at_once(database: Database) -> None:
    indexes = [index_on(database) for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for index in indexes:
            tasks.start_soon(index.ensure)
    await indexes[0].upsert([point("word")])
    assert await indexes[1].count() == 1


@pytest.mark.parametrize("table", TABLES)
async def test_a_lost_table_is_an_outage_until_it_is_made_again(
    database: Database, index: PgvectorIndex, table: str
) -> None:
    await index.upsert([point("word")])
    await rows(database, f"DROP TABLE {table}")
    with pytest.raises(IndexUnavailable):
        await index.query([IndexQuery(np.ones(DIM, np.float32), "word", EVERYTHING, 5)])
    await index.ensure()
    await index.upsert([point("word")])
    [result] = await index.query([words("word")])
    assert result.bm25


async def test_a_lost_lookup_index_is_made_again(database: Database, index: PgvectorIndex) -> None:
    await rows(database, "DROP INDEX idx_index_points_shelf")
    await index.ensure()
    [row] = await rows(database, "SELECT to_regclass('idx_index_points_shelf') IS NOT NULL AS is_there")
    assert row["is_there"]


async def test_a_table_without_a_point_takes_vectors_of_any_length(
    database: Database, index: PgvectorIndex
) -> None:
    longer = index_on(database, vector_dim=2 * DIM)
    await longer.ensure()
    vector = np.ones(2 * DIM, np.float32)
    await longer.upsert([dataclasses.replace(point("word"), dense=vector)])
    assert await longer.count() == 1


async def test_vectors_of_another_length_are_refused_with_what_to_do(
    database: Database, index: PgvectorIndex
) -> None:
    await index.upsert([point("word")])
    with pytest.raises(IndexUnavailable, match="drop it and rebuild"):
        await index_on(database, vector_dim=DIM + 1).ensure()


async def test_a_database_that_is_closed_is_an_index_that_is_away(database_dsn: str) -> None:
    index = index_on(Database(max_conns=2))
    for call in (
        index.ensure,
        index.count,
        lambda: index.upsert([point("word")]),
        lambda: index.delete_points([uuid4()]),
        lambda: index.query([words("word")]),
        lambda: index.scan(after=None, limit=1),
    ):
        with pytest.raises(IndexUnavailable):
            await call()


# Writing


async def test_a_text_that_no_database_can_hold_is_refused(index: PgvectorIndex) -> None:
    with pytest.raises(IndexUnavailable, match="surrogates"):
        await index.upsert([point("\ud800")])
    with pytest.raises(IndexUnavailable, match="surrogates"):
        await index.query([words("\ud800")])


async def test_a_vector_of_zeros_is_like_nothing(index: PgvectorIndex) -> None:
    stored = point("word")
    nothing = IndexPoint(uuid4(), uuid4(), np.zeros(DIM, np.float32), "", stored.payload)
    await index.upsert([stored, nothing])
    [result] = await index.query([IndexQuery(np.ones(DIM, np.float32), None, EVERYTHING, 5)])
    assert [(hit.point_id, hit.score) for hit in result.dense] == [
        (stored.point_id, pytest.approx(1.0)),
        (nothing.point_id, 0.0),
    ]


async def test_writers_of_the_same_points_leave_the_words_of_one_of_them(
    database: Database, index: PgvectorIndex
) -> None:
    point_ids = [uuid4() for _ in range(20)]

    async def write(number: int) -> None:
        points = [point(f"common writer{number}", point_id=point_id) for point_id in point_ids]
        await index.upsert(points[::-1] if number % 2 else points)
        if number == 3:
            await index.delete_points(point_ids[:5])

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(write, number)
    strays = await rows(
        database,
        "SELECT 1 FROM index_postings AS p WHERE NOT EXISTS"
        " (SELECT FROM index_points AS o WHERE o.point_id = p.point_id AND o.shelf = p.shelf)",
    )
    assert strays == []
    counts = await rows(database, "SELECT count(*) AS words FROM index_postings GROUP BY point_id")
    assert {row["words"] for row in counts} == {2}
    assert len(counts) == await index.count()


LOST = (
    "SELECT FROM index_points AS p WHERE NOT EXISTS (SELECT FROM index_shelves AS s WHERE s.shelf = p.shelf)"
)
EMPTY = (
    "SELECT FROM index_shelves AS s WHERE NOT EXISTS (SELECT FROM index_points AS p WHERE p.shelf = s.shelf)"
)


async def test_what_a_point_was_of_is_named_nowhere_when_the_point_is_gone_or_another_s(
    database: Database, index: PgvectorIndex
) -> None:
    gone, moved = point("hello", tenant="first"), point("hello", tenant="second")
    await index.upsert([gone, moved])
    await index.upsert([point("hello", point_id=moved.point_id, tenant="third")])
    await index.delete_owners([gone.owner_id])
    (shelf,) = await rows(database, "SELECT fields FROM index_shelves")
    assert shelf["fields"]["tenant_id"] == "third"
    assert [hit.point_id for hit in (await index.query([words("hello")]))[0].bm25] == [moved.point_id]


async def test_shelves_are_emptied_and_filled_at_once_and_no_point_loses_its_own(
    database: Database, index: PgvectorIndex
) -> None:
    async def fill_and_empty(number: int) -> None:
        for time in range(30):
            one = point("hello", tenant=f"tenant {(number + time) % 3}")
            await index.upsert([one])
            assert await rows(database, LOST) == []
            await index.delete_points([one.point_id])

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(fill_and_empty, number)
    assert await rows(database, EMPTY) == []
    assert await index.count() == 0


# Finding


class CountedDatabase:
    """A database that counts the queries of a test."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.fetched = 0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        async with self._database.connection() as connection:
            yield _CountedConnection(connection, self)  # type: ignore[misc]


class _CountedConnection:
    def __init__(self, connection: Connection, counter: CountedDatabase) -> None:
        self._connection = connection
        self._counter = counter

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Mapping[str, Any]]:
        self._counter.fetched += 1
        return await self._connection.fetch(query, *args, timeout=timeout)


async def test_all_queries_of_a_search_are_one_round_trip(database: Database, index: PgvectorIndex) -> None:
    await index.upsert([point("apple pie"), point("banana bread")])
    counted = CountedDatabase(database)
    where = IndexFilter(must={"tenant_id": "acme"})
    results = await index_on(counted).query(  # type: ignore[arg-type]
        [
            IndexQuery(np.ones(DIM, np.float32), text, where, 10)
            for text in ("apples", "bananas", "bread pies")
        ]
    )
    assert [(len(result.dense), len(result.bm25)) for result in results] == [(2, 1), (2, 1), (2, 2)]
    assert counted.fetched == 1


async def test_a_large_count_is_not_made_again_for_the_next_search(
    database: Database, index: PgvectorIndex
) -> None:
    await index.upsert([point("common") for _ in range(300)])
    [before] = await index.query([words("common")])
    await index.upsert([point("common other") for _ in range(100)])
    [remembered] = await index.query([words("common")])
    [exact] = await index_on(database).query([words("common")])
    assert remembered.bm25[0].score == before.bm25[0].score != exact.bm25[0].score


SEED = """
INSERT INTO index_shelves (shelf, place, fields)
SELECT i, i / 10, jsonb_build_object('tenant_id', 'tenant ' || i / 10, 'project_id', 'p', 'status', 'active',
  'scope', (ARRAY['agent_private', 'project_shared'])[1 + i % 2], 'agent_id', 'agent ' || i % 10 / 2)
FROM generate_series(0, 999) AS i;

INSERT INTO index_points (point_id, owner_id, shelf, updated_at, dense, key, created_at, changed_at, tags)
SELECT md5('point' || i)::uuid, md5('owner' || i)::uuid, i % 1000, '', array_fill(random(), ARRAY[8])::vector,
  'key ' || i / 1000, '2026-01-01'::timestamptz + i / 1000 * interval '1 day', '2026-02-01', '{}'
FROM generate_series(1, 20000) AS i;

INSERT INTO index_postings (term, place, point_id, shelf, weight)
SELECT t, i % 1000 / 10, md5('point' || i)::uuid, i % 1000, 1.0
FROM generate_series(1, 20000) AS i, generate_series(1, 3) AS t;
"""


NOT_NARROWED = (False, None, None, None, None, None, [])
# Of each shelf's 20 points, eleven have such a key and one of these is of that day.
A_DAY = (True, "key 1", datetime(2026, 1, 13, tzinfo=UTC), datetime(2026, 1, 14, tzinfo=UTC), None, None, [])
# 6 of the tenant's 10 shelves match, with 20 points each; of both words that is 240 postings. The owners of the best 60
# are looked up. A narrower search chooses one point of each shelf first, and then has those alone.
READ = {False: [60, 120, 240], True: [6, 6, 6, 12]}
COUNTED = [120, 240]  # the points and the postings of all 6, when no count is known


# A choice of thousands of values, of which all points of the project have one.
CHOICE = ["project_id", ["p", *(f"project {number}" for number in range(2000))]]
WAYS: dict[str, list[Any]] = {"find": [], "find_within": CHOICE, "find_asked_within": CHOICE}


@pytest.mark.parametrize("has_statistics", [True, False])
@pytest.mark.parametrize("known", [9, None], ids=["counts known", "counts made"])
@pytest.mark.parametrize("narrow", [NOT_NARROWED, A_DAY], ids=["equalities", "narrow"])
@pytest.mark.parametrize(("way", "choice"), WAYS.items(), ids=WAYS)
@pytest.mark.usefixtures("index")
async def test_a_search_reads_its_project_and_nothing_else(
    database: Database,
    has_statistics: bool,
    narrow: tuple[Any, ...],
    known: int | None,
    way: str,
    choice: list[Any],
) -> None:
    async with database.connection() as connection:
        await connection.execute(SEED)
        if has_statistics:
            for table in TABLES:
                await connection.execute(f"VACUUM ANALYZE {table}")
        statement = statements(NOTES)[way]
        must = {"tenant_id": "tenant 7", "project_id": "p", "status": "active"}
        scopes = [{"scope": "project_shared"}, {"scope": "agent_private", "agent_id": "agent 2"}]
        legs = [60, [0], [Vector(np.ones(DIM, np.float32))], [0, 0], [1, 2]]
        args = [must, scopes, *legs, [1, 2], [known, known], known, *narrow, must, scopes, *choice]
        due = sorted(READ[narrow[0]] + ([] if known else COUNTED))
        for mode in ("force_custom_plan", "force_generic_plan"):
            await connection.execute(f"SET plan_cache_mode = {mode}")
            plan = json.loads(await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *args))
            scans = [
                (node["Relation Name"], node["Node Type"], node["Actual Rows"] * node["Actual Loops"])
                for node in nodes(plan[0]["Plan"])
                if "Relation Name" in node and node["Relation Name"] != "index_shelves"
            ]
            assert not any(kind == "Seq Scan" for _, kind, _ in scans), scans
            assert sorted(filter(None, (rows for _, _, rows in scans))) == due, scans


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    inner: Sequence[Mapping[str, Any]] = plan.get("Plans", ())
    for one in inner:
        yield from nodes(one)
