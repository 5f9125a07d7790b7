"""The client of a family: written once, it serves plain and async code, and type checkers know what it returns."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from answering import URL, Script, failure
from hypothesis import given
from hypothesis import strategies as st
from stories import Stories

from elf.client import (
    NO_RETRIES,
    AsyncClient,
    Client,
    InternalError,
    InvalidRequest,
    NotFound,
    NotOffered,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from elf.client.event_stream import Event, EventReader
from elf.client.families import FAMILY_CLIENTS
from elf.client.family import methods_of
from elf.core.errors import ElfError

pytestmark = pytest.mark.anyio

CONTEXT = {"tenant_id": "t 1", "project_id": "p", "agent_id": "a"}
STORY = httpx.Response(201, json={"text": "one"})
REPO = Path(__file__).parents[3]


def plain(network: Script, **context: Any) -> Stories[Client]:
    return Stories(Client(URL, transport=network, retries=NO_RETRIES, **CONTEXT | context))


@asynccontextmanager
async def awaited(network: Script) -> AsyncIterator[Stories[AsyncClient]]:
    async with AsyncClient(URL, transport=network, **CONTEXT) as client:
        yield Stories(client)


def test_a_type_checker_knows_what_each_client_returns() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "tests/unit/client/stories.py"],
        capture_output=True, text=True, cwd=REPO,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


async def test_a_call_goes_out_with_the_context_from_either_client() -> None:
    first, second = Script(STORY), Script(STORY)
    assert plain(first).tell("one", times=2).text == "one"
    async with awaited(second) as stories:
        assert (await stories.tell("one", times=2)).text == "one"
    assert first.bodies == second.bodies == [{**CONTEXT, "text": "one", "times": 2}]
    assert first.requests[0].url == f"{URL}/stories"


async def test_a_listing_is_gone_through_page_by_page() -> None:
    pages = [
        {"items": [{"text": "one"}], "next_cursor": "c"},
        {"items": [{"text": "two"}], "next_cursor": None},
    ]
    network = Script(*[httpx.Response(200, json=page) for page in pages])
    assert [story.text for story in plain(network).list(limit=1)] == ["one", "two"]
    assert [request.url.query for request in network.requests] == [b"limit=1", b"limit=1&cursor=c"]
    async with awaited(Script(*[httpx.Response(200, json=page) for page in pages])) as stories:
        assert [story.text async for story in stories.list()] == ["one", "two"]


def test_a_body_may_be_a_list_and_its_faults_have_the_name_of_the_argument() -> None:
    network = Script(httpx.Response(200, json=[{"text": "one"}]))
    assert [story.text for story in plain(network).tell_all(["one"])] == ["one"]
    (request,) = network.requests
    assert (request.method, request.url.raw_path) == ("PUT", b"/elf/stories/t%201/p")
    assert network.bodies == [["one"]]
    with pytest.raises(InvalidRequest, match=r"^texts\[1\]: ") as caught:
        plain(network).tell_all(["one", {1}])  # type: ignore[list-item]
    assert caught.value.fields == ("texts[1]",)
    refusing = Script(httpx.Response(400, json={"error_code": "INVALID_REQUEST", "message": "$[0]: is long",
                                                "fields": ["$[0]"]}))  # fmt: skip
    with pytest.raises(InvalidRequest, match=r"^texts\[0\]: is long\n") as caught:
        plain(refusing).tell_all(["one"])
    assert caught.value.fields == ("texts[0]",)


@pytest.mark.parametrize("odd", ["", ".", "..", "a/../b"])
def test_what_would_lead_elsewhere_is_refused_before_it_is_sent(odd: str) -> None:
    network = Script(STORY)
    with pytest.raises(InvalidRequest, match=r"^story_id: ") as caught:
        plain(network).get(odd)
    assert (caught.value.fields, network.requests) == (("story_id",), [])
    with pytest.raises(InvalidRequest, match=r"^tenant_id: is missing$"):
        plain(network, tenant_id=None).tell_all(["one"])


def test_an_answer_without_a_body_is_none() -> None:
    network = Script(httpx.Response(204))
    assert plain(network).forget("s?") is None
    (request,) = network.requests
    assert (request.method, request.url.raw_path) == (
        "DELETE",
        b"/elf/stories/s%3F?tenant_id=t+1&project_id=p&agent_id=a",
    )
    with pytest.raises(UnexpectedAnswer, match="without a body"):
        plain(Script(httpx.Response(200, json={}))).forget("s")


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFound), (400, InvalidRequest), (503, Unavailable), (501, NotOffered)]
)
def test_errors_in_a_form_of_the_familys_own_are_those_of_their_status(
    status: int, kind: type[ElfError]
) -> None:
    network = Script(httpx.Response(status, json={"problem": "no such story"}))
    with pytest.raises(kind, match=r"^no such story\n") as caught:
        plain(network).get("s")
    assert caught.value.__notes__ == [f"request {network.requests[0].headers['X-Request-Id']}"]


class Wire(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body as it comes over the wire, which may break."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self.chunks = iter(chunks)
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if isinstance(chunk := next(self.chunks), Exception):
            raise chunk
        return chunk

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.close()


def streaming(wire: Wire, *before: httpx.Response | Exception) -> httpx.MockTransport:
    answers = [*before, httpx.Response(200, stream=wire)]

    def answer(_: httpx.Request) -> httpx.Response:
        one = answers.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    return httpx.MockTransport(answer)


EVENTS = (
    b'data: {"te',
    b'xt": "one"}\r\n\r',
    b'\n: a comment\ndata: {"text": "\xe2\x80\xa8"}\n\n',
    b'data: {"text": "cut',
)


async def test_a_stream_gives_its_events_as_they_come_and_is_closed_behind_them() -> None:
    wires = Wire(*EVENTS), Wire(*EVENTS)
    with Stories(Client(URL, transport=streaming(wires[0]))).hear() as events:
        assert [story.text for story in events] == ["one", "\u2028"]
    async with (
        AsyncClient(URL, transport=streaming(wires[1])) as client,
        Stories(client).hear() as arriving,
    ):
        assert [story.text async for story in arriving] == ["one", "\u2028"]
    assert all(wire.is_closed for wire in wires)


async def test_a_stream_that_is_left_is_closed() -> None:
    wires = Wire(*EVENTS), Wire(*EVENTS)
    with Stories(Client(URL, transport=streaming(wires[0]))).hear() as events:
        assert next(events).text == "one"
    async with (
        AsyncClient(URL, transport=streaming(wires[1])) as client,
        Stories(client).hear() as arriving,
    ):
        assert (await anext(arriving)).text == "one"
    assert all(wire.is_closed for wire in wires)


ENDS: list[tuple[tuple[bytes | Exception, ...], type[ElfError], str]] = [
    ((b'event: error\ndata: {"problem": "lost"}\n\n',), InternalError, "^lost\n"),
    ((b"data: {}\n\n",), UnexpectedAnswer, "is not understood"),
    ((httpx.ReadError("gone"),), Unreachable, "ended midway: gone"),
]


@pytest.mark.parametrize(("chunks", "kind", "message"), ENDS)
async def test_a_stream_that_fails_midway_says_so(
    chunks: tuple[bytes | Exception, ...], kind: type[ElfError], message: str
) -> None:
    first = b'data: {"text": "one"}\n\n'
    with Stories(Client(URL, transport=streaming(Wire(first, *chunks)))).hear() as events:
        assert next(events).text == "one"
        with pytest.raises(kind, match=message):
            next(events)
    async with (
        AsyncClient(URL, transport=streaming(Wire(first, *chunks))) as client,
        Stories(client).hear() as arriving,
    ):
        assert (await anext(arriving)).text == "one"
        with pytest.raises(kind, match=message):
            await anext(arriving)


async def test_a_stream_that_cannot_begin_is_tried_again_and_then_fails_as_any_call() -> None:
    away = failure(503, "UNAVAILABLE", headers={"Retry-After": "0"})
    tried = streaming(Wire(*EVENTS), httpx.ConnectError("refused"), away)
    with Stories(Client(URL, transport=tried)).hear() as events:
        assert next(events).text == "one"
    missing = httpx.Response(404, json={"problem": "nothing to hear"})
    with pytest.raises(NotFound, match="nothing to hear"), plain(Script(missing)).hear():
        raise AssertionError("it has begun")


@given(
    st.lists(st.tuples(st.sampled_from(["message", "error"]), st.text(alphabet="a\u2028\u00e9: "))), st.data()
)
def test_events_are_the_same_however_their_bytes_are_cut(
    told: list[tuple[str, str]], data: st.DataObject
) -> None:
    ending = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    lines = [
        f"event: {kind}".encode() + ending + f"data: {text}".encode() + ending * 2 for kind, text in told
    ]
    content = b"".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)))))
    chunks = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    reader = EventReader()
    # After a lone carriage return, only more of the stream shows that no line feed belongs to it.
    read = [event for chunk in [*chunks, b":\n"] for event in reader.feed(chunk)]
    assert read == [Event(kind, text.encode()) for kind, text in told]


@pytest.mark.parametrize(("client", "result"), [(Client, "Story"), (AsyncClient, "Awaitable[Story]")])
def test_help_shows_what_a_method_of_a_family_takes_and_gives(
    client: Callable[..., Any], result: str
) -> None:
    shown = Stories(client(URL)).tell
    assert (shown.__name__, shown.__doc__) == ("tell", "Tell a story.")
    assert str(inspect.signature(shown)) == f"(text: 'str', *, times: 'int' = 1) -> '{result}'"


def test_what_comes_with_elf_is_a_property_of_both_clients_by_its_name() -> None:
    for client in (Client(URL), AsyncClient(URL)):
        properties = [getattr(client, family.name, None) for family in FAMILY_CLIENTS]
        assert [type(one) for one in properties] == [*FAMILY_CLIENTS]


def test_the_methods_of_a_family_are_known_by_name_in_their_order() -> None:
    assert list(methods_of(Stories)) == ["tell", "tell_all", "get", "forget", "list", "hear"]
    call = methods_of(Stories)["tell"].build(plain(Script(STORY)), "x")
    assert json.loads(call.content)["text"] == "x"
