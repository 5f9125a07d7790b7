"""A conversation store of Pydantic AI over the real service: it does what the store of the package does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, RequestUsage, RunUsage, UserError
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from elf.client import AsyncClient, Client
from elf.pydantic_ai import ElfConversationStore
from elf.pydantic_ai import store as store_module

pytestmark = pytest.mark.anyio

MESSAGES: Sequence[ModelMessage] = (
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Where is the ferry?")]),
    ModelResponse(parts=[ThinkingPart("hm"), ToolCallPart("look", {"place": "Flam", "n": [1, 2.5]}, "c1")]),
    ModelRequest(parts=[ToolReturnPart("look", {"at": "six"}, "c1")]),
    ModelResponse(parts=[TextPart("At six. \u4e2d\u6587")], usage=RequestUsage(input_tokens=3)),
    ModelRequest(parts=[UserPromptPart(["See", BinaryContent(b"\x00\xff", media_type="application/pdf")])]),
)


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def texts(messages: Sequence[ModelMessage]) -> list[str]:
    return [str(one.parts[0].content) for one in messages]  # type: ignore[union-attr]


@pytest.fixture
def store(client: AsyncClient) -> ElfConversationStore:
    return ElfConversationStore(client)


async def saved(store: ConversationStore, id: str, *said_texts: str, **more: Any) -> Conversation:
    conversation = Conversation(conversation_id=id, messages=[said(text) for text in said_texts])
    await store.save(conversation, **more)
    return conversation


async def loaded(store: ConversationStore, id: str) -> Conversation:
    found = await store.load(id)
    assert found is not None
    return found


async def test_a_conversation_comes_back_as_it_was(store: ElfConversationStore) -> None:
    waiting = DeferredToolRequests(calls=[ToolCallPart("look", {"a": 1}, "c2")])
    usage = RunUsage(requests=2, input_tokens=7, details={"cached": 1})
    conversation = Conversation(
        conversation_id="trip/1", messages=[*MESSAGES], usage=usage, deferred_tool_requests=waiting
    )
    entries = await store.save(conversation, scope="ana")
    found = await loaded(store, "trip/1")
    assert found == conversation
    assert await store.load_entries("trip/1") == entries
    assert [await store.read_entry(one.id) for one in entries] == entries


async def test_text_that_no_database_holds_comes_back_as_from_the_store_of_the_package(
    store: ElfConversationStore,
) -> None:
    theirs = InMemoryConversationStore()
    waiting = DeferredToolRequests(calls=[ToolCallPart("look", {"a": "\x00\ud83d"}, "c2")])
    odd: list[ModelMessage] = [
        said("half \ud83d"),
        ModelResponse(parts=[TextPart("NUL \x00 and \\u0000"), ToolCallPart("look", {"k\x00": "\\"}, "c1")]),
        ModelRequest(parts=[ToolReturnPart("look", {"at": ["six \x00", "\ude00"]}, "c1")]),
    ]
    last = said("and so on")
    for each in (store, theirs):
        conversation = Conversation(
            conversation_id="odd", messages=[*MESSAGES, *odd], deferred_tool_requests=waiting
        )
        await each.save(conversation)
        conversation.messages.append(last)
        await each.save(conversation)
    found, expected = await loaded(store, "odd"), await loaded(theirs, "odd")
    assert (found.messages, found.deferred_tool_requests) == (
        expected.messages,
        expected.deferred_tool_requests,
    )
    assert texts(found.messages)[-1] == "and so on"


async def test_what_is_not_there_is_none(store: ElfConversationStore) -> None:
    assert await store.load("none") is None
    assert await store.list_conversations() == []
    await store.delete("none")
    with pytest.raises(LookupError):
        await store.read_entry("none")
    assert await store.read_history(None) == []


async def test_a_save_appends_what_is_new(
    store: ElfConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "PAGE", 2)
    await saved(store, "chat", *"abcde")
    window = await store.load("chat", limit=2)
    assert window is not None
    assert texts(window.messages) == ["d", "e"]
    window.messages.append(said("f"))
    assert len(await store.save(window)) == 1
    assert texts((await loaded(store, "chat")).messages) == [*"abcdef"]
    none = await store.load("chat", limit=0)
    assert none is not None
    assert none.messages == []


async def test_of_writers_at_once_one_wins(store: ElfConversationStore) -> None:
    await saved(store, "chat", "a")
    seen = [await loaded(store, "chat") for _ in range(5)]
    for number, one in enumerate(seen):
        one.messages.append(said(f"b{number}"))
    done = await asyncio.gather(*(store.save(one) for one in seen), return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["ConversationConflict"] * 4 + ["list"]
    assert len((await loaded(store, "chat")).messages) == 2


async def test_a_conflict_leaves_nothing_behind(store: ElfConversationStore) -> None:
    conversation = await saved(store, "chat", "a")
    record = await store.read_record("chat")
    assert record is not None
    entry = ConversationEntry(parent_id=record.head_id, message=said("b"))
    late = replace(record, head_id=entry.id)
    with pytest.raises(ConversationConflict):
        await store.write_record(late, new_entries=[entry], expected_revision="other")
    with pytest.raises(ConversationConflict):
        await store.write_record(late, new_entries=[entry], expected_revision=None)
    with pytest.raises(ConversationConflict):
        await store.write_record(replace(record, head_id="unknown"), expected_revision=record.revision)
    with pytest.raises(LookupError):
        await store.read_entry(entry.id)
    assert (await loaded(store, "chat")).revision == conversation.revision


@pytest.mark.parametrize("parents", [("head", "head"), ("head", None)])
async def test_entries_that_lead_nowhere_are_refused(
    store: ElfConversationStore, parents: tuple[str | None, str | None]
) -> None:
    first, second = (ConversationEntry(parent_id=parent, message=said("a")) for parent in parents)
    record = ConversationRecord(conversation_id="chat", head_id=second.id)
    with pytest.raises(ValueError, match="new_entries"):
        await store.write_record(record, new_entries=[first, second], expected_revision=None)
    with pytest.raises(ValueError, match="new_entries"):
        await store.write_record(record, new_entries=[first], expected_revision=None)


async def test_a_branch_is_left_and_come_back_to(store: ElfConversationStore) -> None:
    await saved(store, "chat", *"abc")
    entries = await store.load_entries("chat")
    assert entries is not None
    conversation = await loaded(store, "chat")
    branched = await store.branch("chat", at=1, expected_revision=conversation.revision or "")
    branched.messages.append(said("d"))
    await store.save(branched)
    assert texts((await loaded(store, "chat")).messages) == ["a", "d"]
    back = await store.branch("chat", from_entry=entries[2].id, expected_revision=branched.revision or "")
    assert texts(back.messages) == ["a", "b", "c"]


async def test_a_fork_shares_what_it_keeps_and_outlives_what_it_is_of(store: ElfConversationStore) -> None:
    await saved(store, "chat", *"abc", scope="ana")
    fork = await store.fork("chat", at=2, new_conversation_id="other")
    fork.messages.append(said("x"))
    await store.save(fork)
    assert texts((await loaded(store, "other")).messages) == ["a", "b", "x"]
    await store.delete("chat")
    assert await store.load("chat") is None
    assert texts((await loaded(store, "other")).messages) == ["a", "b", "x"]
    with pytest.raises(UserError):
        await store.fork("chat")


async def test_an_id_is_free_after_its_conversation_is_deleted(store: ElfConversationStore) -> None:
    old = await saved(store, "chat", "a")
    await store.delete("chat", scope="not this one")
    assert await store.load("chat") is not None
    await store.delete("chat")
    await saved(store, "chat", "b")
    old.messages.append(said("c"))
    with pytest.raises(ConversationConflict):
        await store.save(old)
    assert texts((await loaded(store, "chat")).messages) == ["b"]


async def test_conversations_are_listed_saved_last_first(
    store: ElfConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "PAGE", 2)
    for number in range(5):
        await saved(store, f"chat {number}", "a", scope=f"scope {number % 2}")
    ids = [one.conversation_id for one in await store.list_conversations()]
    assert ids == [f"chat {number}" for number in (4, 3, 2, 1, 0)]
    of_one = await store.list_conversations(scope="scope 0", limit=2)
    assert [one.conversation_id for one in of_one] == ["chat 4", "chat 2"]
    assert await store.list_conversations(limit=0) == []


async def test_sessions_of_other_programs_and_users_are_no_conversations(
    store: ElfConversationStore, client: AsyncClient, plain: Callable[[str], Client], user: str
) -> None:
    await client.conversations.write_session("by hand", [{"content": [{"role": "AI", "text": "Hi"}]}])
    assert await store.load("by hand") is None
    assert await store.list_conversations() == []
    (entry,) = await store.save(Conversation(conversation_id="chat", messages=[said("a")]))
    others = ElfConversationStore(plain(f"not-{user}"))
    assert await others.load("chat") is None
    with pytest.raises(LookupError):
        await others.read_entry(entry.id)
    assert texts((await loaded(ElfConversationStore(plain(user)), "chat")).messages) == ["a"]


async def test_it_does_what_the_store_of_the_package_does(store: ElfConversationStore) -> None:
    """The same random steps lead to the same histories and to the same refusals."""
    rng, stores = random.Random(11), (store, InMemoryConversationStore())
    for step in range(80):
        id, what, other = (
            rng.choice("ab"),
            rng.choice(["say", "say", "edit", "branch", "fork", "delete"]),
            rng.choice("ab"),
        )
        place = rng.randrange(4)
        results = [await done(each, what, id, other, place, f"{step}") for each in stores]
        assert results[0] == results[1], (step, what, id)


async def done(store: ConversationStore, what: str, id: str, other: str, place: int, text: str) -> Any:
    """Do a step; returns what there is then, or how it was refused."""
    try:
        conversation = await store.load(id) or Conversation(conversation_id=id)
        if what == "say":
            conversation.messages.append(said(text))
            await store.save(conversation)
        elif what == "edit":
            conversation.messages[place:] = [said(text)]
            await store.save(conversation)
        elif what == "branch":
            await store.branch(id, at=place, expected_revision=conversation.revision or "")
        elif what == "fork":
            await store.fork(id, at=place, new_conversation_id=other)
        else:
            await store.delete(id)
    except UserError as error:
        return type(error)
    found = [await store.load(one) for one in "ab"]
    return [None if one is None else texts(one.messages) for one in found]


async def test_agents_go_on_where_another_process_stopped(
    store: ElfConversationStore, plain: Callable[[str], Client], user: str
) -> None:
    asked: list[int] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(len(messages))
        return ModelResponse(parts=[TextPart(f"answer {len(asked)}")])

    agent = Agent(FunctionModel(answer))
    await store.save(await agent.run("When is the ferry?", conversation=Conversation(conversation_id="trip")))
    elsewhere = ElfConversationStore(plain(user))
    result = await agent.run("And back?", conversation=await loaded(elsewhere, "trip"))
    await elsewhere.save(result)
    kept = await loaded(store, "trip")
    assert (asked, len(kept.messages), kept.usage.requests) == ([1, 3], 4, 2)


async def test_what_was_said_is_found(store: ElfConversationStore, client: AsyncClient) -> None:
    await saved(store, "chat", "The fjords are lovely in June.")
    found = client.conversations.search("fjords", search_type="fulltext")
    assert ["fjords" in str(one.highlights) async for one in found] == [True]


async def test_the_words_of_parts_are_found_and_all_parts_are_kept(
    store: ElfConversationStore, client: AsyncClient
) -> None:
    parts: list[Any] = [
        TextContent("The fjords are lovely."),
        "In June.",
        ImageUrl("https://x.example/y.png"),
    ]
    said: list[Any] = [SystemPromptPart("Speak of the skerries."), UserPromptPart(parts)]
    await store.save(Conversation(conversation_id="parts", messages=[ModelRequest(parts=said)]))
    (kept,) = (await loaded(store, "parts")).messages
    assert [part.content for part in kept.parts] == ["Speak of the skerries.", parts]  # type: ignore[union-attr]
    for word, is_found in (("fjords", True), ("june", True), ("skerries", False)):
        found = client.conversations.search(word, search_type="fulltext")
        assert [True async for _ in found] == [True] * is_found, word
