"""Operations that somebody keeps account of, and those whose progress may be watched."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from openapi_spec_validator import validate
from pydantic import BaseModel, ConfigDict, Field
from werkzeug.datastructures import Headers

from elf.api.audit import AuditedCall
from elf.api.caller import ANONYMOUS, Caller
from elf.api.operation import Events, Operation, Outcome, Watchable
from elf.core.errors import NotFound, ServiceError
from elf.web.app import create_app
from elf.web.application import Application
from elf.web.openapi import PUBLIC, openapi_document
from elf.web.readiness import Readiness
from tests.asgi_requests import http_scope, sends_nothing_until

pytestmark = pytest.mark.anyio

BOSS = {"X-User": "boss", "X-Role": "admin"}
EVENTS = {"Accept": "text/event-stream"}


class Room(BaseModel):
    model_config = ConfigDict(extra="forbid")

    room: str = Field(max_length=12)
    why: str | None = None


class Progress(BaseModel):
    """How far it is."""

    done: int


class Rooms:
    """Reads a room, and clears one; `nowhere` is not there, `broken` breaks, `later broken` when it is half cleared,
    and `endless` takes for ever.
    """

    def __init__(self) -> None:
        self.calls: list[AuditedCall] = []
        self.begun, self.ended = anyio.Event(), anyio.Event()
        self.read = Operation(
            "read_room",
            "GET",
            "/v1/rooms/{room}",
            "Read a room",
            Room,
            Progress,
            role="admin",
            audit=self.calls.append,
        )
        self.clear = Watchable(
            "clear_room", "POST", "/v1/rooms/{room}/clear", "Clear a room", Room, None, status=204, role="admin",
            event=Progress, audit=self.calls.append,
        )  # fmt: skip

    async def on_read(self, request: Room, caller: Caller) -> Outcome:
        if request.room == "nowhere":
            raise NotFound("there is no such room")
        if request.room == "broken":
            raise KeyError(request.room)
        if request.room == "endless":
            await self._endless()
        return Progress(done=1)

    async def on_clear(self, request: Room, caller: Caller) -> Outcome:
        await self.on_read(request, caller)
        return self._clearing(request.room)

    async def _clearing(self, room: str) -> Events:
        yield Progress(done=1)
        if room == "later broken":
            raise KeyError(room)
        yield Progress(done=2)

    async def _endless(self) -> None:
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()

    def app(self) -> Application:
        return create_app(
            [self.read, self.clear],
            {self.read.name: self.on_read, self.clear.name: self.on_clear},
            readiness=lambda: Readiness(ready=True, parts=[]),
            identify=identify,
        )

    def told(self) -> AuditedCall:
        """The one call that was told since the last time."""
        (call,) = self.calls
        self.calls.clear()
        return call


async def identify(headers: Headers) -> Caller:
    user = headers.get("X-User")
    return Caller(user=user, roles=frozenset(headers.getlist("X-Role"))) if user else ANONYMOUS


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # Application runs on nothing else


@pytest.fixture
def rooms() -> Rooms:
    return Rooms()


@pytest.fixture
async def client(rooms: Rooms) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=rooms.app()), base_url="http://elf"
    ) as client:
        yield client


async def test_a_call_that_is_done_is_told_with_its_request_and_its_caller(
    client: httpx.AsyncClient, rooms: Rooms
) -> None:
    assert (await client.get("/v1/rooms/a?why=so", headers=BOSS)).status_code == 200
    call = rooms.told()
    assert call.request == Room(room="a", why="so")
    assert (call.caller, call.end) == (Caller(user="boss", roles=frozenset({"admin"})), "done")
    assert call.given == {"room": "a", "why": "so"}


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/rooms/a", {}, 401),
        ("/v1/rooms/a", {"X-User": "ana"}, 403),
        ("/v1/rooms/a?why=1&why=2", BOSS, 400),
        ("/v1/rooms/abcdefghijklm?colour=red", BOSS, 400),
        ("/v1/rooms/a", BOSS | {"Origin": "https://elsewhere.example"}, 400),
        ("/v1/rooms/nowhere", BOSS, 404),
        ("/v1/rooms/broken", BOSS, 500),
    ],
)
async def test_a_call_that_fails_is_told_with_its_failure(
    client: httpx.AsyncClient, rooms: Rooms, path: str, headers: dict[str, str], status: int
) -> None:
    assert (await client.get(path, headers=headers)).status_code == status
    call = rooms.told()
    assert isinstance(call.end, ServiceError)
    assert call.end.status == status
    assert call.given["room"] == path.split("/")[3].partition("?")[0]
    assert call.given.keys() <= {"room", "why"}
    assert (call.request is None) == (status not in (404, 500))


async def test_what_leads_nowhere_is_no_call(client: httpx.AsyncClient, rooms: Rooms) -> None:
    assert (await client.get("/v1/rooms", headers=BOSS)).status_code == 404
    assert (await client.put("/v1/rooms/a", headers=BOSS)).status_code == 405
    assert rooms.calls == []


async def test_a_call_whose_client_leaves_is_told(rooms: Rooms) -> None:
    async def send(message: dict[str, Any]) -> None:
        raise AssertionError("nobody is there to be answered")

    with anyio.fail_after(20):
        await rooms.app()(http_scope("/v1/rooms/endless", BOSS), sends_nothing_until(rooms.begun), send)
        await rooms.ended.wait()
    assert rooms.told().end == "left"


@pytest.mark.parametrize(
    ("query", "headers"), [("", {}), ("?async=false", {}), ("", {"Accept": "text/event-stream;q=0, */*"})]
)
async def test_who_does_not_watch_is_answered_when_it_is_done(
    client: httpx.AsyncClient, rooms: Rooms, query: str, headers: dict[str, str]
) -> None:
    answer = await client.post(f"/v1/rooms/a/clear{query}", json={}, headers=BOSS | headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert rooms.told().end == "done"
    answer = await client.post(f"/v1/rooms/later broken/clear{query}", json={}, headers=BOSS | headers)
    assert (answer.status_code, answer.json()["error_code"]) == (500, "INTERNAL_ERROR")
    assert isinstance(rooms.told().end, ServiceError)


@pytest.mark.parametrize(
    ("query", "headers"),
    [("?async=true", {}), ("", EVENTS), ("", {"Accept": "application/json, text/event-stream;q=0.5"})],
)
async def test_who_watches_is_told_each_step_and_the_call_ends_with_the_last(
    client: httpx.AsyncClient, rooms: Rooms, query: str, headers: dict[str, str]
) -> None:
    answer = await client.post(f"/v1/rooms/a/clear{query}", json={}, headers=BOSS | headers)
    assert (answer.status_code, answer.text) == (200, 'data: {"done":1}\n\ndata: {"done":2}\n\n')
    assert rooms.told().end == "done"
    answer = await client.post(f"/v1/rooms/later broken/clear{query}", json={}, headers=BOSS | headers)
    assert answer.text.startswith('data: {"done":1}\n\nevent: error\ndata: {"error_code":"INTERNAL_ERROR"')
    assert isinstance(rooms.told().end, ServiceError)
    answer = await client.post(f"/v1/rooms/nowhere/clear{query}", json={}, headers=BOSS | headers)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
    assert isinstance(rooms.told().end, NotFound)


@pytest.mark.parametrize("query", ["?async=1", "?async=", "?async=true&async=true", "?sync=true"])
async def test_what_is_no_way_to_watch_is_refused(
    client: httpx.AsyncClient, rooms: Rooms, query: str
) -> None:
    answer = await client.post(f"/v1/rooms/a/clear{query}", json={}, headers=BOSS)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_REQUEST")


def test_what_may_be_watched_has_a_body_and_no_answer() -> None:
    with pytest.raises(ValueError, match="no answer"):
        Watchable("x", "POST", "/x", "X", Room, Progress, event=Progress)
    with pytest.raises(ValueError, match="has a body"):
        Watchable("x", "GET", "/x", "X", Room, None, status=204, event=Progress)


def test_both_answers_stand_in_the_document(rooms: Rooms) -> None:
    document = openapi_document([rooms.read, rooms.clear], PUBLIC)
    validate(document)
    entry = document["paths"][rooms.clear.path]["post"]
    assert {"200", "204"} <= set(entry["responses"])
    assert set(entry["responses"]["200"]["content"]) == {"text/event-stream"}
    assert "content" not in entry["responses"]["204"]
    assert [one["name"] for one in entry["parameters"]] == ["room", "async"]
