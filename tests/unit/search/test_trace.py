"""What a trace says of a search, and what it must not keep."""

from __future__ import annotations

from uuid import uuid4

import msgspec
import pytest

from elf.families.notes.api.requests import Explanation
from elf.search.trace import (
    DROP_STAGES,
    DroppedCandidate,
    DropReason,
    TraceItem,
    dropped,
    reason_in_words,
    redacted,
)
from tests.traces_kit import a_candidate, a_dropped, a_trace, an_item

SECRET = "AKIAIOSFODNN7QWERTYU"


def test_a_dropped_candidate_keeps_what_was_known_of_it() -> None:
    candidate = a_candidate(rank=3)
    kept = dropped(candidate, "BELOW_TOP_K", rerank_score=0.5, final_score=0.25)
    assert (kept.point_id, kept.subject_id) == (candidate.point_id, candidate.owner_id)
    assert (kept.stage, kept.reason) == ("top_k", "BELOW_TOP_K")
    assert (kept.retrieval_score, kept.retrieval_rank) == (candidate.score, 3)
    assert (kept.dense_score, kept.bm25_score) == (candidate.dense_score, None)
    assert (kept.rerank_score, kept.final_score) == (0.5, 0.25)


def test_what_was_not_known_when_it_was_dropped_is_none() -> None:
    kept = dropped(a_candidate(), "NOT_LIVE")
    assert (kept.stage, kept.rerank_score, kept.final_score) == ("revalidation", None, None)


def test_a_trace_is_read_back_from_its_json_as_it_was() -> None:
    kept = [a_dropped("NOT_LIVE"), a_dropped("BELOW_TOP_K", final_score=0.1 + 0.2)]
    assert msgspec.json.decode(msgspec.json.encode(kept), type=list[DroppedCandidate]) == kept


def test_an_item_takes_all_that_the_answer_says_of_it() -> None:
    item = an_item(rank=7)
    explain = {name: getattr(item, name) for name in Explanation.model_fields}
    answer = {
        "result_handle": item.item_id,
        "snippet": "Tea.",
        "relevance": item.relevance,
    }
    assert (
        TraceItem.of(answer | {"explain": explain}, 7, subject_id=item.subject_id, point_id=item.point_id)
        == item
    )


# Secrets


def test_a_secret_in_a_query_is_redacted_in_every_wording() -> None:
    trace = a_trace(
        query=f"who has {SECRET}", expanded_queries=[f"who has {SECRET}", f"owner of {SECRET}", "owner"]
    )
    clean = redacted(trace)
    assert SECRET not in msgspec.json.encode(clean).decode()
    assert clean.query.startswith("who has [REDACTED:")
    assert clean.expanded_queries[0] == clean.query
    assert clean.expanded_queries[2] == "owner"


def test_the_words_of_a_secret_are_no_matched_terms() -> None:
    words = ["staging", "tulip88gate"]
    trace = a_trace(query="the staging password: tulip88gate", items=[an_item(1, matched_terms=words)])
    assert redacted(trace).items[0].matched_terms == ["staging"]


def test_a_trace_without_secrets_stays_as_it_is() -> None:
    trace = a_trace(expanded_queries=["hot tea", "warm tea"])
    assert redacted(trace) == trace


# Words


def words(candidate: DroppedCandidate, *, last_score: float | None = 0.5, rank: int | None = None) -> str:
    ranks = {} if rank is None else {candidate.subject_id: rank}
    return reason_in_words(candidate, top_k=12, last_score=last_score, ranks=ranks)


@pytest.mark.parametrize("reason", DROP_STAGES)
def test_every_reason_can_be_said_in_words(reason: DropReason) -> None:
    assert words(a_dropped(reason))


def test_a_note_below_the_last_result_is_told_both_scores() -> None:
    said = words(a_dropped("BELOW_TOP_K", final_score=0.25))
    assert said == "scored 0.250000, the last of the 12 results 0.500000"


def test_a_note_that_lost_a_tie_is_told_what_decides_ties() -> None:
    assert "among equals" in words(a_dropped("BELOW_TOP_K", final_score=0.5))


@pytest.mark.parametrize(("rank", "place"), [(2, "result number 2"), (None, "also not among the results")])
def test_another_part_of_a_note_is_told_where_the_note_is(rank: int | None, place: str) -> None:
    assert words(a_dropped("BETTER_CHUNK"), rank=rank).endswith(f"that note is {place}")


@pytest.mark.parametrize("reason", ["BEYOND_CANDIDATE_K", "BEYOND_PREFILTER"])
def test_what_was_cut_after_fusion_is_told_its_rank(reason: DropReason) -> None:
    assert words(a_dropped(reason, rank=61)).startswith("number 61 after fusion")


def test_notes_of_a_trace_are_told_apart() -> None:
    candidate = a_dropped("BETTER_CHUNK")
    said = reason_in_words(candidate, top_k=12, last_score=None, ranks={uuid4(): 1})
    assert said.endswith("also not among the results")
