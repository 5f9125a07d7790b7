"""What operations may say beyond a JSON object in and one out: each is kept on the wire, and told in documents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

import anyio
import httpx
import pytest
from openapi_spec_validator import validate
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from structlog.testing import capture_logs
from werkzeug.datastructures import Headers

from elf.api.bodies import FreeJson
from elf.api.caller import ANONYMOUS, Caller
from elf.api.error_style import ErrorStyle
from elf.api.json_bounds import JsonBounds
from elf.api.operation import Events, Handler, Operation, Outcome, Stream
from elf.api.path_policy import PathPolicy
from elf.core.errors import Conflict, NotFound, NotOffered, ScopeDenied, ServiceError, Unauthorized
from elf.mcp.api import Api
from elf.web.app import create_app
from elf.web.docs import docs_page
from elf.web.failures import MASKED, MAX_BODY_BYTES
from elf.web.openapi import PUBLIC, openapi_document
from elf.web.readiness import Readiness
from tests.asgi_requests import http_scope, sends_nothing_until

pytestmark = pytest.mark.anyio

HAN = "\u4e2d\u6587"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    extra: dict[str, JsonValue] = {}
    more: JsonValue = None


class Items(BaseModel):
    model_config = ConfigDict(extra="forbid")

    shelf: str
    items: list[Item] = Field(max_length=3)


class One(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thing_id: UUID
    why: str | None = Field(default=None, max_length=10)
    content: Annotated[list[JsonValue], Field(max_length=3), FreeJson()] = []


class Reasoned(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thing_id: UUID
    why: str | None = None


class Count(BaseModel):
    """How many there are."""

    count: int


class Problem(BaseModel):
    """What went wrong."""

    code: str
    error: str


def problem(failure: ServiceError) -> BaseModel:
    return Problem(code=failure.error_code.lower(), error=failure.message)


STYLE = ErrorStyle(Problem, problem)
PUT_ITEMS = Operation(
    "put_items", "PUT", "/v1/shelves/{shelf}", "Fill a shelf", Items, Count,
    status=201, body="items", text="any", max_body_bytes=2 * MAX_BODY_BYTES,
)  # fmt: skip
RENAME = Operation("rename", "PATCH", "/v1/names/{name}", "Rename", One, Count, errors=(Conflict, NotOffered))
FORGET = Operation("forget", "DELETE", "/v1/names/{name}", "Forget", One, None, status=204, error_style=STYLE)
AUDIT = Operation("audit", "GET", "/v1/audit", "Audit", One, Count, role="auditor", errors=(ScopeDenied,))
SMALL = Operation("small", "POST", "/v1/small", "Little", One, Count, max_body_bytes=64)
WATCH = Stream("watch", "GET", "/v1/watch/{name}", "Watch", One, Count, error_style=STYLE)
HELLO = Operation("hello", "GET", "/v1/hello", "Say hello", One, Count, is_open=True)
MINE = Operation(
    "mine", "POST", "/v1/things/{thing_id}", "Keep a thing of mine", Thing, Count, needs_user=True,
    query=("why",), text="any", json_bounds=JsonBounds(values=50, depth=3, string_chars=20),
)  # fmt: skip
DISCARD = Operation(
    "discard", "DELETE", "/v1/things/{thing_id}", "Discard", Reasoned, None, status=204, takes_body=True
)
OPERATIONS = (PUT_ITEMS, RENAME, FORGET, AUDIT, SMALL, WATCH, HELLO, MINE, DISCARD)


class Service:
    """Carries out all of them, and keeps who asked for what."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Caller]] = []
        self.raises: Exception | None = None
        self.waits: anyio.Event | None = None
        self.closed = anyio.Event()

    async def count(self, request: Any, caller: Caller) -> Outcome:
        self.seen.append((request, caller))
        if self.raises is not None:
            raise self.raises
        return Count(count=len(self.seen))

    async def forget(self, request: Any, caller: Caller) -> Outcome:
        await self.count(request, caller)
        return None

    async def watch(self, request: One, caller: Caller) -> Outcome:
        if request.name == "nobody":
            raise NotFound("there is no nobody")
        return self._events()

    async def _events(self) -> Events:
        try:
            for count in range(2):
                yield Count(count=count)
            if self.waits is not None:
                self.waits.set()
                await anyio.sleep_forever()
            if self.raises is not None:
                raise self.raises
        finally:
            self.closed.set()

    def app(self) -> Any:
        handlers: dict[str, Handler] = {operation.name: self.count for operation in OPERATIONS}
        handlers |= {FORGET.name: self.forget, WATCH.name: self.watch, DISCARD.name: self.forget}
        return create_app(
            OPERATIONS,
            handlers,
            readiness=lambda: Readiness(ready=True, parts=[]),
            identify=identify,
            policies=[
                PathPolicy(prefix="/v1/things", error_style=STYLE, hides_methods=True, missing=missing)
            ],
        )


