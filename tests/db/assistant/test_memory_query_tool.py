"""The tool memory_query and its operation on a whole service, with the packaged model and the embedded database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from elf.config import load
from elf.providers.tokens import HfTokens
from tests.db.assistant.assistant_kit import (
    TENANT,
    USER,
    Addresses,
    assistant_config,
    fronts_beside_the_others,
)
from tests.folders import fresh_folder

pytestmark = pytest.mark.anyio

MEMORIES: Final = (
    ("tasks", "User has to renew the passport before the trip to Japan."),
    ("tasks", "User plans to roll out the new version on Friday evening."),
    ("goals", "User wants to run a marathon in spring."),
    ("projects", "Project Heron moves the billing to a new database."),
    ("preferences", "User prefers green tea over coffee."),
    ("profile", "User is called Ana and lives in Lisbon."),
)


@pytest.fixture(scope="module")
def config_path() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield assistant_config(Path(folder))


@pytest.fixture(scope="module")
def addresses(config_path: Path) -> Iterator[Addresses]:
    """A service that has some memories of a user."""
    with (
        fronts_beside_the_others(config_path) as addresses,
        httpx.Client(base_url=addresses.http, timeout=60) as client,
    ):
        for category, text in MEMORIES:
            body = {"tenant_id": TENANT, "user_id": USER, "category": category, "text": text}
            assert client.post("/v1/assistant/memories", json=body).json()["result"] == "ADD"
        yield addresses


def _asked(**other: Any) -> dict[str, Any]:
    return {"tenant_id": TENANT, "agent": "planner", "filters": {"user_id": USER}} | other


def _read(result: CallToolResult) -> Mapping[str, Any]:
    (content,) = result.content
    assert isinstance(content, TextContent)
    body: Mapping[str, Any] = json.loads(content.text)
    return body


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("when is the deployment of the release?", 1),
        ("travel documents", 0),
        ("sport and fitness", 2),
        ("invoices", 3),
    ],
)
async def test_what_is_meant_is_found_over_http_and_by_the_tool(
    addresses: Addresses, query: str, best: int
) -> None:
    category, text = MEMORIES[best]
    asked = _asked(query=query, top_k=2)
    async with httpx.AsyncClient(base_url=addresses.http, timeout=60) as http:
        answer = (await http.post("/v1/assistant/memory/query", json=asked)).json()
    assert (answer["items"][0]["text"], answer["degraded"]) == (f"[{category}] {text}", [])
    async with Client(addresses.mcp) as client:
        result = _read(await client.call_tool("memory_query", asked))
    assert result["items"] == answer["items"]


async def test_the_tool_refuses_what_an_agent_may_not_read(addresses: Addresses) -> None:
    async with Client(addresses.mcp) as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.input_schema["required"]) == ("memory_query", ["query"])
        assert tool.input_schema["properties"]["return"]["enum"] == ["bullets", "full"]
        result = await client.call_tool(
            "memory_query", _asked(query="tea", categories=["tasks", "preferences"])
        )
    assert result.is_error
    assert _read(result) | {"message": ""} == {
        "error_code": "SCOPE_DENIED", "message": "", "fields": ["$.categories[1]"],
    }  # fmt: skip


@pytest.mark.parametrize("budget", [16, 20, 33, 48, 64, 512])
@pytest.mark.parametrize("agent", ["planner", "supervisor"])
def test_no_answer_is_over_its_budget_as_the_models_tokenizer_counts(
    addresses: Addresses, config_path: Path, budget: int, agent: str
) -> None:
    asked = _asked(
        query="what has to be done?",
        agent=agent,
        budget_tokens=budget,
        top_k=50,
        thread_id=f"{agent} {budget}",
    )
    answer = httpx.post(f"{addresses.http}/v1/assistant/memory/query", json=asked, timeout=60).json()
    config = load(config_path)
    tokenizer = HfTokens.open("", config.providers.embedding, config.local_model)
    lines = [one["text"] for part in ("context", "items", "related") for one in answer[part]]
    assert len(tokenizer.spans("\n".join(lines))) == answer["tokens"]["used"] <= budget
    assert answer["tokens"]["tokenizer"] == tokenizer.name
    assert lines or budget < 20


@pytest.mark.parametrize("budget", [16, 40, 64, 512])
def test_what_a_thread_is_told_counts_as_the_models_tokenizer_counts_it(
    addresses: Addresses, config_path: Path, budget: int
) -> None:
    with httpx.Client(base_url=addresses.http, timeout=60) as client:
        place = {"tenant_id": TENANT, "user_id": f"user {budget}", "thread_id": "t"}
        for category, text in MEMORIES:
            client.post("/v1/assistant/memories", json={**place, "category": category, "text": text})
        asked = {
            "tenant_id": TENANT, "agent": "supervisor", "filters": {"user_id": f"user {budget}"}, "thread_id": "t",
            "query": "what has to be done?", "budget_tokens": budget, "top_k": 50,
        }  # fmt: skip
        answer = client.post("/v1/assistant/memory/query", json=asked).json()
    config = load(config_path)
    tokenizer = HfTokens.open("", config.providers.embedding, config.local_model)
    lines = [one["text"] for part in ("context", "items", "related") for one in answer[part]]
    tokens = len(tokenizer.spans("\n".join([answer["delta"]["text"], *lines])))
    assert tokens == answer["tokens"]["used"] <= budget
    assert (answer["delta"]["total"], bool(answer["delta"]["text"])) == (5, budget > 16)
