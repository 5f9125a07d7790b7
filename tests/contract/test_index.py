"""The contract of VectorIndex, held by every adapter."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID, uuid4

import anyio
import numpy as np
import pytest

from elf.core.errors import IndexUnavailable
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.port import (
    IndexFilter,
    IndexPoint,
    IndexQuery,
    LegHit,
    PayloadValue,
    Period,
    VectorIndex,
)
from elf.index.schema import EVERY_TAG
from elf.index.within import Within
from tests.index_kit import (
    ADAPTERS,
    DIM,
    EVERYTHING,
    Opener,
    dense_hits,
    emptied,
    ids,
    opener_of,
    point,
    search_filter,
    vector,
    word_hits,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=ADAPTERS)
def opener(request: pytest.FixtureRequest) -> Opener:
    return opener_of(request.param, request)


@pytest.fixture(scope="module")
async def engine(opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VectorIndex]:
    async with opener(tmp_path_factory.mktemp("engine")) as open_space:
        yield await open_space(NOTES)


@pytest.fixture
async def new_index(opener: Opener, tmp_path: Path) -> AsyncIterator[VectorIndex]:
    """An engine that never held a point."""
    async with opener(tmp_path) as open_space:
        yield await open_space(NOTES)


@pytest.fixture
async def index(engine: VectorIndex) -> AsyncIterator[VectorIndex]:
    """An engine that is empty."""
    yield engine
    await emptied(engine)


# Finding


async def test_a_point_is_found_by_its_vector_with_the_cosine_as_score(index: VectorIndex) -> None:
    near, far = point(dense=[3.0, 4.0]), point(dense=[0.0, 2.0])
    await index.upsert([far, near])
    hits = await dense_hits(index, EVERYTHING, 10.0)
    assert ids(hits) == [near.point_id, far.point_id]
    assert [hit.score for hit in hits] == pytest.approx([0.6, 0.0], abs=1e-6)
    assert [hit.owner_id for hit in hits] == [near.owner_id, far.owner_id]


async def test_words_are_scored_by_bm25_with_idf(index: VectorIndex) -> None:
    rare = point("zebra crossing")
    common = [point("river crossing") for _ in range(5)]
    await index.upsert([rare, *common])
    [hit] = await word_hits(index, "zebra")
    # Two tokens in a document whose expected length is 20: tf = (k+1) / (1 + k (1 - b + b * 2/20)).
    weight = 2.2 / (1 + 1.2 * (1 - 0.75 + 0.75 * 2 / 20))
    assert hit.point_id == rare.point_id
    assert hit.score == pytest.approx(weight * math.log(1 + (6 - 1 + 0.5) / (1 + 0.5)), rel=1e-5)
    both = await word_hits(index, "zebra crossing")
    assert both[0].point_id == rare.point_id
    assert set(ids(both)) == {rare.point_id, *(one.point_id for one in common)}
    assert [hit.score for hit in both] == sorted((hit.score for hit in both), reverse=True)


async def scores(index: VectorIndex, text: str, where: IndexFilter) -> dict[UUID, float]:
    return {hit.point_id: hit.score for hit in await word_hits(index, text, where)}


async def test_points_of_other_tenants_and_projects_do_not_move_a_score(index: VectorIndex) -> None:
    await index.upsert([point("zebra crossing"), point("river crossing"), point("zebra", type="plan")])
    before = await scores(index, "zebra crossing", search_filter())
    await index.upsert(
        [
            point(text, **place)
            for text in ("zebra", "zebra crossing", "other")
            for place in ({"tenant_id": "other"}, {"project_id": "beta"})
            for _ in range(5)
        ]
    )
    assert await scores(index, "zebra crossing", search_filter()) == before
    assert len(before) == 3


@pytest.mark.parametrize("opener", ["edge", "pgvector"], indirect=True)
async def test_points_that_a_reader_may_not_see_do_not_move_a_score(index: VectorIndex) -> None:
    mine = point("zebra crossing")
    await index.upsert([mine, point("river crossing"), point("zebra")])
    before = await scores(index, "zebra crossing", search_filter())
    unseen: list[dict[str, PayloadValue]] = [
        {"scope": "agent_private", "agent_id": "bert"},
        {"scope": "org_shared"},
        {"status": "deleted"},
        {"embedding_version": "test:w:8"},
    ]
    await index.upsert([point("zebra", **fields) for fields in unseen for _ in range(5)])
    assert await scores(index, "zebra crossing", search_filter()) == before
    seeing_more = search_filter(scopes=["project_shared", "org_shared"])
    less, more = [await scores(index, "zebra", where) for where in (search_filter(), seeing_more)]
    assert more[mine.point_id] < less[mine.point_id]


async def test_queries_of_several_tenants_at_once_are_each_scored_within_their_own(
    index: VectorIndex,
) -> None:
    tenants = {"acme": ("zebra", "zebra", "river"), "other": ("zebra", "river", "river", "river")}
    await index.upsert(
        [point(f"{text} crossing", tenant_id=name) for name, texts in tenants.items() for text in texts]
    )
    places = [search_filter(tenant_id=name) for name in tenants]
    queries = [IndexQuery(None, text, where, 10) for where in places for text in ("zebra", "river crossing")]
    together = await index.query(queries)
    assert together == [found for query in queries for found in await index.query([query])]
    first, _, second, _ = (result.bm25[0].score for result in together)
    assert first < second


async def test_what_is_looked_for_beside_the_words_does_not_move_a_score(index: VectorIndex) -> None:
    wanted = point("zebra crossing", key="wanted", type="plan", tags=TAGS[:1])
    await index.upsert([wanted, *(point(text) for text in ("zebra", "zebra", "river crossing"))])
    due = (await scores(index, "zebra crossing", search_filter()))[wanted.point_id]
    plans = [{**one, "type": ["plan"]} for one in search_filter().any_of or ()]
    for where in (
        search_filter(type="plan"),
        replace(search_filter(), any_of=plans),
        replace(search_filter(), key_prefix="w"),
        replace(search_filter(), periods={"created_at": Period(before=SECOND)}),
        replace(search_filter(), tags=TAGS[:1]),
    ):
        assert (await scores(index, "zebra crossing", where))[wanted.point_id] == due


async def test_deleted_and_replaced_points_no_longer_count(index: VectorIndex) -> None:
    kept, gone, changed = point("zebra crossing"), point("zebra"), point("zebra")
    await index.upsert([kept])
    alone = await scores(index, "zebra crossing", search_filter())
    await index.upsert([gone, changed])
    assert await scores(index, "zebra crossing", search_filter()) != alone
    await index.upsert([replace(changed, text="crossing", payload={**changed.payload, "tenant_id": "other"})])
    await index.delete_owners([gone.owner_id])
    assert await scores(index, "zebra crossing", search_filter()) == alone


async def test_words_match_by_their_stem_in_any_case(index: VectorIndex) -> None:
    stored = point("She prefers RUNNING shoes")
    await index.upsert([stored, point("something else")])
    assert ids(await word_hits(index, "runs")) == [stored.point_id]


async def test_both_legs_of_several_queries_come_in_the_order_of_the_queries(index: VectorIndex) -> None:
    left, right = point("apple pie", dense=[1.0]), point("banana bread", dense=[0.0, 1.0])
    await index.upsert([left, right])
    first, second, third = await index.query(
        [
            IndexQuery(vector(0.0, 1.0), "apples", EVERYTHING, 1),
            IndexQuery(None, None, EVERYTHING, 5),
            IndexQuery(vector(1.0), "bananas", EVERYTHING, 1),
        ]
    )
    assert (ids(first.dense), ids(first.bm25)) == ([right.point_id], [left.point_id])
    assert (second.dense, second.bm25) == ([], [])
    assert (ids(third.dense), ids(third.bm25)) == ([left.point_id], [right.point_id])


async def test_a_leg_holds_at_most_limit_hits_the_best_ones(index: VectorIndex) -> None:
    points = [point("word", dense=[1.0, 0.1 * number]) for number in range(6)]
    await index.upsert(points)
    assert ids(await dense_hits(index, EVERYTHING, 1.0, limit=2)) == [one.point_id for one in points[:2]]
    assert await dense_hits(index, EVERYTHING, 1.0, limit=0) == []


@pytest.mark.parametrize("text", ["", "   ", "the of and", "?!"])
async def test_a_query_without_words_has_an_empty_bm25_leg(index: VectorIndex, text: str) -> None:
    await index.upsert([point("the cat and the hat")])
    [result] = await index.query([IndexQuery(vector(1.0), text, EVERYTHING, 5)])
    assert result.bm25 == []
    assert len(result.dense) == 1


async def test_an_empty_index_and_an_empty_list_of_queries_give_nothing(index: VectorIndex) -> None:
    assert await dense_hits(index, search_filter()) == []
    assert await word_hits(index, "anything", search_filter()) == []
    assert await index.query([]) == []
    assert await index.scan(after=None, limit=10) == []
    assert await index.count() == 0


async def test_words_beyond_ascii_are_found(index: VectorIndex) -> None:
    stored = point("Zażółć gęślą jaźń 😀 naïve café", key="ключ 😀", tenant_id="tenant ü/|\x1f")
    await index.upsert([stored, point("plain words")])
    where = IndexFilter(must={"tenant_id": "tenant ü/|\x1f"})
    assert ids(await word_hits(index, "CAFÉ", where)) == [stored.point_id]
    assert ids(await word_hits(index, "jaźń")) == [stored.point_id]


async def test_a_point_without_words_is_found_by_its_vector(index: VectorIndex) -> None:
    stored = point("of the and")
    await index.upsert([stored])
    assert ids(await dense_hits(index, search_filter())) == [stored.point_id]


# Filtering


async def test_a_search_sees_its_own_context_only(index: VectorIndex) -> None:
    shared = point("secret")
    own = point("secret", scope="agent_private")
    strangers = [
        point("secret", tenant_id="other"),
        point("secret", project_id="beta"),
        point("secret", status="deleted"),
        point("secret", embedding_version="test:w:8"),
        point("secret", scope="org_shared"),
        point("secret", scope="agent_private", agent_id="bert"),
        point("secret", scope="agent_private", tenant_id="other"),
    ]
    await index.upsert([shared, own, *strangers])
    seen = {shared.point_id, own.point_id}
    assert set(ids(await dense_hits(index, search_filter()))) == seen
    assert set(ids(await word_hits(index, "secret", search_filter()))) == seen


async def test_fields_that_look_alike_when_joined_do_not_meet(index: VectorIndex) -> None:
    await index.upsert(
        [point("secret", tenant_id="a", project_id="bc"), point("secret", tenant_id="ab", project_id="c")]
    )
    assert await word_hits(index, "secret", search_filter(tenant_id="a", project_id="c")) == []
    assert await word_hits(index, "secret", search_filter(tenant_id="abc", project_id="")) == []


FILTERS: Mapping[str, IndexFilter] = {
    "nothing": EVERYTHING,
    "one field": IndexFilter(must={"project_id": "alpha"}),
    "a field that no shape has": IndexFilter(must={"type": "fact", "tenant_id": "acme"}),
    "an unknown field": IndexFilter(must={"nonsense": "x"}),
    "search": search_filter(),
    "search of another agent": search_filter("bert", scopes=("project_shared", "org_shared")),
    "search of one type": search_filter(type="plan"),
    "search without a version": IndexFilter(
        must={"tenant_id": "acme", "project_id": "alpha", "status": "active"},
        any_of=[{"scope": ["project_shared"]}, {"scope": ["agent_private"], "agent_id": ["anna"]}],
    ),
    "alternatives of different fields": IndexFilter(
        must={"tenant_id": "acme"},
        any_of=[{"scope": ["org_shared"]}, {"agent_id": ["bert"], "type": ["plan"]}],
    ),
    "one covered alternative and one that is not": IndexFilter(
        must={
            "tenant_id": "acme",
            "project_id": "alpha",
            "status": "active",
            "embedding_version": "test:v:8",
        },
        any_of=[{"scope": ["org_shared"]}, {"type": ["plan"]}],
    ),
    "an alternative against a must": IndexFilter(
        must={"scope": "org_shared"}, any_of=[{"scope": ["project_shared"]}, {"agent_id": ["bert"]}]
    ),
    "no alternative": IndexFilter(must={}, any_of=[]),
    "no alternative within a context": replace(search_filter(), any_of=[]),
    "an alternative without values": IndexFilter(must={}, any_of=[{"scope": []}]),
    "an alternative that always holds": IndexFilter(
        must={"tenant_id": "acme"}, any_of=[{"scope": ["org_shared"]}, {}]
    ),
    "many agents": IndexFilter(
        must={
            "tenant_id": "acme",
            "project_id": "alpha",
            "status": "active",
            "embedding_version": "test:v:8",
        },
        any_of=[{"scope": ["agent_private"], "agent_id": ["anna", *(f"agent{n}" for n in range(100))]}],
    ),
}


def holds(where: IndexFilter, payload: Mapping[str, PayloadValue]) -> bool:
    """The filter's meaning, spelt out."""
    if any(payload.get(field) != value for field, value in where.must.items()):
        return False
    return where.any_of is None or any(
        all(payload.get(field) in values for field, values in group.items()) for group in where.any_of
    )