def missing(name: str, value: str) -> NotFound:
    return NotFound(f"no {name} {value}")


async def identify(headers: Headers) -> Caller:
    if "X-Liar" in headers:
        raise Unauthorized("this is nobody")
    user = headers.get("X-User")
    return Caller(user=user, roles=frozenset(headers.getlist("X-Role"))) if user else ANONYMOUS


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=service.app())
    async with httpx.AsyncClient(transport=transport, base_url="http://elf") as client:
        yield client


async def test_a_body_may_be_a_list_in_any_language_and_the_answer_say_created(
    client: httpx.AsyncClient, service: Service
) -> None:
    response = await client.put("/v1/shelves/s", json=[{"name": HAN, "extra": {HAN: HAN}}])
    assert (response.status_code, response.json()) == (201, {"count": 1})
    ((request, caller),) = service.seen
    assert request == Items(shelf="s", items=[Item(name=HAN, extra={HAN: HAN})])
    assert caller is ANONYMOUS


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ([{"name": "a"}, {"name": ""}], ["$[1].name"]),
        ([{"name": "a", "x": 1}], ["$[0].x"]),
        ([{"name": "\0"}], ["$[0].name"]),
        ({"items": []}, ["$"]),
        ({}, ["$"]),
        ([{"name": "a"}] * 4, ["$"]),
        (None, ["$"]),
    ],
)
async def test_faults_in_a_list_are_named_from_its_own_beginning(
    client: httpx.AsyncClient, service: Service, body: Any, fields: list[str]
) -> None:
    response = await client.put("/v1/shelves/s", content=json.dumps(body))
    assert (response.status_code, response.json()["fields"]) == (400, fields)
    assert response.json()["message"].startswith(f"{fields[0]}: ")
    assert service.seen == []


async def test_a_list_that_is_needed_may_not_be_left_out(client: httpx.AsyncClient) -> None:
    response = await client.put("/v1/shelves/s")
    assert (response.status_code, response.json()["error_code"]) == (400, "INVALID_REQUEST")


async def test_a_patch_reads_its_body_and_a_delete_its_path(
    client: httpx.AsyncClient, service: Service
) -> None:
    assert (await client.patch("/v1/names/a", json={})).status_code == 200
    response = await client.delete("/v1/names/b")
    assert (response.status_code, response.content) == (204, b"")
    assert [request.name for request, _ in service.seen] == ["a", "b"]
    response = await client.get("/v1/names/a")
    assert (response.status_code, response.headers["allow"]) == (405, "DELETE, PATCH")


@pytest.mark.parametrize("has_length", [True, False])
async def test_bodies_have_bounds_of_their_own(
    client: httpx.AsyncClient, service: Service, has_length: bool
) -> None:
    async def in_parts(content: bytes) -> AsyncIterator[bytes]:
        for place in range(0, len(content), 65_536):
            yield content[place : place + 65_536]

    async def send(method: str, path: str, content: bytes) -> httpx.Response:
        return await client.request(method, path, content=content if has_length else in_parts(content))

    fits = json.dumps([{"name": "x" * (MAX_BODY_BYTES + 1000)}]).encode()
    assert (await send("PUT", "/v1/shelves/s", fits)).status_code == 201
    for path, method, most in (
        ("/v1/shelves/s", "PUT", 2 * MAX_BODY_BYTES), ("/v1/names/a", "PATCH", MAX_BODY_BYTES),
        ("/v1/small", "POST", 64),
    ):  # fmt: skip
        response = await send(method, path, b" " * (most + 1))
        assert (response.status_code, response.json()["error_code"]) == (413, "PAYLOAD_TOO_LARGE")
        assert f"{most} bytes" in response.json()["message"]
    assert len(service.seen) == 1


