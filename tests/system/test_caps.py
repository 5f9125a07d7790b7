"""What is remembered of many statements at once, and what becomes of those beyond the caps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from elf import Memory
from elf.client.families.memories import Remembered, WrittenItem
from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat, point_extractor, running_chat, saying
from tests.system.service import RunningService, wait_for, write_config

DRINKS = ("tea", "coffee", "cocoa", "cider", "milk", "juice")
MANY = [f"I enjoy {one}." for one in DRINKS]


@pytest.fixture
def memory(service: RunningService) -> Iterator[Memory]:
    with Memory(service.url) as memory:
        yield memory


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


def written(told: Remembered, family: str) -> list[WrittenItem]:
    (found,) = (one for one in told.families if one.family == family)
    assert found.state == "done"
    return found.written


def texts(memory: Memory, user: str, family: str) -> set[str]:
    listed = memory.get_all(user_id=user, limit=1000)["results"]
    return {one["memory"] for one in listed if one["id"].startswith(f"{family}/")}


def test_each_message_of_a_user_has_the_caps_of_its_own(memory: Memory, ana: str) -> None:
    told = memory.remember(MANY, user_id=ana)
    assert texts(memory, ana, "notes") == {f"Preference: {one}" for one in MANY}
    assert texts(memory, ana, "assistant") == {f"User enjoys {one}." for one in DRINKS}
    for family in ("notes", "assistant"):
        assert [one.op for one in written(told, family)] == ["ADD"] * 6


def test_statements_of_one_message_beyond_the_cap_are_listed(memory: Memory, ana: str) -> None:
    told = memory.remember(" ".join(MANY), user_id=ana)
    for family, kept in ("notes", 3), ("assistant", 1):
        ops = Counter((one.op, one.reason) for one in written(told, family))
        assert ops == {("ADD", None): kept, ("REJECTED", "CAP_REACHED"): 6 - kept}, family
        assert len(texts(memory, ana, family)) == kept
    again = memory.remembered(told.id, user_id=ana)
    assert again == told


def test_fifty_statements_in_one_call_are_all_kept_or_listed(memory: Memory, ana: str) -> None:
    told = memory.remember([f"My friend number {n} is called Person{n:02}." for n in range(50)], user_id=ana)
    notes = memory.remember([f"I decided to buy {n} red bicycles." for n in range(50)], user_id=ana)
    assert told.done
    assert len(written(notes, "notes")) == len(written(notes, "assistant")) == 50
    later = memory.remember([f"I decided to sell {n} blue boats." for n in range(20)], user_id=ana)
    reasons = Counter((one.op, one.reason) for one in written(later, "assistant"))
    assert reasons["REJECTED", "DAILY_CAP"] > 0
    assert sum(reasons.values()) == 20


def test_what_is_added_by_a_turn_of_an_assistant_is_capped_as_before(
    service: RunningService, ana: str
) -> None:
    messages = [{"role": "user", "content": f"I decided to buy {n} red bicycles."} for n in range(6)]
    body = {"tenant_id": "default", "user_id": ana, "thread_id": "t", "turn_id": "1", "messages": messages}
    answer = httpx.post(f"{service.url}/v1/assistant/turn", json=body).json()
    reasons = Counter((one["result"], one["reason_code"]) for one in answer["results"])
    assert reasons == {("ADD", None): 3, ("REJECTED", "CAP_REACHED"): 3}


def test_add_event_keeps_its_cap_and_lists_what_it_dropped(service: RunningService, ana: str) -> None:
    messages = [{"role": "user", "content": one} for one in MANY]
    body = {"tenant_id": "default", "project_id": ana, "agent_id": "bot", "messages": messages}
    answer = httpx.post(f"{service.url}/v1/memory/add_event", json=body).json()
    assert len(answer["extracted"]) == 3
    reasons = Counter((one["op"], one["reason_code"]) for one in answer["results"])
    assert reasons == {("ADD", None): 3, ("REJECTED", "CAP_REACHED"): 3}


def test_a_dry_run_lists_the_same(memory: Memory, ana: str) -> None:
    shown = memory.remember(" ".join(MANY), user_id=ana, dry_run=True)
    for family in ("notes", "assistant"):
        (found,) = (one for one in shown.families if one.family == family)
        assert {one.reason for one in found.written} == {None, "CAP_REACHED"}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Remember that the door code is 4471.", "SECRET"),
        ("My password is hunter2sesame!.", "SECRET"),
        ("Remember that it is on the second floor.", "NO_ANTECEDENT"),
        ("Remember that Bob probably lives in Rome.", "UNSURE"),
        ("Please remember: where did I park the car?", "QUESTION"),
        ("Remember that pi.", "TOO_SHORT"),
        (f"Remember that the list has {'very ' * 300}many entries.", "TOO_LONG"),
    ],
)
def test_what_is_asked_to_be_remembered_and_is_not_says_why(
    memory: Memory, ana: str, said: str, reason: str
) -> None:
    told = memory.remember(said, user_id=ana)
    assert {(one.op, one.reason) for one in written(told, "notes")} == {("REJECTED", f"REJECT_{reason}")}
    assert {(one.op, one.reason) for one in written(told, "assistant")} == {("REJECTED", reason)}
    assert memory.get_all(user_id=ana)["results"] == []


def test_what_nobody_asked_to_remember_needs_no_reason(memory: Memory, ana: str) -> None:
    told = memory.remember(["Where did I park?", "Maybe it rains.", "It is on the left."], user_id=ana)
    assert written(told, "notes") == written(told, "assistant") == []


def test_why_the_assistants_words_are_not_kept_is_nothing_to_tell(memory: Memory, ana: str) -> None:
    said = [{"role": "assistant", "content": "Remember that the door code is 4471."}]
    told = memory.remember(said, user_id=ana)
    assert written(told, "notes") == written(told, "assistant") == []


# With a language model


@pytest.fixture(scope="module")
def chat() -> Iterator[FakeChat]:
    with running_chat() as chat:
        yield chat


@pytest.fixture(scope="module")
def modelled(chat: FakeChat, model_folder: Path) -> Iterator[RunningService]:
    """A service with a language model, which reads two messages of a request."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        point_extractor(config, chat.api_base, timeout_ms=5000)
        table = "\n[remember]\nmax_extractions = 2\n"
        config.write_text(f"{config.read_text(encoding='utf-8')}{table}", encoding="utf-8")
        with RunningService(config) as service:
            yield service


