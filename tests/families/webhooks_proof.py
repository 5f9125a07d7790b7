"""What webhooks bring to be proven: whose events somebody could be after, slips of the pen, and random work.

Only operators ask. The things of an owner are events that a receiver never took: it refuses everything.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from uuid import uuid4

import pytest

from tests.chaos.kills import given_up_jobs
from tests.families import assistant_callers
from tests.families.assistant_callers import USER
from tests.families.callers import GUARDED as OF_NOTES
from tests.families.fronts import Fronts, Reply
from tests.families.identities import FREE, Identity
from tests.families.leaks import BY_TENANT, Leak, Leaks
from tests.families.rows import FOREIGN, INCOMPLETE, STRANGER, Attempt, Caller, Kind, Row
from tests.system.service import RunningService, wait_for

NAME: Final = "nobody"
QUEUE: Final = f"webhook_{NAME}"
CONFIG: Final = f"""
[[webhooks]]
name = "{NAME}"
url = "http://127.0.0.1:PORT/"
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
families = ["store"]
events = ["forgotten"]
allow_private = true
attempts = 1
"""
APART: Final = ("tenant_id",)
ALL: Final = {INCOMPLETE: "an operator who names no tenant, and is bound to none, sees those of all"}

OWNER: Final = assistant_callers.OWNER
CALLERS: Final = (
    Caller("another tenant", FOREIGN, {"tenant_id": "{0} of others"}, apart=APART),
    Caller("capitals", FOREIGN, {"tenant_id": "{upper}"}, apart=APART),
    Caller("a pattern", FOREIGN, {"tenant_id": "%"}, apart=APART),
    Caller("no tenant", INCOMPLETE, {"tenant_id": None}, apart=APART),
)
GUARDED: Final = (
    *(one for one in OF_NOTES if one.always == 401),
    *(
        Caller(one.name, FOREIGN, one.changes, identity=one.identity, leaves_out=one.leaves_out, always=one.always,
               apart=APART)
        for one in OF_NOTES
        if one.identity is not None and one.identity.bound is not None and one.identity.bound[0] == "tenant_id"
    ),
    Caller("free key, no tenant", INCOMPLETE, {"tenant_id": None}, identity=FREE, apart=APART),
    Caller("key of agent", STRANGER, {}, identity=Identity("key", ("agent_id", "a2")), apart=APART),
)  # fmt: skip


class _Refuses(BaseHTTPRequestHandler):
    """Takes nothing, though it is there."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(HTTPStatus.GONE)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@cache
