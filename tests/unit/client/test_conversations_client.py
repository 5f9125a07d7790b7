"""The client of conversations: it can ask for all that is offered, says nothing twice, and reads what it is told."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from answering import URL, Script
from family_calls import call_of, led_to

from elf.api.operation import WATCHED_BY, Operation
from elf.client import (
    Client,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    NotOffered,
    Retries,
    ServiceError,
    Unavailable,
    Unreachable,
)
from elf.client.call import Call
from elf.client.families.conversations import ConversationsClient, SearchPage
from elf.client.family import methods_of
from elf.families.conversations.manifest import CONVERSATIONS
from elf.web.parsing import parse_body, parse_values

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
FAST = Retries(patience_s=60.0, first_pause_s=0.001, longest_pause_s=0.002)
MOMENT = "2026-11-21T10:00:00Z"
ENTRY = {
    "id": ID, "conversationId": ID, "channel": "history", "contentType": "history", "content": [{"b": 1, "a": 1.5}],
    "createdAt": MOMENT,
}  # fmt: skip
CONVERSATION = {
    "id": ID, "ownerUserId": "ana", "createdAt": MOMENT, "updatedAt": MOMENT, "accessLevel": "owner",
}  # fmt: skip

# Values for every parameter that the methods have.
SAMPLES: Mapping[str, Any] = {
    "mode": "roots", "query": "Lisbon", "limit": 5, "cursor": ID, "title": "Trip", "metadata": {"a": 1},
    "conversation_id": ID, "channel": "memory", "epoch": 2, "whole_tree": True, "max_chars": 100,
    "content": [{"role": "AI", "text": "Hi"}], "content_type": "history", "user_id": "ana", "indexed_content": "Hi",
    "forked_at_conversation_id": ID, "forked_at_entry_id": ID, "entry_id": ID, "access_level": "writer",
    "role": "sender", "new_owner_user_id": "bob", "transfer_id": ID, "search_type": "semantic", "all_entries": True,
    "without_entry": True, "entries": [{"conversationId": ID, "entryId": ID, "indexedContent": "Hi"}],
    "include_deleted": True, "only_deleted": True, "deleted_after": MOMENT, "deleted_before": MOMENT,
    "session_id": "my chat", "new_entries": [{"content": [{"role": "AI", "text": "Hi"}], "key": "k2"}],
    "key": "k1", "before": ID, "keep": "but_newest", "behind": "k1", "data": {"a": 1},
    "revision": "r2", "expected_revision": "r1", "is_new": True,
    "justification": "a complaint", "retention_period": "P90D", "what": "user", "name": "ana",
}  # fmt: skip
NEVER = {"append", "create", "fork", "transfer", "accept_transfer", "admin_restore", "write_session"}
UNDONE = {"evict"}


def asking(network: Script, *, retries: Retries = FAST) -> ConversationsClient[Client]:
    return Client(URL, transport=network, retries=retries, tenant_id="t").conversations


def asked_of(name: str) -> Call[Any]:
    """Make the call of a method with a sample for each of its parameters."""
    build = methods_of(ConversationsClient)[name].build
    given = {one: SAMPLES[one] for one in [*inspect.signature(build).parameters][1:]}
    return call_of(build(asking(Script(httpx.Response(204))), **given))


def as_object(operation: Operation, content: bytes) -> bytes:
    """Return a body as an object of fields, of which it may be one."""
    return content if operation.body is None else json.dumps({operation.body: json.loads(content)}).encode()


def test_every_operation_has_a_method_whose_arguments_it_takes() -> None:
    led = set()
    for name in methods_of(ConversationsClient):
        call = asked_of(name)
        operation, values = led_to(call, CONVERSATIONS.operations)
        query = {key: value for key, value in parse_qsl(urlsplit(call.target).query) if key != WATCHED_BY}
        if call.content is None:
            parse_values(operation.request, query | values, text="any")
        else:
            parse_body(operation.request, as_object(operation, call.content), values | query)
        assert not call.for_operators, name
        led.add(operation.name)
    assert led == {operation.name for operation in CONVERSATIONS.operations} - {"conversations_health"}


@pytest.mark.parametrize("name", methods_of(ConversationsClient))
def test_only_what_a_repeat_leaves_as_it_is_is_sent_again(name: str) -> None:
    assert asked_of(name).repeat == ("never" if name in NEVER else "undone" if name in UNDONE else "safe")


@pytest.mark.parametrize(
    "outage", [httpx.ConnectError("refused"), httpx.ReadTimeout("too slow"), httpx.Response(503)]
)
def test_an_entry_is_appended_once(outage: httpx.Response | Exception) -> None:
    network = Script(outage)
    with pytest.raises(Unreachable):
        asking(network).append(ID, [{"role": "AI", "text": "Hi"}])
    assert len(network.requests) == 1


def test_a_sync_whose_answer_is_lost_is_sent_again() -> None:
    done = {"epoch": 3, "noOp": True, "epochIncremented": False, "entry": None}
    network = Script(httpx.ReadTimeout("too slow"), httpx.Response(200, json=done))
    synced = asking(network).sync(ID, ["a"])
    assert (synced.epoch, synced.no_op, synced.epoch_incremented, synced.entry) == (3, True, False, None)
    assert [body["channel"] for body in network.bodies] == ["memory", "memory"]


def test_pages_follow_one_another_and_what_is_absent_is_none() -> None:
    first = httpx.Response(200, json={"data": [CONVERSATION], "nextCursor": ID})
    network = Script(first, httpx.Response(200, json={"data": [], "nextCursor": None}))
    (one,) = asking(network).list(query="trip")
    assert (one.owner_user_id, one.title, one.forked_at_entry_id) == ("ana", None, None)
    queries = [dict(parse_qsl(request.url.query.decode())) for request in network.requests]
    assert queries == [
        {"mode": "latest-fork", "query": "trip"},
        {"mode": "latest-fork", "query": "trip", "after": ID},
    ]


def test_content_comes_as_it_was_said() -> None:
    network = Script(httpx.Response(200, json={"data": [ENTRY], "nextCursor": None}))
    (entry,) = asking(network).entries(ID)
    assert json.dumps(entry.content) == '[{"b": 1, "a": 1.5}]'


def test_a_search_tells_what_could_not_help() -> None:
    found = {"conversationId": ID, "entryId": ID, "score": 0.5, "entry": ENTRY}
    network = Script(httpx.Response(200, json={"data": [found], "nextCursor": None, "degraded": ["index"]}))
    (page,) = asking(network).search("Lisbon").pages()
    assert isinstance(page, SearchPage)
    assert (page.degraded, [one.score for one in page.items]) == (("index",), [0.5])
    assert network.bodies == [
        {"query": "Lisbon", "searchType": "auto", "groupByConversation": True, "includeEntry": True}
    ]  # fmt: skip


def test_a_title_is_taken_away_by_none() -> None:
    network = Script(httpx.Response(200, json=CONVERSATION))
    asking(network).rename(ID, None)
    assert network.bodies == [{"title": None}]


def body(error: str, code: str, **details: Any) -> Mapping[str, Any]:
    return {"error": error, "code": code, "details": details}


@pytest.mark.parametrize(
    ("status", "told", "kind", "message", "fields"),
    [
        (400, body("Bad request", "bad_request", message="no sync"), InvalidRequest, "no sync", ()),
        (
            400,
            body(
                "Validation failed", "validation_error", message="$.maxChars: too small; $.after: no id",
                violations=[{"field": "maxChars", "message": "x"}, {"field": "after", "message": "y"}],
            ),
            InvalidRequest, "max_chars: too small; cursor: no id", ("max_chars", "cursor"),
        ),
        (403, body("Forbidden", "forbidden", message="no member"), Forbidden, "no member", ()),
        (
            404, body("Not found", "not_found", resource="entry", id="7"), NotFound, "there is no entry 7", (),
        ),
        (
            409, {"error": "pending", "code": "TRANSFER_ALREADY_PENDING", "existingTransferId": ID}, Conflict,
            "pending", (),
        ),
        (
            501, {"error": "search_type_unavailable", "message": "no embedder", "availableTypes": []}, NotOffered,
            "no embedder", (),
        ),
        (503, body("Service unavailable", "unavailable", message="away"), Unavailable, "away", ()),
    ],
)  # fmt: skip
def test_failures_are_told_with_the_arguments_at_fault(
    status: int, told: Mapping[str, Any], kind: type[ServiceError], message: str, fields: tuple[str, ...]
) -> None:
    network = Script(httpx.Response(status, json=told))
    with pytest.raises(kind) as caught:
        asking(network).append(ID, [])
    assert (caught.value.message, caught.value.fields) == (message, fields)