async def test_a_call_is_for_who_has_its_role(client: httpx.AsyncClient, service: Service) -> None:
    nobody = await client.get("/v1/audit", params={"name": "a"})
    assert (nobody.status_code, nobody.json()["error_code"]) == (401, "UNAUTHORIZED")
    assert nobody.headers["www-authenticate"] == "Bearer"
    somebody = await client.get("/v1/audit?nonsense=1", headers={"X-User": "ana", "X-Role": "indexer"})
    assert (somebody.status_code, somebody.json()["error_code"]) == (403, "FORBIDDEN")
    assert service.seen == []
    auditor = await client.get("/v1/audit?name=a", headers={"X-User": "ana", "X-Role": "auditor"})
    assert auditor.status_code == 200
    assert service.seen[0][1] == Caller(user="ana", roles=frozenset({"auditor"}))


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(Conflict("is there"), 409, "CONFLICT"), (NotOffered("is off"), 501, "NOT_OFFERED")],
)
async def test_what_conflicts_and_what_is_not_offered_say_so_and_are_no_fault_of_the_service(
    client: httpx.AsyncClient, service: Service, error: ServiceError, status: int, code: str
) -> None:
    service.raises = error
    with capture_logs() as logs:
        response = await client.patch("/v1/names/a", json={})
    assert (response.status_code, response.json()["error_code"]) == (status, code)
    assert response.json()["message"] == error.message
    assert [line for line in logs if line["log_level"] == "error"] == []


async def test_errors_may_have_a_style_of_their_own_and_still_mask_bugs(
    client: httpx.AsyncClient, service: Service
) -> None:
    service.raises = NotFound("there is no b")
    response = await client.delete("/v1/names/b")
    assert (response.status_code, response.json()) == (404, {"code": "not_found", "error": "there is no b"})
    service.raises = KeyError("secret")
    response = await client.delete("/v1/names/b")
    assert (response.status_code, response.json()) == (500, {"code": "internal_error", "error": MASKED})
    response = await client.delete("/v1/names/b?x=1")
    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


async def test_a_stream_sends_each_event_and_a_failure_as_the_last(
    client: httpx.AsyncClient, service: Service
) -> None:
    events = 'data: {"count":0}\n\ndata: {"count":1}\n\n'
    response = await client.get("/v1/watch/a")
    assert (response.status_code, response.text) == (200, events)
    assert response.headers["content-type"].startswith("text/event-stream")
    response = await client.get("/v1/watch/nobody")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    service.raises = KeyError("secret")
    with capture_logs() as logs:
        response = await client.get("/v1/watch/a")
    failure = Problem(code="internal_error", error=MASKED).model_dump_json()
    assert response.text == f"{events}event: error\ndata: {failure}\n\n"
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["stream_failed"]
    response = await client.head("/v1/watch/a")
    assert (response.status_code, response.text) == (200, "")


async def test_a_stream_ends_when_its_client_goes_away(service: Service) -> None:
    service.waits = anyio.Event()
    watching = Watching(service.app(), "ana")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(watching.run)
            await service.waits.wait()
            watching.gone.set()
        await service.closed.wait()
    assert watching.text == b'data: {"count":0}\n\ndata: {"count":1}\n\n'


class Watching:
    """A client that watches, from its request until it goes away."""

    def __init__(self, app: Any, user: str) -> None:
        self._app = app
        self._user = user
        self.status = 0
        self.text = b""
        self.gone, self.begun = anyio.Event(), anyio.Event()

    async def run(self) -> None:
        scope = http_scope("/v1/watch/a", {"X-User": self._user})
        await self._app(scope, sends_nothing_until(self.gone), self._send)

    async def _send(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"")
        self.begun.set()