def _port(pid: int) -> int:
    """Where somebody listens who refuses everything, for as long as this process, of which `pid` is the id, runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def config() -> str:
    """A webhook of which each event is given up after one try."""
    return CONFIG.replace("PORT", str(_port(os.getpid())))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksWorld:
    """Two events of values that are gone, named by the `word`. `jobs` are what would tell of them, by their ids."""

    fronts: Fronts
    place: Mapping[str, str]
    word: str
    jobs: Mapping[str, str] = field(default_factory=dict)

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return () if kind in ALL else (self.word, *self.jobs.values())

    def unknown(self, kind: Kind) -> WebhooksWorld:
        return self

    def of(self, caller: Caller) -> WebhooksWorld:
        return self

    def letters(self) -> list[dict[str, Any]]:
        asked = {**self.place, "name": NAME, "limit": 200}
        reply = self.fronts.admin.ask("webhook_dead_letters", asked)
        assert reply.ok, reply.text
        return reply.body["items"]  # type: ignore[no-any-return]

    def jobs_of(self, *states: str) -> list[dict[str, Any]]:
        reply = self.fronts.admin.ask("list_jobs", {**self.place, "queue": QUEUE, "limit": 200})
        assert reply.ok, reply.text
        return [job for job in reply.body["items"] if job["state"] in states]

    def state(self) -> object:
        """What was never taken, once nothing of it is being sent again."""
        wait_for(lambda: not self.jobs_of("PENDING", "FAILED"), "events that are given up again")
        return [(job["id"], job["state"]) for job in self.jobs_of("GIVEN_UP", "DISCARDED")]


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> WebhooksWorld:
    """Have two values of a new tenant written and removed, of which nobody takes that he is told."""
    mark = uuid4().hex[:12]
    world = WebhooksWorld(fronts=fronts, place={"tenant_id": f"owner-{mark}"}, word=f"W{mark}")
    value = {**world.place, "user_id": USER, "namespace": ["owned", world.word], "key": "one"}
    for key in ("one", "two"):
        for operation, more in (("store_put", {"value": 1}), ("store_delete", {})):
            reply = fronts.public.ask(operation, {**value, "key": key, **more})
            assert reply.ok, reply.text
    wait_for(lambda: len(world.letters()) == 2 or None, "two dead letters")
    asked = {**world.place, "user_id": world.word, "receipt_id": str(uuid4())}
    assert fronts.admin.ask("read_receipt", asked).status == HTTPStatus.NOT_FOUND  # which is recorded
    return replace(world, jobs={job["id"]: job["subject_id"] for job in world.jobs_of("GIVEN_UP")})


def _tells_of_none(reply: Reply, own: WebhooksWorld | None) -> str | None:
    counts = [(one["waiting"], one["dead_letters"]) for one in reply.body["items"]]
    return None if all(count == (0, 0) for count in counts) else f"counts those of others: {reply.text}"


def _retries_none(reply: Reply, own: WebhooksWorld | None) -> str | None:
    return None if reply.body["retried"] == 0 else f"has those of others sent again: {reply.text}"


def _counts_none(reply: Reply, own: WebhooksWorld | None) -> str | None:
    counts = [one for one in reply.body["items"] if one["queue"] == QUEUE]
    others = [
        one for one in counts if any(one[state] for state in ("pending", "failed", "given_up", "discarded"))
    ]
    return f"counts those of others: {reply.text}" if others else None


def _decides_on_none(reply: Reply, own: WebhooksWorld | None) -> str | None:
    decided = reply.body.get("retried", 0) + reply.body.get("discarded", 0)
    return f"decides on those of others: {reply.text}" if decided else None


def _row(
    operation: str,
    label: str,
    /,
    *,
    check: Any = None,
    sees: bool = False,
    by_id: bool = False,
    **fields: Any,
) -> Row:
    attempt = Attempt(
        label=label,
        arguments=lambda world, own: {**fields, "ids": [*world.jobs]} if by_id else fields,
        tried_by=frozenset({FOREIGN, STRANGER}),
        forbidden=frozenset({STRANGER}),
        owner_sees=sees,
        check=check,
    )
    return Row(
        names=(operation,),
        attempts=[attempt],
        open_to=ALL,
        unbound_only="events may be anybody's of the tenant",
    )


ROWS: Final = (
    _row("list_webhooks", "counts", check=_tells_of_none),
    _row("webhook_dead_letters", "all", sees=True, name=NAME),
    _row("list_jobs", "given up", sees=True, queue=QUEUE, state="GIVEN_UP", limit=200),
    _row("count_jobs", "counts", check=_counts_none),
    _row("list_audit", "of an operation", sees=True, operation="read_receipt", limit=200),
    _row("retry_webhook", "all", check=_retries_none, name=NAME),
    _row("retry_jobs", "by id", check=_decides_on_none, by_id=True, queue=QUEUE),
    _row("discard_jobs", "by id", check=_decides_on_none, by_id=True, queue=QUEUE),
)


def _lists_all_tenants(patch: pytest.MonkeyPatch, _: WebhooksWorld) -> None:
    from elf.audit.log import AuditRows

    page = AuditRows.page

    async def loose(rows: AuditRows, wanted: Any, *rest: Any) -> Any:
        return await page(rows, wanted._replace(tenant_id=None), *rest)

    patch.setattr(AuditRows, "page", loose)


LEAKS: Final = Leaks(
    reading=[
        Leak(
            name=f"{query} of all tenants", query=query, conditions=(BY_TENANT,), operations=(operation,)
        )
        for query, operation in (
            ("list_webhooks", "list_webhooks"), ("list_events_given_up", "webhook_dead_letters"),
            ("list_jobs", "list_jobs"), ("count_jobs", "count_jobs"),
        )
    ]
    + [Leak(name="audited calls of all tenants", plant=_lists_all_tenants, operations=("list_audit",))],
    changing=[
        Leak(
            name="events of all tenants are sent again",
            query="retry_events",
            conditions=(BY_TENANT,),
            operations=("retry_webhook",),
        ),
        *(
            Leak(
                name=f"{operation} of all tenants",
                query=operation,
                conditions=(BY_TENANT,),
                operations=(operation,),
            )
            for operation in ("retry_jobs", "discard_jobs")
        ),
    ],
    behind_others={
        **dict.fromkeys(
            ["erase_events", "erase_drops"],
            "operators ask for it, and a test of erasing and exporting shows whose it is",
        ),
    },
)  # fmt: skip


def other_given_up_jobs(service: RunningService) -> dict[str, int]:
    """How many jobs of each queue are given up, but for those of the webhook of which nobody takes any."""
    given_up = given_up_jobs(service)
    given_up.pop(QUEUE, None)
    return given_up


def other_complaints(service: RunningService) -> list[str]:
    """What a service complains of, but for the webhook of which nobody takes any event: each is given up."""
    return [one for one in service.complaints() if f"webhook_outbox of {NAME}" not in one]
