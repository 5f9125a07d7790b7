"""HTTP/1.1 as it is sent: what is a request, where it ends, and what an answer looks like."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from structlog.testing import capture_logs

from actors.fronts import http1_request, http_connection
from actors.fronts.connections import Connections
from actors.fronts.http1 import MAX_FRAME_BYTES
from actors.fronts.http_connection import HTTP2_PREFACE
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.config.places import Address
from tests.actors.outbox_kit import PATIENCE_S

pytestmark = pytest.mark.anyio

HOST = b"Host: elf\r\n"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


class Echo:
    """An ASGI application that answers with the method, the path and the body of a request.

    /slow does so when the test lets it, /parts in parts, /broken with a line break in a header, /short with less than
    it says, and /early does not read the body.
    """

    def __init__(self) -> None:
        self.asked, self.may_answer = anyio.Event(), anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        said = f"{scope['method']} {scope['path']} ".encode()
        while scope["path"] != "/early" and (event := await receive())["type"] == "http.request":
            said += event["body"]
            if not event["more_body"]:
                break
        else:
            if scope["path"] != "/early":
                return
        self.asked.set()
        if scope["path"] == "/slow":
            await self.may_answer.wait()
        told = len(said) + (scope["path"] == "/short")
        headers = [] if scope["path"] == "/parts" else [(b"content-length", b"%d" % told)]
        if scope["path"] == "/broken":
            headers.append((b"x", b"a\r\nset-cookie: b"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": said[:3], "more_body": True})
        await send({"type": "http.response.body", "body": said[3:]})


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[Echo, SocketStream]]:
    """Give an application that is served, and a connection to it."""
    app = Echo()
    with bind(Address("127.0.0.1", 0), key="service.http_bind") as sock, anyio.fail_after(PATIENCE_S):
        front = HttpFront("http_front", app, sock, Connections("http_front", 100))
        async with anyio.create_task_group() as group:

            async def run(*, task_status: Any) -> None:
                await front.run(task_status=task_status)

            await group.start(run)
            async with await anyio.connect_tcp(*bound_address(sock)) as stream:
                yield app, stream
            group.cancel_scope.cancel()


async def said_to(*pieces: bytes) -> bytes:
    """Send pieces one after the other, and return all that comes until the other side ends the connection."""
    async with echoing() as (_, stream):
        for piece in pieces:
            await stream.send(piece)
        return await rest_of(stream)


async def rest_of(stream: SocketStream) -> bytes:
    seen = b""
    try:
        async for chunk in stream:
            seen += chunk
    except anyio.BrokenResourceError:
        pass  # what was sent behind the refused part has not been read
    return seen


async def until(stream: SocketStream, end: bytes) -> bytes:
    seen = b""
    while not seen.endswith(end):
        seen += await stream.receive()
    return seen


def post(path: bytes, *headers: bytes) -> bytes:
    return b"POST %b HTTP/1.1\r\n" % path + HOST + b"".join(b"%b\r\n" % one for one in headers) + b"\r\n"


LAST = b"GET /last HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


# What is a request, and where it ends


async def test_requests_that_are_sent_in_a_row_are_answered_in_that_order() -> None:
    async with echoing() as (app, stream):
        row = post(b"/slow", b"Content-Length: 3") + b"abc" + post(b"/second", b"Content-Length: 2") + b"de"
        await stream.send(row + LAST)
        await app.asked.wait()
        app.may_answer.set()
        seen = await rest_of(stream)
    first, second, last = (seen.index(one) for one in (b"POST /slow abc", b"POST /second de", b"GET /last "))
    assert first < second < last


async def test_a_request_may_come_byte_by_byte() -> None:
    row = post(b"/a%20b?x=1", b"Content-Length: 3") + b"abc" + LAST
    seen = await said_to(*(row[at : at + 1] for at in range(len(row))))
    assert b"POST /a b abc" in seen
    assert seen.endswith(b"GET /last ")


async def test_a_body_in_chunks_may_have_headers_behind_it_which_count_for_nothing() -> None:
    chunked = post(b"/", b"Transfer-Encoding: chunked") + b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\nHost: other\r\n\r\n"
    seen = await said_to(chunked, LAST)
    assert b"POST / abc" in seen
    assert seen.endswith(b"GET /last ")


async def test_an_offer_of_another_protocol_is_left_and_the_body_is_not() -> None:
    offer = (
        b"Upgrade: h2c",
        b"Connection: Upgrade, HTTP2-Settings",
        b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    )
    seen = await said_to(post(b"/", *offer, b"Content-Length: 3") + b"abc" + LAST)
    assert b"POST / abc" in seen
    assert seen.endswith(b"GET /last ")


async def test_many_requests_in_a_row_may_each_offer_another_protocol() -> None:
    offer = b"GET /%d HTTP/1.1\r\n" + HOST + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    seen = await said_to(b"".join(offer % number for number in range(600)) + LAST)
    assert seen.count(b"HTTP/1.1 200 ") == 601
    assert [b"GET /%d " % number in seen for number in range(600)] == [True] * 600
    assert seen.endswith(b"GET /last ")


@pytest.mark.parametrize("target", [b"http://elf/a%20b?x=1", b"HTTP://elf:80/a%20b", b"https://elf/a%20b"])
async def test_a_target_may_be_a_whole_url(target: bytes) -> None:
    seen = await said_to(b"GET %b HTTP/1.1\r\n" % target + HOST + b"\r\n", LAST)
    assert b"GET /a b " in seen


async def test_a_body_that_is_held_back_is_asked_for() -> None:
    async with echoing() as (_, stream):
        await stream.send(post(b"/", b"Expect: 100-continue", b"Content-Length: 3"))
        assert await until(stream, b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
        await stream.send(b"abc")
        assert (await until(stream, b"abc")).startswith(b"HTTP/1.1 200 ")


async def test_a_client_of_http_2_is_known_however_its_first_bytes_come() -> None:
    async with echoing() as (_, stream):
        await stream.send(HTTP2_PREFACE[:5])
        await stream.send(HTTP2_PREFACE[5:])
        seen = b""
        while len(seen) < 5:
            seen += await stream.receive()
    assert seen[3:5] == b"\x04\x00"  # the settings of its server


async def test_a_large_body_arrives_whole() -> None:
    large = b"x" * 3_000_000
    seen = await said_to(post(b"/", b"Content-Length: %d" % len(large)) + large, LAST)
    assert b"POST / " + large in seen


# What is refused


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
        post(b"/", b"Content-Length: 5", b"Content-Length: 6") + b"abcdef",
        post(b"/", b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
        post(b"/", b"Transfer-Encoding: gzip") + b"abc",
        post(b"/", b"Transfer-Encoding: chunked") + b"x\r\n",
        b"CONNECT elf:80 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://[ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://[::1/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://elf:65536/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http:/// HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET ftp://elf/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET elf HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /\xc3\xa9?x HTTP/1.1\r\n" + HOST + b"\r\n",
        post(b"/", b"Content-Length: " + b"9" * 5000) + b"abc",
        post(b"/", b"Content-Length: " + b"0" * 5000 + b"3") + b"abc",
        post(b"/", b"Content-Length: -1") + b"abc",
        post(b"/", b"Content-Length: +3") + b"abc",
        post(b"/", b"Transfer-Encoding: chunked") + b"f" * 5000 + b"\r\nabc",
        post(b"/", b"Upgrade: h2c", b"Connection: Upgrade", b"Content-Length: " + b"0" * 5000 + b"3")
        + b"abc",
    ],
)
async def test_what_is_no_request_is_refused_and_ends_the_connection(sent: bytes) -> None:
    seen = await said_to(sent)
    assert seen.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close\r\n" in seen


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET / HTTP/1.1\r\n" + HOST + b"X: ",
        b"GET /",
        post(b"/", b"Transfer-Encoding: chunked") + b"1;",
        post(b"/", b"Transfer-Encoding: chunked") + b"0\r\nX: ",
    ],
    ids=["header", "path", "chunk", "trailer"],
)
async def test_what_frames_a_request_has_an_end(beginning: bytes) -> None:
    seen = await said_to(beginning, b"x" * (3 * MAX_FRAME_BYTES))
    assert seen.startswith(b"HTTP/1.1 431 ")


async def test_many_headers_are_refused_as_one_long_one_is() -> None:
    seen = await said_to(b"GET / HTTP/1.1\r\n" + HOST + b"X: yyyyyyyyyy\r\n" * 10_000 + b"\r\n")
    assert seen.startswith(b"HTTP/1.1 431 ")


async def test_what_is_wrong_behind_a_request_does_not_cost_its_answer() -> None:
    async with echoing() as (app, stream):
        await stream.send(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
        await app.asked.wait()
        await stream.send(b"nonsense\r\n\r\n")
        app.may_answer.set()
        seen = await rest_of(stream)
    assert seen.startswith(b"HTTP/1.1 200 ")
    assert seen.index(b"GET /slow ") < seen.index(b"HTTP/1.1 400 ")


# A response that comes before the body


@pytest.mark.parametrize("framing", [b"Content-Length: 67108864", b"Transfer-Encoding: chunked"])
async def test_a_client_that_reads_when_it_has_sent_all_finds_the_response(
    monkeypatch: pytest.MonkeyPatch, framing: bytes
) -> None:
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 0.0)
    async with echoing() as (_, stream):
        await stream.send(post(b"/early", framing))
        piece = b"x" * 1_048_576
        for _ in range(64):
            await stream.send(piece if framing.endswith(b"4") else b"%x\r\n%b\r\n" % (len(piece), piece))
        if not framing.endswith(b"4"):
            await stream.send(b"0\r\n\r\n")
        seen = await rest_of(stream)
    assert seen.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close\r\n" in seen
    assert seen.endswith(b"POST /early ")


@pytest.mark.parametrize(
    "beginning", [b"GET /", b"GET / HTTP/1.1\r\n\r\n"], ids=["endless", "without a host"]
)
async def test_a_client_that_reads_when_it_has_sent_all_finds_why_it_was_refused(beginning: bytes) -> None:
    async with echoing() as (_, stream):
        await stream.send(beginning)
        for _ in range(64):
            await stream.send(b"x" * 1_048_576)
        seen = await rest_of(stream)
    assert seen.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))


async def test_a_client_that_never_stops_sending_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 0.0)
    monkeypatch.setattr(http_connection, "LINGER_S", 0.05)
    async with echoing() as (_, stream):
        await stream.send(post(b"/early", b"Transfer-Encoding: chunked"))
        with pytest.raises(anyio.BrokenResourceError):
            await send_for_ever(stream, b"1\r\nx\r\n" * 10_000)


async def send_for_ever(stream: SocketStream, piece: bytes) -> None:
    while True:
        await stream.send(piece)


async def test_a_response_waits_for_a_body_that_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 60.0)
    async with echoing() as (app, stream):
        await stream.send(post(b"/early", b"Content-Length: 200000") + b"x")
        await app.asked.wait()
        await stream.send(b"x" * 199_999)
        seen = await until(stream, b"POST /early ")
        assert b"connection: close" not in seen
        await stream.send(LAST)
        assert (await rest_of(stream)).endswith(b"GET /last ")


async def test_a_response_says_that_the_connection_ends_when_the_body_does_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 0.0)
    seen = await said_to(post(b"/early", b"Content-Length: 2") + b"x")
    assert b"connection: close\r\n" in seen


async def test_a_body_that_is_held_back_and_not_wanted_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http1_request, "BODY_GRACE_S", 3600.0)
    seen = await said_to(post(b"/early", b"Expect: 100-continue", b"Content-Length: 2"))
    assert seen.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close\r\n" in seen


# What an answer looks like


async def test_an_answer_of_unknown_length_comes_in_chunks() -> None:
    async with echoing() as (_, stream):
        await stream.send(b"GET /parts HTTP/1.1\r\n" + HOST + b"\r\n")
        head, _, body = (await until(stream, b"0\r\n\r\n")).partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    assert body == b"3\r\nGET\r\n8\r\n /parts \r\n0\r\n\r\n"


async def test_an_older_client_gets_an_answer_that_ends_with_the_connection() -> None:
    seen = await said_to(b"GET /parts HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert b"transfer-encoding" not in seen
    assert b"connection: close\r\n" in seen
    assert seen.endswith(b"\r\n\r\nGET /parts ")


async def test_an_answer_to_head_has_no_body() -> None:
    seen = await said_to(b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n", LAST)
    assert b"content-length: 7\r\n" in seen
    assert seen.count(b"HTTP/1.1 200 ") == 2
    assert b"HEAD / " not in seen


async def test_a_line_break_never_leaves_in_a_header() -> None:
    with capture_logs() as logs:
        seen = await said_to(b"GET /broken HTTP/1.1\r\n" + HOST + b"\r\n")
    assert seen.startswith(b"HTTP/1.1 500 ")
    assert b"set-cookie" not in seen
    assert [(line["event"], line["error"]) for line in logs] == [("request_failed", "ValueError")]


async def test_an_answer_that_is_not_as_long_as_it_says_ends_the_connection() -> None:
    seen = await said_to(b"GET /short HTTP/1.1\r\n" + HOST + b"\r\n")
    assert seen.endswith(b"\r\n\r\nGET /short ")