async def test_a_filter_lets_through_what_it_says(index: VectorIndex) -> None:
    choice = random.Random(11)
    points = [
        point(
            "needle",
            tenant_id=choice.choice(["acme", "other"]),
            project_id=choice.choice(["alpha", "beta"]),
            agent_id=choice.choice(["anna", "bert"]),
            scope=choice.choice(["agent_private", "project_shared", "org_shared"]),
            status=choice.choice(["active", "active", "deleted"]),
            type=choice.choice(["fact", "plan"]),
        )
        for _ in range(200)
    ]
    await index.upsert(points)
    due = {
        name: {one.point_id for one in points if holds(where, one.payload)} for name, where in FILTERS.items()
    }
    results = await index.query([IndexQuery(vector(1.0), "needle", where, 500) for where in FILTERS.values()])
    assert {name: set(ids(one.dense)) for name, one in zip(FILTERS, results, strict=True)} == due
    assert {name: set(ids(one.bm25)) for name, one in zip(FILTERS, results, strict=True)} == due
    assert sum(map(bool, due.values())) >= 10  # the filters are not all empty


MOMENTS = [f"2026-01-0{day}T12:00:00{fraction}+00:00" for day in (1, 2, 3) for fraction in ("", ".000001")]
SECOND = datetime.fromisoformat(MOMENTS[2])
TICK = timedelta(microseconds=1)
TAGS = [UUID(int=number) for number in (1, 2, 3)]
KEYS = [None, "", "a", "a/b", "a/bc", "A/b", "a%", "a_b", "ключ 😀", "ключ"]

