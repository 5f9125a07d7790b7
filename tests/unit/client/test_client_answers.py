"""Results, errors and pages, as both clients give them."""

from __future__ import annotations

import base64
import traceback
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import pytest
from answering import NOTE, NOTE_ID, URL, Script, failure, written

from elf.client import (
    NO_RETRIES,
    AsyncClient,
    Client,
    Conflict,
    ExtractedNote,
    Forbidden,
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    NotOffered,
    PayloadTooLarge,
    Quote,
    ScopeDenied,
    ServiceError,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
    local,
)
from elf.client.results import History
from elf.core import errors as core

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def client_of(network: Script, **context: str) -> Client:
    return Client(URL, transport=network, retries=NO_RETRIES, **context)  # type: ignore[arg-type]


async def test_both_clients_ask_and_read_the_same() -> None:
    network = Script(httpx.Response(200, json={**NOTE, "added_later": 1}))
    with client_of(network, tenant_id="t") as client:
        note = client.get(NOTE_ID)
    async with AsyncClient(URL, transport=network, tenant_id="t") as async_client:
        assert await async_client.get(NOTE_ID) == note
    assert {(request.method, str(request.url)) for request in network.requests} == {
        ("GET", f"{URL}/v1/memory/notes/{NOTE_ID}?tenant_id=t")
    }
    assert note.note_id == UUID(NOTE_ID)
    assert (note.expires_at, note.confidence, note.source_ref) == (None, 1.0, {"chat": 7})
    assert note.created_at == datetime(2026, 11, 21, 10, 0, 0, 500_000, tzinfo=UTC)


def test_a_client_of_another_context_shares_the_connections() -> None:
    network = Script(written("ADD"))
    with client_of(network, tenant_id="t", agent_id="a") as client:
        client.within(agent_id="b", project_id="p").add_note("x")
        client.add_note("x")
    owners = [
        {name: body.get(name) for name in ("tenant_id", "project_id", "agent_id")} for body in network.bodies
    ]
    assert owners == [
        {"tenant_id": "t", "project_id": "p", "agent_id": "b"},
        {"tenant_id": "t", "project_id": None, "agent_id": "a"},
    ]


def test_notes_and_events_go_to_the_scope_of_the_context_unless_the_call_says_otherwise() -> None:
    network = Script(written("ADD"))
    with client_of(network, scope="project_shared") as client:
        client.add_note("x")
        client.within(scope="org_shared").add_notes([{"text": "x"}])
        client.within(agent_id="b").add_note("x")
        client.add_note("x", scope="agent_private")
    with client_of(network) as client:
        client.add_note("x")
    assert [body["scope"] for body in network.bodies] == [
        "project_shared", "org_shared", "project_shared", "agent_private", "agent_private",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_user_is_the_project_of_that_name_and_never_beside_another(
    kind: type[Client | AsyncClient],
) -> None:
    client = kind(URL, user="ana", transport=Script(written("ADD")))
    assert client.calls.project_id == "ana"
    assert client.within(user="bob").calls.project_id == "bob"
    assert client.within(agent_id="b").calls.project_id == "ana"
    for both in (partial(kind, URL), client.within, local):
        with pytest.raises(TypeError, match="give user or project_id, not both"):
            both(user="ana", project_id="website")


def test_headers_go_with_every_request() -> None:
    network = Script(written("ADD"))
    with Client(URL, transport=network, headers={"X-Team": "memory"}) as client:
        client.add_note("x")
    assert network.requests[0].headers["X-Team"] == "memory"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest), (401, Unauthorized), (403, ScopeDenied), (403, Forbidden), (404, NotFound),
        (409, Conflict),
        (413, PayloadTooLarge), (422, NonEnglishInput),
        (500, InternalError), (501, NotOffered), (503, Unavailable),
    ],
)  # fmt: skip
def test_an_error_of_the_service_is_an_error_of_its_kind(status: int, kind: type[ServiceError]) -> None:
    answer = failure(status, kind.error_code, fields=["$.query"], headers={"Retry-After": "9"})
    network = Script(answer)
    with client_of(network) as client, pytest.raises(kind, match="the message") as caught:
        client.search("x")
    assert type(caught.value) is kind
    assert caught.value.fields == ("query",)
    assert caught.value.__notes__ == [f"request {network.requests[0].headers['X-Request-Id']}"]
    assert not isinstance(caught.value, Unavailable) or caught.value.retry_after_s == 9


