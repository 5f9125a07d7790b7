"""The cache of model answers on Postgres: what is kept, for how long, and that no failure of it is ever felt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import asyncpg
import pytest
from structlog.testing import capture_logs

from elf.core.errors import DatabaseUnavailable
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.erasing import erasing, named
from elf.offers import Subject
from elf.search import cache as cache_module
from elf.search.cache import Answer, AnswerCache, CacheCounts, LatePut
from elf.search.trace_store import search_queries
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.conftest import as_new, open_pool
from tests.db.notes.test_query_plans import explain
from tests.notes_kit import NOW, TurnedClock

pytestmark = pytest.mark.anyio

SCORES = [0.123456789012345678, -1e-17, 5e-324, 123456.75, 1.0, None]

NESTED = "(repeat('[', 3000) || repeat(']', 3000))::jsonb"


@pytest.fixture(scope="session")
def queries() -> Queries:
    return search_queries()


@pytest.fixture(scope="module")
def cache_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE answers TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "answers")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE answers WITH (FORCE)"))


@pytest.fixture(scope="module")
async def pool(cache_dsn: str) -> AsyncIterator[Database]:
    async with open_pool(cache_dsn) as pool:
        yield pool


@pytest.fixture
async def database(pool: Database, cache_dsn: str) -> Database:
    """One database for all tests of this file, emptied."""
    return await as_new(pool, cache_dsn, "DELETE FROM llm_cache")


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def cache(database: Database, queries: Queries, clock: TurnedClock) -> AnswerCache:
    return AnswerCache(database=database, queries=queries, clock=clock, max_payload_bytes=None)


async def rows(database: Database) -> list[Any]:
    async with database.connection() as connection:
        return list(await connection.fetch("SELECT * FROM llm_cache ORDER BY cache_kind, cache_key"))


async def row(database: Database) -> Any:
    (only,) = await rows(database)
    return only


@pytest.mark.parametrize(
    "payload", [SCORES, ["Where is \u201cAnna\u201d?", "a\\b\n"], [], {"a": [1]}, 0, False]
)
async def test_a_payload_comes_back_as_it_was_put(cache: AnswerCache, payload: Any) -> None:
    await cache.put("rerank", "k", payload, ttl_days=1)
    assert await cache.get("rerank", "k") == payload


async def test_kinds_and_keys_are_apart(cache: AnswerCache) -> None:
    await cache.put("rerank", "k", [1], ttl_days=1)
    assert await cache.get("expansion", "k") is None
    assert await cache.get("rerank", "other") is None


async def test_an_answer_lasts_as_many_days_as_it_was_given(cache: AnswerCache, clock: TurnedClock) -> None:
    await cache.put("rerank", "k", [1], ttl_days=2)
    clock.turn(days=2, microseconds=-1)
    assert await cache.get("rerank", "k") == [1]
    clock.turn(microseconds=1)
    assert await cache.get("rerank", "k") is None


async def test_a_new_answer_takes_the_place_of_the_old_one(
    cache: AnswerCache, database: Database, clock: TurnedClock
) -> None:
    await cache.put("rerank", "k", [1], ttl_days=1)
    clock.turn(days=5)
    await cache.put("rerank", "k", [2], ttl_days=3)
    assert await cache.get("rerank", "k") == [2]
    kept = await row(database)
    assert kept["created_at"] == kept["last_accessed_at"] == NOW + timedelta(days=5)
    assert kept["expires_at"] == NOW + timedelta(days=8)


async def test_the_longest_time_that_a_config_may_ask_for_can_be_kept(cache: AnswerCache) -> None:
    await cache.put("rerank", "k", [1], ttl_days=36_500)
    assert await cache.get("rerank", "k") == [1]


async def test_answers_of_one_batch_are_all_kept_and_of_equal_keys_the_last(
    cache: AnswerCache, database: Database
) -> None:
    batch = [Answer("rerank", f"k{number % 50}", [number], 1) for number in range(70)]
    await cache.put_many(batch)
    assert [await cache.get("rerank", f"k{number}") for number in (0, 19, 20, 49)] == [[50], [69], [20], [49]]
    assert len(await rows(database)) == 50


async def test_an_answer_on_its_way_is_given_from_memory(cache: AnswerCache) -> None:
    taken: list[LatePut] = []
    cache.put_later(Answer("rerank", "k", [1], 1), lambda put: taken.append(put) or True)
    cache.put_later(Answer("rerank", "refused", [2], 1), lambda put: False)
    assert await cache.get("rerank", "k") == [1]
    assert await cache.get("rerank", "refused") is None
    await cache.put_many([put.answer for put in taken])
    assert await cache.get("rerank", "k") == [1]
    assert cache.counts["rerank"] == CacheCounts(hits=2, misses=1)


async def test_a_late_put_is_a_put_made_later(cache: AnswerCache) -> None:
    put = LatePut(cache, Answer("rerank", "k", [1], 1))
    assert await cache.get("rerank", "k") is None
    await put()
    assert await cache.get("rerank", "k") == [1]


async def test_nothing_to_put_asks_nothing_of_the_database(queries: Queries, clock: TurnedClock) -> None:
    cache = AnswerCache(database=Away(), queries=queries, clock=clock, max_payload_bytes=None)
    await cache.put_many([])
    await cache.count_hits()
    assert cache.counts == {}


# Size


async def test_what_is_larger_than_the_limit_is_not_kept_and_the_rest_of_the_batch_is(
    database: Database, queries: Queries, clock: TurnedClock
) -> None:
    cache = AnswerCache(database=database, queries=queries, clock=clock, max_payload_bytes=8)
    payloads = {
        "fits": "123456",
        "one over": "1234567",
        "wide": "\u00e9\u00e9\u00e9",
        "too wide": "\u00e9" * 4,
    }
    await cache.put_many([Answer("rerank", key, payload, 1) for key, payload in payloads.items()])
    assert {one["cache_key"] for one in await rows(database)} == {"fits", "wide"}
    assert cache.counts == {}


async def test_a_payload_that_is_no_json_is_not_kept_and_reported(
    cache: AnswerCache, database: Database
) -> None:
    with capture_logs() as logs:
        await cache.put_many([Answer("rerank", "a", object(), 1), Answer("rerank", "b", [1], 1)])
    assert [one["cache_key"] for one in await rows(database)] == ["b"]
    assert [(one["event"], one["log_level"]) for one in logs] == [("cache_payload_is_no_json", "error")]
    assert cache.counts == {"rerank": CacheCounts(errors=1)}


# Counting


async def test_hits_and_misses_are_counted_by_kind(cache: AnswerCache) -> None:
    await cache.put("rerank", "k", [1], ttl_days=1)
    for key in ("k", "k", "none"):
        await cache.get("rerank", key)
    await cache.get("expansion", "k")
    assert cache.counts == {"rerank": CacheCounts(2, 1, 0), "expansion": CacheCounts(0, 1, 0)}


async def test_hits_are_written_when_they_are_counted_and_only_once(
    cache: AnswerCache, database: Database, clock: TurnedClock
) -> None:
    for key in ("used", "unused"):
        await cache.put("rerank", key, [1], ttl_days=9)
    for _ in range(3):
        clock.turn(hours=1)
        await cache.get("rerank", "used")
    assert [one["hit_count"] for one in await rows(database)] == [0, 0]
    await cache.count_hits()
    await cache.count_hits()
    unused, used = await rows(database)
    assert (unused["hit_count"], unused["last_accessed_at"]) == (0, NOW)
    assert (used["hit_count"], used["last_accessed_at"]) == (3, NOW + timedelta(hours=3))
    assert used["expires_at"] == NOW + timedelta(days=9)


async def test_several_processes_add_their_hits_up(
    cache: AnswerCache, database: Database, queries: Queries, clock: TurnedClock
) -> None:
    slow = TurnedClock(NOW - timedelta(minutes=5))
    other = AnswerCache(database=database, queries=queries, clock=slow, max_payload_bytes=None)
    await cache.put("rerank", "k", [1], ttl_days=1)
    await cache.get("rerank", "k")
    await other.get("rerank", "k")
    await cache.count_hits()
    await other.count_hits()
    kept = await row(database)
    assert (kept["hit_count"], kept["last_accessed_at"]) == (2, NOW)


async def test_hits_of_an_answer_that_is_gone_are_forgotten(cache: AnswerCache, database: Database) -> None:
    await cache.put("rerank", "k", [1], ttl_days=1)
    await cache.get("rerank", "k")
    async with database.connection() as connection:
        await connection.execute("DELETE FROM llm_cache")
    await cache.count_hits()
    assert await rows(database) == []


async def test_hits_of_more_keys_than_there_is_room_for_are_left_out(
    cache: AnswerCache, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "MAX_UNWRITTEN_HITS", 1)
    for key in ("a", "b"):
        await cache.put("rerank", key, [1], ttl_days=1)
    for key in ("a", "b", "a"):
        await cache.get("rerank", key)
    await cache.count_hits()
    assert [one["hit_count"] for one in await rows(database)] == [2, 0]


# Failures


class Away(Database):
    """A database that does not answer, or never does."""

    def __init__(self, *, hangs: bool = False) -> None:
        super().__init__(max_conns=1)
        self._hangs = hangs

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        if self._hangs:
            await anyio.sleep_forever()
        raise DatabaseUnavailable("away")
        yield

    transaction = connection


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_database_that_is_away_or_hangs_makes_misses_and_keeps_nothing(
    queries: Queries, clock: TurnedClock, hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "READ_TIMEOUT_S", 0.01)
    monkeypatch.setattr(cache_module, "WRITE_TIMEOUT_S", 0.01)
    cache = AnswerCache(database=Away(hangs=hangs), queries=queries, clock=clock, max_payload_bytes=None)
    with capture_logs() as logs:
        assert await cache.get("rerank", "k") is None
        await cache.put("rerank", "k", ["private text"], ttl_days=1)
    assert [one["event"] for one in logs] == ["cache_not_read", "cache_not_written"]
    assert "private" not in str(logs)
    assert cache.counts == {"rerank": CacheCounts(hits=0, misses=1, errors=2)}


async def test_hits_that_cannot_be_written_are_given_up(
    cache: AnswerCache, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await cache.put("rerank", "k", [1], ttl_days=1)
    await cache.get("rerank", "k")
    monkeypatch.setattr(cache, "_database", Away())
    with capture_logs() as logs:
        await cache.count_hits()
    monkeypatch.setattr(cache, "_database", database)
    await cache.count_hits()
    assert [one["event"] for one in logs] == ["cache_hits_not_counted"]
    assert (await row(database))["hit_count"] == 0


async def test_a_table_locked_by_another_holds_a_search_for_the_time_limit_only(
    cache: AnswerCache, cache_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "READ_TIMEOUT_S", 0.05)
    await cache.put("rerank", "k", [1], ttl_days=1)
    other = await asyncpg.connect(cache_dsn)
    try:
        async with other.transaction():
            await other.execute("LOCK TABLE llm_cache IN ACCESS EXCLUSIVE MODE")
            assert await cache.get("rerank", "k") is None
    finally:
        await other.close()
    monkeypatch.undo()
    assert await cache.get("rerank", "k") == [1]


@pytest.mark.parametrize("damage", ["to_jsonb(1e999 + 0.5)", "to_jsonb(10::numeric ^ 5000)", NESTED])
async def test_a_payload_that_cannot_be_read_is_a_miss(
    cache: AnswerCache, database: Database, damage: str
) -> None:
    await cache.put("rerank", "k", [1], ttl_days=1)
    async with database.connection() as connection:
        await connection.execute(f"UPDATE llm_cache SET payload = {damage}")
    assert await cache.get("rerank", "k") is None
    assert cache.counts == {"rerank": CacheCounts(hits=0, misses=1, errors=1)}


async def test_writers_of_the_same_answers_in_any_order_do_not_lock_each_other_out(
    cache: AnswerCache, database: Database
) -> None:
    forwards = [Answer("rerank", f"k{number}", [number], 1) for number in range(40)]
    await cache.put_many(forwards)
    for answer in forwards:
        await cache.get("rerank", answer.key)
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(cache.put_many, forwards)
            group.start_soon(cache.put_many, forwards[::-1])
            group.start_soon(cache.count_hits)
    assert cache.counts["rerank"].errors == 0
    assert len(await rows(database)) == 40


# Plans


@pytest.fixture(scope="module")
def full_dsn(cache_dsn: str, postgres_dsn: str) -> Iterator[str]:
    """A database with 20,000 answers of which half are past their time."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE many_answers TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, "many_answers")
    seed = """
        INSERT INTO llm_cache
        SELECT gen_random_uuid(), (ARRAY['rerank', 'expansion'])[1 + i % 2], md5(i::text), '[0.5]', now(), now(),
          now() + (i % 20 - 10) * interval '1 day'
        FROM generate_series(1, 20000) AS i;
        ANALYZE llm_cache
    """
    asyncio.run(run_sql(dsn, seed))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE many_answers WITH (FORCE)"))


