"""Agents and categories: over HTTP and MCP each cell is as the config says, and what is refused is 403 by its path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from elf.config.tables.assistant import AssistantTable
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.service import RunningService, write_config

TABLE: Final = AssistantTable()
AGENTS: Final = sorted(TABLE.allowlists)
CATEGORIES: Final = sorted({name for names in TABLE.allowlists.values() for name in names} | {"diary"})
PLACE: Final = {"tenant_id": "acme", "user_id": "ana"}
MANY: Final = 40
WHOLE: Final = "profile"
MCP_HEADERS: Final = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def keys() -> Mapping[str, str]:
    """A key that nothing binds, and one of each agent, among them one that has no list."""
    return {name: f"{name:k<43}" for name in ("free", "stranger", *AGENTS)}


@pytest.fixture(scope="module")
def service(model_folder: Path, keys: Mapping[str, str]) -> Iterator[RunningService]:
    """A service that asks who calls, with a memory of a user in each category."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        tables = [
            {"key": key, "name": name} | ({} if name == "free" else {"agent_id": name})
            for name, key in keys.items()
        ]
        config.write_text(with_keys(config.read_text(encoding="utf-8"), *tables), encoding="utf-8")
        with RunningService(config) as running:
            headers = {"X-API-Key": keys["free"]}
            for category in CATEGORIES:
                body = {**PLACE, "category": category, "text": f"User keeps a note about {category}."}
                kept = running.client.post("/v1/assistant/memories", json=body, headers=headers)
                assert kept.status_code == 200, kept.text
            yield running


def asked(agent: str, **other: Any) -> dict[str, Any]:
    return {
        "tenant_id": "acme", "agent": agent, "query": "a note", "filters": {"user_id": "ana"}, "top_k": 50,
        "budget_tokens": 8192, **other,
    }  # fmt: skip


def over_http(service: RunningService, headers: Mapping[str, str], body: Any) -> tuple[int, Any]:
    answer = service.client.post("/v1/assistant/memory/query", json=body, headers=dict(headers))
    return answer.status_code, answer.json()


def over_mcp(service: RunningService, headers: Mapping[str, str], body: Any) -> tuple[int, Any]:
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "memory_query", "arguments": body},
    }  # fmt: skip
    url = service.mcp_url.removesuffix("/mcp") + "/mcp/assistant"
    answer = httpx.post(url, json=message, headers={**MCP_HEADERS, **headers}, timeout=60)
    result = answer.json()["result"]
    (content,) = result["content"]
    told = json.loads(content["text"])
    if not result.get("isError", False):
        return 200, told
    return {"SCOPE_DENIED": 403}.get(told["error_code"], 400), told


@pytest.mark.parametrize("front", [over_http, over_mcp])
def test_each_agent_reads_the_categories_of_its_list_and_no_other(
    service: RunningService, keys: Mapping[str, str], front: Any
) -> None:
    headers = {"X-API-Key": keys["free"]}
    cells = {}
    for agent in AGENTS:
        for category in CATEGORIES:
            status, told = front(service, headers, asked(agent, categories=[category]))
            cells[agent, category] = status
            if status == 403:
                assert (told["error_code"], told["fields"]) == ("SCOPE_DENIED", ["$.categories[0]"])
            else:
                part = "context" if category == WHOLE else "items"
                assert {one["category"] for one in told[part]} == {category}, (agent, category, told)
    assert cells == {
        (agent, category): 200 if category in TABLE.allowlists[agent] else 403
        for agent in AGENTS
        for category in CATEGORIES
    }


@pytest.mark.parametrize("front", [over_http, over_mcp])
def test_without_categories_an_agent_gets_all_of_its_own_but_how_things_are_done(
    service: RunningService, keys: Mapping[str, str], front: Any
) -> None:
    for agent in AGENTS:
        status, told = front(service, {"X-API-Key": keys["free"]}, asked(agent))
        got = {one["category"] for part in ("context", "items") for one in told[part]}
        assert (status, got) == (200, {*TABLE.allowlists[agent]} - {"procedural"})
    status, told = front(service, {"X-API-Key": keys["free"]}, asked("nobody"))
    assert (status, told["fields"]) == (403, ["$.agent"])


def test_an_agent_by_its_key_reads_and_writes_the_categories_of_its_list_alone(
    service: RunningService, keys: Mapping[str, str]
) -> None:
    free = {"X-API-Key": keys["free"]}
    listed = service.client.get("/v1/assistant/memories", params={**PLACE, "limit": 200}, headers=free)
    ids = {one["category"]: one["id"] for one in listed.json()["items"]}
    for agent in AGENTS:
        headers = {"X-API-Key": keys[agent]}
        status, told = over_http(service, headers, asked(AGENTS[AGENTS.index(agent) - 1]))
        assert (status, told["error_code"]) == (403, "SCOPE_DENIED")
        own = service.client.get("/v1/assistant/memories", params={**PLACE, "limit": 200}, headers=headers)
        assert {one["category"] for one in own.json()["items"]} == {*ids} & {*TABLE.allowlists[agent]}
        for category, memory_id in ids.items():
            path = f"/v1/assistant/memories/{memory_id}"
            is_own = category in TABLE.allowlists[agent]
            read = service.client.get(path, params=PLACE, headers=headers)
            changed = service.client.patch(path, json={**PLACE, "importance": 2}, headers=headers)
            assert [read.status_code, changed.status_code] == [200 if is_own else 404] * 2, (agent, category)
            body = {**PLACE, "category": category, "text": f"User keeps a note about {category}."}
            kept = service.client.post("/v1/assistant/memories", json=body, headers=headers)
            assert kept.status_code == (200 if is_own else 403)
            assert is_own or kept.json()["fields"] == ["$.category"]


def test_an_agent_without_a_list_is_refused_before_anything_is_read(
    service: RunningService, keys: Mapping[str, str]
) -> None:
    headers = {"X-API-Key": keys["stranger"]}
    free = {"X-API-Key": keys["free"]}
    known = service.client.get("/v1/assistant/memories", params=PLACE, headers=free).json()["items"][0]["id"]
    for memory_id in (known, "00000000-0000-4000-8000-000000000000"):
        path = f"/v1/assistant/memories/{memory_id}"
        answers = [
            service.client.get(path, params=PLACE, headers=headers),
            service.client.delete(path, params=PLACE, headers=headers),
            service.client.get(f"{path}/history", params=PLACE, headers=headers),
        ]
        assert [(one.status_code, one.json()["fields"]) for one in answers] == [(403, ["$.agent_id"])] * 3
    assert service.client.get("/v1/assistant/export", params=PLACE, headers=headers).status_code == 403


def test_a_category_of_the_mode_all_is_there_whole_and_of_rag_no_more_than_its_length(
    service: RunningService, keys: Mapping[str, str]
) -> None:
    headers = {"X-API-Key": keys["free"]}
    place = {"tenant_id": "acme", "user_id": "many"}
    for category in ("profile", "event"):
        for number in range(MANY):
            text = f"User has seen {number} {'birds' if category == 'event' else 'cities'}."
            kept = service.client.post(
                "/v1/assistant/memories", json={**place, "category": category, "text": text}, headers=headers
            )
            assert kept.json()["result"] == "ADD", kept.text
    body = asked("supervisor", query="what has the user seen?") | {"filters": {"user_id": "many"}}
    _, told = over_http(service, headers, body)
    assert len(told["context"]) == MANY
    assert {one["category"] for one in told["context"]} == {"profile"}
    lengths = {one.name: one.rag_length for one in TABLE.categories.system}
    assert len(told["items"]) == lengths["event"] < MANY