async def test_the_streams_of_one_user_keep_no_other_from_a_stream(service: Service) -> None:
    service.waits = anyio.Event()
    app = service.app()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def watch(user: str) -> Watching:
                watching = Watching(app, user)
                group.start_soon(watching.run)
                await watching.begun.wait()
                return watching

            watching = [await watch("ana") for _ in range(16)]
            refused = await watch("ana")
            assert refused.status == 503
            message = "a user has at most 16 event streams at a time; try again later"
            assert json.loads(refused.text)["error"] == message
            watching += [await watch("bob")]
            watching.pop(0).gone.set()
            await service.closed.wait()
            await anyio.wait_all_tasks_blocked()
            watching += [await watch("ana")]
            assert {one.status for one in watching} == {200}
            for one in watching:
                one.gone.set()


async def test_tools_call_operations_of_every_form(client: httpx.AsyncClient, service: Service) -> None:
    api = Api(client)
    assert (await api.ask(PUT_ITEMS, {"shelf": "s", "items": [{"name": "a"}]})).body == {"count": 1}
    assert (await api.ask(RENAME, {"name": "b"})).body == {"count": 2}
    assert await api.ask(FORGET, {"name": "c"}) == (True, "{}", {})
    assert (await api.ask(FORGET, {"name": f"{HAN}? "})).ok is False, "the text of a name is English"
    for name in (".", "..", "a/b", ""):
        assert (await api.ask(RENAME, {"name": name})).body["fields"] == ["$.name"]
    assert [request for request, _ in service.seen[1:]] == [One(name="b"), One(name="c")]


def test_all_of_it_stands_in_the_document_and_on_the_page() -> None:
    document = openapi_document(OPERATIONS, PUBLIC)
    validate(document)
    entries = {
        entry["operationId"]: entry for methods in document["paths"].values() for entry in methods.values()
    }
    answers = {name: set(entry["responses"]) for name, entry in entries.items()}
    assert answers["put_items"] == {"201", "400", "404", "408", "409", "413", "500", "503"}
    assert answers["rename"] == {"200", "400", "404", "408", "409", "413", "422", "500", "501", "503"}
    assert answers["audit"] == {"200", "400", "401", "403", "422", "500", "503"}
    assert "content" not in entries["forget"]["responses"]["204"]
    assert set(entries["watch"]["responses"]["200"]["content"]) == {"text/event-stream"}
    assert entries["forget"]["responses"]["404"] == {"$ref": "#/components/responses/Problem.NotFound"}
    assert entries["small"]["requestBody"]["description"] == "At most 64 bytes."
    denied = entries["audit"]["responses"]["403"]["content"]["application/json"]["schema"]
    assert len(denied["anyOf"]) == 2
    body = entries["put_items"]["requestBody"]
    assert body["required"]
    assert body["content"]["application/json"]["schema"]["type"] == "array"
    page = docs_page(document, base_url="http://elf")
    for text in ("-X PUT", "-X DELETE", "[].name", "any JSON", "Answer 200: How many there are."):
        assert text in page


def test_text_in_any_language_is_told_apart_from_english_text() -> None:
    document = openapi_document([PUT_ITEMS], PUBLIC)
    assert "EnglishText" not in json.dumps(document)
    assert document["components"]["schemas"]["Item"]["properties"]["name"]["allOf"] == [
        {"$ref": "#/components/schemas/Text"}
    ]
    assert "EnglishText" in json.dumps(openapi_document([RENAME], PUBLIC))


def test_an_operation_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="status 204"):
        Operation("x", "GET", "/x", "X", One, Count, status=204)
    with pytest.raises(ValueError, match="what was made"):
        Operation("x", "POST", "/x", "X", One, None, status=201)
    with pytest.raises(ValueError, match="no field"):
        Operation("x", "POST", "/x", "X", One, Count, body="items")
    with pytest.raises(ValueError, match="no field"):
        Operation("x", "GET", "/x", "X", One, Count, body="name")


THING = "/v1/things/00000000-0000-4000-8000-000000000000"
ANA = {"X-User": "ana"}


async def test_what_is_open_asks_nobody_who_calls(client: httpx.AsyncClient, service: Service) -> None:
    liar = {"X-Liar": "yes"}
    assert (await client.get("/v1/audit", params={"name": "a"}, headers=liar)).status_code == 401
    assert (await client.get("/v1/hello", params={"name": "a"}, headers=liar)).status_code == 200
    assert service.seen[-1][1] is ANONYMOUS


