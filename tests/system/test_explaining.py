"""Explaining searches over HTTP, against the whole service: what is read back says why."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.system.service import RunningService, note, search_body, wait_for

SECRET = "AKIAIOSFODNN7QWERTYU"
EXPLAIN = "/v1/memory/search/explain"
TRACES = "/v1/memory/search/traces"
HERBS = ("basil", "thyme", "sage", "mint", "dill", "fennel", "chervil", "lovage", "savory", "tarragon")


@pytest.fixture
def filled(service: RunningService, tenant: str) -> dict[str, str]:
    """Note ids by herb: more notes than a search of two results gives."""
    results = service.add(
        tenant, *(note(f"The {herb} grows in bed {n}.", key=herb) for n, herb in enumerate(HERBS))
    )
    ids = {herb: result["note_id"] for herb, result in zip(HERBS, results, strict=True)}
    service.wait_found(tenant, "The tarragon grows in bed 9.", ids["tarragon"])
    return ids


def owner(tenant: str, **changes: str) -> dict[str, str]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"} | changes


def answer(service: RunningService, tenant: str, query: str, **fields: Any) -> dict[str, Any]:
    response = service.post("search", search_body(tenant, query, **fields))
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def stored(service: RunningService, path: str, params: dict[str, str]) -> dict[str, Any]:
    """Ask until the trace has been stored."""

    def ask() -> dict[str, Any] | None:
        response = service.client.get(path, params=params)
        return response.json() if response.status_code == 200 else None

    return wait_for(ask, f"{path} answers 200")


def explained(service: RunningService, handle: str, **context: str) -> dict[str, Any]:
    return stored(service, EXPLAIN, {"result_handle": handle, **context})


def test_every_result_is_explained_by_its_trace_as_it_was_by_the_answer(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    found = answer(service, tenant, "Where does the sage grow?")
    assert len(found["items"]) == len(HERBS)
    for rank, item in enumerate(found["items"], start=1):
        told = explained(service, item["result_handle"])
        assert told["trace"]["trace_id"] == found["trace_id"]
        assert told["item"] == {
            "result_handle": item["result_handle"], "note_id": item["note_id"], "chunk_id": item["chunk_id"],
            "rank": rank, "relevance": item["relevance"], "text": item["snippet"], "explain": item["explain"],
        }  # fmt: skip
        why = told["item"]["explain"]
        total = sum(boost["score"] for boost in why["boosts"])
        assert total == pytest.approx(why["final_score"], abs=1e-6, rel=0)


def test_a_note_that_was_not_found_is_told_why(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    found = answer(service, tenant, "Where does the sage grow?", top_k=2)
    told = explained(service, found["items"][0]["result_handle"])
    assert told["item"]["note_id"] == filled["sage"]
    assert [item["rank"] for item in told["other_items"]] == [2]
    dropped = {candidate["note_id"]: candidate for candidate in told["dropped"]}
    shown = {item["note_id"] for item in found["items"]}
    assert dropped.keys() | shown == set(filled.values())
    for candidate in dropped.values():
        assert (candidate["stage"], candidate["reason_code"]) == ("top_k", "BELOW_TOP_K")
        assert candidate["final_score"] <= found["items"][-1]["final_score"]
        assert f"{candidate['final_score']:.6f}" in candidate["reason"]
    assert told["trace"]["candidate_count"] == len(HERBS)
    assert {"embed", "index", "rerank"} <= {stage["name"] for stage in told["trace"]["stages"]}


def test_a_trace_in_brief_says_why_and_names_what_came_closest(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    found = answer(service, tenant, "Where does the sage grow?", top_k=1)
    path = f"{TRACES}/{found['trace_id']}"
    whole = stored(service, path, owner(tenant))
    brief = stored(service, path, owner(tenant, detail="brief"))
    (item,), (own,) = brief["items"], whole["items"]
    assert (item["rank"], item["note_id"]) == (1, filled["sage"])
    assert item["matched"] == own["explain"]["matched_terms"]
    assert item["relevance"] == round(own["relevance"], 2)
    assert item["terms"] == {boost["name"]: round(boost["score"], 4) for boost in own["explain"]["boosts"]}
    best = sorted(whole["dropped"], key=lambda drop: -drop["final_score"])[:8]
    assert brief["dropped"] == [{"note_id": drop["note_id"], "reason": drop["reason"]} for drop in best]
    assert brief["dropped_count"] == len(HERBS) - 1
    assert brief.keys() == {"query", "scopes", "items", "dropped", "dropped_count"}


def test_what_fusion_left_beyond_the_candidates_asked_for_is_told_so(
    service: RunningService, tenant: str
) -> None:
    espresso, dog = service.add(
        tenant,
        note("Two espressos wake Maria every morning.", key="espresso"),
        note("Her dog is afraid of thunder.", key="dog"),
    )
    query = "Which hot beverage gets people going at breakfast, thunder or no thunder?"
    service.wait_found(tenant, query, dog["note_id"])
    found = answer(service, tenant, query, top_k=1, candidate_k=1)
    told = explained(service, found["items"][0]["result_handle"])
    (left,) = told["dropped"]
    assert {told["item"]["note_id"], left["note_id"]} == {espresso["note_id"], dog["note_id"]}
    assert (left["reason_code"], left["stage"]) == ("BEYOND_CANDIDATE_K", "prefilter")
    assert left["reason"] == "number 2 after fusion, beyond the candidates asked for"
    assert (left["rerank_score"], left["final_score"]) == (None, None)
    assert told["trace"]["candidate_count"] == 1


def test_a_trace_says_what_was_asked_and_by_which_rules(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    found = answer(service, tenant, "mint", top_k=1, read_profile="private_plus_project")
    trace = explained(service, found["items"][0]["result_handle"])["trace"]
    expected = owner(tenant) | {
        "read_profile": "private_plus_project", "query": "mint", "expansion_mode": "off", "expanded_queries": ["mint"],
        "allowed_scopes": ["agent_private", "project_shared"], "top_k": 1, "trace_version": 1, "degraded": [],
    }  # fmt: skip
    assert {name: trace[name] for name in expected} == expected
    assert trace["config_snapshot"]


@pytest.mark.parametrize("wrong", [{"tenant_id": "nobody"}, {"project_id": "q"}, {"agent_id": "b"}])
def test_another_agent_is_told_nothing(
    service: RunningService, tenant: str, filled: dict[str, str], wrong: dict[str, str]
) -> None:
    found = answer(service, tenant, "mint", top_k=1)
    handle = found["items"][0]["result_handle"]
    explained(service, handle, **owner(tenant))
    refused = service.client.get(EXPLAIN, params={"result_handle": handle, **owner(tenant, **wrong)})
    assert_unknown(refused)
    missing = service.client.get(f"{TRACES}/{found['trace_id']}", params=owner(tenant, **wrong))
    assert (missing.status_code, missing.json()["error_code"]) == (404, "NOT_FOUND")
    listed = service.client.get(TRACES, params=owner(tenant, **wrong)).json()["items"]
    assert found["trace_id"] not in [item["trace_id"] for item in listed]


@pytest.mark.parametrize("handle", ["6a0f0a5e-7d5c-4d0e-9b1c-2f4a3c1e8b57", "not-a-handle", ""])
def test_an_unknown_handle_is_an_invalid_request(service: RunningService, handle: str) -> None:
    assert_unknown(service.client.get(EXPLAIN, params={"result_handle": handle}))


def test_an_agent_reads_its_searches_newest_first(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    ids = [answer(service, tenant, herb, top_k=3)["trace_id"] for herb in HERBS[:3]]
    last = stored(service, f"{TRACES}/{ids[-1]}", owner(tenant))
    assert [item["rank"] for item in last["items"]] == [1, 2, 3]
    assert len(last["dropped"]) == len(HERBS) - 3
    first = stored(service, TRACES, owner(tenant) | {"limit": "2"})
    assert [item["trace_id"] for item in first["items"]] == [ids[2], ids[1]]
    assert [item["query"] for item in first["items"]] == [HERBS[2], HERBS[1]]
    assert [item["result_count"] for item in first["items"]] == [3, 3]
    cursor = {"cursor": first["next_cursor"], "limit": "1"}
    assert stored(service, TRACES, owner(tenant) | cursor)["items"][0]["trace_id"] == ids[0]


def test_an_agent_must_say_who_it_is_to_list_searches(service: RunningService, tenant: str) -> None:
    response = service.client.get(TRACES, params={"tenant_id": tenant, "project_id": "p"})
    assert response.json()["fields"] == ["$.agent_id"]


def test_a_secret_in_a_query_is_in_no_trace(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    found = answer(service, tenant, f"Which bed has the mint {SECRET}?", top_k=1)
    told = explained(service, found["items"][0]["result_handle"])
    assert SECRET not in str(told)
    assert "mint" in told["trace"]["query"]
    assert "[REDACTED:" in told["trace"]["query"]


def assert_unknown(response: httpx.Response) -> None:
    body = response.json()
    assert (response.status_code, body["error_code"]) == (400, "INVALID_REQUEST")
    assert body["fields"] == ["$.result_handle"]