KEYS = [f"{number:064x}" for number in range(32)]
HOT: dict[str, tuple[Any, ...]] = {
    "read_answer": ("rerank", KEYS[0], NOW),
    "count_hits": (["rerank"] * 32, KEYS, [1] * 32, [NOW] * 32),
}


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", HOT)
async def test_answers_are_found_by_their_key(full_dsn: str, queries: Queries, name: str, kind: str) -> None:
    plan = await explain(full_dsn, queries[name], HOT[name], kind)
    assert "llm_cache" not in plan.scanned
    assert plan.indexes == {"idx_llm_cache_key"}
    assert "cache_key" in plan.conditions


@pytest.mark.parametrize("kind", ["custom", "generic"])
async def test_expired_answers_are_found_by_their_time(full_dsn: str, queries: Queries, kind: str) -> None:
    values: tuple[datetime, int] = (NOW, 500)
    plan = await explain(full_dsn, queries["drop_expired_answers"], values, kind)
    assert "llm_cache" not in plan.scanned
    assert {"idx_llm_cache_expires", "llm_cache_pkey"} <= plan.indexes


async def test_wordings_that_were_asked_for_before_an_erasure_are_not_kept(
    cache: AnswerCache, database: Database
) -> None:
    before = datetime.now(UTC)
    async with erasing(database, named(Subject(tenant_id="acme", user="ana"))):
        pass
    await cache.put("expansion", "before", ["where ana lives"], ttl_days=1, asked_at=before)
    await cache.put("expansion", "after", ["where ben lives"], ttl_days=1, asked_at=datetime.now(UTC))
    await cache.put("rerank", "scores", [0.5], ttl_days=1)
    assert [row["cache_key"] for row in await rows(database)] == ["after", "scores"]
