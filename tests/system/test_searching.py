"""Searching over HTTP, against the whole service."""

from __future__ import annotations

from typing import Any

import pytest

from tests.system.odd_queries import ODD_QUERIES
from tests.system.service import RunningService, note, search_body, wait_for

FACTS = {
    "coffee": "Maria drinks two espressos every morning.",
    "deploy": "The team deploys the billing service every Tuesday.",
    "dog": "Maria's dog Bruno is afraid of thunder.",
    "database": "Customer records live in Postgres 16.",
    "holiday": "Tom spends July in Lisbon.",
}


@pytest.fixture
def filled(service: RunningService, tenant: str) -> dict[str, str]:
    results = service.add(tenant, *(note(text, key=key) for key, text in FACTS.items()))
    ids = {key: result["note_id"] for key, result in zip(FACTS, results, strict=True)}
    for key, text in FACTS.items():
        service.wait_found(tenant, text, ids[key])
    return ids


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("Which animal does Maria own?", "dog"),
        ("When is the billing service released?", "deploy"),
        ("Where does Tom go in summer?", "holiday"),
        ("What beverage does Maria have at breakfast?", "coffee"),
        ("Which store holds client data?", "database"),
    ],
)
def test_the_right_note_comes_first_by_meaning(
    service: RunningService, tenant: str, filled: dict[str, str], query: str, key: str
) -> None:
    assert service.search(tenant, query)[0]["key"] == key


def test_a_note_is_found_by_a_search_right_behind_it(service: RunningService, tenant: str) -> None:
    for number, animal in enumerate(("otter", "badger", "lynx", "heron", "toad")):
        (added,) = service.add(tenant, note(f"Ranger {number} keeps a tame {animal}.", key=animal))
        assert added["note_id"] in [
            item["note_id"] for item in service.search(tenant, f"Who keeps the {animal}?")
        ]


def test_an_item_carries_everything_the_contract_names(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    item = service.search(tenant, "thunder dog")[0]
    assert item["note_id"] == filled["dog"]
    assert item["snippet"] == FACTS["dog"]
    assert (item["chunk_index"], item["start_offset"], item["end_offset"]) == (0, 0, len(FACTS["dog"]))
    assert set(item) == {
        "result_handle", "note_id", "chunk_id", "chunk_index", "start_offset", "end_offset", "snippet", "type", "key",
        "scope", "importance", "confidence", "updated_at", "expires_at", "final_score", "relevance", "source_ref",
        "explain",
    }  # fmt: skip
    explain = item["explain"]
    assert explain["retrieval_rank"] == 1
    assert 0.0 <= explain["retrieval_score"] <= 1.0
    assert explain["matched_terms"] == ["thunder", "dog"]
    assert explain["matched_fields"] == ["key", "text"]


def test_an_answer_in_brief_holds_what_the_full_one_says_in_fewer_words(
    service: RunningService, tenant: str
) -> None:
    reference = {"ticket": "SUP-7", "seen": {"at": 3}}
    service.add(
        tenant,
        note("The spare key is under the pot.", key="spare_key", source_ref=reference),
        note("The spare key opens the shed."),
    )
    wait_for(lambda: len(service.search(tenant, "the spare key")) == 2, "both notes are found")
    whole = service.post("search", search_body(tenant, "Where is the spare key?")).json()
    brief = service.post("search", search_body(tenant, "Where is the spare key?", detail="brief")).json()
    assert brief.keys() == {"trace_id", "items"}
    assert brief["items"] == [in_brief(item | {"text": item["snippet"]}) for item in whole["items"]]

    params = {"tenant_id": tenant, "project_id": "p"}
    listed = service.client.get("/v1/memory/list", params=params | {"limit": "1"}).json()
    page = service.client.get("/v1/memory/list", params=params | {"limit": "1", "detail": "brief"}).json()
    assert page == {
        "items": [in_brief(item) for item in listed["items"]],
        "next_cursor": listed["next_cursor"],
    }
    unknown = service.client.get("/v1/memory/list", params=params | {"detail": "short"})
    assert (unknown.status_code, unknown.json()["fields"]) == (400, ["$.detail"])


def in_brief(item: dict[str, Any]) -> dict[str, Any]:
    brief = {name: item[name] for name in ("note_id", "text", "type")} | {"updated": item["updated_at"][:10]}
    return brief | ({"key": "spare_key", "source": "seen: {…}, ticket: SUP-7"} if item["key"] else {})


def test_the_boosts_add_up_to_the_final_score(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    items = service.search(tenant, "Maria's morning")
    assert items
    for item in items:
        explain = item["explain"]
        assert sum(boost["score"] for boost in explain["boosts"]) == pytest.approx(
            explain["final_score"], abs=1e-6
        )
        assert item["final_score"] == explain["final_score"]
    scores = [item["final_score"] for item in items]
    assert scores == sorted(scores, reverse=True)


def test_top_k_bounds_the_answer(service: RunningService, tenant: str, filled: dict[str, str]) -> None:
    assert len(service.search(tenant, "Maria", top_k=2)) == 2
    assert len(service.search(tenant, "Maria", top_k=3, candidate_k=3)) <= 3


def test_a_read_profile_shows_only_its_scopes(service: RunningService, tenant: str) -> None:
    for scope in ("agent_private", "project_shared", "org_shared"):
        (added,) = service.add(tenant, note(f"The lighthouse rule of {scope}."), scope=scope)
        service.wait_found(tenant, "lighthouse rule", added["note_id"])
    seen = {
        profile: {item["scope"] for item in service.search(tenant, "lighthouse rule", read_profile=profile)}
        for profile in ("private_only", "private_plus_project", "all_scopes")
    }
    assert seen == {
        "private_only": {"agent_private"},
        "private_plus_project": {"agent_private", "project_shared"},
        "all_scopes": {"agent_private", "project_shared", "org_shared"},
    }


def test_hits_are_counted_only_when_asked(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    body = search_body(tenant, "Where is Tom in July?", top_k=1)
    first = service.post("search", body | {"record_hits": True})
    second = service.post("search", body)
    assert first.status_code == second.status_code == 200
    assert [item["note_id"] for item in first.json()["items"]] == [filled["holiday"]]


def test_importance_breaks_a_tie(service: RunningService, tenant: str) -> None:
    (low,) = service.add(tenant, note("Rule seven applies.", key="a", importance=0.1), agent_id="x")
    (high,) = service.add(tenant, note("Rule seven applies.", key="b", importance=0.9), agent_id="y")
    for added in (low, high):
        service.wait_found(tenant, "Rule seven applies", added["note_id"])
    assert service.search(tenant, "Rule seven applies")[0]["note_id"] == high["note_id"]


def test_a_query_of_stop_words_alone_is_answered(
    service: RunningService, tenant: str, filled: dict[str, str]
) -> None:
    response = service.post("search", search_body(tenant, "what is the"))
    assert response.status_code == 200
    assert response.json()["degraded"] == []


@pytest.mark.parametrize("query", ODD_QUERIES, ids=range(len(ODD_QUERIES)))
def test_no_query_is_too_odd(
    service: RunningService, tenant: str, filled: dict[str, str], query: str
) -> None:
    body = search_body(tenant, query, top_k=100, candidate_k=1000, record_hits=True)
    response = service.post("search", body)
    assert (response.status_code, response.json().get("degraded")) == (200, [])
    assert all(isinstance(item["final_score"], float) for item in response.json()["items"])


def test_an_empty_project_answers_with_no_items(service: RunningService, tenant: str) -> None:
    assert service.search(tenant, "anything at all") == []