def asked_for(body: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """What kind of prompt it is, and its messages."""
    prompt = body["messages"][-1]["content"]
    _, begin, notes = prompt.partition("Here are the messages as JSON:\n")
    if begin:
        return "notes", json.loads(notes)
    lines = prompt.partition("The messages, one a line:\n")[2].splitlines()
    return "facts", [json.loads(line) for line in lines]


def each_last(body: dict[str, Any]) -> tuple[int, Any]:
    """Answer with what the last message of a prompt says."""
    kind, messages = asked_for(body)
    if not messages:  # whether two memories are the same
        return saying("{}")
    said = messages[-1]["content"]
    if kind == "notes":
        evidence = [{"message_index": messages[-1]["message_index"], "quote": said}]
        found = {"type": "preference", "key": None, "text": said, "importance": 0.5, "confidence": 0.9,
                 "ttl_days": None, "scope_suggestion": None, "evidence": evidence, "reason": "said so"}  # fmt: skip
        return saying(json.dumps({"notes": [found]}))
    fact = {"text": said.replace("I enjoy", "User enjoys"), "category": "preferences", "importance": 2,
            "confidence": 0.9, "quote": said}  # fmt: skip
    return saying(json.dumps({"facts": [fact]}))


def test_a_language_model_reads_so_many_messages_each_with_those_before_it(
    modelled: RunningService, chat: FakeChat, ana: str
) -> None:
    chat.script(each_last)
    with Memory(modelled.url) as memory:
        told = memory.remember(MANY[:4], user_id=ana)
        ops = [(one.op, one.reason) for one in written(told, "notes")]
        assert ops == [("ADD", None)] * 2 + [("REJECTED", "CAP_REACHED")] * 2
        ops = [(one.op, one.reason) for one in written(told, "assistant")]
        assert ops == [("DEFERRED", None)] + [("REJECTED", "CAP_REACHED")] * 2
        assert texts(memory, ana, "notes") == set(MANY[:2])
        wait_for(
            lambda: texts(memory, ana, "assistant") == {"User enjoys tea.", "User enjoys coffee."},
            "both memories",
        )
    prompts = [asked_for(body) for body in chat.asked]
    for kind in ("notes", "facts"):
        shown = [[one["content"] for one in messages] for of, messages in prompts if of == kind and messages]
        assert sorted(shown) == sorted([MANY[:1], MANY[:2]])
    (context,) = (messages for of, messages in prompts if of == "notes" and len(messages) == 2)
    assert [one.get("context") for one in context] == [True, None]


def test_a_note_rests_on_the_message_that_it_is_taken_from(
    modelled: RunningService, chat: FakeChat, ana: str
) -> None:
    def first(body: dict[str, Any]) -> tuple[int, Any]:
        kind, messages = asked_for(body)
        if kind == "facts":
            return saying(json.dumps({"facts": []}))
        return each_last(
            {"messages": [{"content": "Here are the messages as JSON:\n" + json.dumps(messages[:1])}]}
        )

    chat.script(first)
    with Memory(modelled.url) as memory:
        told = memory.remember(MANY[:2], user_id=ana)
        ops = [(one.op, one.reason) for one in written(told, "notes")]
    assert ops == [("ADD", None), ("REJECTED", "REJECT_EVIDENCE_MISMATCH")]
