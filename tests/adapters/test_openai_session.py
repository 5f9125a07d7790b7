"""A session of the OpenAI Agents SDK over the real service: it holds what its runner and its own sessions count on."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Session,
    SQLiteSession,
    Usage,
    function_tool,
)
from agents.memory import SessionSettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from elf.client import AsyncClient, Client, Forbidden
from elf.openai_agents import ElfSession
from elf.openai_agents import session as session_module

pytestmark = pytest.mark.anyio

QUIET = RunConfig(tracing_disabled=True)
ITEMS: Sequence[Any] = (
    {"role": "user", "content": "Where is the ferry?"},
    {"content": [{"type": "input_text", "text": "\u4e2d\u6587 \u00e9", "n": 1.0}], "role": "user"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"a\": [1, 2.50]}"},
    {"type": "function_call_output", "call_id": "c1", "output": "at six"},
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": None},
    {"id": "m1", "type": "message", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "At six.", "annotations": [], "logprobs": [0.5, -1e-9, 10**15]}]},
    {"role": "developer", "content": ""},
    {"role": "user", "content": "   "},
)  # fmt: skip


class Scripted(Model):
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self, *outputs: Any) -> None:
        self._outputs = list(outputs)
        self.asked: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        self.asked.append(input if isinstance(input, str) else list(input))
        return ModelResponse(output=[self._outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def saying(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id=f"m-{text}", type="message", role="assistant", status="completed", content=[part]
    )


def numbered(start: int, end: int) -> list[Any]:
    return [{"role": "user", "content": f"{number}"} for number in range(start, end)]


@pytest.fixture
def session(client: AsyncClient) -> ElfSession:
    return ElfSession("trip to Bergen / June", client)


async def test_it_is_a_session(session: ElfSession) -> None:
    assert isinstance(session, Session)


async def test_items_are_kept_exactly(session: ElfSession) -> None:
    await session.add_items([*ITEMS])
    assert json.dumps(await session.get_items()) == json.dumps(ITEMS)


ODD: Sequence[Any] = (
    {"role": "user", "content": "half \ud83d"},
    {"role": "user", "content": "NUL \x00 and \\u0000 and \\"},
    {"type": "function_call_output", "call_id": "c1", "output": "a \ud83d\ude00 cut \ude00\x00"},
    {"role": "user", "content": [{"type": "input_text", "text": "\x00", "k\x00\\": ["\ud83d", 1, None]}]},
    {"role": "user", "content": "as it is: \\ud83d \u200b"},
)  # fmt: skip


async def test_text_that_no_database_holds_is_kept_as_the_sessions_of_the_sdk_keep_it(
    session: ElfSession, client: AsyncClient
) -> None:
    theirs = SQLiteSession("same")
    for items in ([ITEMS[0], *ODD], [ITEMS[5]], [ODD[1]]):
        await session.add_items([*items])
        await theirs.add_items([*items])
    assert await session.get_items() == await theirs.get_items()
    assert await session.pop_item() == await theirs.pop_item() == ODD[1]
    assert await session.get_items(5) == await theirs.get_items(5)
    theirs.close()
    found = client.conversations.search("half", search_type="fulltext")
    assert ["half" in str(one.highlights) async for one in found] == [True]


async def test_a_session_that_is_not_there_is_empty(session: ElfSession, client: AsyncClient) -> None:
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items([])
    assert [one async for one in client.conversations.sessions()] == []


async def test_a_limit_gives_the_newest_oldest_first(client: AsyncClient) -> None:
    session = ElfSession("chat", client, session_settings={"limit": 2})
    await session.add_items(numbered(0, 5))
    assert await session.get_items() == numbered(3, 5)
    assert await session.get_items(0) == []
    assert await session.get_items(3) == numbered(2, 5)
    assert await session.get_items(100) == numbered(0, 5)
    assert session.session_settings == SessionSettings(limit=2)


async def test_more_items_than_a_page_come_whole(
    session: ElfSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "PAGE", 3)
    monkeypatch.setattr(session_module, "AT_ONCE", 4)
    await session.add_items(numbered(0, 10))
    assert await session.get_items() == numbered(0, 10)
    assert await session.get_items(7) == numbered(3, 10)


async def test_two_pops_at_once_give_two_items(session: ElfSession) -> None:
    await session.add_items(numbered(0, 6))
    popped = await asyncio.gather(*(session.pop_item() for _ in range(8)))
    assert sorted(json.dumps(one) for one in popped if one) == sorted(map(json.dumps, numbered(0, 6)))
    assert await session.get_items() == []


async def test_reading_while_another_takes_items_off_gives_what_was_there_at_some_moment(
    session: ElfSession, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "PAGE", 2)
    await session.add_items(numbered(0, 6))
    other = ElfSession(session.session_id, client)

    read = session._conversations.session
    pages = 0

    async def disturbed(*args: Any, **kwargs: Any) -> Any:
        nonlocal pages
        pages += 1
        if pages == 2:
            await other.clear_session()
            await other.add_items(numbered(7, 9))
        return await read(*args, **kwargs)

    monkeypatch.setattr(type(session._conversations), "session", property(lambda _: disturbed))
    assert await session.get_items() == numbered(7, 9)


async def test_it_does_what_the_sessions_of_the_sdk_do(session: ElfSession) -> None:
    rng = random.Random(7)
    theirs = SQLiteSession("same")
    for step in range(60):
        what = rng.choice(
            ["add", "add", "pop", "read", "clear"] if rng.random() < 0.3 else ["add", "pop", "read"]
        )
        if what == "add":
            items = [rng.choice(ITEMS) | {"step": step} for _ in range(rng.randrange(4))]
            await session.add_items(items)
            await theirs.add_items(items)
        elif what == "pop":
            assert await session.pop_item() == await theirs.pop_item()
        elif what == "read":
            limit = rng.choice([None, 0, 1, 3, 50])
            assert await session.get_items(limit) == await theirs.get_items(limit)
        else:
            await session.clear_session()
            await theirs.clear_session()
    assert await session.get_items() == await theirs.get_items()
    theirs.close()


async def test_sessions_of_other_names_and_users_are_others(
    session: ElfSession, client: AsyncClient, plain: Callable[[str], Client], user: str
) -> None:
    await session.add_items(numbered(0, 1))
    assert await ElfSession("other", client).get_items() == []
    assert await ElfSession(session.session_id, plain(f"not-{user}")).get_items() == []
    assert await ElfSession(session.session_id, plain(user)).get_items() == numbered(0, 1)


async def test_a_refused_write_is_told(user: str, session: ElfSession, client: AsyncClient) -> None:
    async with AsyncClient(str(client.base_url), token=user) as nobody:
        with pytest.raises(Forbidden, match="client"):
            await ElfSession("chat", nobody).add_items(numbered(0, 1))


async def test_a_runner_goes_on_where_another_stopped(
    client: AsyncClient, plain: Callable[[str], Client], user: str
) -> None:
    @function_tool
    def departure(place: str) -> str:
        return f"The ferry leaves {place} at six."

    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="departure", arguments='{"place": "Flam"}', id="f1"
    )
    first = Scripted(call, saying("At six."))
    agent = Agent(name="guide", model=first, tools=[departure])
    done = await Runner.run(agent, "When is the ferry?", session=ElfSession("trip", client), run_config=QUIET)
    assert done.final_output == "At six."
    second = Scripted(saying("From Flam."))
    agent = Agent(name="guide", model=second)
    await Runner.run(agent, "And where from?", session=ElfSession("trip", plain(user)), run_config=QUIET)
    kinds = [one.get("type", one.get("role")) for one in second.asked[0]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
    assert len(await ElfSession("trip", client).get_items()) == 6


async def test_what_was_said_is_found(session: ElfSession, client: AsyncClient) -> None:
    await session.add_items([{"role": "user", "content": "The fjords are lovely in June."}])
    found = client.conversations.search("fjords", search_type="fulltext")
    assert ["fjords" in str(one.highlights) async for one in found] == [True]


async def test_what_was_popped_stays_in_its_conversation(session: ElfSession, client: AsyncClient) -> None:
    await session.add_items(numbered(0, 2))
    await session.pop_item()
    kept = await client.conversations.session(session.session_id)
    whole = client.conversations.entries(kept.conversation_id)
    assert [one.content[0]["text"] async for one in whole] == ["0", "1"]  # type: ignore[index, call-overload]


async def test_of_messages_of_the_chat_api_the_words_are_found_and_all_is_kept(
    session: ElfSession, client: AsyncClient
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    items: list[Any] = [
        {"role": "system", "content": "Speak of the skerries."},
        {"role": "developer", "content": [{"type": "input_text", "text": "Speak of the lagoons."}]},
        {
            "role": "user",
            "name": "ana",
            "content": [{"type": "input_text", "text": "See the fjords."}, image],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Spoken of estuaries."},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No.", "text": "deltas"}]},
    ]
    await session.add_items(items)
    assert await session.get_items() == items
    for word, is_found in (
        ("fjords", True), ("skerries", False), ("lagoons", False), ("estuaries", False), ("deltas", False),
    ):  # fmt: skip
        found = client.conversations.search(word, search_type="fulltext")
        assert [word in str(one.highlights) async for one in found] == [True] * is_found, word
