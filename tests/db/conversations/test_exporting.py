"""What is exported is all there is, and can be taken in by an empty service as it was."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest

from elf.api.operation import Handler
from elf.core.errors import InvalidRequest
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.offers import Subject
from tests.db.conversations.wire_kit import ROOT, Wire, asking
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

Piece = Mapping[str, Any]


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


async def exported(subjects: ConversationSubjects, tenant: str, **whose: str) -> list[Piece]:
    """All of a subject, as it is after it was JSON in a file."""
    subject = Subject(tenant_id=tenant, **whose)
    return [json.loads(json.dumps(one)) async for one in subjects.export(subject)]


async def begun(ask: Wire, clock: TurnedClock) -> str:
    """A tree of ana's with everything that a tree may have; bob is a member, and is to get it."""
    made = await ask(f"POST {ROOT}", {"metadata": {"b": 1, "a": ["x", 1.5]}})
    id = str(made.json()["id"])
    first = await ask.say(id, "Where is the ferry?")
    clock.turn(seconds=1)
    content = [{"role": "AI", "text": "At \u00e9 \u4e2d.", "b": 1.0, "a": 10**18, "events": [{"z": None}]}]
    answer = {"channel": "history", "contentType": "history/lc4j", "content": content}
    assert (await ask(f"POST {ROOT}/{id}/entries", answer, client="bot")).status_code == 201
    for items in (["a"], ["a", {"z": 1, "b": [2.5]}], ["c"]):
        await ask.sync(id, *items)
    fork = await ask(f"POST {ROOT}/{id}/entries/{first}/fork", {"title": "Another way"})
    await ask.sync(fork.json()["id"], "d")
    later = await ask.say(id, "And when?")
    again = await ask(f"POST {ROOT}/{id}/entries/{later}/fork", {})
    await ask.sync(again.json()["id"], "c", "e")
    share = {"userId": "bob", "accessLevel": "writer"}
    assert (await ask(f"POST {ROOT}/{id}/memberships", share)).status_code == 201
    transfer = {"conversationId": id, "newOwnerUserId": "bob"}
    assert (await ask("POST /v1/ownership-transfers", transfer)).status_code == 201
    return id


def moved(pieces: Iterable[Piece], tenant: str) -> list[Piece]:
    return [{**one, "tenant_id": tenant} for one in pieces]


async def test_what_is_taken_in_by_an_empty_tenant_is_exported_again_as_it_was(
    ask: Wire, subjects: ConversationSubjects, clock: TurnedClock
) -> None:
    id = await begun(ask, clock)
    deleted = await begun(ask, clock)
    assert (await ask(f"DELETE {ROOT}/{deleted}")).status_code == 204
    pieces = await exported(subjects, ask.tenant)
    assert {one["kind"] for one in pieces} == {"tree", "conversation", "entry"}
    before = await ask.entries(id, "?epoch=all", client="bot")
    await subjects.erase(Subject(tenant_id=ask.tenant))
    assert await exported(subjects, ask.tenant) == []
    assert await subjects.take_in(pieces) == len(pieces)
    assert await exported(subjects, ask.tenant) == pieces
    assert await ask.entries(id, "?epoch=all", client="bot") == before
    assert await subjects.take_in(pieces) == 0


async def test_what_was_taken_in_goes_on_as_if_it_had_always_been_there(
    ask: Wire, subjects: ConversationSubjects, clock: TurnedClock
) -> None:
    id = await begun(ask, clock)
    pieces = await exported(subjects, ask.tenant)
    await subjects.erase(Subject(tenant_id=ask.tenant))
    for one in pieces:  # however it is cut
        assert await subjects.take_in([one]) == 1
    assert (await ask.sync(id, "c"))["noOp"]
    grown = await ask.sync(id, "c", "d")
    assert (grown["epoch"], grown["epochIncremented"], grown["entry"]["content"]) == (2, False, ["d"])
    said = await ask.say(id, "Thank you.")
    assert (await ask.entries(id))[-1]["id"] == said
    found = await ask(f"POST {ROOT}/search", {"query": "ferry"}, user="bob")
    assert [one["conversationTitle"] for one in found.json()["data"]] == ["Where is the ferry?"]
    assert (await ask("GET /v1/ownership-transfers", user="bob")).json()["data"] != []


