"""Why a memory was found, and why at that rank: what its score is the sum of, and what was dropped beside it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.system.service import RunningService, wait_for

ROOT = "/v1/knowledge"
SEATS = (
    "by the window",
    "on the aisle",
    "near the exit",
    "at the back",
    "in front",
    "beside Ben",
    "upstairs",
)
NEAR = 1e-9


class Asker:
    """Searches and recalls in one tenant, and explains what it was told."""

    def __init__(self, service: RunningService, tenant_id: str) -> None:
        self.http = service.client
        self.place = {"tenant_id": tenant_id}

    def post(self, path: str, **body: Any) -> Any:
        answer = self.http.post(f"{ROOT}/{path}", json=self.place | body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.http.get(f"{ROOT}/{path}", params=self.place | params)

    def explained(self, item: dict[str, Any]) -> Any:
        """Explain a result, once its trace is stored."""
        handle = item["result_handle"]

        def look() -> Any:
            answer = self.get("explain", result_handle=handle)
            return answer.json() if answer.status_code == 200 else None

        return wait_for(look, "the trace is stored")


@pytest.fixture
def asker(service: RunningService, tenant: str) -> Asker:
    """Somebody whose tenant knows seven facts, rules and episodes, some of which were asked for before."""
    asker = Asker(service, tenant)
    facts = [
        {"subject": "Ana", "predicate": f"seat {place}", "content": seat, "importance": place}
        for place, seat in enumerate(SEATS)
    ]
    asker.post("facts/batch", items=facts)
    asker.post("rules/batch", items=[{"content": f"Ask whether a seat {seat} is free."} for seat in SEATS])
    episodes = [{"content": f"Ana sat {seat}.", "butler": "travel"} for seat in SEATS]
    asker.post("episodes/batch", items=episodes)
    asker.post("recall", topic="a seat by the window", limit=3)
    return asker


def _searches(asker: Asker) -> list[tuple[str, dict[str, Any]]]:
    query = "Which seat?"
    searches: list[tuple[str, dict[str, Any]]] = [
        (f"search by {mode}", asker.post("search", query=query, mode=mode, limit=4))
        for mode in ("semantic", "keyword", "hybrid")
    ]
    return [*searches, ("recall", asker.post("recall", topic=query, limit=4))]


def test_the_terms_of_a_result_add_up_to_its_score(asker: Asker) -> None:
    for name, answer in _searches(asker):
        assert len(answer["items"]) == 4, name
        for item in answer["items"]:
            assert abs(sum(item["terms"].values()) - item["score"]) <= NEAR, name
            if name == "recall":
                assert abs(sum(item["terms"].values()) - item["composite_score"]) <= NEAR
                assert item["terms"].keys() == {"relevance", "importance", "recency", "confidence"}


def test_a_result_is_explained_by_its_handle(asker: Asker) -> None:
    for name, answer in _searches(asker):
        items = {item["result_handle"]: item for item in answer["items"]}
        told = asker.explained(answer["items"][1])
        assert told["trace"]["trace_id"] == answer["trace_id"]
        assert told["trace"]["kind"] == name.partition(" ")[0]
        explained = sorted([told["item"], *told["other_items"]], key=lambda one: one["rank"])
        assert [one["result_handle"] for one in explained] == list(items)
        assert told["item"]["rank"] == 2
        for one in explained:
            item = items[one["result_handle"]]
            assert (one["memory_id"], one["memory_type"]) == (item["id"], item["memory_type"])
            assert item["content"] in one["content"]
            assert one["score"] == pytest.approx(item["score"], abs=NEAR)
            assert one["terms"] == pytest.approx(item["terms"], abs=NEAR)
            assert sum(one["terms"].values()) == pytest.approx(one["score"], abs=NEAR)
            ways = {"semantic": item["semantic_rank"], "keyword": item["keyword_rank"]}
            assert one["found_by"] == [way for way, place in ways.items() if place is not None]


def test_what_was_dropped_is_told_with_why(asker: Asker) -> None:
    for _, answer in _searches(asker):
        told = asker.explained(answer["items"][0])
        dropped = told["dropped"]
        last = answer["items"][-1]["score"]
        assert len(dropped) + len(answer["items"]) == told["trace"]["candidate_count"]
        assert dropped
        assert not {one["memory_id"] for one in dropped} & {item["id"] for item in answer["items"]}
        assert all(one["score"] >= other["score"] for one, other in pairwise(dropped))
        for one in dropped:
            assert one["reason_code"] == "BELOW_TOP_K"
            assert one["score"] <= last
            assert f"scored {one['score']:.6f}, the last of the results {last:.6f}" in one["reason"]
            assert one["content"]


def test_a_memory_that_is_gone_is_told_by_its_id_alone(asker: Asker, service: RunningService) -> None:
    answer = asker.post("search", query="a seat", types=["rule"], limit=2)
    first, second = answer["items"]
    asker.explained(first)
    erased = {
        "tenant_id": asker.place["tenant_id"],
        "what": "memory",
        "memory_type": "rule",
        "id": first["id"],
    }
    assert service.admin.post("/v1/admin/knowledge/erase", json=erased).status_code == 200
    told = asker.explained(first)
    assert (told["item"]["memory_id"], told["item"]["content"]) == (first["id"], None)
    assert [one["content"] for one in told["other_items"]] == [second["content"]]


def test_traces_are_listed_newest_first_and_are_the_tenants_own(
    asker: Asker, service: RunningService
) -> None:
    answers = [asker.post("search", query=f"seat {number}") for number in range(3)]
    asker.explained(answers[-1]["items"][0])
    wait_for(lambda: len(asker.get("traces").json()["items"]) == 4, "all four are stored")
    first = asker.get("traces", limit=2).json()
    rest = asker.get("traces", limit=2, cursor=first["next_cursor"]).json()
    listed = [*first["items"], *rest["items"]]
    assert [one["query"] for one in listed] == ["seat 2", "seat 1", "seat 0", "a seat by the window"]
    assert [one["kind"] for one in listed] == ["search", "search", "search", "recall"]
    assert rest["next_cursor"] is None
    handle = answers[0]["items"][0]["result_handle"]
    other = {"tenant_id": f"{asker.place['tenant_id']} of others"}
    assert service.client.get(f"{ROOT}/explain", params=other | {"result_handle": handle}).status_code == 404
    assert service.client.get(f"{ROOT}/traces", params=other).json()["items"] == []
