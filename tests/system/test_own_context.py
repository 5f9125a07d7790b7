"""What ELF itself told in a context says nothing new when it comes back as a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from elf import Memory
from elf.client.families.memories import Remembered
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config
from tests.system.several import SeveralProcesses, split

SAID = (
    "I live in Rome.",
    "I prefer green tea to coffee.",
    "I decided to buy the red bicycle.",
    "I am allergic to nuts.",
    "My favourite colour is teal.",
    "I moved to Porto in May.",
)
QUERY = "What is known of the user: home, drinks, plans, colours, allergies?"


@pytest.fixture
def memory(service: RunningService) -> Iterator[Memory]:
    with Memory(service.url) as memory:
        yield memory


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4()}"


def context_of(memory: Memory, user: str) -> str:
    memory.remember(SAID, user_id=user, conversation="first")
    context = memory.context(QUERY, user_id=user, top_k=30, budget_tokens=2000)
    assert "red bicycle" in context.text
    return context.text


def kept(memory: Memory, user: str) -> dict[str, object]:
    return {one["id"]: one["memory"] for one in memory.get_all(user_id=user)["results"]}


def new_of(told: Remembered) -> list[object]:
    """What families other than conversations made of it."""
    assert told.done
    return [item for one in told.families if one.family != "conversations" for item in one.written]


def cut(text: str) -> str:
    """A text without a third of its lines."""
    return "\n".join(line for number, line in enumerate(text.splitlines()) if number % 3)


FORMS = {
    "whole": lambda text: text,
    "cut": cut,
    "inside": lambda text: f"Here is what I know.\n\n{text}\n\nWhat do you think?",
    "one line": lambda text: " ".join(text.splitlines()),
    "without markers": lambda text: "\n".join(line.partition("] ")[2] or line for line in text.splitlines()),
    "as a list": lambda text: "\n".join(f"- {line}" for line in text.splitlines()),
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
}


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("form", FORMS)
def test_the_text_of_a_context_makes_nothing_new(memory: Memory, ana: str, form: str, role: str) -> None:
    text = context_of(memory, ana)
    before = kept(memory, ana)
    told = memory.remember([{"role": role, "content": FORMS[form](text)}], user_id=ana, conversation="second")
    assert new_of(told) == []
    assert kept(memory, ana) == before
    assert memory.get_all(user_id=ana, run_id="second")["results"] == []


def test_a_quotation_of_a_memory_is_nothing_new_and_what_is_said_beside_it_is(
    memory: Memory, ana: str
) -> None:
    context_of(memory, ana)
    before = kept(memory, ana)
    said = (
        'You told me "I live in Rome." the other day. Preference: I prefer green tea to coffee. '
        "User is allergic to nuts. I bought a blue boat."
    )
    memory.remember(said, user_id=ana)
    assert {*kept(memory, ana).values()} - {*before.values()} == {
        "Fact: I bought a blue boat.",
        "User bought a blue boat.",
    }


def test_it_stays_in_its_conversation_as_it_was_said(memory: Memory, ana: str) -> None:
    text = context_of(memory, ana)
    told = memory.remember(text, user_id=ana)
    (entry,) = next(one.written for one in told.families if one.family == "conversations")
    item = memory.client.memories.item("conversations", "entry", str(entry.id), user_id=ana)
    assert item.text.split() == text.split()


def test_a_dry_run_shows_the_same(memory: Memory, ana: str) -> None:
    text = context_of(memory, ana)
    assert new_of(memory.remember(text, user_id=ana, dry_run=True)) == []


def test_what_was_forgotten_does_not_come_back_by_a_context(memory: Memory, ana: str) -> None:
    text = context_of(memory, ana)
    memory.delete_all(user_id=ana)
    memory.remember(text, user_id=ana)
    assert kept(memory, ana) == {}


def test_what_a_user_says_again_is_said(memory: Memory, ana: str) -> None:
    context_of(memory, ana)
    memory.delete_all(user_id=ana)
    memory.remember(SAID[0], user_id=ana)
    assert {*kept(memory, ana).values()} == {"Profile: I live in Rome.", "User lives in Rome."}


def test_what_was_shown_to_one_user_is_news_of_another(memory: Memory, ana: str) -> None:
    text = context_of(memory, ana)
    bob = f"bob-{uuid4()}"
    memory.remember(text, user_id=bob)
    assert kept(memory, bob)


def test_it_is_known_after_a_restart_and_without_traces(model_folder: Path, ana: str) -> None:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        text = re.sub(r"(?m)^trace_sample = .*$", "trace_sample = 0.0", config.read_text(encoding="utf-8"))
        config.write_text(text, encoding="utf-8")
        with RunningService(config) as service:
            with Memory(service.url) as memory:
                text = context_of(memory, ana)
                before = kept(memory, ana)
            service.stop()
            service.start()
            with Memory(service.url) as memory:
                assert new_of(memory.remember(cut(text), user_id=ana)) == []
                assert kept(memory, ana) == before


def test_it_is_known_in_another_process(model_folder: Path, ana: str) -> None:
    with fresh_folder() as folder:
        config = split(write_config(folder, cache_dir=f'"{model_folder}"'), "api = 2\nworker = 1")
        with (
            SeveralProcesses(config) as service,
            service.connected("api-1") as first,
            service.connected("api-2") as second,
        ):
            whose = {"tenant_id": "default", "user_id": ana}
            said = {"messages": [{"content": one} for one in SAID], "wait_ms": 30_000, **whose}
            assert first.post("/v1/remember", json=said).json()["done"]
            asked = {"query": QUERY, "top_k": 30, **whose}
            text = first.post("/v1/context", json=asked).json()["text"]
            again = {"messages": [{"content": cut(text)}], "wait_ms": 30_000, **whose}
            told = second.post("/v1/remember", json=again).json()
            made = {one["family"]: one["written"] for one in told["families"]}
            assert (made["notes"], made["assistant"]) == ([], [])