async def test_another_tenant_of_the_same_service_gets_entries_of_its_own(
    ask: Wire, subjects: ConversationSubjects, clock: TurnedClock, database: Database
) -> None:
    id = await begun(ask, clock)
    pieces = await exported(subjects, ask.tenant)
    another = f"another {uuid4()}"
    assert await subjects.take_in(moved(pieces, another)) == len(pieces)
    copy = await exported(subjects, another)
    ids = [{one["entry_id"] for one in some if one["kind"] == "entry"} for some in (pieces, copy)]
    assert not ids[0] & ids[1]
    renewed = {"entry_id", "forked_at_entry_id"}
    without = [
        [{name: value for name, value in one.items() if name not in renewed} for one in some]
        for some in (moved(pieces, another), copy)
    ]
    assert without[0] == without[1]
    forks = {one["forked_at_entry_id"] for one in copy if "forked_at_entry_id" in one}
    assert forks
    assert forks <= ids[1]
    found = await ask(f"POST {ROOT}/search", {"query": "ferry"}, tenant=another)
    assert {one["entryId"] for one in found.json()["data"]} <= ids[1]
    assert len(found.json()["data"]) == 1
    assert await exported(subjects, ask.tenant) == pieces
    assert (await ask.entries(id))[0]["content"][0]["text"] == "Where is the ferry?"


async def test_a_user_takes_along_what_the_user_owns_and_said_elsewhere(
    ask: Wire, subjects: ConversationSubjects, clock: TurnedClock
) -> None:
    mine = await begun(ask, clock)
    theirs = (await ask(f"POST {ROOT}", {"title": "Bob's"}, user="bob")).json()["id"]
    share = {"userId": "ana", "accessLevel": "writer"}
    assert (await ask(f"POST {ROOT}/{theirs}/memberships", share, user="bob")).status_code == 201
    await ask.say(theirs, "Bob's words", user="bob")
    said = [await ask.say(theirs, f"Ana's {number}") for number in range(5)]
    pieces = await exported(subjects, ask.tenant, user="ana")
    own = [one for one in pieces if one["kind"] in ("tree", "conversation")]
    assert {one["owner_user_id"] for one in own if one["kind"] == "tree"} == {"ana"}
    assert mine in {one["conversation_id"] for one in own if one["kind"] == "conversation"}
    elsewhere = [one for one in pieces if one.get("conversation_id") == theirs]
    assert [one["entry_id"] for one in elsewhere] == said
    (place,) = [one for one in pieces if one["kind"] == "membership"]
    assert (place["user_id"], place["access_level"]) == ("ana", "writer")
    assert "Bob's words" not in json.dumps(pieces)
    another = f"another {uuid4()}"
    taken = await subjects.take_in(moved(pieces, another))
    assert taken == len(pieces) - len(elsewhere) - 1
    assert await subjects.take_in(pieces) == 0


async def test_an_agent_takes_along_what_it_remembers(
    ask: Wire, subjects: ConversationSubjects, clock: TurnedClock
) -> None:
    id = await begun(ask, clock)
    await ask.sync(id, "not mine", client="other")
    pieces = await exported(subjects, ask.tenant, agent_id="bot")
    assert {one["kind"] for one in pieces} == {"entry"}
    assert {(one["channel"], one["client_id"]) for one in pieces} == {("memory", "bot")}
    assert sorted(json.dumps(one["content"]) for one in pieces) == sorted(
        json.dumps(one) for one in (["a"], [{"z": 1, "b": [2.5]}], ["c"], ["d"], ["e"])
    )


async def test_what_was_said_after_a_conversation_was_exported_is_not_overwritten(
    ask: Wire, subjects: ConversationSubjects, clock: TurnedClock
) -> None:
    id = await begun(ask, clock)
    pieces = await exported(subjects, ask.tenant)
    await ask.say(id, "Later")
    newer = await exported(subjects, ask.tenant)
    await subjects.erase(Subject(tenant_id=ask.tenant))
    await subjects.take_in(pieces)
    here = await ask.say(id, "Here")
    assert await subjects.take_in(newer) == 0
    assert (await ask.entries(id))[-1]["id"] == here
    await ask.say(id, "And on")


