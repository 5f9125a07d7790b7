"""`elf explain` and `elf traces`: what is asked, what is printed, how they end."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

HANDLES = ("4f1d5d6a-7a53-4c3f-9f0c-2f64c1a7a1de", "a02d4c0e-26bb-4f0c-8f5b-7a4c7a5b9d10")
NOTES = ("01890a5d-ac96-774b-bcce-b302099a8057", "7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11")
TRACE_ID = "c7e5b2a0-0a41-4e57-9f7c-4c1d0b9f2a33"
CONTEXT = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}

TRACE = {
    "trace_id": TRACE_ID, "query": "which\x1b[31m tea?", "read_profile": "all",
    "expanded_queries": ["which tea?", "tea"],
    "allowed_scopes": ["a", "b"], "filters": {"type": ["fact"]}, "candidate_count": 60, "degraded": ["embedding"],
    "created_at": "2026-03-01T12:00:00Z",
    "stages": [{"name": "index", "ms": 1.25}, {"name": "rerank", "ms": 10.0}],
}  # fmt: skip
DROPPED = [
    {"note_id": NOTES[1], "stage": "top_k", "reason": "scored too little", "text": None},
    {"note_id": NOTES[0], "stage": "relevance", "reason": "its relevance is too little", "text": "Tea"},
]


def result(rank: int, *terms: str, **explain: Any) -> dict[str, Any]:
    why = {
        "retrieval_score": 0.75, "retrieval_rank": 4, "rerank_score": 0.9, "final_score": 0.85,
        "boosts": [
            {"name": "rerank", "score": 0.82}, {"name": "length", "score": -0.02},
            {"name": "recency_importance", "score": 0.05},
        ],
        "matched_terms": list(terms), "matched_fields": ["key", "text"],
    }  # fmt: skip
    return {
        "rank": rank, "note_id": NOTES[rank - 1], "chunk_id": NOTES[0], "result_handle": HANDLES[rank - 1],
        "relevance": 0.5 / rank, "text": f"Tea {rank}\x07 is green.", "explain": why | explain,
    }  # fmt: skip


def listed(marker: str, rank: int, words: str) -> str:
    """A line of a result in a list."""
    known = f"0.850000  relevance {0.5 / rank:.6f}  note {NOTES[rank - 1]}  handle {HANDLES[rank - 1]}"
    return f"{marker}   {rank}  {known}  {words}  Tea {rank}  is green."


def explains(service: FakeService, **changes: Any) -> None:
    body = {"trace": TRACE, "item": result(2, "tea"), "other_items": [result(1)], "dropped": DROPPED}
    service.respond = lambda asked: Answer(body=body | changes)


def test_an_explanation_says_why_this_note_why_this_rank_and_why_not_another(
    elf: CommandLine, service: FakeService
) -> None:
    explains(service)
    code, out, err = elf("explain", HANDLES[1])
    assert (code, err) == (0, "elf: it was answered without embedding\n")
    assert out.splitlines() == [
        "rank 2 of 2 for: which [31m tea?",
        f"note   {NOTES[1]}",
        "text   Tea 2  is green.",
        f"chunk  {NOTES[0]}",
        "words  tea (in key, text)",
        "found  number 4 of 60 candidates, fused score 0.750000, reranked 0.900000, relevance 0.250000",
        "score  0.850000, of which",
        "  rerank              0.820000",
        "  length              -0.020000",
        "  recency_importance  0.050000",
        "",
        "results",
        listed(" ", 1, "none of the query "),
        listed(">", 2, "tea (in key, text)"),
        "",
        "not among them",
        f"  top_k      note {NOTES[1]}  scored too little            -",
        f"  relevance  note {NOTES[0]}  its relevance is too little  Tea",
        "",
        f"search  {TRACE_ID}",
        "at      2026-03-01T12:00:00Z",
        "reads   all: a, b",
        'only    {"type": ["fact"]}',
        "asked   which tea?; tea",
        "took    index 1.2 ms, rerank 10.0 ms",
    ]


def test_a_handle_is_asked_for_within_a_context_and_alone_where_none_was_named(
    elf: CommandLine, service: FakeService
) -> None:
    explains(service)
    explained = service.respond
    service.respond = lambda asked: (
        error(400, "INVALID_REQUEST") if asked.params.get("agent_id") == "default" else explained(asked)
    )
    assert elf("explain", HANDLES[1]).code == elf("explain", HANDLES[1], "--agent", "anna").code == 0
    path, handle = "/v1/memory/search/explain", {"result_handle": HANDLES[1]}
    assert service.asked == [
        Asked("GET", path, handle | CONTEXT, None),
        Asked("GET", path, handle, None),
        Asked("GET", path, handle | CONTEXT | {"agent_id": "anna"}, None),
    ]


def test_a_result_whose_leg_gave_no_score_is_shown_without(elf: CommandLine, service: FakeService) -> None:
    item = result(2, retrieval_score=None, retrieval_rank=None) | {"relevance": None}
    explains(service, item=item, dropped=[])
    _, out, _ = elf("explain", HANDLES[1])
    assert "found  number - of 60 candidates, fused score -, reranked 0.900000, relevance -" in out
    assert "not among them" not in out


def test_a_handle_that_nobody_knows_ends_with_1_and_says_why(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: error(400, "INVALID_REQUEST", message="nothing is known of it")
    code, out, err = elf("explain", HANDLES[0])
    assert (code, out) == (1, "")
    assert "nothing is known of it" in err


def test_searches_are_listed_by_the_page(elf: CommandLine, service: FakeService) -> None:
    searches = [TRACE | {"result_count": 12}, TRACE | {"result_count": 0, "degraded": [], "query": "tea"}]
    service.respond = lambda asked: Answer(body={"items": searches, "next_cursor": "next"})
    code, out, err = elf("traces", "--limit", "2", "--cursor", "c")
    assert (code, err) == (0, "elf: there are more; continue with --cursor next\n")
    assert out.splitlines() == [
        f"{TRACE_ID}  2026-03-01T12:00:00Z  12 results  without embedding  which [31m tea?",
        f"{TRACE_ID}  2026-03-01T12:00:00Z  0 results                      tea",
    ]
    assert service.asked == [
        Asked("GET", "/v1/memory/search/traces", CONTEXT | {"limit": "2", "cursor": "c"}, None)
    ]


def test_no_searches_are_said_to_be_none(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(body={"items": [], "next_cursor": None})
    assert elf("traces") == (0, "", "elf: nothing found\n")


@pytest.mark.parametrize("flags", [(), ("--agent", "anna")])
def test_a_search_is_shown_whole(elf: CommandLine, service: FakeService, flags: tuple[str, ...]) -> None:
    body = {"trace": TRACE | {"degraded": []}, "items": [result(1, "tea"), result(2)], "dropped": DROPPED}
    service.respond = lambda asked: Answer(body=body)
    code, out, err = elf("traces", TRACE_ID, *flags)
    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "2 results for: which [31m tea?",
        listed(" ", 1, "tea (in key, text)"),
        listed(" ", 2, "none of the query "),
        "",
        "not among them",
    ]
    owner = CONTEXT | ({"agent_id": flags[1]} if flags else {})
    assert service.asked == [Asked("GET", f"/v1/memory/search/traces/{TRACE_ID}", owner, None)]


@pytest.mark.parametrize("command", [("explain", HANDLES[1]), ("traces",), ("traces", TRACE_ID)])
def test_with_json_the_answer_is_printed_as_it_is(
    elf: CommandLine, service: FakeService, command: tuple[str, ...]
) -> None:
    service.respond = lambda asked: Answer(body={"trace": TRACE})
    assert elf(*command, "--json").data == {"trace": TRACE}