NARROW: Mapping[str, IndexFilter] = {
    **{
        f"keys that begin with {prefix!r}": replace(search_filter(), key_prefix=prefix)
        for prefix in ("a", "a/b", "A", "a%", "_", "ключ", "a/bcd")
    },
    "a key's beginning alone": IndexFilter(must={}, key_prefix="a/"),
    "created from a moment on": replace(search_filter(), periods={"created_at": Period(since=SECOND)}),
    "created before a moment": replace(search_filter(), periods={"created_at": Period(before=SECOND)}),
    "changed in one microsecond": replace(
        search_filter(), periods={"updated_at": Period(since=SECOND, before=SECOND + TICK)}
    ),
    "changed in no time": replace(
        search_filter(), periods={"updated_at": Period(since=SECOND, before=SECOND)}
    ),
    "in another time zone": replace(
        search_filter(),
        periods={"created_at": Period(since=SECOND.astimezone(timezone(timedelta(hours=5, minutes=30))))},
    ),
    "one tag": replace(search_filter(), tags=TAGS[:1]),
    "two tags": replace(search_filter(), tags=TAGS[:2]),
    "a tag that no point has": replace(search_filter(), tags=[uuid4()]),
    "all at once": replace(
        search_filter(),
        any_of=[
            {"scope": ["project_shared"], "type": ["fact"]},
            {"scope": ["agent_private"], "agent_id": ["anna"], "type": ["fact"]},
        ],
        key_prefix="a",
        periods={"created_at": Period(since=SECOND), "updated_at": Period(before=SECOND + 2 * TICK)},
        tags=TAGS[:1],
    ),
}