async def test_what_is_done_for_a_user_needs_one(client: httpx.AsyncClient, service: Service) -> None:
    response = await client.post(THING, json={})
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized")
    assert service.seen == []
    assert (await client.post(THING, json={}, headers=ANA)).status_code == 200


async def test_a_query_string_may_stand_beside_a_body(client: httpx.AsyncClient, service: Service) -> None:
    response = await client.post(THING, params={"why": "test"}, json={"content": [1]}, headers=ANA)
    assert response.status_code == 200
    assert (service.seen[-1][0].why, service.seen[-1][0].content) == ("test", [1])
    for params, path in (({"content": "[]"}, "$.content"), ({"why": "x" * 11}, "$.why")):
        response = await client.post(THING, params=params, json={}, headers=ANA)
        assert (response.status_code, path in response.json()["error"]) == (400, True)
    response = await client.post(THING, params={"why": "a"}, json={"why": "b"}, headers=ANA)
    assert response.status_code == 400


async def test_a_body_may_come_with_a_delete_or_be_left_out(
    client: httpx.AsyncClient, service: Service
) -> None:
    assert (await client.request("DELETE", THING, json={"why": "old"})).status_code == 204
    assert service.seen[-1][0].why == "old"
    assert (await client.request("DELETE", THING)).status_code == 204
    assert service.seen[-1][0].why is None
    assert (await client.request("DELETE", THING, json={"who": "me"})).status_code == 400


CONTENTS: list[Any] = [[], [1, "a", None], [{"b": 1, "a": [1.5, True]}], [["\u4e2d"]]]


@pytest.mark.parametrize("content", CONTENTS)
async def test_json_of_any_form_comes_as_it_was_sent(
    client: httpx.AsyncClient, service: Service, content: Any
) -> None:
    response = await client.post(THING, json={"content": content}, headers=ANA)
    assert response.status_code == 200, response.text
    assert json.dumps(service.seen[-1][0].content) == json.dumps(content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "$.content: "),
        ("text", "$.content: "),
        ([1, 2, 3, 4], "$.content: list should have at most 3 items"),
        (["x" * 21], "$.content[0]: string or key should have at most 20 characters"),
        ([{"x" * 21: 1}], "at most 20 characters"),
        ([[[[1]]]], "$.content[0][0][0]: nested deeper than 3 levels"),
        ([["a\0"]], "$.content[0][0]: NUL bytes"),
        ([[1] * 60], "holds more than 50 values"),
    ],
)
async def test_json_of_any_form_has_the_bounds_of_its_operation(
    client: httpx.AsyncClient, service: Service, content: Any, said: str
) -> None:
    response = await client.post(THING, json={"content": content}, headers=ANA)
    assert response.status_code == 400
    assert said in response.json()["error"]
    assert service.seen == []


@pytest.mark.parametrize(
    ("method", "path"), [("GET", THING), ("PUT", "/v1/things"), ("GET", "/v1/things/a/b")]
)
async def test_a_family_tells_its_own_way_what_leads_nowhere(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    response = await client.request(method, path)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert "Allow" not in response.headers
    other = await client.request("DELETE", "/v1/hello")
    assert (other.status_code, other.headers["Allow"]) == (405, "GET, HEAD")
    assert set(other.json()) == {"error_code", "message", "fields"}


async def test_what_cannot_be_a_parameter_of_a_path_is_not_there(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/things/nonsense", json={"content": 5}, headers=ANA)
    assert (response.status_code, response.json()) == (
        404, {"code": "not_found", "error": "no thing_id nonsense"},
    )  # fmt: skip


def test_documents_tell_of_what_is_open_and_of_queries_beside_bodies() -> None:
    document = openapi_document(OPERATIONS, replace(PUBLIC, asks_who=True))
    validate(document)
    assert document["paths"]["/v1/hello"]["get"]["security"] == []
    assert "401" not in document["paths"]["/v1/hello"]["get"]["responses"]
    thing = document["paths"]["/v1/things/{thing_id}"]
    places = {one["name"]: one["in"] for one in thing["post"]["parameters"]}
    assert places == {"thing_id": "path", "why": "query"}
    assert set(thing["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]) == {
        "content"
    }
    assert not thing["delete"]["requestBody"]["required"]
