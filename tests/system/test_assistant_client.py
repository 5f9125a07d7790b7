"""The assistant by its client and its commands: everything it can be asked, against the whole service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, assert_type
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from elf.client import AsyncClient, Client, Conflict, InvalidRequest, NotFound, ScopeDenied
from elf.client.families.assistant import Acknowledgement, Answer, AssistantClient, Filters, Memory, Message
from elf.client.families.assistant.inputs import Quote
from tests.families.command_line import CommandLine, Ended
from tests.system.service import RunningService, write_config

pytestmark = pytest.mark.anyio

TEA = "User prefers green tea over coffee."
USER = "ana"
Elf = Callable[..., Ended]


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4()}"


@pytest.fixture
def known(service: RunningService, tenant: str) -> Iterator[AssistantClient[Client]]:
    with Client(service.url, tenant_id=tenant) as client:
        yield client.assistant


@pytest.fixture
def operated(service: RunningService, tenant: str) -> Iterator[AssistantClient[Client]]:
    """The client of an operator, at the admin address."""
    with Client(service.admin_url, tenant_id=tenant) as client:
        yield client.assistant


@pytest.fixture
def elf(service: RunningService, tenant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Elf:
    """Runs a command for the user."""
    binds = {"http_bind": service.url, "admin_bind": service.admin_url}
    lines = {name: f'"{urlsplit(url).netloc}"' for name, url in binds.items()}
    line = CommandLine(write_config(tmp_path, **lines), tenant, capsys)

    def run(verb: str, *arguments: str) -> Ended:
        return line(AssistantClient, verb, *arguments, "--user-id", USER)

    return run


def data(ended: Ended) -> Any:
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_a_memory_is_kept_changed_and_brought_back(known: AssistantClient[Client]) -> None:
    evidence = Quote(quote="I prefer green tea", role="user", turn_id="1")
    added = known.add(TEA, "preferences", tags=["drink"], evidence=[evidence], importance=3, user_id=USER)
    memory = assert_type(added.memory, Memory)
    assert (added.result, memory.evidence, memory.tags, added.warnings) == ("ADD", [evidence], ["drink"], [])
    assert known.add(TEA, "preferences", user_id=USER).result == "NONE"
    changed = known.update(memory.id, importance=5, tags=[], user_id=USER)
    assert (changed.result, changed.memory.importance, changed.memory.tags) == ("UPDATE", 5, [])
    assert known.pin(memory.id, user_id=USER).memory.pinned
    assert not known.pin(memory.id, pinned=False, user_id=USER).memory.pinned
    assert known.delete(memory.id, user_id=USER).purge_at is not None
    with pytest.raises(Conflict):
        known.update(memory.id, importance=1, user_id=USER)
    assert [one.id for one in known.list(state="soft_deleted", user_id=USER)] == [memory.id]
    assert known.restore(memory.id, user_id=USER).result == "RESTORE"
    assert known.show(memory.id, user_id=USER).state == "active"
    events = [row.event for row in known.history(memory.id, user_id=USER, limit=2)]
    assert events == ["RESTORE", "DELETE", "UPDATE", "UPDATE", "UPDATE", "ADD"]
    assert [row.id for row in known.all_history(user_id=USER)] == [
        row.id for row in known.history(memory.id, user_id=USER)
    ]
    assert known.delete(memory.id, hard=True, user_id=USER).purge_at is None
    with pytest.raises(NotFound):
        known.show(memory.id, user_id=USER)


def test_memories_are_listed_as_they_are_asked_for(known: AssistantClient[Client]) -> None:
    known.add(
        TEA, "preferences", pinned=True, tags=["drink"], thread_id="t", agent_id="planner", user_id=USER
    )
    later = known.add("User has a cat.", "relationships", importance=5, user_id=USER).memory
    texts = [one.text for one in known.list(user_id=USER, limit=1)]
    assert texts == ["User has a cat.", TEA]
    for which in (
        {"category": "preferences"}, {"pinned": True}, {"tag": "drink"}, {"thread_id": "t"}, {"agent_id": "planner"},
        {"importance_max": 4}, {"updated_before": later.updated_at},
    ):  # fmt: skip
        assert [one.text for one in known.list(user_id=USER, **which)] == [TEA], which  # type: ignore[arg-type]
    assert [*known.list(user_id="bob")] == []
    steps = known.add_procedure(["Build the wheel.", "Upload it."], text="Release", user_id=USER).memory
    assert steps.steps_text == "1. Build the wheel.\n2. Upload it."
    assert [one.id for one in known.list(type="procedural", user_id=USER)] == [steps.id]


def test_a_turn_is_taken_in_once_and_what_it_proposes_is_decided(known: AssistantClient[Client]) -> None:
    said = [
        Message(role="user", content="Please call me Ana."),
        {"role": "user", "content": "I live in Lisbon."},
    ]
    taken = known.turn("t", "1", said, user_id=USER)
    assert [one.result for one in taken.results] == ["ADD", "PROPOSED", "ADD", "PROPOSED"]
    assert known.turn("t", "1", said, user_id=USER).repeated
    with pytest.raises(Conflict):
        known.turn("t", "1", said[:1], user_id=USER)
    name, city = sorted(
        known.proposals(state="pending", user_id=USER), key=lambda one: one.field, reverse=True
    )
    assert (name.field, name.value, city.field, city.value) == ("preferred_name", "Ana", "city", "Lisbon")
    assert known.decide(name.proposal_id, "approve", user_id=USER).state == "approved"
    agreed = Acknowledgement(proposal_id=city.proposal_id, decision="reject", quote="No, not Lisbon")
    known.turn(
        "t", "2", [Message(role="user", content="No, not Lisbon.")], acknowledgements=[agreed], user_id=USER
    )
    context = known.user_context(user_id=USER)
    assert (context.preferred_name, context.city) == ("Ana", None)


def test_what_is_known_is_asked_for_with_what_changed(known: AssistantClient[Client]) -> None:
    known.add(TEA, "preferences", importance=3, thread_id="t", user_id=USER)
    answer = assert_type(
        known.query("tea", agent="supervisor", thread_id="t", explain=True, user_id=USER), Answer
    )
    assert [one.text for one in answer.items] == [f"[preferences] {TEA}"]
    assert answer.delta is not None
    assert answer.delta.text == f"Memory updates since rev 0:\n- +created: [preferences] {TEA} (imp=3)"
    assert answer.explanations is not None
    assert answer.explanations[0].score == pytest.approx(sum(answer.explanations[0].terms.values()))
    full = known.query_full("tea", agent="supervisor", filters=Filters(importance_min=3), user_id=USER)
    assert [(one.text, one.score is not None) for one in full.items] == [(TEA, True)]
    filtered = known.query("tea", agent="supervisor", filters={"importance_min": 4, "user_id": USER})
    assert filtered.items == []
    with pytest.raises(ScopeDenied) as denied:
        known.query("tea", agent="researcher", categories=["goals"], user_id=USER)
    assert [*denied.value.fields] == ["categories[0]"]
    with pytest.raises(InvalidRequest) as invalid:
        known.query("tea", agent="supervisor", recall=True, top_k=9, user_id=USER)
    assert [*invalid.value.fields] == ["top_k"]


def test_the_state_of_a_thread_is_kept(known: AssistantClient[Client]) -> None:
    saved = known.save_thread_checkpoint("t", {"step": 1}, user_id=USER)
    assert known.thread_checkpoint("t", user_id=USER) == saved
    known.copy_thread("t", "t2", user_id=USER)
    known.prune(["t"], user_id=USER)
    known.delete_checkpoints(thread_ids=["t"], user_id=USER)
    with pytest.raises(NotFound):
        known.thread_checkpoint("t2", user_id=USER)


def test_all_of_a_user_is_taken_along_erased_and_taken_in(
    known: AssistantClient[Client], operated: AssistantClient[Client]
) -> None:
    memory = known.add(TEA, "preferences", user_id=USER).memory
    with operated.export(user_id=USER) as lines:
        exported = [*lines]
    with known.export_own(user_id=USER) as lines:
        assert [*lines] == exported
    assert operated.consolidate(user_id=USER, dry_run=True).users <= 1
    receipt = operated.erase("user", USER).erased
    assert (receipt["memories"], receipt["vectors"], receipt["history"]) == (1, 1, 1)
    assert [*known.list(user_id=USER)] == []
    taken = operated.take_in(exported)
    assert (taken.new, taken.rejected) == (1, [])
    assert known.show(memory.id, user_id=USER).text == TEA
    assert sum(operated.erase("tenant").erased.values()) > 0


async def test_all_of_it_can_be_awaited(service: RunningService, tenant: str) -> None:
    async with AsyncClient(service.url, tenant_id=tenant) as client:
        known = client.assistant
        memory = (await known.add(TEA, "preferences", user_id=USER)).memory
        assert [one.id async for one in known.list(user_id=USER)] == [memory.id]
        async with known.export_own(user_id=USER) as lines:
            assert any([line["memory"]["id"] == str(memory.id) async for line in lines if "memory" in line])


def test_commands_do_the_same(elf: Elf, tmp_path: Path) -> None:
    added = data(elf("add", TEA, "preferences", "--importance", "3", "--json"))
    assert added["result"] == "ADD"
    answer = elf("query", "tea", "--agent", "supervisor")
    assert (answer.code, answer.out) == (0, f"[preferences] {TEA}\n")
    listed = elf("list")
    assert (listed.code, TEA in listed.out) == (0, True)
    empty = elf("query", "tea", "--agent", "planner")
    assert (empty.code, empty.out, empty.err) == (0, "", "elf: nothing is known\n")
    denied = elf("query", "tea", "--agent", "planner", "--categories", "tone")
    assert (denied.code != 0, "categories[0]" in denied.err) == (True, True)


def test_a_user_is_exported_erased_and_imported_by_commands(elf: Elf, tmp_path: Path) -> None:
    elf("add", TEA, "preferences")
    file = tmp_path / "ana.jsonl"
    told = elf("export", str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (told.code, [line["memory"]["text"] for line in lines if "memory" in line]) == (0, [TEA])
    again = elf("import", str(file))
    assert (again.code, again.out) == (0, "0 lines were new, 1 were known, 1 left\n")
    lines[0]["memory"] |= {"source": "turn", "text": "I want to go.", "id": str(uuid4())}
    file.write_text("\n".join(map(json.dumps, lines)))
    refused = elf("import", str(file))
    assert (refused.code, refused.err) == (0, "line 1: PRONOUN\n")