def lets_through(where: IndexFilter, one: IndexPoint) -> bool:
    """The whole filter's meaning, spelt out."""
    key = one.payload["key"]
    return (
        holds(where, one.payload)
        and (where.key_prefix is None or (isinstance(key, str) and key.startswith(where.key_prefix)))
        and all(
            (period.since is None or moment_of(one, name) >= period.since)
            and (period.before is None or moment_of(one, name) < period.before)
            for name, period in where.periods.items()
        )
        and (EVERY_TAG in one.tags or set(where.tags) <= set(one.tags))
    )


def moment_of(one: IndexPoint, name: str) -> datetime:
    return datetime.fromisoformat(str(one.payload[name]))


async def test_a_filter_by_key_period_and_tags_lets_through_what_it_says(index: VectorIndex) -> None:
    choice = random.Random(7)
    points = [
        point(
            "needle",
            project_id=choice.choice(["alpha", "alpha", "beta"]),
            scope=choice.choice(["agent_private", "project_shared"]),
            agent_id=choice.choice(["anna", "bert"]),
            type=choice.choice(["fact", "plan"]),
            key=choice.choice(KEYS),
            created_at=choice.choice(MOMENTS),
            updated_at=choice.choice(MOMENTS),
            tags=choice.choice([TAGS, TAGS[:2], TAGS[1:], [], [EVERY_TAG]]),
        )
        for _ in range(300)
    ]
    await index.upsert(points)
    due = {
        name: {one.point_id for one in points if lets_through(where, one)} for name, where in NARROW.items()
    }
    results = await index.query([IndexQuery(vector(1.0), "needle", where, 500) for where in NARROW.values()])
    assert {name: set(ids(one.dense)) for name, one in zip(NARROW, results, strict=True)} == due
    assert {name: set(ids(one.bm25)) for name, one in zip(NARROW, results, strict=True)} == due
    assert sum(map(bool, due.values())) >= 12  # the filters are not all empty


