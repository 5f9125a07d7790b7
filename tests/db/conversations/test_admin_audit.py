"""The log of what operators ask for: a line for each call, however it ends, and no word of what was said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from elf.api.caller import Caller
from elf.api.operation import Handler
from elf.db.errors import Retryable
from elf.families.conversations.api import admin as d
from elf.families.conversations.api.operations import OPERATIONS
from elf.families.conversations.errors import JustificationRequired
from tests.db.conversations.wire_kit import ROOT, Wire, asking

pytestmark = pytest.mark.anyio

ANY = d.ROOT
EVICT = {"retentionPeriod": "P1000D", "resourceTypes": ["conversations"]}
REQUEST_ID = str(uuid4())


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with capture_logs(processors=[merge_contextvars]) as lines:
        yield lines


def audited(lines: list[Any]) -> list[Any]:
    found = [line for line in lines if line["event"] == "admin_audit"]
    lines.clear()
    return found


async def test_each_call_is_told_with_who_what_and_why(ask: Wire, lines: list[Any]) -> None:
    id = await ask.new(title="Trip to Lisbon")
    await ask.say(id, "Lisbon is lovely")
    calls: list[tuple[str, str, Any, dict[str, Any]]] = [
        ("listConversations", f"GET {ANY}?mode=all&userId=u&justification=why", None, {"mode": "all", "userId": "u"}),
        ("getConversation", f"GET {ANY}/{id}?justification=why", None, {}),
        ("getEntries", f"GET {ANY}/{id}/entries?justification=why&limit=7", None, {"limit": 7, "forks": "none"}),
        ("getMemberships", f"GET {ANY}/{id}/memberships?justification=why", None, {}),
        ("listForks", f"GET {ANY}/{id}/forks?justification=why", None, {}),
        ("searchConversations", f"POST {ANY}/search", {"query": "Lisbon"}, {"query_chars": 6}),
        ("deleteConversation", f"DELETE {ANY}/{id}", {}, {}),
        ("restoreConversation", f"POST {ANY}/{id}/restore", {}, {}),
        ("evict", "POST /v1/admin/evict", EVICT, EVICT),
        ("evict", "POST /v1/admin/evict?async=true", EVICT, EVICT),
    ]  # fmt: skip
    lines.clear()
    for action, call, body, parameters in calls:
        body = body if body is None else body | {"justification": "why"}
        answer = await ask(
            call, body, user="boss", client="console", role="admin", more={"X-Request-Id": REQUEST_ID}
        )
        assert answer.is_success, answer.text
        (line,) = audited(lines)
        assert line.items() >= {
            "log_level": "info", "action": action, "user": "boss", "client": "console", "role": "admin",
            "target": id if id in call else None, "justification": "why", "outcome": "done", "request_id": REQUEST_ID,
            "tenant": ask.tenant,
        }.items()  # fmt: skip
        assert line["parameters"].items() >= parameters.items()
        assert "Lisbon" not in str(line)


@pytest.mark.parametrize(
    ("call", "asks", "status", "outcome"),
    [
        (f"GET {ANY}/{{id}}", {"user": None}, 401, "unauthorized"),
        (f"GET {ANY}/{{id}}", {"role": "indexer"}, 403, "forbidden"),
        (f"DELETE {ANY}/{{id}}", {"role": "auditor"}, 403, "forbidden"),
        (f"GET {ANY}/{{id}}?limit=7", {"role": "admin"}, 400, "validation_error"),
        (f"GET {ANY}/{{id}}", {"role": "admin", "tenant": "another"}, 404, "not_found"),
        (f"POST {ANY}/{{id}}/restore", {"role": "admin"}, 409, "conflict"),
        (
            f"GET {ANY}/{{id}}",
            {"role": "admin", "more": {"Origin": "https://elsewhere.example"}},
            400,
            "validation_error",
        ),
    ],
)
async def test_who_is_refused_is_told_too(
    ask: Wire, lines: list[Any], call: str, asks: dict[str, Any], status: int, outcome: str
) -> None:
    id = await ask.new()
    lines.clear()
    answer = await ask(call.format(id=id), **{"user": "boss", **asks})
    (line,) = audited(lines)
    assert (answer.status_code, line["outcome"]) == (status, outcome)
    assert line["target"] == id
    who = {401: (None, "user")}.get(status, ("boss", asks.get("role")))
    assert (line["user"], line["role"]) == ((None, None) if "more" in asks else who)


async def test_a_fault_of_the_service_is_told_and_what_is_not_understood_is_cut(
    handlers: Mapping[str, Handler], lines: list[Any]
) -> None:
    async def broken(request: Any, caller: Caller) -> Any:
        raise KeyError("secret")

    async def away(request: Any, caller: Caller) -> Any:
        raise Retryable("it was changed at this moment")

    async def unjustified(request: Any, caller: Caller) -> Any:
        raise JustificationRequired

    faults = {d.GET.name: broken, d.LIST.name: away, d.ENTRIES.name: unjustified}
    async with asking({**handlers, **faults}) as ask:
        boss: dict[str, Any] = {"user": "boss", "role": "admin"}
        await ask(f"GET {ANY}/{uuid4()}", **boss)
        assert [(one["action"], one["outcome"]) for one in audited(lines)] == [
            ("getConversation", "internal_error")
        ]
        status = (await ask(f"GET {ANY}", **boss)).status_code
        assert [(one["outcome"], status) for one in audited(lines)] == [("unavailable", 503)]
        await ask(f"GET {ANY}/{uuid4()}/entries", **boss)
        assert [one["outcome"] for one in audited(lines)] == ["JUSTIFICATION_REQUIRED"]
        await ask(f"GET {ANY}/{'x' * 500}", **boss)
        (line,) = audited(lines)
        assert (line["target"], line["outcome"]) == ("x" * 200, "not_found")


async def test_a_path_that_leads_nowhere_and_the_calls_of_users_are_no_calls_of_operators(
    ask: Wire, lines: list[Any]
) -> None:
    await ask(f"PUT {ANY}", user="boss", role="admin")
    await ask(f"GET {ROOT}", user="boss", role="admin")
    assert audited(lines) == []


def test_every_operation_of_operators_is_audited_and_needs_a_role_and_a_user() -> None:
    theirs = [one for one in OPERATIONS if one.path.startswith("/v1/admin/")]
    assert {one.name for one in theirs} == {one.name for one in OPERATIONS if one.audit is not None}
    for one in theirs:
        assert one.needs_user
        assert one.role == ("auditor" if one.method == "GET" or one.reads else "admin")
