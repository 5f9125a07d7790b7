"""Recall: what matters most, by four terms, and what that counts for."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from uuid import UUID

import pytest

from elf.config.tables.knowledge import KnowledgeTable, Retrieval, ScoreWeights
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.db.knowledge.finding_kit import QUERY, Finder
from tests.db.knowledge.lifecycle_kit import Life

pytestmark = pytest.mark.anyio

DAY_S = 86_400.0


@pytest.fixture
def finder(knowledge: KnowledgeHouse) -> Finder:
    return Finder(knowledge)


async def _many(finder: Finder, rng: random.Random) -> None:
    """Store facts and rules of many ages, importances and places, some of which were asked for before."""
    for number in range(15):
        said = "seat " * rng.randrange(4) + f"n{number}"
        permanence = rng.choice(["permanent", "stable", "standard", "volatile"])
        fact = await finder.fact(said, rng.random(), importance=rng.uniform(0, 10), permanence=permanence)
        rule = await finder.rule(f"{said} rule", rng.random())
        for kind, id in (("fact", fact), ("rule", rule)):
            if rng.random() < 0.5:
                await finder.set(kind, id, last_referenced_at=finder.clock.moment)
        finder.clock.turn(hours=rng.uniform(1, 60))


async def test_composite_score_formula(finder: Finder) -> None:
    await _many(finder, random.Random(18))
    before = {
        row["id"]: row
        for table in ("facts", "rules")
        for row in await finder.house.rows(f"SELECT * FROM knowledge_{table}")
    }
    found = await finder.recall(limit=20)
    assert len(found) == 20
    assert {item["memory_type"] for item in found} == {"fact", "rule"}
    assert {item["last_referenced_at"] for item in before.values()} > {None}
    for item in found:
        row = before[item["id"]]
        days = (finder.clock.moment - row["last_confirmed_at"]).total_seconds() / DAY_S
        confidence = row["confidence"] * math.exp(-row["decay_rate"] * days)
        recency = 0.0
        if row["last_referenced_at"] is not None:
            recency = math.exp(
                -math.log(2) / 7 * (finder.clock.moment - row["last_referenced_at"]).total_seconds() / DAY_S
            )
        rrf = 1 / (60 + (item["semantic_rank"] or 21)) + 1 / (60 + (item["keyword_rank"] or 21))
        importance = row["importance"] if item["memory_type"] == "fact" else 5.0
        expected = {
            "relevance": 0.4 * min(1.0, rrf * 61 / 2),
            "importance": 0.3 * (importance / 10.0),
            "recency": 0.2 * recency,
            "confidence": 0.1 * confidence,
        }
        assert item["terms"] == pytest.approx(expected, abs=1e-9)
        assert item["composite_score"] == item["score"] == pytest.approx(sum(expected.values()), abs=1e-9)
    assert all(one["score"] >= other["score"] for one, other in pairwise(found))
    assert all(item["effective_confidence"] >= 0.2 for item in found)


async def test_recency_score_uses_exponential_decay(finder: Finder) -> None:
    fact = await finder.fact("seat", 0.9)
    recencies = []
    for days in (0, 7, 14):
        finder.clock.turn(days=days)
        (item,) = await finder.recall()
        recencies.append(item["terms"]["recency"])
    assert recencies == pytest.approx([0.0, 0.2 / 2, 0.2 / 4])
    await finder.set("fact", fact, last_referenced_at=finder.clock.moment.replace(year=2030))
    (item,) = await finder.recall()
    assert item["terms"]["recency"] == 0.2


async def test_recall_bumps_reference_counts(finder: Finder) -> None:
    best = await finder.fact(QUERY, 0.9, importance=10)
    rule = await finder.rule(QUERY, 0.9)
    left = await finder.fact("aside", 0.1, importance=0)
    episode = await finder.episode(QUERY, 0.9)
    for count in (1, 2):
        finder.clock.turn(hours=1)
        found = await finder.recall(limit=2)
        assert [(item["id"], item["reference_count"]) for item in found] == [(best, count), (rule, count)]
        assert {item["last_referenced_at"] for item in found} == {finder.clock.moment}
    for kind, id, count in (("fact", best, 2), ("rule", rule, 2), ("fact", left, 0), ("episode", episode, 0)):
        row = await finder.house.row(kind, id)
        assert row["reference_count"] == count
        assert row["last_referenced_at"] == (finder.clock.moment if count else None)


async def test_what_is_less_sure_than_a_fifth_is_not_recalled(finder: Finder) -> None:
    fact = await finder.fact("seat", 0.9, permanence="volatile")
    finder.clock.turn(days=53)
    assert [item["id"] for item in await finder.recall()] == [fact]
    finder.clock.turn(days=1)
    assert await finder.recall() == []
    assert [item["id"] for item in await finder.recall(min_confidence=0.19)] == [fact]


async def test_confirming_makes_sure_again(finder: Finder) -> None:
    fact = await finder.fact("seat", 0.9, permanence="volatile")
    finder.clock.turn(days=54)
    await Life(finder.house).confirm("fact", fact)
    (item,) = await finder.recall()
    assert item["effective_confidence"] == 1.0


async def test_deterministic_ordering_with_tie_breaking(finder: Finder) -> None:
    """A fact and a rule, each the first of its kind, have one score: the newer is first, and then the lower id."""
    ids: list[UUID] = []
    for _ in range(4):
        fact, rule = await finder.fact(QUERY, 0.9), await finder.rule(QUERY, 0.9)
        await finder.set("rule", rule, confidence=1.0, decay_rate=0.008)
        block = await finder.context()
        ((first, score), (second, other)) = [(item["id"], item["score"]) for item in await finder.recall()]
        assert score == other
        assert [first, second] == sorted([fact, rule])
        await finder.set("rule", rule, created_at=finder.clock.moment.replace(year=2025))
        assert [item["id"] for item in await finder.recall()] == [fact, rule]
        await finder.set("fact", fact, created_at=finder.clock.moment.replace(year=2024))
        assert [item["id"] for item in await finder.recall()] == [rule, fact]
        assert (block.facts, block.rules) == ([fact], [rule])
        ids += [fact, rule]
        await Life(finder.house).forget("fact", fact)
        await Life(finder.house).forget("rule", rule)
    assert len(set(ids)) == 8


async def test_weights_are_those_of_the_config(knowledge: KnowledgeHouse) -> None:
    weights = ScoreWeights(relevance=0, importance=1, recency=0, confidence=0)
    finder = Finder(
        KnowledgeHouse(knowledge.database, KnowledgeTable(retrieval=Retrieval(score_weights=weights)))
    )
    far = await finder.fact("aside", 0.1, importance=9)
    near = await finder.fact(QUERY, 0.9, importance=2)
    found = await finder.recall()
    assert [(item["id"], item["score"]) for item in found] == [(far, 0.9), (near, 0.2)]


async def test_what_is_dropped_is_traced_with_its_score(finder: Finder) -> None:
    await _many(finder, random.Random(7))
    found = await finder.recall(limit=4)
    trace = finder.traces[-1]
    assert [item.item_id for item in trace.items] == [item["result_handle"] for item in found]
    assert [item.final_score for item in trace.items] == [item["score"] for item in found]
    assert trace.candidate_count == len(trace.items) + len(trace.dropped)
    assert len(trace.dropped) >= 4
    assert {one.reason for one in trace.dropped} == {"BELOW_TOP_K"}
    scores = [one.final_score for one in trace.dropped]
    assert scores == sorted(scores, key=lambda score: -(score or 0.0))
    assert (scores[0] or 0.0) <= found[-1]["score"]
    assert not {one.subject_id for one in trace.dropped} & {item["id"] for item in found}