async def test_a_choice_of_thousands_of_values_is_one_clause(index: VectorIndex) -> None:
    agents = [f"agent {uuid4()}" for _ in range(3000)]
    wanted = [point("needle", agent_id=agents[number], scope="agent_private") for number in (0, 1500, 2999)]
    others = [point("needle", agent_id="stranger"), point("needle", agent_id=agents[7], tenant_id="other")]
    nobody = point("needle", agent_id=None)
    await index.upsert([*wanted, *others, nobody])
    place = IndexFilter(must={"tenant_id": "acme", "project_id": "alpha"})
    where = replace(place, within=Within("agent_id", frozenset(agents)))
    due = {one.point_id for one in wanted}
    [result] = await index.query([IndexQuery(vector(1.0), "needle", where, 100)])
    assert set(ids(result.dense)) == set(ids(result.bm25)) == due
    narrower = replace(
        where, any_of=[{"scope": ["agent_private"]}, {"scope": ["org_shared"]}], key_prefix="x"
    )
    assert await dense_hits(index, narrower) == []
    only = replace(where, must={**where.must, "agent_id": agents[0]})
    assert ids(await word_hits(index, "needle", only)) == [wanted[0].point_id]


@pytest.mark.parametrize(
    "within",
    [
        Within("agent_id", frozenset()),
        Within("nonsense", frozenset(["anna"])),
        Within("agent_id", frozenset(["bert"])),
    ],
    ids=["of no value", "of an unknown field", "of a value that no point has"],
)
async def test_a_choice_that_cannot_hold_finds_nothing(index: VectorIndex, within: Within) -> None:
    await index.upsert([point("needle")])
    for where in (IndexFilter(must={}, within=within), replace(search_filter(), within=within)):
        [result] = await index.query([IndexQuery(vector(1.0), "needle", where, 10)])
        assert (result.dense, result.bm25) == ([], [])


