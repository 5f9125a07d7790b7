"""The web front: endpoints become routes, every failure becomes the right body, every response has an id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx
import pytest
import structlog
from pydantic import BaseModel, ConfigDict
from structlog.testing import capture_logs

from elf.api.caller import ANONYMOUS, Caller
from elf.api.operation import Operation
from elf.config.access import Visitors
from elf.core.body_budget import BodyBudget
from elf.core.errors import (
    DatabaseUnavailable,
    IndexUnavailable,
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    PayloadTooLarge,
    ProviderUnavailable,
    ScopeDenied,
    ServiceError,
    Unavailable,
)
from elf.web.app import create_app
from elf.web.failures import MAX_BODY_BYTES
from elf.web.readiness import Part, Readiness
from tests.asgi_requests import http_scope

pytestmark = pytest.mark.anyio

TEXT = "Profile: Anna sleeps badly before exams."
MASKED = "the service failed; the log has the details"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Say(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str
    tenant_id: str | None = None


class Read(BaseModel):
    model_config = ConfigDict(extra="forbid")

    note_id: UUID
    limit: int = 1


class Fake:
    """The handler of all operations; `does` is what it does with a request."""

    def __init__(self) -> None:
        self.seen: list[BaseModel] = []
        self.callers: list[Caller] = []
        self.does: Callable[[], Awaitable[None]] | None = None
        self.raises: BaseException | None = None
        self.bound: dict[str, Any] = {}
        self.ready = True

    async def handle(self, request: Any, caller: Caller) -> BaseModel:
        self.seen.append(request)
        self.callers.append(caller)
        self.bound = structlog.contextvars.get_contextvars()
        if self.does is not None:
            await self.does()
        if self.raises is not None:
            raise self.raises
        return request  # type: ignore[no-any-return]

    def readiness(self) -> Readiness:
        part = Part(name="database", state="ready" if self.ready else "backoff", restarts=0, last_error=None)
        return Readiness(ready=self.ready, parts=[part])

    def app(self, *, local_only: bool = False, bodies: BodyBudget | None = None) -> Any:
        operations = [
            Operation("say", "POST", "/v1/say", "Say", Say, Say),
            Operation("read", "GET", "/v1/notes/{note_id}", "Read", Read, Read),
            Operation("quote", "POST", "/v1/quote", "Quote", Say, Say, text="any"),
        ]
        handlers = dict.fromkeys(["say", "read", "quote"], self.handle)
        visitors = Visitors(local_only=local_only)
        return create_app(operations, handlers, readiness=self.readiness, visitors=visitors, bodies=bodies)


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
async def client(fake: Fake) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=fake.app(), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://elf") as client:
        yield client


def assert_error(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    assert (response.status_code, body["error_code"]) == (status, code)
    assert set(body) == {"error_code", "message", "fields"}
    assert response.headers["content-type"] == "application/json"
    UUID(response.headers["x-request-id"])
    return body


async def test_a_post_reads_its_body_and_answers_json(client: httpx.AsyncClient, fake: Fake) -> None:
    response = await client.post("/v1/say", json={"text": "hi", "tenant_id": "acme"})
    assert (response.status_code, response.json()) == (200, {"text": "hi", "tenant_id": "acme"})
    assert response.headers["content-type"] == "application/json"
    assert fake.bound == {"tenant": "acme", "request_id": response.headers["x-request-id"]}


async def test_a_handler_is_told_who_asks(client: httpx.AsyncClient, fake: Fake) -> None:
    await client.post("/v1/say", json={"text": "hi"})
    assert fake.callers == [ANONYMOUS]


async def test_any_language_will_do_where_an_operation_says_so(client: httpx.AsyncClient, fake: Fake) -> None:
    body = {"text": "\u8336"}
    assert_error(await client.post("/v1/say", json=body), 422, "NON_ENGLISH_INPUT")
    assert (await client.post("/v1/quote", json=body)).json()["text"] == "\u8336"
    assert_error(await client.post("/v1/quote", json={"text": "\u8336\x00"}), 400, "INVALID_REQUEST")


async def test_a_get_reads_its_path_and_query_string(client: httpx.AsyncClient, fake: Fake) -> None:
    note_id = uuid4()
    response = await client.get(f"/v1/notes/{note_id}", params={"limit": "5"})
    assert response.json() == {"note_id": str(note_id), "limit": 5}


async def test_a_value_given_twice_is_refused(client: httpx.AsyncClient, fake: Fake) -> None:
    response = await client.get(f"/v1/notes/{uuid4()}?limit=1&limit=2")
    assert assert_error(response, 400, "INVALID_REQUEST")["fields"] == ["$.limit"]
    assert fake.seen == []


async def test_a_faulty_body_never_reaches_the_handler(client: httpx.AsyncClient, fake: Fake) -> None:
    body = assert_error(await client.post("/v1/say", content=b"{"), 400, "INVALID_REQUEST")
    assert body["fields"] is None
    body = assert_error(await client.post("/v1/say", json={"text": 1}), 400, "INVALID_REQUEST")
    assert body["fields"] == ["$.text"]
    body = assert_error(await client.post("/v1/say", json={"text": "\u4e2d"}), 422, "NON_ENGLISH_INPUT")
    assert body == {
        "error_code": "NON_ENGLISH_INPUT",
        "message": "CJK detected; upstream must canonicalize to English before calling ELF.",
        "fields": ["$.text"],
    }
    assert fake.seen == []


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidRequest("no", fields=["$.x"]), 400, "INVALID_REQUEST"),
        (ScopeDenied("no", fields=["$.scope"]), 403, "SCOPE_DENIED"),
        (NotFound("no"), 404, "NOT_FOUND"),
        (PayloadTooLarge("no"), 413, "PAYLOAD_TOO_LARGE"),
        (NonEnglishInput("no", fields=["$.a", "$.b"]), 422, "NON_ENGLISH_INPUT"),
        (Unavailable("no", retry_after_s=7), 503, "UNAVAILABLE"),
        (DatabaseUnavailable("no"), 503, "UNAVAILABLE"),
        (IndexUnavailable("no"), 503, "UNAVAILABLE"),
        (ProviderUnavailable("no"), 503, "UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("wrap", [False, True])
async def test_a_service_error_becomes_its_status_and_body(
    client: httpx.AsyncClient, fake: Fake, error: ServiceError, status: int, code: str, wrap: bool
) -> None:
    fake.raises = ExceptionGroup("outer", [ExceptionGroup("inner", [error])]) if wrap else error
    response = await client.post("/v1/say", json={"text": "hi"})
    body = assert_error(response, status, code)
    assert body["message"] == "no"
    assert body["fields"] == (list(error.fields) or None)
    retry_after = str(error.retry_after_s) if isinstance(error, Unavailable) else None
    assert response.headers.get("retry-after") == retry_after


def bugs() -> list[Exception]:
    return [
        ValueError(TEXT),
        InternalError(f"a contract was broken: {TEXT}"),
        ExceptionGroup("both", [NotFound("a"), ValueError(TEXT)]),
        RuntimeError("a bug"),
    ]


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: type(bug).__name__)
async def test_a_bug_is_masked_and_logged(client: httpx.AsyncClient, fake: Fake, bug: Exception) -> None:
    fake.raises = bug
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        response = await client.post("/v1/say", json={"text": TEXT})
    body = assert_error(response, 500, "INTERNAL_ERROR")
    assert body["message"] == MASKED
    assert TEXT not in response.text
    (line,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert line.pop("exc_info") is bug
    assert line["request_id"] == response.headers["x-request-id"]
    assert TEXT not in json.dumps(line)


async def test_a_failure_that_may_pass_is_no_error_in_the_log(client: httpx.AsyncClient, fake: Fake) -> None:
    fake.raises = DatabaseUnavailable("away")
    with capture_logs() as logs:
        await client.post("/v1/say", json={"text": "hi"})
    assert [entry["log_level"] for entry in logs] == ["warning"]


# Request ids


REQUESTS: list[tuple[str, str, Any, int]] = [
    ("POST", "/v1/say", {"text": "hi"}, 200),
    ("POST", "/v1/say", {"text": 5}, 400),
    ("GET", "/health", None, 200),
    ("GET", "/ready", None, 200),
    ("GET", "/nowhere", None, 404),
    ("GET", "/v1/say", None, 405),
    ("DELETE", "/v1/notes/x", None, 405),
    ("POST", "/v1/say", {"text": "x" * MAX_BODY_BYTES}, 413),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), REQUESTS)
async def test_every_response_has_a_fresh_request_id(
    client: httpx.AsyncClient, method: str, path: str, body: Any, status: int
) -> None:
    answers = [await client.request(method, path, json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [status, status]
    assert len({UUID(answer.headers["x-request-id"]) for answer in answers}) == 2


@pytest.mark.parametrize(("method", "path", "body", "status"), REQUESTS)
async def test_a_uuid_that_was_sent_is_kept(
    client: httpx.AsyncClient, method: str, path: str, body: Any, status: int
) -> None:
    sent = str(uuid4())
    response = await client.request(method, path, json=body, headers={"X-Request-Id": sent})
    assert response.headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "abc", "1; drop table", "x" * 5000])
async def test_anything_else_that_was_sent_is_replaced(client: httpx.AsyncClient, sent: str) -> None:
    response = await client.get("/health", headers={"X-Request-Id": sent})
    assert str(UUID(response.headers["x-request-id"])) != sent


# Routing and sizes


async def test_an_unknown_path_is_not_found(client: httpx.AsyncClient) -> None:
    assert_error(await client.get("/v1/nothing"), 404, "NOT_FOUND")


async def test_a_wrong_method_names_the_right_one(client: httpx.AsyncClient) -> None:
    response = await client.put("/v1/say", json={})
    assert_error(response, 405, "INVALID_REQUEST")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/health", "/ready", "/docs", "/openapi.json"])
async def test_a_page_says_by_which_methods_it_is_read(client: httpx.AsyncClient, path: str) -> None:
    response = await client.options(path)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"
    assert_error(await client.post(path), 405, "INVALID_REQUEST")


async def test_a_hidden_slash_does_not_lead_to_another_path(client: httpx.AsyncClient) -> None:
    assert_error(await client.get(f"/v1%2fnotes/{uuid4()}"), 404, "NOT_FOUND")


async def test_a_body_that_does_not_come_is_not_waited_for(fake: Fake) -> None:
    async def client_sends() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "http.request", "body": b'{"te', "more_body": True}
        await anyio.sleep_forever()

    sent: list[dict[str, Any]] = []
    with anyio.fail_after(20):
        await call(fake.app(bodies=BodyBudget(timeout_s=0.0)), client_sends(), sent)
    assert sent[0]["status"] == 408
    assert fake.seen == []


async def test_an_oversized_body_is_refused(client: httpx.AsyncClient, fake: Fake) -> None:
    body = assert_error(
        await client.post("/v1/say", content=b" " * (MAX_BODY_BYTES + 1)), 413, "PAYLOAD_TOO_LARGE"
    )
    assert str(MAX_BODY_BYTES) in body["message"]
    assert fake.seen == []


async def test_an_oversized_body_without_a_length_is_refused(client: httpx.AsyncClient, fake: Fake) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(33):
            yield b" " * (MAX_BODY_BYTES // 32)

    assert_error(await client.post("/v1/say", content=endless()), 413, "PAYLOAD_TOO_LARGE")
    assert fake.seen == []


async def test_a_body_of_exactly_the_limit_is_taken(client: httpx.AsyncClient) -> None:
    frame = len(json.dumps({"text": ""}))
    response = await client.post("/v1/say", content=json.dumps({"text": "x" * (MAX_BODY_BYTES - frame)}))
    assert response.status_code == 200


async def test_health_says_alive_and_ready_tells_the_parts(client: httpx.AsyncClient, fake: Fake) -> None:
    assert (await client.get("/health")).json() == {"status": "ok"}
    assert (await client.get("/ready")).status_code == 200
    fake.ready = False
    response = await client.get("/ready")
    assert response.status_code == 503
    assert response.json() == {
        "ready": False,
        "process": None,
        "parts": [{"name": "database", "state": "backoff", "restarts": 0, "last_error": None}],
        "warnings": [],
    }


# A client that goes away


async def call(app: Any, messages: AsyncIterator[dict[str, Any]], sent: list[dict[str, Any]]) -> None:
    """Run one POST to /v1/say with what the client sends, message by message."""

    async def receive() -> dict[str, Any]:
        return await anext(messages)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(http_scope("/v1/say", method="POST"), receive, send)


async def test_a_handler_is_cancelled_when_the_client_goes_away(fake: Fake) -> None:
    working, cancelled = anyio.Event(), anyio.Event()

    async def work_for_ever() -> None:
        working.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    async def client_sends() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "http.request", "body": b'{"text": "hi"}', "more_body": False}
        await working.wait()
        yield {"type": "http.disconnect"}

    fake.does = work_for_ever
    sent: list[dict[str, Any]] = []
    with anyio.fail_after(20):
        await call(fake.app(), client_sends(), sent)
    assert cancelled.is_set()
    assert sent == []


async def test_a_client_that_goes_away_within_its_body_never_reaches_the_handler(fake: Fake) -> None:
    async def client_sends() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "http.request", "body": b'{"te', "more_body": True}
        yield {"type": "http.disconnect"}

    with anyio.fail_after(20):
        await call(fake.app(), client_sends(), [])
    assert fake.seen == []


async def test_an_exchange_ends_with_its_answer_although_the_client_stays(fake: Fake) -> None:
    async def client_sends() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "http.request", "body": b'{"text": "hi"}', "more_body": False}
        await anyio.sleep_forever()

    sent: list[dict[str, Any]] = []
    with anyio.fail_after(20):
        await call(fake.app(), client_sends(), sent)
    assert [message["type"] for message in sent][-1] == "http.response.body"
    assert sent[-1]["more_body"] is False


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "file://", "http://["]
)
async def test_a_page_of_another_site_may_not_write(
    client: httpx.AsyncClient, fake: Fake, origin: str
) -> None:
    response = await client.post("/v1/say", json={"text": TEXT}, headers={"Origin": origin})
    assert_error(response, 400, "INVALID_REQUEST")
    assert fake.seen == []


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:5173"])
async def test_a_page_of_this_machine_may(client: httpx.AsyncClient, origin: str) -> None:
    assert (await client.post("/v1/say", json={"text": TEXT}, headers={"Origin": origin})).status_code == 200


# The description of the front


async def test_the_front_describes_itself_for_programs_and_for_people(client: httpx.AsyncClient) -> None:
    response = await client.get("/openapi.json")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert set(response.json()["paths"]) == {
        "/v1/say",
        "/v1/quote",
        "/v1/notes/{note_id}",
        "/health",
        "/ready",
    }
    page = await client.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "curl http://elf/v1/say" in page.text
    UUID(page.headers["x-request-id"])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 200),
        ("localhost", 200),
        ("[::1]:8765", 200),
        ("rebound.example:8765", 421),
        ("[", 421),
    ],
)
async def test_an_address_for_this_machine_only_refuses_foreign_hosts(
    fake: Fake, host: str, status: int
) -> None:
    transport = httpx.ASGITransport(app=fake.app(local_only=True))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for call in (
            client.get("/health", headers={"Host": host}),
            client.get("/ready", headers={"Host": host}),
        ):
            assert (await call).status_code == status
