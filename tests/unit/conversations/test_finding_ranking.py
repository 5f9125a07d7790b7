"""How passages become an order of entries."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from elf.families.conversations.finding.ranking import (
    PREVIOUS_WEIGHT,
    USER_WEIGHT,
    Found,
    RankingRules,
    in_context,
    within_one,
)
from elf.search.reranking import RerankScore

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULES = RankingRules(rerank_weight=0.9, retrieval_weight=0.1)
HERE, THERE = uuid4(), uuid4()


def passage(seq: int, retrieval: float = 0.5, *, conversation: UUID = HERE, role: str = "USER") -> Found:
    row = {
        "entry_id": uuid4(), "conversation_id": conversation, "seq": seq, "role": role, "text": f"text {seq}",
        "said_at": NOW + timedelta(seconds=seq), "chars": 6, "changed_at": NOW,
    }  # fmt: skip
    return Found(uuid4(), row, retrieval)


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1), st.floats(-50, 50)), max_size=20))
def test_scores_are_between_nothing_and_one_and_never_rise(rows: list[tuple[int, float, float]]) -> None:
    found = [passage(seq, retrieval) for seq, retrieval, _ in rows]
    for scores in (None, [RerankScore(score) for *_, score in rows]):
        told = [hit.score for hit in RULES.hits(found, scores)]
        assert all(0.0 <= score <= 1.0 for score in told)
        assert told == sorted(told, reverse=True)


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_scores_of_models_without_bounds_keep_their_order(scores: list[float]) -> None:
    told = within_one([RerankScore(score) for score in scores])
    for one, score in zip(told, scores, strict=True):
        assert all(one <= other for other, more in zip(told, scores, strict=True) if score <= more)


def test_an_answer_gains_from_what_it_answers_and_people_are_preferred() -> None:
    question, answer, alone = passage(4), passage(6, role="AI"), passage(6, conversation=THERE)
    told = in_context([question, answer, alone], [0.8, 0.4, 0.4])
    whole = 1.0 + PREVIOUS_WEIGHT + USER_WEIGHT
    expected = [0.8 + USER_WEIGHT, 0.4 + PREVIOUS_WEIGHT * 0.8, 0.4 + USER_WEIGHT]
    assert all(math.isclose(one * whole, other) for one, other in zip(told, expected, strict=True))


def test_without_a_reranker_what_was_found_better_is_first_and_of_equals_the_later() -> None:
    found = [passage(1, 0.2), passage(20, 0.9), passage(10, 0.2)]
    assert [hit.passage for hit in RULES.hits(found, None)] == ["text 20", "text 10", "text 1"]
