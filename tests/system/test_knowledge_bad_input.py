"""Bad requests to knowledge: an error that names the path and says what is valid, and nothing is written."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.system.service import RunningService

ROOT = "/v1/knowledge"
ID = "00000000-0000-4000-8000-000000000000"
FACT: dict[str, Any] = {"subject": "Ana", "predicate": "seat", "content": "by the window"}
EPISODE: dict[str, Any] = {"content": "Ana asked for a window seat.", "butler": "travel"}
RULE: dict[str, Any] = {"content": "Ask before booking."}
ENTITY: dict[str, Any] = {"canonical_name": "Ana Lima", "entity_type": "person"}
LINK: dict[str, Any] = {
    "source_type": "fact", "source_id": ID, "target_type": "rule", "target_id": ID, "relation": "supports",
}  # fmt: skip
RESERVED = (
    "status", "forgotten", "needs_inversion", "harmful_reasons", "harmful_reasons_dropped", "original_content",
    "merged_into",
)  # fmt: skip

GOOD: dict[str, dict[str, Any]] = {
    "facts": FACT, "episodes": EPISODE, "rules": RULE, "entities": ENTITY, "links": LINK,
    "search": {"query": "seat"}, "recall": {"topic": "seat"},
    "context": {"trigger_prompt": "Book a flight.", "butler": "travel"},
}  # fmt: skip


def post(service: RunningService, tenant: str, path: str, body: dict[str, Any]) -> httpx.Response:
    return service.client.post(f"{ROOT}/{path}", json={"tenant_id": tenant} | body)


def is_empty(service: RunningService, tenant: str) -> bool:
    """Whatever is written leaves an event."""
    events = service.client.get(f"{ROOT}/events", params={"tenant_id": tenant})
    assert events.status_code == 200, events.text
    return bool(events.json()["items"] == [])


@pytest.mark.parametrize(
    ("path", "change", "field", "said"),
    [
        ("facts", {"permanence": "forever"}, "$.permanence", "'permanent', 'stable', 'standard', 'volatile'"),
        ("facts", {"importance": 10.5}, "$.importance", "less than or equal to 10"),
        ("facts", {"importance": -1}, "$.importance", "greater than or equal to 0"),
        ("facts", {"importance": "high"}, "$.importance", "number"),
        ("facts", {"subject": " "}, "$.subject", "blank"),
        ("facts", {"subject": "x" * 513}, "$.subject", "512 characters"),
        ("facts", {"predicate": ""}, "$.predicate", "at least 1 character"),
        ("facts", {"content": " \x00 "}, "$.content", "blank"),
        ("facts", {"content": "x" * 16_385}, "$.content", "16384"),
        ("facts", {"scope": ""}, "$.scope", "at least 1 character"),
        ("facts", {"tags": ["x"] * 65}, "$.tags", "at most 64"),
        ("facts", {"tags": [" "]}, "$.tags[0]", "blank"),
        ("facts", {"source_episode_id": ID}, "$.source_episode_id", "no episode"),
        ("facts", {"entity_id": ID}, "$.entity_id", "no entity"),
        ("facts", {"entity_id": "ana"}, "$.entity_id", "valid UUID"),
        ("facts", {"metadata": []}, "$.metadata", "object"),
        ("facts", {"metadata": {"a": ["x" * 16_000] * 5}}, "$.metadata", "65,536"),
        ("facts", {"metadata": {"a": "x" * 70_000}}, "$.metadata", "65,536"),
        ("entities", {"metadata": {"a": "x" * 70_000}}, "$.metadata", "65,536"),
        ("facts", {"colour": "red"}, "$.colour", "not a known field"),
        ("facts", {"importance": None}, "$.importance", "number"),
        ("episodes", {"butler": " "}, "$.butler", "blank"),
        ("episodes", {"session_id": "today"}, "$.session_id", "valid UUID"),
        ("episodes", {"content": "\n"}, "$.content", "blank"),
        ("episodes", {"idempotency_key": ""}, "$.idempotency_key", "at least 1 character"),
        ("rules", {"content": ""}, "$.content", "at least 1 character"),
        ("entities", {"canonical_name": "\t"}, "$.canonical_name", "blank"),
        ("entities", {"entity_type": "robot"}, "$.entity_type", "'person', 'organization', 'place' or 'other'"),
        ("entities", {"aliases": ["Ana", " "]}, "$.aliases[1]", "blank"),
        ("links", {"relation": "likes"}, "$.relation", "'derived_from', 'supports', 'contradicts'"),
        ("links", {"source_type": "note"}, "$.source_type", "'episode', 'fact' or 'rule'"),
        ("links", {}, "$.source_id", "no fact"),
        ("search", {"mode": "magic"}, "$.mode", "'semantic', 'keyword' or 'hybrid'"),
        ("search", {"types": ["note"]}, "$.types[0]", "'episode', 'fact' or 'rule'"),
        ("search", {"limit": 0}, "$.limit", "greater than or equal to 1"),
        ("search", {"limit": 1.5}, "$.limit", "integer"),
        ("search", {"min_confidence": 1.1}, "$.min_confidence", "less than or equal to 1"),
        ("search", {"query": None}, "$.query", "string"),
        ("recall", {"limit": 101}, "$.limit", "less than or equal to 100"),
        ("context", {"token_budget": 0}, "$.token_budget", "greater than or equal to 5"),
        ("context", {"butler": ""}, "$.butler", "at least 1 character"),
    ],
)  # fmt: skip
def test_what_a_field_does_not_take_is_told_by_its_path_and_nothing_is_written(
    service: RunningService, tenant: str, path: str, change: dict[str, Any], field: str, said: str
) -> None:
    answer = post(service, tenant, path, GOOD[path] | change)
    assert answer.status_code == 400, answer.text
    body = answer.json()
    assert set(body) == {"error_code", "message", "fields"}
    assert body["error_code"] == "INVALID_REQUEST"
    assert field in body["fields"]
    assert field in body["message"]
    assert said in body["message"]
    assert is_empty(service, tenant)


@pytest.mark.parametrize("key", RESERVED)
@pytest.mark.parametrize("path", ["facts", "episodes", "rules", "entities"])
def test_metadata_does_not_take_the_keys_in_which_the_state_is_kept(
    service: RunningService, tenant: str, path: str, key: str
) -> None:
    answer = post(service, tenant, path, GOOD[path] | {"metadata": {"ticket": 1, key: True}})
    assert answer.status_code == 400, answer.text
    assert answer.json()["fields"] == ["$.metadata"]
    assert key in answer.json()["message"]
    assert is_empty(service, tenant)


def test_of_a_batch_each_place_is_told_and_nothing_is_written(service: RunningService, tenant: str) -> None:
    items = [FACT, FACT | {"metadata": {"status": "fading"}}, FACT, FACT | {"metadata": {"forgotten": True}}]
    answer = post(service, tenant, "facts/batch", {"items": items})
    assert answer.status_code == 400
    assert answer.json()["fields"] == ["$.items[1].metadata", "$.items[3].metadata"]
    assert is_empty(service, tenant)
    answer = post(service, tenant, "facts/batch", {"items": [FACT, FACT | {"entity_id": ID}]})
    assert answer.json()["fields"] == ["$.items[1].entity_id"]
    assert is_empty(service, tenant)


@pytest.mark.parametrize("path", ["episodes", "facts", "rules", "entities"])
def test_a_text_in_metadata_may_be_as_long_as_all_of_it(
    service: RunningService, tenant: str, path: str
) -> None:
    answer = post(service, tenant, path, GOOD[path] | {"metadata": {"a": "x" * 65_000}})
    assert answer.status_code == 200, answer.text


def test_metadata_of_an_entity_is_judged_when_it_is_changed(service: RunningService, tenant: str) -> None:
    entity = post(service, tenant, "entities", ENTITY | {"metadata": {"ticket": 1}}).json()["entity_id"]
    answer = post(service, tenant, f"entities/{entity}/update", {"metadata": {"merged_into": ID}})
    assert answer.status_code == 400, answer.text
    assert answer.json()["fields"] == ["$.metadata"]
    assert post(service, tenant, f"entities/{entity}/update", {"metadata": None}).status_code == 200
    found = service.client.get(f"{ROOT}/entities/{entity}", params={"tenant_id": tenant}).json()
    assert found["metadata"] == {"ticket": 1}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(service: RunningService, tenant: str, number: str) -> None:
    content = f'{{"tenant_id": "{tenant}", "subject": "a", "predicate": "b", "content": "c", "importance": {number}}}'
    answer = service.client.post(f"{ROOT}/facts", content=content)
    assert answer.status_code == 400
    assert is_empty(service, tenant)


@pytest.mark.parametrize("cursor", ["garbage", "", "e30", "x" * 5000])
@pytest.mark.parametrize("path", ["facts", "episodes", "rules", "entities", "events"])
def test_a_cursor_that_is_none_is_told(service: RunningService, tenant: str, path: str, cursor: str) -> None:
    answer = service.client.get(f"{ROOT}/{path}", params={"tenant_id": tenant, "cursor": cursor})
    assert answer.status_code == 400, answer.text
    assert answer.json()["fields"] == ["$.cursor"]


def test_the_id_of_another_tenant_is_one_that_nobody_has(service: RunningService, tenant: str) -> None:
    other = f"{tenant}-other"
    fact = post(service, other, "facts", FACT).json()["id"]
    entity = post(service, other, "entities", ENTITY).json()["entity_id"]
    told = []
    for ids in ((fact, entity), (str(uuid4()), str(uuid4()))):
        answers = [
            service.client.get(f"{ROOT}/memories/fact/{ids[0]}", params={"tenant_id": tenant}),
            post(service, tenant, f"memories/fact/{ids[0]}/confirm", {}),
            post(service, tenant, "links", LINK | {"source_id": ids[0]}),
            post(service, tenant, "facts", FACT | {"entity_id": ids[1]}),
        ]
        assert [answer.status_code for answer in answers] == [404, 404, 400, 400]
        told.append([answer.text.replace(ids[0], "ID").replace(ids[1], "ID") for answer in answers])
    assert told[0] == told[1]
    assert is_empty(service, tenant)