@pytest.mark.parametrize("opener", ["edge", "pgvector"], indirect=True)
async def test_a_choice_of_what_may_be_seen_bounds_the_corpus_and_any_other_does_not(
    index: VectorIndex,
) -> None:
    mine = point("zebra crossing", agent_id="anna", type="fact")
    await index.upsert([mine, point("river crossing", agent_id="anna", type="plan")])
    seen = replace(search_filter(), within=Within("agent_id", frozenset(["anna", "carl"])))
    before = await scores(index, "zebra", seen)
    await index.upsert([point("zebra", agent_id="bert", type="fact") for _ in range(5)])
    assert await scores(index, "zebra", seen) == before
    of_a_type = replace(search_filter(), within=Within("type", frozenset(["fact"])))
    all_types = replace(search_filter(), within=Within("type", frozenset(["fact", "plan"])))
    assert (await scores(index, "zebra", of_a_type))[mine.point_id] == (
        await scores(index, "zebra", all_types)
    )[mine.point_id]


async def test_a_filter_is_applied_before_the_best_are_chosen(index: VectorIndex) -> None:
    wanted = point("needle and much else", dense=[0.1, 1.0], key="wanted", tags=TAGS[:1])
    await index.upsert([*(point("needle", key="other") for _ in range(50)), wanted])
    for where in (replace(search_filter(), key_prefix="w"), replace(search_filter(), tags=TAGS[:1])):
        [result] = await index.query([IndexQuery(vector(1.0), "needle", where, 1)])
        assert (ids(result.dense), ids(result.bm25)) == ([wanted.point_id], [wanted.point_id])


async def test_a_point_from_before_there_were_tags_is_found_by_any_and_has_to_be_written_anew(
    index: VectorIndex,
) -> None:
    old = point("needle", created_at=None)
    new = point("needle", key="new")
    await index.upsert([old, new])
    narrow = replace(
        search_filter(), key_prefix="x", periods={"created_at": Period(since=SECOND)}, tags=TAGS[:1]
    )
    assert (
        ids(await dense_hits(index, narrow))
        == ids(await word_hits(index, "needle", narrow))
        == [old.point_id]
    )
    assert await dense_hits(index, replace(narrow, must=narrow.must | {"tenant_id": "other"})) == []
    assert await index.count() == 1
    stored = await index.scan(after=None, limit=10)
    assert {one.point_id: bool(one.updated_at) for one in stored} == {old.point_id: False, new.point_id: True}
    await index.upsert([replace(old, payload={**old.payload, "created_at": MOMENTS[0]})])
    assert await index.count() == 2
    assert await dense_hits(index, narrow) == []


# Writing


async def test_an_upsert_of_the_same_id_replaces_the_point(index: VectorIndex) -> None:
    old = point("old words", dense=[1.0])
    new = point("new words", dense=[0.0, 1.0], point_id=old.point_id, scope="agent_private")
    await index.upsert([old])
    await index.upsert([new])
    assert await index.count() == 1
    assert await word_hits(index, "old") == []
    assert ids(await word_hits(index, "new")) == [new.point_id]
    [hit] = await dense_hits(index, search_filter(), 0.0, 1.0)
    assert hit == LegHit(new.point_id, new.owner_id, pytest.approx(1.0))
    assert await dense_hits(index, search_filter("bert")) == []


async def test_of_two_points_with_one_id_in_one_upsert_the_later_one_stays(index: VectorIndex) -> None:
    first = point("first")
    await index.upsert([first, point("second", point_id=first.point_id)])
    assert await index.count() == 1
    assert ids(await word_hits(index, "second")) == [first.point_id]


async def test_many_points_go_in_one_upsert(index: VectorIndex) -> None:
    await index.upsert([point(f"word{number}") for number in range(700)])
    assert await index.count() == 700
    assert len(await word_hits(index, "word699")) == 1


async def test_empty_writes_do_nothing(index: VectorIndex) -> None:
    await index.upsert([])
    await index.delete_owners([])
    await index.delete_points([])
    assert await index.count() == 0


