"""Recall over all families by its client, its command and its tools, against the whole service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, assert_type
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from elf.client import AsyncClient, Client, InvalidRequest, NotFound
from elf.client.families.memories import MemoriesClient, Recalled
from tests.families.command_line import CommandLine
from tests.system.service import RunningService, write_config

pytestmark = pytest.mark.anyio

USER = "ana"
AGENT = "supervisor"
TEA = "User drinks green tea every morning."
QUERY = "what does the user drink in the morning?"


@pytest.fixture(scope="module")
def tenant() -> str:
    return f"t-{uuid4()}"


@pytest.fixture(scope="module")
def client(service: RunningService, tenant: str) -> Iterator[Client]:
    with Client(service.url, tenant_id=tenant) as client:
        yield client


@pytest.fixture(scope="module")
def kept(client: Client) -> dict[str, str]:
    """What families keep of the user, by name: the id of each item."""
    tea = client.assistant.add(TEA, "preferences", user_id=USER)
    goal = client.assistant.add("User wants to run a marathon in Lisbon.", "goals", user_id=USER)
    return {"tea": str(tea.memory.id), "goal": str(goal.memory.id)}


def recalled(client: Client, query: str = QUERY, **other: Any) -> Recalled:
    return client.memories.recall(query, user_id=USER, agent_id=AGENT, **other)


def test_what_answers_comes_first_with_all_that_is_known_of_it(client: Client, kept: dict[str, str]) -> None:
    answer = assert_type(recalled(client), Recalled)
    first = answer.items[0]
    assert (first.family, first.kind, first.id, first.text) == ("assistant", "memory", kept["tea"], TEA)
    assert first.score == pytest.approx(sum(first.terms.values()))
    assert first.relevance is not None
    assert first.relevance > 0.5
    assert (answer.degraded, answer.skipped, answer.left_out) == ([], {}, None)
    assert answer.tokens > 0


def test_an_item_is_read_by_its_address(client: Client, kept: dict[str, str]) -> None:
    first = recalled(client).items[0]
    item = client.memories.item(first.family, first.kind, first.id, user_id=USER)
    assert (item.text, item.provenance, item.at) == (first.text, first.provenance, first.at)
    with pytest.raises(NotFound):
        client.memories.item(first.family, first.kind, first.id, user_id="bob")
    with pytest.raises(NotFound):
        client.memories.item(first.family, first.kind, str(uuid4()), user_id=USER)
    with pytest.raises(InvalidRequest) as refused:
        client.memories.item("minutes", "note", "1", user_id=USER)
    assert refused.value.fields == ("family",)


def test_an_answer_is_explained(client: Client, kept: dict[str, str]) -> None:
    answer = recalled(client, top_k=1, explain=True)
    assert answer.left_out is not None
    assert kept["goal"] in {one.id for one in answer.left_out if one.reason == "BELOW_TOP_K"}
    trace = client.memories.explain(answer.trace_id, user_id=USER, agent_id=AGENT)
    assert trace.query == QUERY
    assert [one.id for one in trace.items] == [one.id for one in answer.items]
    assert trace.left_out == answer.left_out
    assert {"embed", "families", "rerank", "assistant"} <= trace.milliseconds.keys()
    for other in ({"user_id": "bob", "agent_id": AGENT}, {"user_id": USER, "agent_id": "planner"}):
        with pytest.raises(NotFound):
            client.memories.explain(answer.trace_id, **other)


def test_bounds_are_kept(client: Client, kept: dict[str, str]) -> None:
    assert len(recalled(client, top_k=1).items) == 1
    assert recalled(client, budget_tokens=16).tokens <= 16
    assert {one.id for one in recalled(client, min_relevance=0.6).items} == {kept["tea"]}
    assert recalled(client, families=["conversations"]).items == []
    assert recalled(client, kinds=["entry"]).items == []
    later = datetime.now(UTC) + timedelta(hours=1)
    assert recalled(client, since=later).items == []
    assert kept["tea"] in {one.id for one in recalled(client, until=later).items}


def test_what_cannot_be_asked_is_refused_by_its_name(client: Client) -> None:
    with pytest.raises(InvalidRequest) as refused:
        recalled(client, families=["assistant", "minutes"])
    assert refused.value.fields == ("families[1]",)
    with pytest.raises(InvalidRequest) as refused:
        recalled(client, " ")
    assert refused.value.fields == ("query",)


def test_another_user_is_told_nothing(client: Client, kept: dict[str, str]) -> None:
    answer = client.memories.recall(QUERY, user_id="bob", agent_id=AGENT)
    assert answer.items == []


async def test_it_is_awaited_by_the_other_client(
    service: RunningService, tenant: str, kept: dict[str, str]
) -> None:
    async with AsyncClient(service.url, tenant_id=tenant) as client:
        answer = await client.memories.recall(QUERY, user_id=USER, agent_id=AGENT)
        assert answer.items[0].id == kept["tea"]


def test_the_command_says_the_same(
    service: RunningService,
    tenant: str,
    kept: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = write_config(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"')
    line = CommandLine(config, tenant, capsys)
    answer = line.data(MemoriesClient, "recall", QUERY, "--user-id", USER, "--agent-id", AGENT)
    assert answer["items"][0]["id"] == kept["tea"]
