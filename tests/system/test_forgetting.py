"""Forgetting over all families by the client, the command and the tool, against the whole service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from elf import Memory
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


NAME = "My name is Pahwa."
ALONG = "My name is Pahwa. The meeting is in room four."


@pytest.fixture
def user() -> str:
    """Whoever it is: conversations are of one tenant where nobody has to prove who calls."""
    return f"u-{uuid4().hex}"


def in_all(memory: Memory, user: str, query: str) -> str:
    found = memory.search(query, user_id=user, limit=100)["results"]
    return "\n".join(one["memory"] for one in found)


@pytest.mark.parametrize("said", [NAME, ALONG])
def test_entries_that_hold_what_was_deleted_are_named_and_redacted_with_cascade(
    service: RunningService, user: str, said: str
) -> None:
    with Memory(service.url, tenant_id="default") as memory:
        made = [one["id"] for one in memory.add(said, user_id=user, run_id="hello")["results"] if one["id"]]
        deleted = [
            memory.delete(one, user_id=user) for one in made if "Pahwa" in str(memory.get(one, user_id=user))
        ]
        remaining = {address for one in deleted for address in one["remaining"]}
        assert len(remaining) == 1
        (address,) = remaining
        assert memory.get(address, user_id=user)["memory"] == said
        assert "Pahwa" in in_all(memory, user, "What is my name?")

        again = [one["id"] for one in memory.add(NAME, user_id=user, run_id="again")["results"] if one["id"]]
        told = [memory.delete(one, user_id=user, cascade=True) for one in again]
        assert [one["remaining"] for one in told] == [[]] * len(told)
        assert in_all(memory, user, "What is my name?").count("Pahwa") == 1, "the first one stays"


def test_the_rest_of_an_entry_stays_and_is_found(service: RunningService, user: str) -> None:
    with Memory(service.url, tenant_id="default") as memory:
        made = memory.add(ALONG, user_id=user, run_id="hello")["results"]
        (name,) = [
            one["id"]
            for one in made
            if one["id"] and one["id"].startswith("notes/") and "Pahwa" in one["memory"]
        ]
        told = memory.forget(name, user_id=user, cascade=True)
        assert (len(told.redacted), told.remaining) == (1, [])
        entry = memory.get(told.redacted[0], user_id=user)
        assert entry["memory"] == "[redacted] The meeting is in room four."
        assert "room four" in in_all(memory, user, "Where is the meeting?")
    with Client(service.url, tenant_id="default", token=user) as client:
        (conversation,) = client.conversations.list()
        assert "Pahwa" not in f"{conversation.title} {conversation.last_message_preview}"


def test_nobody_redacts_what_is_not_theirs(service: RunningService, user: str) -> None:
    with Memory(service.url, tenant_id="default") as memory:
        memory.add(NAME, user_id=user, run_id="hello")
        other = f"not-{user}"
        made = [one["id"] for one in memory.add(NAME, user_id=other, run_id="hello")["results"] if one["id"]]
        for one in made:
            memory.delete(one, user_id=other, cascade=True)
        assert "Pahwa" not in in_all(memory, other, "What is my name?")
        assert "Pahwa" in in_all(memory, user, "What is my name?")


def test_conversations_that_go_with_the_rest_are_not_told_to_remain(
    service: RunningService, user: str
) -> None:
    with Memory(service.url, tenant_id="default") as memory:
        memory.add(NAME, user_id=user, run_id="hello")
        gone = memory.delete_all(user_id=user)
        assert (gone["remaining"], gone["left"]) == ([], {})
        memory.add(NAME, user_id=user, run_id="more")
        kept = memory.delete_all(user_id=user, agent_id="elf")
        assert kept["left"] == {}


def test_a_query_and_its_handle_tell_of_entries_too(service: RunningService, user: str) -> None:
    with Memory(service.url, tenant_id="default") as memory:
        memory.add(NAME, user_id=user, run_id="hello")
        shown = memory.forget(query="What is my name?", user_id=user)
        meant = [one for one in shown.candidates if one.family != "conversations"]
        told = memory.forget(meant, handle=shown.handle, user_id=user)
        assert len(told.remaining) == 1
        assert told.remaining[0].startswith("conversations/entry/")


@pytest.mark.parametrize("kind", ["episode", "fact", "rule", "graph"])
def test_entries_that_knowledge_and_graphs_rest_on_are_named_and_redacted_with_cascade(
    service: RunningService, user: str, kind: str
) -> None:
    said, rest = "I keep bees in Uppsalaqx.", "The meeting is in room four."
    with Client(service.url, tenant_id="default", token=user, agent_id=AGENT) as client:
        talk = client.conversations.create(title="Talk")
        entry = client.conversations.append(talk.id, [{"role": "USER", "text": f"{said} {rest}"}])
        address = f"conversations/entry/{entry.id}"

        def made() -> str:
            if kind == "graph":
                written = client.graph.remember(said, "Fact", conversation_id=str(talk.id))
                return f"graph/{AGENT}/{written.memories[0].memory_id}"
            names = {"entry_ids": [str(entry.id)]}
            episode = client.knowledge.store_episode(f"User: {said}", AGENT, metadata=names)
            whose = {"scope": f"user:{user}", "source_episode_id": episode.id}
            if kind == "fact":
                id = client.knowledge.store_fact("user", "keeps", "bees in Uppsalaqx", **whose).id
            elif kind == "rule":
                id = client.knowledge.store_rule("I keep bees in Uppsalaqx", **whose).id
            else:
                id = episode.id
            return f"knowledge/{kind}/{id}"

        told = client.memories.forget([made()], user_id=user)
        assert ([one.outcome for one in told.items], told.remaining) == (["forgotten"], [address])
        told = client.memories.forget([made()], user_id=user, cascade=True)
        assert (told.redacted, told.remaining) == ([address], [])
        (left,) = client.conversations.entries(talk.id)
        assert left.content[0]["text"] == f"[redacted] {rest}"