def test_every_error_code_of_the_service_has_its_kind() -> None:
    kinds = {
        kind.error_code
        for kind in vars(core).values()
        if isinstance(kind, type) and issubclass(kind, ServiceError)
    }
    for code in kinds:
        with client_of(Script(failure(400, code))) as client, pytest.raises(ServiceError) as caught:
            client.search("x")
        assert type(caught.value) is not ServiceError


def test_an_error_of_a_newer_service_keeps_its_code() -> None:
    with (
        client_of(Script(failure(418, "TEAPOT"))) as client,
        pytest.raises(ServiceError, match="TEAPOT: the"),
    ):
        client.search("x")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"trace_id": "no uuid", "items": [], "degraded": []}),
        httpx.Response(307, headers={"Location": "http://elsewhere.test/"}),
        httpx.Response(404, text="nothing here"),
    ],
    ids=["html", "list", "other", "redirect", "404"],
)
def test_something_else_at_the_address_is_an_unexpected_answer(answer: httpx.Response) -> None:
    with (
        client_of(Script(answer)) as client,
        pytest.raises(UnexpectedAnswer, match=f"what answers at {URL} is not"),
    ):
        client.search("x")


def test_a_write_needs_one_result_for_each_note() -> None:
    with (
        client_of(Script(written("ADD"))) as client,
        pytest.raises(UnexpectedAnswer, match="1 results for 2 notes"),
    ):
        client.add_notes([{"text": "x"}, {"text": "y"}])


def test_a_proxy_without_a_service_behind_it_is_unreachable() -> None:
    proxy = Script(httpx.Response(502, text="bad gateway"))
    with client_of(proxy) as client, pytest.raises(Unreachable, match="HTTP 502"):
        client.search("x")


def test_a_service_that_is_not_ready_is_no_error() -> None:
    part = {"name": "index", "state": "backoff", "restarts": 2, "last_error": "gone"}
    with client_of(Script(httpx.Response(503, json={"ready": False, "parts": [part]}))) as client:
        readiness = client.ready()
    assert (readiness.ready, readiness.parts[0].last_error) == (False, "gone")
    with client_of(Script(failure(503, "UNAVAILABLE"))) as client, pytest.raises(Unavailable):
        client.ready()


