"""Forgetting over all families by the client, the command and the tool, against the whole service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from elf.client import Client, InvalidRequest, NotFound
from elf.client.families.memories import MemoriesClient
from elf.client.families.memories_kept import Forgotten
from tests.families.command_line import CommandLine
from tests.families.fronts import McpFront
from tests.system.service import RunningService, write_config

USER = "ana"
AGENT = "supervisor"
TEA = "User drinks green tea every morning."
GOAL = "User prefers to run a marathon in Lisbon."
QUERY = "what does the user drink in the morning?"


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4()}"


@pytest.fixture
def client(service: RunningService, tenant: str) -> Iterator[Client]:
    with Client(service.url, tenant_id=tenant, project_id=USER, agent_id=AGENT, token=USER) as client:
        yield client


def kept(client: Client, text: str = TEA) -> str:
    """Have the assistant keep a text; returns its address."""
    return f"assistant/memory/{client.assistant.add(text, 'preferences', user_id=USER).memory.id}"


def forget(client: Client, *items: str, **other: Any) -> Forgotten:
    return client.memories.forget(items or None, user_id=USER, agent_id=AGENT, **other)


def outcomes(answer: Forgotten) -> Mapping[str, str]:
    return {f"{one.family}/{one.kind}/{one.id}": one.outcome for one in answer.items}


def recalled(client: Client) -> set[str]:
    answer = client.memories.recall(QUERY, user_id=USER, agent_id=AGENT)
    return {f"{one.family}/{one.kind}/{one.id}" for one in answer.items}


def test_items_are_forgotten_each_for_itself(client: Client) -> None:
    tea, goal, unknown = kept(client), kept(client, GOAL), f"assistant/memory/{uuid4()}"
    answer = forget(client, tea, unknown)
    assert outcomes(answer) == {tea: "forgotten", unknown: "not_found"}
    assert [(one.error_code, one.message) for one in answer.items] == [(None, None)] * 2
    assert recalled(client) == {goal}
    assert outcomes(forget(client, tea)) == {tea: "not_found"}


def test_what_a_family_refuses_is_refused_and_the_others_go(service: RunningService) -> None:
    user = f"u-{uuid4()}"
    with Client(
        service.url, tenant_id="default", token=user
    ) as client:  # conversations are of the caller's tenant
        begun = client.conversations.create(title="Breakfast")
        entry = client.conversations.append(begun.id, [{"role": "USER", "text": TEA}])
        goal = client.assistant.add(GOAL, "goals", user_id=user).memory.id
        said, whole = f"conversations/entry/{entry.id}", f"conversations/conversation/{begun.id}"
        answer = client.memories.forget([said, f"assistant/memory/{goal}"], user_id=user)
        assert [one.outcome for one in answer.items] == ["refused", "forgotten"]
        assert answer.items[0].error_code == "CONFLICT"
        assert "forget its conversation" in (answer.items[0].message or "")
        assert outcomes(client.memories.forget([whole], user_id=user)) == {whole: "forgotten"}
        assert outcomes(client.memories.forget([said], user_id=user)) == {said: "not_found"}


def test_what_a_query_finds_is_shown_first_and_forgotten_by_the_handle(client: Client) -> None:
    tea, goal = kept(client), kept(client, GOAL)
    shown = forget(client, query=QUERY)
    assert {f"{one.family}/{one.kind}/{one.id}" for one in shown.candidates} == {tea, goal}
    assert shown.candidates[0].text == TEA
    assert (shown.items, shown.handle is None, shown.expires_at is None) == ([], False, False)
    assert tea in recalled(client)
    answer = forget(client, tea, handle=shown.handle)
    assert outcomes(answer) == {tea: "forgotten"}
    assert recalled(client) == {goal}
    # The rest of what was shown; a repeat does no harm.
    assert outcomes(forget(client, handle=shown.handle)) == {tea: "not_found", goal: "forgotten"}


def test_nothing_is_shown_that_is_not_relevant_enough(client: Client) -> None:
    kept(client)
    shown = forget(client, query="Which compiler builds the kernel?", min_relevance=0.9)
    assert (shown.candidates, shown.handle) == ([], None)


def test_what_says_the_same_elsewhere_is_shown_too(client: Client) -> None:
    tea = kept(client)
    note = client.add_note(TEA, scope="agent_private")
    shown = forget(client, query=QUERY)
    assert {one.family for one in shown.candidates} == {"assistant", "notes"}
    answer = forget(client, handle=shown.handle)
    assert outcomes(answer) == {tea: "forgotten", f"notes/note/{note.note_id}": "forgotten"}


def test_what_was_changed_since_it_was_shown_stays(client: Client) -> None:
    tea = kept(client)
    shown = forget(client, query=QUERY)
    client.assistant.update(tea.rpartition("/")[2], text="User drinks black tea every morning.", user_id=USER)
    (one,) = forget(client, handle=shown.handle).items
    assert (one.outcome, one.error_code) == ("refused", "CONFLICT")
    assert tea in recalled(client)


def test_a_handle_is_good_for_who_was_shown_it_and_for_that_alone(client: Client) -> None:
    kept(client)
    shown = forget(client, query=QUERY)
    for other in ({"user_id": "bob", "agent_id": AGENT}, {"user_id": USER, "agent_id": "planner"}):
        with pytest.raises(NotFound) as refused:
            client.memories.forget(handle=shown.handle, **other)
        assert refused.value.fields == ("handle",)
    with pytest.raises(InvalidRequest) as unshown:
        forget(client, f"assistant/memory/{uuid4()}", handle=shown.handle)
    assert unshown.value.fields == ("items[0]",)


def test_what_cannot_be_meant_is_refused_by_its_name(client: Client) -> None:
    with pytest.raises(InvalidRequest) as refused:
        forget(client, f"minutes/note/{uuid4()}")
    assert refused.value.fields == ("items[0].family",)
    with pytest.raises(InvalidRequest, match="say what to forget"):
        forget(client)
    with pytest.raises(InvalidRequest, match="query comes alone"):
        forget(client, f"notes/note/{uuid4()}", query=QUERY)


def test_another_user_forgets_nothing_of_it(client: Client) -> None:
    tea = kept(client)
    answer = client.memories.forget([tea], user_id="bob")
    assert outcomes(answer) == {tea: "not_found"}
    assert tea in recalled(client)


def test_the_command_and_the_tool_do_the_same(
    service: RunningService, client: Client, tenant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tea, goal = kept(client), kept(client, GOAL)
    config = write_config(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"')
    line = CommandLine(config, tenant, capsys)
    answer = line.data(MemoriesClient, "forget", "--items", tea, "--user-id", USER)
    assert [one["outcome"] for one in answer["items"]] == ["forgotten"]
    tools = McpFront("memory", f"{service.mcp_url.removesuffix('/mcp')}/mcp/memory")
    try:
        whose = {"tenant_id": tenant, "user_id": USER, "agent_id": AGENT}
        shown = tools.ask("forget", {**whose, "query": "a marathon"})
        assert shown.ok, shown.text
        assert [one["id"] for one in shown.body["candidates"]] == [goal.rpartition("/")[2]]
        done = tools.ask("forget", {**whose, "handle": shown.body["handle"]})
        assert [one["outcome"] for one in done.body["items"]] == ["forgotten"], done.text
    except httpx.HTTPError as error:
        raise AssertionError("the tools do not answer") from error
    finally:
        tools.close()