async def test_deleting_owners_takes_all_their_points_and_no_others(index: VectorIndex) -> None:
    owner, other = uuid4(), uuid4()
    mine = [point("word", owner_id=owner) for _ in range(3)]
    theirs = point("word", owner_id=other)
    await index.upsert([*mine, theirs])
    await index.delete_owners([owner, uuid4()])
    assert ids(await word_hits(index, "word")) == [theirs.point_id]
    assert await index.count() == 1


async def test_deleting_owners_spares_the_points_to_keep(index: VectorIndex) -> None:
    owner = uuid4()
    kept, gone = point("word", owner_id=owner), point("word", owner_id=owner)
    await index.upsert([kept, gone])
    await index.delete_owners([owner], keep=[kept.point_id, uuid4()])
    assert [stored.point_id for stored in await index.scan(after=None, limit=10)] == [kept.point_id]


async def test_deleting_points_ignores_unknown_ids(index: VectorIndex) -> None:
    kept, gone = point("word"), point("word")
    await index.upsert([kept, gone])
    await index.delete_points([gone.point_id, uuid4()])
    await index.delete_points([gone.point_id])
    assert ids(await dense_hits(index, EVERYTHING)) == [kept.point_id]
    assert ids(await word_hits(index, "word")) == [kept.point_id]


async def test_a_vector_of_the_wrong_length_is_refused_and_nothing_of_it_stays(index: VectorIndex) -> None:
    bad = IndexPoint(uuid4(), uuid4(), np.ones(DIM + 1, np.float32), "bad", {})
    with pytest.raises(IndexUnavailable):
        await index.upsert([bad])
    with pytest.raises(IndexUnavailable):
        await index.query([IndexQuery(np.ones(DIM - 1, np.float32), None, EVERYTHING, 5)])
    assert await index.count() == 0


async def test_a_vector_that_is_not_finite_is_refused(index: VectorIndex) -> None:
    with pytest.raises(IndexUnavailable):
        await index.upsert([point(dense=[math.nan])])
    with pytest.raises(IndexUnavailable):
        await dense_hits(index, EVERYTHING, math.inf, -math.inf)


# Scanning


async def test_a_scan_pages_through_everything_in_the_order_of_the_ids(index: VectorIndex) -> None:
    points = {one.point_id: one for one in (point(f"word{number}") for number in range(25))}
    await index.upsert(list(points.values()))
    seen = []
    after: UUID | None = None
    while page := await index.scan(after=after, limit=10):
        assert len(page) <= 10
        seen += page
        after = page[-1].point_id
    assert [stored.point_id for stored in seen] == sorted(points)
    assert all(stored.owner_id == points[stored.point_id].owner_id for stored in seen)
    assert {stored.updated_at for stored in seen} == {"2026-01-02T03:04:05+00:00"}


async def test_a_scan_goes_on_behind_an_id_that_is_gone(index: VectorIndex) -> None:
    points = sorted((point() for _ in range(5)), key=lambda one: one.point_id)
    await index.upsert(points)
    await index.delete_points([points[1].point_id])
    rest = await index.scan(after=points[1].point_id, limit=10)
    assert [stored.point_id for stored in rest] == [one.point_id for one in points[2:]]


# Many callers


async def test_many_concurrent_callers_each_get_their_own_answer(new_index: VectorIndex) -> None:
    index = new_index  # in memory mode each query still looks at all points that the other tests deleted
    points = [point(f"unique{number}") for number in range(24)]

    async def write_and_read(number: int) -> None:
        await index.upsert([points[number]])
        assert ids(await word_hits(index, f"unique{number}")) == [points[number].point_id]
        assert points[number].point_id in ids(await dense_hits(index, search_filter()))
        if number % 2:
            await index.delete_points([points[number].point_id])

    async with anyio.create_task_group() as tasks:
        for number in range(len(points)):
            tasks.start_soon(write_and_read, number)
    assert await index.count() == 12


async def test_a_closed_index_is_unavailable(tmp_path: Path) -> None:
    index = EdgeIndex(tmp_path, NOTES)
    await index.aclose()
    with pytest.raises(IndexUnavailable):
        await index.count()
