"""The wire of conversations, field by field, through the application that serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
import pytest

from elf.api.operation import Handler
from tests.db.conversations.wire_kit import ROOT, Wire, asking
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


def texts(entries: list[Any]) -> list[str]:
    return [
        one["content"][0]["text"] if one["channel"] == "history" else str(one["content"]) for one in entries
    ]


async def test_a_conversation_has_the_fields_of_the_wire_and_no_others(ask: Wire) -> None:
    answer = await ask(f"POST {ROOT}", {"title": "Trip", "metadata": {"b": 1, "a": "Lisbon"}})
    made = answer.json()
    assert answer.status_code == 201
    assert set(made) == {"id", "title", "ownerUserId", "createdAt", "updatedAt", "accessLevel"}
    assert (made["title"], made["ownerUserId"], made["accessLevel"]) == ("Trip", "ana", "owner")
    assert datetime.fromisoformat(made["createdAt"]).utcoffset() is not None
    assert (await ask(f"GET {ROOT}/{made['id']}")).json() == made
    assert (await ask("GET /v1/health")).json() == {"status": "ok"}
    untitled = (await ask(f"POST {ROOT}", {})).json()
    assert "title" not in untitled


async def test_what_a_user_says_is_an_entry_of_the_history(ask: Wire, clock: TurnedClock) -> None:
    id = await ask.new()
    clock.turn(seconds=5)
    body = {
        "contentType": "anything",
        "content": [{"x": 1}, {"text": "  Where is\nmy bag? ", "attachments": [], "role": "AI"}],
    }
    answer = await ask(f"POST {ROOT}/{id}/entries", body)
    entry = answer.json()
    assert answer.status_code == 201
    assert set(entry) == {"id", "conversationId", "userId", "channel", "contentType", "content", "createdAt"}
    assert (entry["conversationId"], entry["userId"], entry["channel"]) == (id, "ana", "history")
    assert entry["content"] == [{"role": "USER", "text": "  Where is\nmy bag? ", "attachments": []}]
    found = (await ask(f"GET {ROOT}/{id}")).json()
    assert (found["title"], found["lastMessagePreview"]) == ("Where is my bag?", "Where is my bag?")
    assert found["updatedAt"] == entry["createdAt"] > found["createdAt"]


async def test_content_of_any_language_comes_back_as_it_was_sent(ask: Wire) -> None:
    id = await ask.new()
    block = {
        "role": "AI",
        "z": [1.0, 10**20, True, None],
        "a": {"\u4e2d": "\u6587 \u05e9\U0001f600"},
        "text": "Hi",
    }
    body = {"channel": "HISTORY", "contentType": "history/lc4j", "content": [block]}
    answer = await ask(f"POST {ROOT}/{id}/entries", body, client="bot")
    assert answer.status_code == 201, answer.text
    (entry,) = await ask.entries(id)
    assert list(entry["content"][0]) == list(block)
    assert entry["content"] == [block]
    assert entry == answer.json()


async def test_forks_show_what_comes_before_them_and_their_own(ask: Wire, clock: TurnedClock) -> None:
    root = await ask.new(title="Trip")
    a, b, c, _ = [await ask.say(root, text) for text in "ABCD"]

    async def fork(id: str, at: str, *says: str, **body: Any) -> tuple[str, Any]:
        clock.turn(seconds=1)
        answer = await ask(f"POST {ROOT}/{id}/entries/{at}/fork", body or None)
        assert answer.status_code == 201, answer.text
        made = answer.json()
        return made["id"], [made.get("forkedAtEntryId"), *[await ask.say(made["id"], text) for text in says]]

    one, (at_one, e, f) = await fork(root, c, "E", "F")
    two, (at_two, _) = await fork(one, f, "G")
    three, (at_three,) = await fork(one, e)
    four, (at_four,) = await fork(one, a, title="Anew")
    assert (at_one, at_two, at_three, at_four) == (b, e, b, None)
    shown = [texts(await ask.entries(id)) for id in (root, one, two, three, four)]
    assert shown == [list("ABCD"), list("ABEF"), list("ABEG"), list("AB"), []]
    await ask.say(root, "H")
    assert texts(await ask.entries(one)) == list("ABEF")
    assert sorted(texts(await ask.entries(four, "?forks=all"))) == sorted("ABCDEFGH")
    forks = (await ask(f"GET {ROOT}/{two}/forks")).json()["data"]
    assert [one_["conversationId"] for one_ in forks] == [root, one, two, three, four]
    assert set(forks[0]) == {"conversationId", "title", "createdAt"}
    assert forks[1]["forkedAtConversationId"] == root
    assert [one_["title"] for one_ in forks] == ["Trip", "Trip", "Trip", "Trip", "Anew"]


async def test_an_append_to_an_unknown_id_begins_it_and_maybe_as_a_fork(ask: Wire) -> None:
    id, fork = str(uuid4()), str(uuid4())
    first = await ask.say(id, "x" * 50)
    second = await ask.say(id, "B")
    assert (await ask(f"GET {ROOT}/{id}")).json()["title"] == "x" * 40
    body = {
        "contentType": "history", "content": [{"text": "C"}], "forkedAtConversationId": id, "forkedAtEntryId": second,
    }  # fmt: skip
    assert (await ask(f"POST {ROOT}/{fork}/entries", body)).status_code == 201
    assert texts(await ask.entries(fork)) == ["x" * 50, "C"]
    assert (await ask(f"POST {ROOT}/{fork}/entries", body)).status_code == 201  # it exists: no fork any more
    assert texts(await ask.entries(fork)) == ["x" * 50, "C", "C"]
    assert (await ask(f"GET {ROOT}/{fork}")).json()["forkedAtEntryId"] == first
    assert (await ask(f"POST {ROOT}/{id}/entries", body, user="bob")).status_code == 403
    half = await ask(f"POST {ROOT}/{uuid4()}/entries", body | {"forkedAtConversationId": None})
    assert (half.status_code, half.json()["code"]) == (400, "validation_error")
    assert half.json()["details"]["violations"][0]["field"] == "forkedAtConversationId"


async def test_memory_is_a_clients_and_synced_by_epochs(ask: Wire) -> None:
    id = await ask.new()
    assert await ask.sync(id) == {"noOp": True, "epochIncremented": False, "entry": None}
    first = await ask.sync(id, 1, {"a": 2})
    assert (first["epoch"], first["noOp"], first["epochIncremented"]) == (1, False, False)
    assert set(first["entry"]) == {
        "id",
        "conversationId",
        "channel",
        "epoch",
        "contentType",
        "content",
        "createdAt",
    }
    assert await ask.sync(id, 1.0, {"a": 2}) == {
        "epoch": 1,
        "noOp": True,
        "epochIncremented": False,
        "entry": None,
    }
    assert (await ask.sync(id, 1, {"a": 2}, 3))["entry"]["content"] == [3]
    anew = await ask.sync(id, 3)
    assert (anew["epoch"], anew["epochIncremented"], anew["entry"]["content"]) == (2, True, [3])
    await ask.say(id, "Hi")
    for query, wanted in (
        ("", ["[3]", "Hi"]), ("?epoch=all", ["[1, {'a': 2}]", "[3]", "[3]", "Hi"]), ("?channel=memory", ["[3]"]),
        ("?channel=MEMORY&epoch=1", ["[1, {'a': 2}]", "[3]"]), ("?channel=history", ["Hi"]), ("?epoch=7", ["Hi"]),
    ):  # fmt: skip
        assert texts(await ask.entries(id, query, client="bot")) == wanted, query
    assert texts(await ask.entries(id, client="other")) == ["Hi"]
    assert texts(await ask.entries(id, "?epoch=all")) == ["Hi"]
    assert (await ask(f"GET {ROOT}/{id}/entries?channel=memory")).status_code == 403
    assert "lastMessagePreview" in (await ask(f"GET {ROOT}/{id}")).json()


async def test_what_an_agent_remembers_is_seen_by_nobody_else(ask: Wire) -> None:
    id = str(uuid4())
    body = {"channel": "memory", "contentType": "LC4J", "content": [{"text": "planted words"}]}
    assert (await ask(f"POST {ROOT}/{id}/entries", body, client="bot")).status_code == 201
    await ask.sync(id, {"text": "planted words, and more"})
    for call in (
        f"GET {ROOT}",
        f"GET {ROOT}/{id}",
        f"GET {ROOT}/{id}/forks",
        f"GET {ROOT}/{id}/entries?forks=all",
    ):
        for client in (None, "other"):
            assert "planted" not in (await ask(call, client=client)).text
    assert "title" not in (await ask(f"GET {ROOT}/{id}")).json()
    await ask.say(id, "Hi")
    assert (await ask(f"GET {ROOT}/{id}")).json()["title"] == "Hi"


async def test_lists_of_conversations_by_mode_query_and_page(ask: Wire, clock: TurnedClock) -> None:
    ids = []
    for number in range(3):
        clock.turn(seconds=1)
        ids.append(
            await ask.new(
                title=f"Trip {number}", metadata={"place": {"town": ["Lisbon", "Rome", "Oslo"][number]}}
            )
        )
    clock.turn(seconds=1)
    at = await ask.say(ids[0], "Hi")
    clock.turn(seconds=1)
    fork = (await ask(f"POST {ROOT}/{ids[0]}/entries/{at}/fork", {"title": "Other"})).json()["id"]

    async def listed(query: str = "", **more: Any) -> list[str]:
        answer = await ask(f"GET {ROOT}{query}", **more)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["data"]]

    assert await listed() == [fork, ids[2], ids[1]]
    assert await listed("?mode=roots") == [ids[0], ids[2], ids[1]]
    assert await listed("?mode=all") == [fork, ids[0], ids[2], ids[1]]
    assert await listed("?query=ROME") == [ids[1]]
    assert await listed("?query=trip%202") == [ids[2]]
    assert await listed("?query=lisbon") == []  # the fork was chosen before, and has no metadata
    assert await listed("?query=lisbon&mode=all") == [ids[0]]
    assert await listed(user="bob") == []
    assert await listed(tenant="another") == []
    found, query = [], "?mode=all&limit=1"
    while True:
        page = (await ask(f"GET {ROOT}{query}")).json()
        found += [one["id"] for one in page["data"]]
        if page["nextCursor"] is None:
            break
        query = f"?mode=all&limit=1&after={page['nextCursor']}"
    assert found == [fork, ids[0], ids[2], ids[1]]
    summary = (await ask(f"GET {ROOT}?mode=roots&limit=1")).json()["data"][0]
    assert set(summary) == {
        "id", "title", "ownerUserId", "createdAt", "updatedAt", "lastMessagePreview", "accessLevel",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("İstanbul", ["İstanbul", "istanbul", "ISTANBUL", "i\u0307st", "İS"]),
        ("ΟΔΟΣ ΘΗΣΕΩΣ", ["ΟΔΟΣ", "οδος", "οδοσ", "θησεως", "ΘΗΣΕΩΣ", "ΕΩΣ", "ς θ"]),
        ("Straße nach Ärger", ["STRAßE", "ÄRGER", "ärg"]),
    ],
)
async def test_conversations_are_found_by_parts_of_names_in_any_case(
    ask: Wire, title: str, parts: list[str]
) -> None:
    titled, described = await ask.new(title=title), await ask.new(metadata={"deep": [{"x": title}]})
    await ask.new(title="Other")
    for part in parts:
        answer = await ask(f"GET {ROOT}?query={quote(part)}")
        assert {one["id"] for one in answer.json()["data"]} == {titled, described}, part


async def test_sharing_and_transfers_over_the_wire(ask: Wire) -> None:
    id = await ask.new(title="Trip")
    shared = await ask(f"POST {ROOT}/{id}/memberships", {"userId": "bob", "accessLevel": "reader"})
    assert shared.status_code == 201
    assert shared.json() == {
        "conversationId": id, "userId": "bob", "accessLevel": "reader", "createdAt": shared.json()["createdAt"],
    }  # fmt: skip
    assert (await ask(f"GET {ROOT}/{id}", user="bob")).json()["accessLevel"] == "reader"
    changed = await ask(f"PATCH {ROOT}/{id}/memberships/bob", {"accessLevel": "writer"})
    assert (changed.status_code, changed.json()["accessLevel"]) == (200, "writer")
    made = await ask("POST /v1/ownership-transfers", {"conversationId": id, "newOwnerUserId": "bob"})
    transfer = made.json()
    assert made.status_code == 201
    assert transfer == {
        "id": transfer["id"], "conversationId": id, "conversationTitle": "Trip", "fromUserId": "ana",
        "toUserId": "bob", "createdAt": transfer["createdAt"],
    }  # fmt: skip
    again = await ask("POST /v1/ownership-transfers", {"conversationId": id, "newOwnerUserId": "bob"})
    assert (again.status_code, again.json()) == (
        409,
        {
            "error": "A pending ownership transfer already exists for this conversation",
            "code": "TRANSFER_ALREADY_PENDING", "existingTransferId": transfer["id"],
        },
    )  # fmt: skip
    assert (await ask("GET /v1/ownership-transfers?role=recipient", user="bob")).json() == {
        "data": [transfer], "nextCursor": None, "afterCursor": None,
    }  # fmt: skip
    assert (await ask(f"POST /v1/ownership-transfers/{transfer['id']}/accept", user="bob")).status_code == 204
    assert (await ask(f"GET {ROOT}/{id}")).json()["accessLevel"] == "manager"
    assert (await ask(f"DELETE {ROOT}/{id}/memberships/nobody")).status_code == 204
    assert (await ask(f"DELETE {ROOT}/{id}", user="bob")).status_code == 204
    for user in ("ana", "bob"):
        assert (await ask(f"GET {ROOT}/{id}", user=user)).status_code == 404


UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("call", "body", "status", "told"),
    [
        (f"GET {ROOT}/{UNKNOWN}", None, 404, {"details": {"resource": "conversation", "id": UNKNOWN}}),
        (f"GET {ROOT}/nonsense", None, 404, {"details": {"resource": "conversation", "id": "nonsense"}}),
        (f"GET {ROOT}/{UNKNOWN}/entries/{UNKNOWN}", None, 404, {"code": "not_found"}),
        (f"GET {ROOT}/{UNKNOWN}/entries", None, 404, {"code": "not_found"}),
        (f"PUT {ROOT}", {}, 404, {"code": "not_found"}),
        (f"GET {ROOT}?mode=some", None, 400, {"code": "validation_error"}),
        (f"GET {ROOT}?limit=0", None, 400, {"code": "validation_error"}),
        (f"GET {ROOT}?limit=201", None, 400, {"code": "validation_error"}),
        (f"GET {ROOT}?after=x", None, 400, {"code": "validation_error"}),
        (f"GET {ROOT}?after={UNKNOWN}", None, 400, {"code": "bad_request"}),
        (f"GET {ROOT}?after={UNKNOWN}&afterCursor={UNKNOWN}", None, 400, {"code": "validation_error"}),
        (f"GET {ROOT}?colour=red", None, 400, {"code": "validation_error"}),
        (f"POST {ROOT}", {"title": "x" * 501}, 400, {"code": "validation_error"}),
        (f"POST {ROOT}", {"title": "a\0b"}, 400, {"code": "validation_error"}),
        (f"POST {ROOT}", {"metadata": {"k": ["x" * 16_000] * 5}}, 400, {"code": "validation_error"}),
        (f"POST {ROOT}", {"colour": "red"}, 400, {"code": "validation_error"}),
        ("GET /v1/ownership-transfers?role=owner", None, 400, {"code": "validation_error"}),
        (f"GET /v1/ownership-transfers/{UNKNOWN}", None, 404, {"code": "not_found"}),
        ("POST /v1/ownership-transfers", {"conversationId": "x", "newOwnerUserId": "a"}, 400,
         {"code": "validation_error"}),
    ],
)  # fmt: skip
async def test_faults_are_told_in_the_words_of_the_wire(
    ask: Wire, call: str, body: Any, status: int, told: Mapping[str, Any]
) -> None:
    answer = await ask(call, body)
    assert answer.status_code == status, answer.text
    found = answer.json()
    assert set(found) == {"error", "code", "details"}
    assert {name: found[name] for name in told} == dict(told)
    assert UUID(answer.headers["X-Request-Id"])


@pytest.mark.parametrize(
    ("path", "change", "client", "status", "said"),
    [
        ("", {"content": []}, None, 400, "Message content is required"),
        ("", {"channel": "memory"}, None, 403, "memory"),
        ("", {"userId": "bob"}, None, 403, "nobody else"),
        ("", {"channel": "history", "contentType": "x"}, None, 400,
         "History channel entries must use 'history' or 'history/<subtype>' as the contentType"),
        ("", {"indexedContent": "x"}, "bot", 400, "indexedContent is only allowed on history channel"),
        ("", {"channel": "history", "content": [{}]}, "bot", 400,
         "History channel content must have a 'role' field with value 'USER' or 'AI'"),
        ("/sync", {"channel": "history"}, "bot", 400, "sync entry must target the memory channel"),
        ("/sync", {"channel": "memory"}, None, 403, "memory"),
    ],
)  # fmt: skip
async def test_what_may_not_be_appended_is_refused_and_nothing_is_written(
    ask: Wire, path: str, change: dict[str, Any], client: str | None, status: int, said: str
) -> None:
    id = await ask.new()
    body = {"contentType": "history", "content": [{"role": "USER", "text": "Hi"}]} | change
    answer = await ask(f"POST {ROOT}/{id}/entries{path}", body, client=client)
    assert answer.status_code == status, answer.text
    assert said in answer.json()["details"]["message"]
    assert await ask.entries(id, client="bot") == []


async def test_indexers_give_entries_the_texts_by_which_they_are_found(ask: Wire, clock: TurnedClock) -> None:
    id, other = await ask.new(), await ask.new()
    said = {"channel": "history", "contentType": "history", "content": [{"role": "AI", "text": "Hi"}]}
    entries = []
    for _ in range(3):
        clock.turn(seconds=1)
        entries.append((await ask(f"POST {ROOT}/{id}/entries", said, client="bot")).json()["id"])
    await ask.say(id, "by the user, who gives the text along")
    remembered = (await ask.sync(id, 1))["entry"]["id"]

    async def unindexed(**more: Any) -> list[str]:
        found: list[str] = []
        query: str | None = "?limit=1"
        while query is not None:
            answer = await ask(f"GET {ROOT}/unindexed{query}", role="indexer", **more)
            assert answer.status_code == 200, answer.text
            found += [one["entry"]["id"] for one in answer.json()["data"]]
            cursor = answer.json()["cursor"]
            query = None if cursor is None else f"?limit=1&cursor={cursor}"
        return found

    async def index(*given: dict[str, Any], role: str | None = "indexer", **more: Any) -> httpx.Response:
        return await ask(f"POST {ROOT}/index", list(given), role=role, **more)

    def text(entry: str, **more: Any) -> dict[str, Any]:
        return {"conversationId": id, "entryId": entry, "indexedContent": "a greeting"} | more

    assert await unindexed() == entries
    assert await unindexed(tenant="another") == []
    for answer, status in (
        (await index(text(entries[0]), role=None), 403),
        (await ask(f"GET {ROOT}/unindexed"), 403),
        (await index(), 400),
        (await index(text(entries[0]), text(remembered)), 400),
        (await index(text(entries[0]), text(str(uuid4()))), 404),
        (await index(text(entries[0]), text(entries[1], conversationId=other)), 404),
        (await index(text(entries[0]), tenant="another"), 404),
        (await ask(f"GET {ROOT}/unindexed?cursor=x", role="indexer"), 400),
    ):
        assert answer.status_code == status, answer.text
    for field in ("conversationId", "entryId", "indexedContent"):
        answer = await index(text(entries[0]), text(entries[1], **{field: None}))
        assert answer.json()["details"]["message"] == f"{field} is required for entry 1"
    assert await unindexed() == entries
    answer = await index(text(entries[0]), text(entries[2]))
    assert (answer.status_code, answer.json()) == (200, {"indexed": 2})
    assert await unindexed() == [entries[1]]
    await ask(f"DELETE {ROOT}/{id}")
    assert await unindexed() == []
    assert (await index(text(entries[1]))).status_code == 404


async def test_a_text_in_metadata_may_be_as_long_as_all_of_it(ask: Wire) -> None:
    for length, status in ((16_385, 201), (65_528, 201), (65_529, 400), (70_000, 400)):
        answer = await ask(f"POST {ROOT}", {"metadata": {"k": "x" * length}})
        assert answer.status_code == status, length
        if status == 400:
            assert answer.json()["details"]["violations"][0]["field"] == "metadata"


async def test_each_field_at_fault_is_named(ask: Wire) -> None:
    answer = await ask(f"POST {ROOT}", {"title": 5, "colour": "red"})
    violations = answer.json()["details"]["violations"]
    assert {one["field"]: one["message"] for one in violations} == {
        "title": "should be a valid string",
        "colour": "is not a known field",
    }
    answer = await ask(f"POST {ROOT}/index", [{"a": 1}, {"indexedContent": 5}], role="indexer")
    violations = answer.json()["details"]["violations"]
    assert violations == [
        {"field": "$[0].a", "message": "is not a known field"},
        {"field": "$[1].indexedContent", "message": "should be a valid string"},
    ]
    answer = await ask(f"POST {ROOT}", {"title": "\0"})
    (violation,) = answer.json()["details"]["violations"]
    assert violation == {"field": "title", "message": "NUL bytes are not allowed"}


async def test_content_has_its_bounds(ask: Wire) -> None:
    id = await ask.new()
    deep: Any = "x"
    for _ in range(65):
        deep = [deep]
    for content in ([1] * 10_001, [deep], ["\0"], {}, None):
        body = {"channel": "memory", "contentType": "x", "content": content}
        answer = await ask(f"POST {ROOT}/{id}/entries", body, client="bot")
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_error"), content
    large = {"channel": "memory", "contentType": "x", "content": ["x" * (8 * 1024 * 1024)]}
    answer = await ask(f"POST {ROOT}/{id}/entries", large, client="bot")
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    for query in (
        "?epoch=-1",
        "?epoch=1.5",
        "?epoch=99999999999",
        "?channel=both",
        "?forks=some",
        "?limit=201",
    ):
        answer = await ask(f"GET {ROOT}/{id}/entries{query}", client="bot")
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_error"), query


async def test_a_context_is_told_with_where_it_is_from(ask: Wire) -> None:
    id = await ask.new()
    said = [await ask.say(id, text) for text in ("Hello", "How are you?")]
    context = (await ask(f"GET {ROOT}/{id}/context")).json()
    assert [one["id"] for one in context.pop("entries")] == said
    assert context == {"source": "history", "truncated": False}
    await ask.sync(id, {"text": "well"})
    mine = (await ask(f"GET {ROOT}/{id}/context", client="bot")).json()
    assert [one["content"] for one in mine.pop("entries")] == [[{"text": "well"}]]
    assert mine == {"source": "memory", "epoch": 1, "truncated": False}
    cut = (await ask(f"GET {ROOT}/{id}/context?maxChars=1")).json()
    assert ([one["id"] for one in cut["entries"]], cut["truncated"]) == (said[1:], True)
    for size in ("0", "1000001", "x"):
        refused = await ask(f"GET {ROOT}/{id}/context?maxChars={size}")
        assert refused.json()["details"]["violations"][0]["field"] == "maxChars"
