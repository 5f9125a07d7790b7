"""A session is a name for where a line of entries ends: it goes back without losing anything, one writer at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from uuid import uuid4

import anyio
import pytest

from elf.api.operation import Handler
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.offers import Subject
from tests.db.conversations.wire_kit import ROOT, Wire, asking
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

SESSIONS: Final = "/v1/sessions"
ONE: Final = f"{SESSIONS}/one"
LINE: Final = f"{SESSIONS}/line"
CHAT: Final = f"{ONE}?sessionId=chat"
AT_ONCE: Final = 6


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


def entry(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"role": "USER", "text": text}], **more}


async def written(ask: Wire, name: str = "chat", *texts: str, status: int = 200, **more: Any) -> Any:
    body = {"sessionId": name, "entries": [entry(text) for text in texts], **more}
    answer = await ask(f"POST {ONE}", body, client="bot")
    assert answer.status_code == status, answer.text
    return answer.json()


async def read(ask: Wire, name: str = "chat", query: str = "", **more: Any) -> Any:
    answer = await ask(f"GET {ONE}?sessionId={name}{query}", **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def shown(ask: Wire, name: str = "chat") -> list[str]:
    return [one["content"][0]["text"] for one in (await read(ask, name))["entries"]]


async def popped(ask: Wire, name: str = "chat") -> str | None:
    lost = (await written(ask, name, keep="but_newest"))["popped"]
    return None if lost is None else str(lost["content"][0]["text"])


async def test_what_is_added_is_shown_in_its_order(ask: Wire) -> None:
    assert (await written(ask, "chat", "a"))["popped"] is None
    added = await written(ask, "chat", "b", "c")
    assert await shown(ask) == ["a", "b", "c"]
    assert (await read(ask))["newestEntryId"] == added["entryIds"][-1]


async def test_pages_lead_from_the_newest_to_the_oldest(ask: Wire) -> None:
    await written(ask, "chat", *"abcde")
    found, cursor = [], None
    while True:
        page = await read(ask, "chat", "&limit=2" + (f"&before={cursor}" if cursor else ""))
        found.append("".join(one["content"][0]["text"] for one in page["entries"]))
        if (cursor := page["nextCursor"]) is None:
            break
    assert found == ["de", "bc", "a"]


async def test_a_page_before_what_is_not_shown_is_refused(ask: Wire) -> None:
    await written(ask, "chat", "a")
    answer = await ask(f"GET {CHAT}&before={uuid4()}")
    assert (answer.status_code, "before" in answer.text) == (400, True)


async def test_going_back_takes_the_newest_off_until_there_is_none(ask: Wire) -> None:
    await written(ask, "chat", "a", "b")
    assert [await popped(ask) for _ in range(3)] == ["b", "a", None]
    assert await shown(ask) == []
    await written(ask, "chat", "c")
    assert await shown(ask) == ["c"]


async def test_what_a_session_leaves_is_still_in_its_tree(ask: Wire) -> None:
    before = await written(ask, "chat", "a", "b")
    await popped(ask)
    after = await written(ask, "chat", "c")
    assert await shown(ask) == ["a", "c"]
    first, second = before["conversationId"], after["conversationId"]
    assert first != second
    assert [one["content"][0]["text"] for one in await ask.entries(first)] == ["a", "b"]
    assert [one["content"][0]["text"] for one in await ask.entries(second)] == ["a", "c"]


async def test_an_emptied_session_begins_anew_in_the_same_tree(ask: Wire) -> None:
    first = await written(ask, "chat", "a", "b")
    assert (await written(ask, keep="none"))["popped"] is None
    second = await written(ask, "chat", "c")
    assert await shown(ask) == ["c"]
    forks = (await ask(f"GET {ROOT}/{first['conversationId']}/forks")).json()["data"]
    assert {one["conversationId"] for one in forks} == {first["conversationId"], second["conversationId"]}


async def test_two_who_go_back_at_once_take_two_entries_off(ask: Wire) -> None:
    texts = [str(number) for number in range(AT_ONCE)]
    await written(ask, "chat", *texts)
    taken: list[str | None] = []

    async def take() -> None:
        taken.append(await popped(ask))

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE + 1):
            group.start_soon(take)
    assert sorted(one for one in taken if one is not None) == texts
    assert taken.count(None) == 1
    assert await shown(ask) == []


async def test_what_is_added_at_once_is_all_there_and_not_mixed(ask: Wire) -> None:
    async with anyio.create_task_group() as group:
        for number in range(AT_ONCE):
            group.start_soon(written, ask, "chat", f"{number}a", f"{number}b")
    found = await shown(ask)
    assert len(found) == 2 * AT_ONCE
    assert {f"{one[0]}{other[0]}" for one, other in zip(found[::2], found[1::2], strict=True)} == {
        f"{number}{number}" for number in range(AT_ONCE)
    }


async def test_what_others_say_in_the_conversation_is_not_in_the_session(ask: Wire) -> None:
    conversation = (await written(ask, "chat", "a"))["conversationId"]
    await ask.say(conversation, "by hand")
    await ask.sync(conversation, "remembered")
    assert await shown(ask) == ["a"]
    await written(ask, "chat", "b")
    assert await shown(ask) == ["a", "b"]


async def test_content_is_kept_as_it_is(ask: Wire) -> None:
    block = {
        "role": "AI",
        "events": [{"z": 1.0, "a": [None, True, 10**18, "\u4e2d\u6587"], "b": {"y": 1, "x": -2.5}}],
    }
    await written(ask, entries=[{"content": [block], "contentType": "history/items"}])
    answer = await ask(f"GET {CHAT}")
    assert json.dumps(answer.json()["entries"][0]["content"]) == json.dumps([block])


async def test_a_revision_that_another_changed_is_a_conflict(ask: Wire) -> None:
    first = await written(ask, "chat", "a", isNew=True)
    await written(ask, "chat", "x", isNew=True, status=409)
    await written(ask, "other", "x", expectedRevision=first["revision"], status=409)
    second = await written(ask, "chat", "b", expectedRevision=first["revision"], revision="mine")
    assert second["revision"] == "mine"
    await written(ask, "chat", "x", expectedRevision=first["revision"], status=409)
    assert await shown(ask) == ["a", "b"]


async def test_of_two_writers_with_one_revision_one_wins(ask: Wire) -> None:
    seen = (await written(ask, "chat", "a"))["revision"]
    statuses: list[int] = []

    async def write(text: str) -> None:
        body = {"sessionId": "chat", "entries": [entry(text)], "expectedRevision": seen}
        statuses.append((await ask(f"POST {ONE}", body, client="bot")).status_code)

    async with anyio.create_task_group() as group:
        for number in range(AT_ONCE):
            group.start_soon(write, f"b{number}")
    assert sorted(statuses) == [200] + [409] * (AT_ONCE - 1)
    assert len(await shown(ask)) == 2


async def test_data_stays_until_it_is_replaced(ask: Wire) -> None:
    data = {"b": 1, "a": {"z": None}}
    await written(ask, "chat", "a", data=data)
    await written(ask, "chat", "b")
    assert json.dumps((await read(ask))["data"]) == json.dumps(data)
    await written(ask, data={})
    assert (await read(ask))["data"] == {}


async def test_a_session_goes_on_behind_an_entry_of_another(ask: Wire) -> None:
    keyed = [entry(text, key=f"key {text}") for text in "abc"]
    await written(ask, entries=keyed)
    await written(ask, "other", "d", behind="key b", isNew=True)
    assert (await shown(ask, "other"), await shown(ask)) == (["a", "b", "d"], ["a", "b", "c"])
    await written(ask, behind="key a")
    assert await shown(ask) == ["a"]
    line = (await ask(f"GET {LINE}?key=key%20c&limit=2")).json()
    assert [one["content"][0]["text"] for one in line["entries"]] == ["b", "c"]
    older = (await ask(f"GET {LINE}?key=key%20c&before={line['nextCursor']}")).json()
    assert ([one["content"][0]["text"] for one in older["entries"]], older["nextCursor"]) == (["a"], None)


async def test_a_key_is_one_entry_of_a_tree_and_of_ones_own(ask: Wire) -> None:
    await written(ask, entries=[entry("a", key="k")])
    await written(ask, entries=[entry("b", key="k")], status=409)
    assert await shown(ask) == ["a"]
    missing = await ask(f"POST {ONE}", {"sessionId": "chat", "behind": "k"}, client="bot", user="bob")
    assert (missing.status_code, missing.json()["details"]) == (404, {"resource": "entry", "id": "k"})
    assert (await ask(f"GET {LINE}?key=k", user="bob")).status_code == 404


async def test_sessions_are_listed_written_last_first(ask: Wire, clock: TurnedClock) -> None:
    for name in ("one", "two", "three"):
        await written(ask, name, "a")
        clock.turn(seconds=1)
    await written(ask, "one", "b")
    listed = (await ask(f"GET {SESSIONS}?limit=2")).json()
    assert [one["id"] for one in listed["data"]] == ["one", "three"]
    rest = (await ask(f"GET {SESSIONS}?after={listed['nextCursor']}")).json()
    assert ([one["id"] for one in rest["data"]], rest["nextCursor"]) == (["two"], None)
    assert (await ask(f"GET {SESSIONS}?after=none")).status_code == 400
    assert (await ask(f"GET {SESSIONS}", user="bob")).json()["data"] == []


async def test_a_session_is_its_users_and_written_by_a_client(ask: Wire) -> None:
    await written(ask, "chat", "a")
    assert (await ask(f"GET {CHAT}", user="bob")).status_code == 404
    assert (await ask(f"POST {ONE}", {"sessionId": "chat", "entries": [entry("b")]})).status_code == 403
    assert await shown(ask) == ["a"]


async def test_going_back_in_what_is_not_there_is_told_of(ask: Wire) -> None:
    for keep in ("but_newest", "none"):
        await written(ask, "nothing", keep=keep, status=404)
    assert (await ask(f"GET {SESSIONS}")).json()["data"] == []


async def test_a_forgotten_session_leaves_its_conversation(ask: Wire) -> None:
    made = await written(ask, "chat", "a")
    assert (await ask(f"DELETE {CHAT}&expectedRevision=other")).status_code == 409
    assert (await ask(f"DELETE {CHAT}")).status_code == 204
    assert (await ask(f"DELETE {CHAT}")).status_code == 404
    assert len(await ask.entries(made["conversationId"])) == 1


async def test_a_session_of_a_deleted_tree_is_gone_and_its_name_is_free(ask: Wire) -> None:
    made = await written(ask, "chat", "a", data={"a": 1})
    assert (await ask(f"DELETE {ROOT}/{made['conversationId']}")).status_code == 204
    assert (await ask(f"GET {CHAT}")).status_code == 404
    again = await written(ask, "chat", "b", isNew=True)
    assert (again["data"], await shown(ask)) == ({}, ["b"])


async def test_who_is_no_member_any_more_may_not_go_on(ask: Wire) -> None:
    made = await written(ask, "chat", "a")
    conversation = made["conversationId"]
    await ask(f"POST {ROOT}/{conversation}/memberships", {"userId": "bob", "accessLevel": "writer"})
    transfer = await ask(
        "POST /v1/ownership-transfers", {"conversationId": conversation, "newOwnerUserId": "bob"}
    )
    await ask(f"POST /v1/ownership-transfers/{transfer.json()['id']}/accept", user="bob")
    assert (await ask(f"DELETE {ROOT}/{conversation}/memberships/ana", user="bob")).status_code == 204
    assert (await ask(f"GET {CHAT}")).status_code == 403
    await written(ask, "chat", "b", status=403)
    await written(ask, keep="but_newest", status=403)


async def exported(subjects: ConversationSubjects, **whose: str) -> list[Any]:
    return [json.loads(json.dumps(one)) async for one in subjects.export(Subject(**whose))]


async def test_sessions_are_taken_along_and_go_on(ask: Wire, subjects: ConversationSubjects) -> None:
    await written(ask, entries=[entry(text, key=text) for text in "abcd"], data={"b": 1, "a": 2})
    await popped(ask)
    await written(ask, "empty", "x")
    await popped(ask, "empty")
    pieces = await exported(subjects, tenant_id=ask.tenant, user="ana")
    tenant = f"taken-{uuid4()}"
    moved = [{**one, "tenant_id": tenant} for one in pieces]
    assert await subjects.take_in(moved) == len(moved)
    assert await subjects.take_in(moved) == 0
    ask.tenant = tenant
    assert (await shown(ask), (await read(ask))["data"]) == (["a", "b", "c"], {"b": 1, "a": 2})
    assert await shown(ask, "empty") == []
    await written(ask, "other", "e", behind="b")
    assert await shown(ask, "other") == ["a", "b", "e"]


async def test_sessions_are_erased_with_their_user_whoever_owns_the_tree(
    ask: Wire, subjects: ConversationSubjects
) -> None:
    conversation = (await written(ask, "chat", "a"))["conversationId"]
    await ask(f"POST {ROOT}/{conversation}/memberships", {"userId": "bob", "accessLevel": "writer"})
    transfer = await ask(
        "POST /v1/ownership-transfers", {"conversationId": conversation, "newOwnerUserId": "bob"}
    )
    await ask(f"POST /v1/ownership-transfers/{transfer.json()['id']}/accept", user="bob")
    await written(ask, "mine", "b")
    erased = await subjects.erase(Subject(tenant_id=ask.tenant, user="ana"))
    assert erased["sessions"] == 2
    assert (await ask(f"GET {SESSIONS}")).json()["data"] == []
    assert [one["kind"] for one in await exported(subjects, tenant_id=ask.tenant, user="ana")] == []


async def test_an_erased_tenant_has_no_sessions(ask: Wire, subjects: ConversationSubjects) -> None:
    for name in "abcd":
        await written(ask, name, "a")
    assert (await subjects.erase(Subject(tenant_id=ask.tenant)))["sessions"] == 4
    assert await exported(subjects, tenant_id=ask.tenant) == []
