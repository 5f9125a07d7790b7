"""When a call gets its row in the audit log, and what becomes of it when the row cannot be written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest
from pydantic import BaseModel, ConfigDict, Field
from structlog.testing import capture_logs
from werkzeug.datastructures import Headers

from elf.api.audit import AuditEntry, AuditOutcome, DataSubject
from elf.api.caller import ANONYMOUS, Caller
from elf.api.operation import Events, Operation, Outcome, Stream
from elf.audit.sparing import NAMELESS_A_SECOND, SparingAuditLog
from elf.core.errors import DatabaseUnavailable, NotFound
from elf.web import auditing
from elf.web.app import create_app
from elf.web.readiness import Readiness
from tests.asgi_requests import http_scope, sends_nothing_until

pytestmark = pytest.mark.anyio

BOSS = {"X-User": "boss", "X-Role": "admin", "X-Request-Id": "0191a7c3-5c4e-7cc1-8f00-0123456789ab"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # Application runs on nothing else


class Rows:
    """An audit log that notes down, among what else happens, when it is written to."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.entries: list[AuditEntry] = []
        self.outcomes: list[AuditOutcome] = []
        self.failing: set[str] = set()
        self.hanging = False

    async def begin(self, entry: AuditEntry) -> None:
        await self._written("begin", entry)

    async def end(self, entry: AuditEntry, outcome: AuditOutcome, *, has_begun: bool) -> None:
        assert has_begun == ("begin" in self.happened)
        await self._written("end", entry)
        self.outcomes.append(outcome)

    async def pseudonymize(self, subject: DataSubject) -> None:
        if "pseudonymize" in self.failing:
            raise DatabaseUnavailable("Postgres is away")
        self.happened.append(f"erase {subject.name}")

    async def _written(self, what: str, entry: AuditEntry) -> None:
        if self.hanging:
            await anyio.sleep_forever()
        if what in self.failing:
            raise DatabaseUnavailable("Postgres is away")
        self.happened.append(what)
        self.entries.append(entry)


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    user_id: str = Field(max_length=12)
    tenant_id: str | None = None
    text: str = ""


class Found(BaseModel):
    """What is found."""

    items: list[str]


class Changed(BaseModel):
    """What is changed."""

    erased: dict[str, int]


READ = Operation("read", "GET", "/v1/read", "Read", Asked, Found, role="admin", is_audited=True)
CHANGE = Operation(
    "change",
    "POST",
    "/v1/change",
    "Change",
    Asked,
    Changed,
    role="admin",
    is_audited=True,
    counted=("erased",),
)
EXPORT = Stream("export", "GET", "/v1/export", "Export", Asked, Found, role="admin", is_audited=True)
ERASE = replace(
    CHANGE,
    name="erase",
    path="/v1/erase",
    erases=lambda request, _: DataSubject("acme", "user", request.user_id),
)
OPERATIONS = (READ, CHANGE, EXPORT, ERASE)


