"""The line that a request leaves in the log: for what was refused, failed or took long, and without what is private."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import structlog
from pydantic import BaseModel
from structlog.testing import capture_logs
from werkzeug.datastructures import Headers

from elf.api.caller import ANONYMOUS, Caller
from elf.api.operation import Operation, for_anyone
from elf.core.errors import NotFound, ServiceError, Unavailable
from elf.web import access_log
from elf.web.app import create_app
from elf.web.readiness import Readiness

pytestmark = pytest.mark.anyio

QUERY = "Where does Anna live?"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Look(BaseModel):
    note_id: UUID
    query: str = ""


class Answer(BaseModel):
    ok: bool = True


class Desk:
    """Answers as it is told."""

    raises: ServiceError | None = None

    async def look(self, _request: Look) -> Answer:
        if self.raises is not None:
            raise self.raises
        return Answer()


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def client(desk: Desk) -> AsyncIterator[httpx.AsyncClient]:
    look = Operation("look", "POST", "/v1/notes/{note_id}", "Look", Look, Answer, reads=True)
    change = Operation("change", "PATCH", "/v1/notes/{note_id}", "Change", Look, Answer)
    handlers = {name: for_anyone(desk.look) for name in ("look", "change")}
    app = create_app(
        [look, change],
        handlers,
        readiness=lambda: Readiness(ready=False, parts=[]),
        identify=identify,
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://elf") as client:
        yield client


async def logged(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> dict[str, Any]:
    with capture_logs() as lines:
        await client.request(method, path, **options)
    (line,) = [dict(line) for line in lines if line["event"] == "request"]
    return line


async def identify(headers: Headers) -> Caller:
    user = headers.get("X-User")
    return Caller(user=user, client="desk") if user else ANONYMOUS


async def test_a_request_that_changes_something_says_who_made_it(client: httpx.AsyncClient) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        await client.patch(f"/v1/notes/{uuid4()}", json={}, headers={"X-User": "anna"})
    (line,) = [line for line in lines if line["event"] == "request"]
    assert (line["log_level"], line["user"], line["client"]) == ("info", "anna", "desk")


async def test_an_ordinary_request_is_for_debugging(client: httpx.AsyncClient) -> None:
    line = await logged(client, "POST", f"/v1/notes/{uuid4()}", json={})
    assert (line["log_level"], line["status"]) == ("debug", 200)


@pytest.mark.parametrize(
    ("error", "status", "level"), [(NotFound("gone"), 404, "info"), (Unavailable("full"), 503, "warning")]
)
async def test_a_refused_request_leaves_a_line_without_ids_query_or_body(
    client: httpx.AsyncClient, desk: Desk, error: ServiceError, status: int, level: str
) -> None:
    desk.raises = error
    note_id = str(uuid4())
    line = await logged(client, "POST", f"/v1/notes/{note_id}?{QUERY}", json={"query": QUERY})
    assert line.pop("ms") >= 0.0
    assert line == {
        "event": "request", "log_level": level, "method": "POST", "route": "/v1/notes/{note_id}", "status": status,
    }  # fmt: skip


async def test_a_slow_request_leaves_a_line(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "SLOW_S", 0.0)
    line = await logged(client, "POST", f"/v1/notes/{uuid4()}", json={})
    assert (line["log_level"], line["status"]) == ("info", 200)


async def test_what_a_client_makes_up_is_not_in_the_line(client: httpx.AsyncClient) -> None:
    line = await logged(client, "ANNA", "/Anna/lives/here")
    assert (line["method"], line["route"]) == ("other", "unmatched")
    assert "Anna" not in json.dumps(line)


async def test_an_answer_of_not_ready_refuses_nothing(client: httpx.AsyncClient) -> None:
    line = await logged(client, "GET", "/ready")
    assert (line["log_level"], line["status"]) == ("debug", 503)
