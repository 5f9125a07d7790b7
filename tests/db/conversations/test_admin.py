"""What operators see and do over the wire: all conversations of their tenant, and of no other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from elf.api.operation import Handler
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.admin_service import AdminService
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.search import ConversationSearch
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.indexing.writes import CorpusWrites
from tests.db.conversations.wire_kit import ROOT, Wire, asking
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

ANY = "/v1/admin/conversations"
EVICT = "/v1/admin/evict"
SOME_ID = "3270f6ac-4dbd-4e67-911b-3e5cc23bab66"


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


async def told(ask: Wire, path: str, **more: Any) -> Any:
    answer = await ask(f"GET {path}", user="boss", role="auditor", **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def listed(ask: Wire, query: str = "", **more: Any) -> list[str]:
    """The ids of a listing, read in pages of one."""
    ids: list[str] = []
    while True:
        after = f"&after={ids[-1]}" if ids else ""
        page = await told(ask, f"{ANY}?limit=1&{query}{after}", **more)
        ids += [one["id"] for one in page["data"]]
        if page["nextCursor"] is None:
            return ids
        assert page["nextCursor"] == ids[-1]


def moment(clock: TurnedClock, **ago: float) -> str:
    return quote((clock.now() - timedelta(**ago)).isoformat())


async def test_operators_see_conversations_of_which_they_are_no_members(ask: Wire) -> None:
    id = await ask.new(title="Trip")
    entry = await ask.say(id, "Where is my bag?")
    fork = (await ask(f"POST {ROOT}/{id}/entries/{entry}/fork", {})).json()["id"]
    seen = await told(ask, f"{ANY}/{id}")
    assert seen == (await ask(f"GET {ROOT}/{id}")).json()
    assert seen["accessLevel"] == "owner"
    assert (await told(ask, f"{ANY}/{fork}?includeDeleted=false"))["forkedAtConversationId"] == id
    assert [one["userId"] for one in (await told(ask, f"{ANY}/{fork}/memberships"))["data"]] == ["ana"]
    forks = (await ask(f"GET {ROOT}/{id}/forks")).json()["data"]
    assert (await told(ask, f"{ANY}/{fork}/forks")) == {"data": forks}
    assert (await ask(f"GET {ROOT}/{id}", user="boss", role="admin")).status_code == 403


async def test_the_listing_is_by_mode_owner_and_deletion(ask: Wire, clock: TurnedClock) -> None:
    async def new(user: str) -> str:
        clock.turn(seconds=1)
        answer = await ask(f"POST {ROOT}", {}, user=user)
        return str(answer.json()["id"])

    root = await new("ana")
    entry = await ask.say(root, "Hi")
    clock.turn(seconds=1)
    fork = str((await ask(f"POST {ROOT}/{root}/entries/{entry}/fork", {})).json()["id"])
    bobs, old, young = await new("bob"), await new("ana"), await new("bob")
    for gone, user in ((old, "ana"), (young, "bob")):
        assert (await ask(f"DELETE {ROOT}/{gone}", user=user)).status_code == 204
        clock.turn(hours=1)
    assert await listed(ask) == [bobs, fork]
    assert await listed(ask, "mode=roots") == [bobs, root]
    assert await listed(ask, "mode=all") == [bobs, fork, root]
    assert await listed(ask, "includeDeleted=true") == [young, old, bobs, fork]
    assert await listed(ask, "onlyDeleted=true") == [young, old]
    assert await listed(ask, "userId=ana&mode=all") == [fork, root]
    assert await listed(ask, "userId=ana") == [fork]
    assert await listed(ask, "userId=ana&includeDeleted=true") == [old, fork]
    assert await listed(ask, "userId=bob&onlyDeleted=true") == [young]
    assert await listed(ask, "userId=carl&includeDeleted=true") == []
    for beyond in ("", "&onlyDeleted=true", "&includeDeleted=true"):
        assert await listed(ask, f"deletedAfter={moment(clock, minutes=90)}{beyond}") == [young]
        assert await listed(ask, f"deletedBefore={moment(clock, minutes=90)}{beyond}") == [old]
    assert await listed(ask, f"userId=bob&deletedBefore={moment(clock, minutes=90)}") == []
    assert await listed(
        ask, f"deletedAfter={moment(clock, hours=2)}&deletedBefore={moment(clock, hours=1)}"
    ) == [old]
    (one,) = (await told(ask, f"{ANY}?onlyDeleted=true&userId=ana"))["data"]
    assert one["deletedAt"] == (await told(ask, f"{ANY}/{old}"))["deletedAt"]
    assert "deletedAt" not in (await told(ask, ANY))["data"][0]
    assert await listed(ask, "includeDeleted=true", tenant="another") == []


async def test_all_entries_are_shown_with_whose_they_are(ask: Wire, clock: TurnedClock) -> None:
    id = await ask.new()
    first = await ask.say(id, "one")
    for items in (["a"], ["a", "b"], ["c"]):
        await ask.sync(id, *items, client="bot")
    await ask.sync(id, "x", client="other")
    clock.turn(seconds=1)
    fork = str((await ask(f"POST {ROOT}/{id}/entries/{first}/fork", {})).json()["id"])
    said = await ask.say(fork, "two")

    async def entries(query: str = "", of: str = id) -> list[Any]:
        found: list[Any] = []
        while True:
            after = f"&after={found[-1]['id']}" if found else ""
            page = await told(ask, f"{ANY}/{of}/entries?limit=2&{query}{after}")
            found += page["data"]
            if page["nextCursor"] is None:
                return found

    assert [(one.get("clientId"), one.get("epoch"), one["content"]) for one in (await entries())[1:]] == [
        ("bot", 1, ["a"]), ("bot", 1, ["b"]), ("bot", 2, ["c"]), ("other", 1, ["x"]),
    ]  # fmt: skip
    assert [one["id"] for one in await entries("channel=HISTORY")] == [first]
    assert [one["clientId"] for one in await entries("channel=memory")] == ["bot", "bot", "bot", "other"]
    assert [one["id"] for one in await entries(of=fork)] == [said]
    assert len(await entries("forks=all", of=fork)) == 6
    assert [one["id"] for one in await entries("forks=all&channel=history", of=fork)] == [first, said]
    other = await ask.say(await ask.new(), "elsewhere")
    for after in (other, str(uuid4())):
        for query in ("", "&forks=all"):
            answer = await ask(f"GET {ANY}/{id}/entries?after={after}{query}", user="boss", role="auditor")
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


async def test_what_is_deleted_can_be_restored_for_its_owner(ask: Wire) -> None:
    id = await ask.new(title="Trip")
    await ask(f"POST {ROOT}/{id}/memberships", {"userId": "bob", "accessLevel": "manager"})

    async def do(call: str, body: Any = None) -> tuple[int, str | None]:
        answer = await ask(call, body, user="boss", role="admin")
        return answer.status_code, answer.json().get("code") if answer.status_code >= 400 else None

    assert await do(f"POST {ANY}/{id}/restore") == (409, "conflict")
    for body in (None, {}, {"justification": "asked for by its owner"}):
        assert await do(f"DELETE {ANY}/{id}", body) == (204, None)
    assert (await ask(f"GET {ROOT}/{id}")).status_code == 404
    assert (await told(ask, f"{ANY}/{id}"))["deletedAt"]
    assert (await told(ask, f"{ANY}/{id}/memberships"))["data"] == []
    assert len((await told(ask, f"{ANY}/{id}/forks"))["data"]) == 1
    assert await do(f"POST {ANY}/{id}/restore", {"justification": "a mistake"}) == (200, None)
    assert "deletedAt" not in await told(ask, f"{ANY}/{id}")
    assert (await ask(f"GET {ROOT}/{id}")).json()["accessLevel"] == "owner"
    assert (await ask(f"GET {ROOT}/{id}", user="bob")).status_code == 403
    assert await do(f"POST {ANY}/{id}/restore") == (409, "conflict")


async def test_another_tenants_conversations_are_not_there(ask: Wire) -> None:
    id = await ask.new()
    await ask.say(id, "Hi")
    calls = [
        f"GET {ANY}/{id}", f"GET {ANY}/{id}/entries", f"GET {ANY}/{id}/entries?forks=all",
        f"GET {ANY}/{id}/memberships", f"GET {ANY}/{id}/forks", f"DELETE {ANY}/{id}", f"POST {ANY}/{id}/restore",
    ]  # fmt: skip
    for call in calls:
        answer = await ask(call, user="boss", role="admin", tenant="another")
        assert (answer.status_code, answer.json()["details"]) == (404, {"resource": "conversation", "id": id})
    answer = await ask(f"GET {ANY}?after={id}", user="boss", role="admin", tenant="another")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("call", "body", "field"),
    [
        (f"GET {ANY}?limit=0", None, "limit"),
        (f"GET {ANY}?limit=1001", None, "limit"),
        (f"GET {ANY}?mode=leaves", None, "mode"),
        (f"GET {ANY}?deletedAfter=yesterday", None, "deletedAfter"),
        (f"GET {ANY}?deletedBefore=1700000000", None, "deletedBefore"),
        (f"GET {ANY}?deletedBefore=2026-13-01T00:00:00Z", None, "deletedBefore"),
        (f"GET {ANY}?includeDeleted=perhaps", None, "includeDeleted"),
        (f"GET {ANY}?after=nothing", None, "after"),
        (f"GET {ANY}?epoch=1", None, "epoch"),
        (f"GET {ANY}/{SOME_ID}/entries?channel=wire", None, "channel"),
        (f"DELETE {ANY}/{SOME_ID}", {"why": "so"}, "why"),
        (f"POST {EVICT}", {}, "retentionPeriod"),
        (
            f"POST {EVICT}",
            {"retentionPeriod": "90 days", "resourceTypes": ["conversations"]},
            "retentionPeriod",
        ),
        (f"POST {EVICT}", {"retentionPeriod": "P0D", "resourceTypes": ["conversations"]}, "retentionPeriod"),
        (f"POST {EVICT}", {"retentionPeriod": "P1D", "resourceTypes": []}, "resourceTypes"),
        (f"POST {EVICT}", {"retentionPeriod": "P1D", "resourceTypes": ["notes"]}, "resourceTypes[0]"),
        (f"POST {EVICT}?async=1", {"retentionPeriod": "P1D", "resourceTypes": ["conversations"]}, "async"),
    ],
)
async def test_what_is_wrong_is_named(ask: Wire, call: str, body: Any, field: str) -> None:
    answer = await ask(call, body, user="boss", role="admin")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_error")
    assert field in [one["field"] for one in answer.json()["details"]["violations"]]


async def test_a_malformed_id_and_an_unknown_path_are_not_found_in_the_form_of_the_family(ask: Wire) -> None:
    for call in (f"GET {ANY}/nothing", f"GET {ANY}/{uuid4()}/restore", f"GET {EVICT}", f"PUT {ANY}"):
        answer = await ask(call, user="boss", role="admin")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.fixture
async def ask_why(
    handlers: Mapping[str, Handler],
    oversight: Oversight,
    search: ConversationSearch,
    subjects: ConversationSubjects,
    writes: CorpusWrites,
    database: Database,
    queries: Queries,
    clock: TurnedClock,
) -> AsyncIterator[Wire]:
    eviction = Eviction(database, queries, writes)
    service = AdminService(oversight, search, eviction, subjects, clock, asks_why=True)
    demanding = {operation.name: handle for operation, handle in service.handlers().items()}
    async with asking({**handlers, **demanding}) as wire:
        yield wire


async def test_operators_may_have_to_say_why(ask_why: Wire) -> None:
    id = await ask_why.new()
    evict = {"retentionPeriod": "P1D", "resourceTypes": ["conversations"]}
    reads = [ANY, f"{ANY}/{id}", f"{ANY}/{id}/entries", f"{ANY}/{id}/memberships", f"{ANY}/{id}/forks"]
    writes: list[tuple[str, dict[str, Any]]] = [
        (f"DELETE {ANY}/{id}", {}), (f"POST {ANY}/{id}/restore", {}), (f"POST {EVICT}", evict),
        (f"POST {ANY}/erase", {"what": "user", "name": "ana"}),
    ]  # fmt: skip
    refused = {"error": "Justification is required for admin operations", "code": "JUSTIFICATION_REQUIRED"}
    for path in reads:
        for query in ("", "?justification=", "?justification=%20"):
            answer = await ask_why(f"GET {path}{query}", user="boss", role="auditor")
            assert (answer.status_code, answer.json()) == (400, refused)
        assert await told(ask_why, f"{path}?justification=audit")
    for call, body in writes:
        for why in ({}, {"justification": None}, {"justification": " "}):
            answer = await ask_why(call, body | why, user="boss", role="admin")
            assert (answer.status_code, answer.json()) == (400, refused)
    for call, body in writes:
        answer = await ask_why(call, body | {"justification": "audit"}, user="boss", role="admin")
        assert answer.is_success, answer.text