@pytest.mark.parametrize("url", ["", "memory.test", "ftp://memory.test", "http://", "http://a:b"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(
        ValueError, match=f"^base_url: {url!r} must begin with http:// or https:// and name a host$"
    ):
        Client(url)


@pytest.mark.parametrize(
    "url", ["ann:qzxret@memory.test", "http://ann:qzxret@", "http://ann:qzx/ret@memory.test"]
)
def test_an_address_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="base_url: the address must begin with") as raised:
        Client(url)
    assert "qzx" not in "".join(traceback.format_exception(raised.value))


def test_a_password_in_the_address_goes_with_every_request_and_is_not_told() -> None:
    script = Script(httpx.ConnectError("refused"))
    client = Client("https://ann:se%3Acret@memory.test/elf/", retries=NO_RETRIES, transport=script)
    with client, pytest.raises(Unreachable) as raised:
        client.search("x")
    sent = script.requests[0]
    assert (str(sent.url), sent.headers["Host"]) == (
        "https://memory.test/elf/v1/memory/search",
        "memory.test",
    )
    assert sent.headers["Authorization"] == "Basic " + base64.b64encode(b"ann:se:cret").decode()
    assert "cret" not in client.base_url + str(raised.value)


async def test_a_closed_client_and_those_made_from_it_send_nothing() -> None:
    script = Script(written("ADD"))
    with Client(URL, transport=script) as client:
        other = client.within(project_id="p")
    async with AsyncClient(URL, transport=script) as its_twin:
        pass
    for closed in (client, other):
        with pytest.raises(RuntimeError, match="has been closed"):
            closed.add_note("x")
    with pytest.raises(RuntimeError, match="has been closed"):
        await its_twin.add_note("x")
    assert script.requests == []


def test_given_headers_go_before_those_of_the_client() -> None:
    script = Script(written("ADD"))
    with Client(URL, transport=script, headers={"User-Agent": "mine", "X-Team": "a"}) as client:
        client.add_note("x")
    sent = script.requests[0].headers
    assert (sent["User-Agent"], sent["X-Team"], sent["Accept"]) == ("mine", "a", "application/json")


def test_a_value_too_long_for_a_url_is_an_invalid_request() -> None:
    with client_of(Script(written("ADD"))) as client, pytest.raises(InvalidRequest, match="too long"):
        client.explain("x" * 100_000)


@pytest.mark.parametrize("odd", [f"{NOTE_ID}/history", f"{NOTE_ID}%2Fhistory", "..", "", "x?y#z", "a\ud800"])
def test_what_is_no_id_is_refused_before_anything_is_sent(odd: str) -> None:
    network = Script(written("ADD"))
    with client_of(network) as client:
        asks: list[tuple[Callable[[str], object], str]] = [
            (client.get, "note_id"),
            (client.history, "note_id"),
            (client.restore, "note_id"),
            (client.trace, "trace_id"),
        ]
        for ask, field in asks:
            with pytest.raises(InvalidRequest, match="should be a valid UUID") as caught:
                ask(odd)
            assert caught.value.fields == (field,)
    assert network.requests == []


def test_a_new_note_names_the_one_it_looks_like() -> None:
    body = {
        "results": [
            {"note_id": NOTE_ID, "op": "ADD", "reason_code": None, "reason": None, "similar_to": NOTE_ID}
        ]
    }
    with client_of(Script(httpx.Response(200, json=body), written("ADD"))) as client:
        assert str(client.add_note("x").similar_to) == NOTE_ID
        assert client.add_note("x").similar_to is None


EXTRACTED: dict[str, Any] = {
    "type": "fact", "key": None, "text": "Fact: Tea is green.", "importance": 1, "confidence": 0.5, "ttl_days": None,
    "scope_suggestion": None, "evidence": [{"message_index": 0, "quote": "Tea is green."}], "reason": "said",
    "mood": "calm",
}  # fmt: skip


def test_an_event_s_notes_are_read_as_notes_and_what_is_none_is_kept_as_it_came() -> None:
    raw = [EXTRACTED, {**EXTRACTED, "importance": "high"}, "tea", {**EXTRACTED, "text": "Fact: It is hot."}]
    ops = ["ADD", "REJECTED", "REJECTED", "NONE"]
    results = [{"note_id": None, "op": op, "reason_code": None, "reason": None} for op in ops]
    with client_of(Script(httpx.Response(200, json={"extracted": raw, "results": results}))) as client:
        event = client.add_event([{"role": "user", "content": "x"}])
    first, second, third, fourth = event.extracted
    assert [note.raw for note in event.extracted] == raw
    assert (first.text, first.importance, first.evidence) == (
        EXTRACTED["text"],
        1.0,
        [Quote(0, "Tea is green.")],
    )
    assert [second, third] == [ExtractedNote(raw[1]), ExtractedNote("tea")]
    assert event.stored == [first, fourth]


def test_an_event_needs_a_result_for_each_note() -> None:
    body = {"extracted": [EXTRACTED], "results": []}
    with (
        client_of(Script(httpx.Response(200, json=body))) as client,
        pytest.raises(UnexpectedAnswer, match="0 results for 1 notes"),
    ):
        client.add_event([])


@pytest.mark.parametrize(
    ("op", "stored"), [("ADD", True), ("UPDATE", True), ("NONE", True), ("REJECTED", False)]
)
def test_a_result_says_whether_memory_holds_the_note(op: str, stored: bool) -> None:
    with client_of(Script(written(op))) as client:
        assert client.add_note("x").stored is stored
    answer = {"note_id": NOTE_ID, "version_id": None, "op": op, "reason_code": None, "reason": None}
    if op != "ADD":
        with client_of(Script(httpx.Response(200, json=answer))) as client:
            assert client.update(NOTE_ID, text="x").stored is stored
            assert client.restore(NOTE_ID).stored is stored


def test_a_refusal_names_the_arguments_of_the_call_and_no_path_of_the_wire() -> None:
    fields = ["$.notes[0].text", "$.tenant_id", "$"]
    message = "$.notes[0].text: is missing; $.tenant_id: is missing; $: is odd"
    body = {"error_code": "INVALID_REQUEST", "message": message, "fields": fields}
    with client_of(Script(httpx.Response(400, json=body))) as client:
        with pytest.raises(InvalidRequest, match=r"^text: is missing; tenant_id: is missing; is odd") as one:
            client.add_note("x")
        with pytest.raises(InvalidRequest, match=r"^notes\[0\].text: is missing; ") as several:
            client.add_notes([])
    assert one.value.fields == ("text", "tenant_id")
    assert several.value.fields == ("notes[0].text", "tenant_id")


@pytest.mark.parametrize("timeout_s", [0, -1.0, float("nan"), "9", None])
def test_a_timeout_that_is_none_is_refused_by_name(timeout_s: Any) -> None:
    with pytest.raises(ValueError, match=r"^timeout_s: "):
        Client(URL, timeout_s=timeout_s)


# Pages


def test_the_first_page_of_a_history_holds_what_was_said_again() -> None:
    said = {"text": "Green tea.", "similarity": 0.93, "actor": "add_note", "ts": "2026-11-21T10:00:00Z"}
    script = Script(
        httpx.Response(
            200, json={"items": [], "repetitions": [said], "next_cursor": "c", "dropped_before": None}
        ),
        httpx.Response(200, json={"items": [], "next_cursor": None, "dropped_before": None}),
    )
    with client_of(script) as client:
        first, second = client.history(NOTE_ID).pages()
    assert isinstance(first, History)
    assert isinstance(second, History)
    assert ([one.text for one in first.repetitions], second.repetitions) == (["Green tea."], [])


def pages(*sizes: int) -> Script:
    """A service with as many pages, of these sizes."""
    last = len(sizes) - 1
    bodies: list[dict[str, Any]] = [
        {
            "items": [{**NOTE, "text": f"{number}.{item}"} for item in range(size)],
            "next_cursor": None if number == last else f"after {number}",
        }
        for number, size in enumerate(sizes)
    ]
    return Script(*(httpx.Response(200, json=body) for body in bodies))


def cursors(network: Script) -> list[str | None]:
    return [request.url.params.get("cursor") for request in network.requests]


def test_a_listing_goes_on_to_the_last_page() -> None:
    network = pages(2, 0, 1)
    with client_of(network) as client:
        assert [note.text for note in client.list()] == ["0.0", "0.1", "2.0"]
    assert cursors(network) == [None, "after 0", "after 1"]


def test_a_page_is_asked_for_when_it_is_needed() -> None:
    network = pages(2, 2)
    with client_of(network) as client:
        notes = client.list(limit=2, cursor="from here")
        assert network.requests == []
        assert next(iter(notes)).text == "0.0"
        assert cursors(network) == ["from here"]
        assert network.requests[0].url.params["limit"] == "2"


def test_pages_can_be_had_whole() -> None:
    with client_of(pages(2, 1)) as client:
        assert [(len(page.items), page.next_cursor) for page in client.list().pages()] == [
            (2, "after 0"),
            (1, None),
        ]


@pytest.fixture
async def async_client() -> AsyncIterator[tuple[AsyncClient, Script]]:
    network = pages(2, 0, 1)
    async with AsyncClient(URL, transport=network) as client:
        yield client, network


async def test_an_async_listing_goes_on_to_the_last_page(async_client: tuple[AsyncClient, Script]) -> None:
    client, network = async_client
    assert [note.text async for note in client.list()] == ["0.0", "0.1", "2.0"]
    assert cursors(network) == [None, "after 0", "after 1"]


async def test_an_async_listing_may_be_left_before_its_end(async_client: tuple[AsyncClient, Script]) -> None:
    client, network = async_client
    async for note in client.list():
        assert note.text == "0.0"
        break
    assert cursors(network) == [None]


async def test_async_pages_can_be_had_whole(async_client: tuple[AsyncClient, Script]) -> None:
    client, _ = async_client
    assert [len(page.items) async for page in client.list().pages()] == [2, 0, 1]