async def test_what_is_blank_stays_so(ask: Wire, subjects: ConversationSubjects, clock: TurnedClock) -> None:
    id = await begun(ask, clock)
    share = {"userId": "carl", "accessLevel": "writer"}
    assert (await ask(f"POST {ROOT}/{id}/memberships", share)).status_code == 201
    await ask.say(id, "Carl's", user="carl")
    pieces = await exported(subjects, ask.tenant)
    await subjects.erase(Subject(tenant_id=ask.tenant, user="carl"))
    blank = await exported(subjects, ask.tenant)
    assert await subjects.take_in(pieces) == 0
    assert await exported(subjects, ask.tenant) == blank
    await subjects.erase(Subject(tenant_id=ask.tenant))
    assert await subjects.take_in(blank) == len(blank)
    assert await exported(subjects, ask.tenant) == blank
    listed = await ask(f"GET {ROOT}/unindexed", user="clerk", role="indexer")
    assert all("Carl" not in json.dumps(one) for one in listed.json()["data"])
    assert [one["entry"]["content"][0]["role"] for one in listed.json()["data"]] == ["AI"]


TREE: Piece = {
    "kind": "tree", "tenant_id": "acme", "tree_id": str(uuid4()), "owner_user_id": "ana", "creator": "ana",
    "created_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
ENTRY: Piece = {
    "kind": "entry", "tenant_id": "acme", "tree_id": TREE["tree_id"], "conversation_id": str(uuid4()), "seq": 1,
    "entry_id": str(uuid4()), "channel": "history", "content_type": "history",
    "content": [{"role": "USER", "text": "Hi"}], "created_at": "2026-01-01T00:00:00Z",
}  # fmt: skip


@pytest.mark.parametrize(
    ("base", "change", "said"),
    [
        (TREE, {"kind": "leaf"}, "kind"),
        (TREE, {"tree_id": "no id"}, "tree_id"),
        (TREE, {"created_at": "2026-01-01T00:00:00"}, "created_at"),
        (TREE, {"colour": "red"}, "colour"),
        (TREE, {"owner_user_id": "a\0b"}, "U+0000"),
        (TREE, {"members": [{"user_id": "bob", "access_level": "king", "created_at": "2026-01-01T00:00:00Z"}]}, "king"),
        (ENTRY, {"epoch": 1}, "epoch"),
        (ENTRY, {"seq": 0}, "seq"),
        (ENTRY, {"channel": "memory"}, "memory"),
        (ENTRY, {"content": ["secret"]}, "History channel content must be an object"),
        (ENTRY, {"content": {"secret": 1}}, "content"),
    ],
)  # fmt: skip
async def test_what_is_not_as_it_is_exported_is_refused_and_nothing_of_the_call_kept(
    subjects: ConversationSubjects, base: Piece, change: Piece, said: str
) -> None:
    tenant = f"refused {uuid4()}"
    good = {**TREE, "tenant_id": tenant, "tree_id": str(uuid4())}
    with pytest.raises(InvalidRequest) as refusal:
        await subjects.take_in([good, {**base, **change}])
    assert refusal.value.fields == ("$[1]",)
    assert said in refusal.value.message
    assert "secret" not in refusal.value.message
    assert await exported(subjects, tenant) == []


async def test_few_large_entries_and_sessions_are_read_at_once(
    ask: Wire, clock: TurnedClock, database: Database, queries: Queries
) -> None:
    id = (await ask(f"POST {ROOT}", {})).json()["id"]
    for number in range(3):
        await ask.say(id, str(number))
        session = {"sessionId": f"{number}", "keep": "all", "entries": [], "data": {"n": number}}
        assert (await ask("POST /v1/sessions/one", session, client="bot")).status_code == 200
    large = "json_build_array(repeat('word ', 600000))"
    nobody = UUID(int=0)
    async with database.connection() as connection:
        await connection.execute(
            f"UPDATE conversation_entries SET content = {large} WHERE tenant_id = $1", ask.tenant
        )
        await connection.execute(
            f"UPDATE conversation_sessions SET data = {large} WHERE tenant_id = $1", ask.tenant
        )
        entries = await connection.fetch(queries["export_entries"], ask.tenant, UUID(id), 0, 1000, 1000)
        theirs = queries["export_entries_of_user"]
        of_user = await connection.fetch(theirs, ask.tenant, "ana", nobody, nobody, 0, 1000)
        sessions = await connection.fetch(queries["export_sessions"], ask.tenant, None, "", "", 1000)
    assert (len(entries), len(of_user), len(sessions)) == (2, 0, 2)
    behind = entries[-1]["seq"]
    async with database.connection() as connection:
        rest = await connection.fetch(queries["export_entries"], ask.tenant, UUID(id), behind, 1000, 1000)
    assert len(rest) == 1
