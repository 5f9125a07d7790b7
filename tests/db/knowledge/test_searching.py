"""Finding memories: by meaning, by words and by both, and of which kinds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from elf.families.knowledge.reading import legs
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.db.knowledge.finding_kit import QUERY, Finder
from tests.db.knowledge.lifecycle_kit import Life

pytestmark = pytest.mark.anyio


@pytest.fixture
def finder(knowledge: KnowledgeHouse) -> Finder:
    return Finder(knowledge)


async def test_semantic_search_returns_cosine_similarity(finder: Finder) -> None:
    cosines = {
        await finder.fact("aisle", 0.5): 0.5, await finder.rule("window", 0.9): 0.9,
        await finder.episode("Oslo", -0.25): -0.25,
    }  # fmt: skip
    found = await finder.search(mode="semantic")
    assert [item["id"] for item in found] == sorted(cosines, key=cosines.__getitem__, reverse=True)
    for item in found:
        assert item["similarity"] == pytest.approx(cosines[item["id"]], abs=1e-6)
        assert item["score"] == item["terms"]["similarity"] == item["similarity"]
        assert (item["semantic_rank"], item["keyword_rank"], item["rank"], item["rrf_score"]) == (
            1,
            None,
            None,
            None,
        )


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_what_is_over_is_not_found(finder: Finder, knowledge: KnowledgeHouse, mode: str) -> None:
    life = Life(knowledge)
    past = await finder.fact("seat one", 0.9, subject="Ana")
    active = await finder.fact("seat two", 0.9, subject="Ana")
    retracted = await finder.fact("seat three", 0.9)
    expired = await finder.fact("seat four", 0.9)
    forgotten = await finder.rule("seat five", 0.9)
    gone = await finder.episode("seat six", 0.9)
    assert len(await finder.ids("seat", mode=mode, min_confidence=0)) == 5
    await life.forget("fact", retracted)
    await life.forget("rule", forgotten)
    await life.forget("episode", gone)
    await finder.set("fact", expired, validity="expired")
    assert await finder.ids("seat", mode=mode, min_confidence=0) == [active]
    assert (await knowledge.row("fact", past))["validity"] == "superseded"


async def test_keyword_search_uses_plainto_tsquery(finder: Finder, knowledge: KnowledgeHouse) -> None:
    often = await finder.fact("Windows, a window and windows: a seat")
    once = await finder.rule("A seat by the window of the hotel")
    await finder.fact("a window")
    found = await finder.search("seats & (window:* | !) <->", mode="keyword")
    assert [item["id"] for item in found] == [often, once]
    assert found[0]["rank"] > found[1]["rank"]
    for item in found:
        (row,) = await knowledge.rows(
            "SELECT ts_rank(search_vector, plainto_tsquery('english', 'seats window'))::float8 AS rank FROM ("
            "  SELECT id, search_vector FROM knowledge_facts UNION ALL SELECT id, search_vector FROM knowledge_rules"
            ") AS m WHERE id = $1",
            item["id"],
        )
        assert item["score"] == item["terms"]["rank"] == item["rank"] == row["rank"]
        assert (item["similarity"], item["semantic_rank"], item["rrf_score"]) == (None, None, None)
    assert finder.house.model.texts.count("seats & (window:* | !) <->") == 0


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
@pytest.mark.parametrize("query", ["", " \t\n", "\0 \0"])
async def test_a_blank_query_finds_nothing(finder: Finder, mode: str, query: str) -> None:
    await finder.fact("seat")
    answer = await finder.answer(query, mode=mode)
    assert (answer.items, answer.degraded) == ([], [])
    assert await finder.recall(query) == []
    assert (await finder.context(query)).context == "# Memory Context\n"


async def test_of_words_that_mean_nothing_only_meaning_counts(finder: Finder) -> None:
    finder.near("to be or not", 1.0)
    fact = await finder.fact("to be", 0.8)
    assert await finder.ids("to be or not", mode="keyword") == []
    assert await finder.ids("to be or not") == [fact]


async def test_hybrid_search_uses_reciprocal_rank_fusion(finder: Finder) -> None:
    for number in range(12):
        words = "which seat " * (number % 3) + f"n{number}"
        await finder.fact(words, 0.9 - number / 20)
    limit = 5
    semantic = {
        item["id"]: item["semantic_rank"] for item in await finder.search(mode="semantic", limit=limit)
    }
    keyword = {item["id"]: item["keyword_rank"] for item in await finder.search(mode="keyword", limit=limit)}
    assert sorted(semantic.values()) == sorted(keyword.values()) == [1, 2, 3, 4, 5]
    assert semantic.keys() != keyword.keys()
    expected = {
        id: (
            1 / (60 + semantic.get(id, limit + 1)) + 1 / (60 + keyword.get(id, limit + 1)),
            semantic.get(id, 6),
        )
        for id in semantic.keys() | keyword.keys()
    }
    found = await finder.search(limit=limit)
    best = sorted(expected.items(), key=lambda one: (-one[1][0], one[1][1]))[:limit]
    assert [(item["id"], item["rrf_score"]) for item in found] == [
        (id, pytest.approx(score, abs=1e-12)) for id, (score, _) in best
    ]
    for item in found:
        assert (item["semantic_rank"], item["keyword_rank"]) == (
            semantic.get(item["id"]),
            keyword.get(item["id"]),
        )
        assert sum(item["terms"].values()) == pytest.approx(item["score"], abs=1e-12)
    assert all(one["score"] >= other["score"] for one, other in pairwise(found))


async def test_of_two_with_one_score_that_first_by_meaning_is_first(finder: Finder) -> None:
    meant = await finder.fact("a seat by the door", 0.9, subject="Ana")
    finder.clock.turn(days=1)  # or else it might be the newer one
    said = await finder.fact("seat of seats", 0.1, subject="seat")
    found = await finder.search(limit=2)
    assert [(item["id"], item["semantic_rank"], item["keyword_rank"]) for item in found] == [
        (meant, 1, 2), (said, 2, 1),
    ]  # fmt: skip
    assert found[0]["score"] == found[1]["score"]


async def test_general_search_across_multiple_memory_types(finder: Finder) -> None:
    ids = {
        "fact": await finder.fact("seat", 0.9),
        "rule": await finder.rule("seat", 0.8),
        "episode": await finder.episode("seat", 0.7),
    }
    found = await finder.search(types=None)
    assert {item["memory_type"]: item["id"] for item in found} == ids
    some = await finder.search(types=["rule", "episode", "rule"])
    assert sorted(item["memory_type"] for item in some) == ["episode", "rule"]
    assert await finder.ids(types=[]) == []
    assert "effective_confidence" not in next(item for item in found if item["memory_type"] == "episode")


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_what_is_less_sure_than_asked_for_is_filtered_out(finder: Finder, mode: str) -> None:
    fact = await finder.fact("seat one", 0.9, permanence="ephemeral")
    lasting = await finder.fact("seat two", 0.8, permanence="permanent")
    rule = await finder.rule("seat three", 0.7)
    finder.clock.turn(days=6)  # within the time of an episode
    episode = await finder.episode("seat four", 0.6)
    assert {*await finder.ids("seat", mode=mode)} == {fact, lasting, rule, episode}
    finder.clock.turn(days=6)
    await finder.set("episode", episode, expires_at=finder.clock.moment.replace(year=2030))
    assert {*await finder.ids("seat", mode=mode, min_confidence=0.31)} == {lasting, rule, episode}
    found = {item["id"]: item for item in await finder.search("seat", mode=mode, min_confidence=0.3)}
    assert found[fact]["effective_confidence"] == pytest.approx(0.3012, abs=1e-4)
    assert {*await finder.ids("seat", mode=mode, min_confidence=1)} == {lasting, episode}


async def test_the_bound_of_confidence_is_that_of_the_answer(finder: Finder) -> None:
    """What Postgres filters by is what is told, to the last digit that matters."""
    for number in range(40):
        await finder.fact(f"seat {number}", 0.9, permanence=("volatile", "stable", "ephemeral")[number % 3])
        finder.clock.turn(hours=7)
    everything = await finder.search("seat", limit=100, min_confidence=0)
    assert len(everything) == 40
    for bound in sorted(item["effective_confidence"] for item in everything)[::7]:
        for off in (-1e-12, 1e-12):
            expected = {item["id"] for item in everything if item["effective_confidence"] >= bound + off}
            found = await finder.ids("seat", limit=100, min_confidence=bound + off)
            assert {*found} == expected


async def test_what_fades_is_found_where_less_is_asked_for(finder: Finder, knowledge: KnowledgeHouse) -> None:
    fact = await finder.fact("seat", 0.9, permanence="ephemeral")
    finder.clock.turn(days=20)
    assert (await Life(knowledge).swept()).facts_fading == 1
    assert await finder.ids("seat") == []
    (found,) = await finder.search("seat", min_confidence=0.1)
    assert (found["id"], found["metadata"]) == (fact, {"status": "fading"})
    (recalled,) = await finder.recall("seat", min_confidence=0.1)
    assert recalled["metadata"] == {"status": "fading"}
    assert await finder.recall("seat") == []


async def test_a_limit_counts_all_kinds_together(finder: Finder) -> None:
    for number in range(4):
        await finder.fact(f"seat {number}", 0.9 - number / 10)
        await finder.rule(f"rule {number}", 0.9 - number / 10)
        await finder.episode(f"episode {number}", 0.9 - number / 10)
    found = await finder.search(mode="semantic", limit=4)
    assert [item["similarity"] for item in found] == pytest.approx([0.9, 0.9, 0.9, 0.8], abs=1e-6)


async def test_while_the_model_is_away_words_find_and_the_answer_says_so(finder: Finder) -> None:
    fact = await finder.fact("the seat", 0.9)
    finder.house.model.away = True
    answer = await finder.answer("seat")
    assert ([item["id"] for item in answer.items], answer.degraded) == ([fact], ["embedding"])
    assert (await finder.answer("seat", mode="semantic")).items == []
    assert (await finder.answer("seat", mode="keyword")).degraded == []
    block = await finder.context("seat")
    assert (block.facts, block.degraded) == ([fact], ["embedding"])


async def test_vectors_of_another_model_do_not_meet(finder: Finder) -> None:
    fact = await finder.fact("chair", 0.9)
    await finder.set("fact", fact, embedding_version="fake:other:384")
    assert await finder.ids(mode="semantic") == []
    assert await finder.ids("chair") == [fact]


async def test_a_search_references_nothing(finder: Finder) -> None:
    fact = await finder.fact(QUERY, 0.9)
    await finder.search()
    await finder.context()
    row = await finder.house.row("fact", fact)
    assert (row["reference_count"], row["last_referenced_at"]) == (0, None)


@pytest.mark.parametrize("scope", [None, "travel", "rare"])
async def test_a_large_tenant_finds_what_a_small_one_does(
    finder: Finder, monkeypatch: pytest.MonkeyPatch, scope: str | None
) -> None:
    """The index is asked where there is too much to compare all, and all is compared where it gives too few."""
    for number in range(60):
        content_scope = "rare" if number == 59 else ("travel" if number % 2 else "health")
        await finder.fact(f"place {number}", 0.99 - number / 80, scope=content_scope)
    async with finder.house.database.connection() as connection:
        # Of the tests before, thousands of dead rows are in the index, more than autovacuum ever lets there be.
        await connection.execute("VACUUM knowledge_facts")
    exact = await finder.ids(mode="semantic", scope=scope)
    monkeypatch.setattr(legs, "EXACT_ROWS", 10)
    large = Finder(finder.house)
    assert await large.ids(mode="semantic", scope=scope) == exact
    assert len(exact) == (1 if scope == "rare" else 10)