class House:
    """Serves the operations; `endless` exports never end."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.app = create_app(
            OPERATIONS,
            {
                READ.name: self.read,
                CHANGE.name: self.change,
                EXPORT.name: self.export,
                ERASE.name: self.change,
            },
            readiness=lambda: Readiness(ready=True, parts=[]),
            identify=identify,
            audit_log=rows,
        )
        self.sent = anyio.Event()

    async def read(self, request: Asked, _: Caller) -> Outcome:
        self.rows.happened.append("handle")
        if request.user_id == "nobody":
            raise NotFound("there is nobody")
        if request.user_id == "broken":
            raise KeyError(request.user_id)
        return Found(items=["a", "b"])

    async def change(self, request: Asked, caller: Caller) -> Outcome:
        await self.read(request, caller)
        return Changed(erased={"notes": 2, "facts": 3})

    async def export(self, request: Asked, caller: Caller) -> Outcome:
        await self.read(request, caller)
        return self._lines(request.user_id)

    async def _lines(self, user: str) -> Events:
        yield Found(items=[])
        if user == "breaks":
            raise KeyError(user)
        yield Found(items=[])
        if user == "endless":
            await anyio.sleep_forever()


async def identify(headers: Headers) -> Caller:
    user = headers.get("X-User")
    return Caller(user=user, client="desk", roles=frozenset(headers.getlist("X-Role"))) if user else ANONYMOUS


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def house(rows: Rows) -> House:
    return House(rows)


@pytest.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=house.app), base_url="http://elf", headers=BOSS
    ) as client:
        yield client


async def test_what_is_read_has_its_row_before_the_answer_is_sent(house: House, rows: Rows) -> None:
    def happened(message: dict[str, Any]) -> None:
        rows.happened.append(message["type"])

    await call(house, "/v1/read?user_id=ana&tenant_id=acme", happened)
    assert rows.happened == ["handle", "end", "http.response.start", "http.response.body"]
    (entry,) = rows.entries
    assert (entry.operation, entry.user, entry.client, entry.role) == ("read", "boss", "desk", "admin")
    assert (entry.tenant_id, entry.subject) == ("acme", {"user_id": "ana"})
    assert entry.request_id == UUID(BOSS["X-Request-Id"])
    assert rows.outcomes == [AuditOutcome("done", 200, 2)]


@pytest.mark.parametrize(
    ("method", "path", "items"), [("POST", "/v1/change", 5), ("GET", "/v1/export?user_id=ana", 2)]
)
async def test_what_changes_or_exports_has_its_row_before_it_begins(
    client: httpx.AsyncClient, rows: Rows, method: str, path: str, items: int
) -> None:
    body = {"user_id": "ana", "text": "a secret garden"} if method == "POST" else None
    assert (await client.request(method, path, json=body)).status_code == 200
    assert rows.happened == ["begin", "handle", "end"]
    assert rows.entries[0] == rows.entries[1]
    assert rows.outcomes == [AuditOutcome("done", 200, items)]
    assert "garden" not in str(rows.entries)


@pytest.mark.parametrize(
    ("path", "headers", "outcome"),
    [
        ("/v1/read?user_id=ana", {"X-User": ""}, AuditOutcome("UNAUTHORIZED", 401, None)),
        ("/v1/read?user_id=ana", {"X-Role": "auditor"}, AuditOutcome("FORBIDDEN", 403, None)),
        ("/v1/export?user_id=ana", {"X-Role": "auditor"}, AuditOutcome("FORBIDDEN", 403, None)),
        ("/v1/read?user_id=ana&why=so", {}, AuditOutcome("INVALID_REQUEST", 400, None)),
        ("/v1/read?user_id=ana&user_id=bob", {}, AuditOutcome("INVALID_REQUEST", 400, None)),
        ("/v1/read?user_id=nobody", {}, AuditOutcome("NOT_FOUND", 404, None)),
        ("/v1/read?user_id=broken", {}, AuditOutcome("INTERNAL_ERROR", 500, None)),
        ("/v1/export?user_id=nobody", {}, AuditOutcome("NOT_FOUND", 404, None)),
        ("/v1/export?user_id=breaks", {}, AuditOutcome("INTERNAL_ERROR", 500, 1)),
    ],
)
async def test_a_call_that_is_refused_or_fails_has_one_row_with_the_failure(
    client: httpx.AsyncClient, rows: Rows, path: str, headers: dict[str, str], outcome: AuditOutcome
) -> None:
    await client.get(path, headers=headers)
    assert rows.outcomes == [outcome]
    assert len({entry.call_id for entry in rows.entries}) == 1
    assert rows.entries[-1].subject["user_id"] in path
    assert rows.entries[-1].user == (None if headers.get("X-User") == "" else "boss")


@pytest.mark.parametrize("given", ["%00", "a" * 129, "a%0Ab", "password%3D+hunter2hunter2X!"])
async def test_what_is_no_id_is_not_recorded_as_one(
    client: httpx.AsyncClient, rows: Rows, given: str
) -> None:
    await client.get(f"/v1/read?user_id={given}", headers={"X-Role": "auditor"})
    (entry,) = rows.entries
    assert entry.subject.get("user_id", "[REDACTED:password]") == "[REDACTED:password]"


async def test_a_caller_that_is_called_like_a_key_is_not_shown(client: httpx.AsyncClient, rows: Rows) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await client.get("/v1/read?user_id=ana", headers={"X-User": key})
    assert key not in str(rows.entries)


async def test_a_stream_whose_client_leaves_has_its_outcome(house: House, rows: Rows) -> None:
    left = anyio.Event()

    def take(message: dict[str, Any]) -> None:
        if b"data" in message.get("body", b"") and rows.happened.count("line") == 0:
            rows.happened.append("line")
        elif "line" in rows.happened:
            left.set()

    await call(house, "/v1/export?user_id=endless", take, left=left)
    assert rows.outcomes == [AuditOutcome("left", None, 2)]


async def test_a_stream_whose_client_is_gone_before_it_begins_has_its_outcome(
    house: House, rows: Rows
) -> None:
    def gone(message: dict[str, Any]) -> None:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await call(house, "/v1/export?user_id=ana", gone)
    assert [one.outcome for one in rows.outcomes] == ["left"]


async def test_while_the_log_cannot_be_written_reads_are_answered_and_say_so_in_the_log(
    client: httpx.AsyncClient, rows: Rows
) -> None:
    rows.failing = {"begin", "end"}
    with capture_logs() as logs:
        assert (await client.get("/v1/read?user_id=ana")).status_code == 200
    assert [one for one in logs if one["event"] == "audit_unwritten"] == [
        {
            "event": "audit_unwritten",
            "log_level": "warning",
            "operation": "read",
            "error": "DatabaseUnavailable",
        }
    ]


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/change"), ("GET", "/v1/export?user_id=ana")])
async def test_while_the_log_cannot_be_written_nothing_is_changed_or_exported(
    client: httpx.AsyncClient, rows: Rows, method: str, path: str
) -> None:
    rows.failing = {"begin"}
    answer = await client.request(method, path, json={"user_id": "ana"} if method == "POST" else None)
    assert (answer.status_code, answer.json()["error_code"]) == (503, "UNAVAILABLE")
    assert "handle" not in rows.happened
    assert rows.outcomes == [AuditOutcome("UNAVAILABLE", 503, None)]


async def test_no_call_waits_for_long_for_a_log_that_hangs(
    client: httpx.AsyncClient, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "LONGEST_WAIT_S", 0.01)
    rows.hanging = True
    with anyio.fail_after(20):
        assert (await client.get("/v1/read?user_id=ana")).status_code == 200
        assert (await client.post("/v1/change", json={"user_id": "ana"})).status_code == 503
    assert rows.happened == ["handle"]


async def test_who_is_erased_is_erased_from_the_log_before_the_answer(
    client: httpx.AsyncClient, rows: Rows
) -> None:
    assert (await client.post("/v1/erase", json={"user_id": "ana"})).status_code == 200
    assert rows.happened == ["begin", "handle", "erase ana", "end"]
    rows.happened.clear()
    rows.failing = {"pseudonymize"}
    assert (await client.post("/v1/erase", json={"user_id": "ana"})).status_code == 503
    assert rows.outcomes[-1] == AuditOutcome("UNAVAILABLE", 503, None)


async def test_a_flood_of_calls_without_an_identity_is_not_recorded_whole(rows: Rows) -> None:
    now = [100.0]
    app = create_app(
        OPERATIONS,
        {operation.name: House(rows).read for operation in OPERATIONS},
        readiness=lambda: Readiness(ready=True, parts=[]),
        identify=identify,
        audit_log=SparingAuditLog(rows, lambda: now[0]),
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://elf") as client:
        for _ in range(NAMELESS_A_SECOND + 5):
            assert (await client.get("/v1/read?user_id=ana")).status_code == 401
        assert len(rows.outcomes) == NAMELESS_A_SECOND
        assert (await client.get("/v1/read?user_id=ana", headers=BOSS)).status_code == 200
        now[0] += 1.0
        assert (await client.get("/v1/read?user_id=ana")).status_code == 401
    assert [one.status for one in rows.outcomes[NAMELESS_A_SECOND:]] == [200, 401]


def test_what_is_counted_is_a_field_of_the_response() -> None:
    with pytest.raises(ValueError, match="no field gone"):
        replace(CHANGE, counted=("gone",))


async def call(house: House, target: str, take: Any, *, left: anyio.Event | None = None) -> None:
    """Call as a client that takes each message, and leaves when `left` says so."""

    async def send(message: dict[str, Any]) -> None:
        take(message)

    with anyio.fail_after(20):
        await house.app(http_scope(target, BOSS), sends_nothing_until(left), send)
