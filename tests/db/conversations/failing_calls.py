"""Calls that fail, as they are made over HTTP and over gRPC, by everything that can be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.db.conversations.both_wires import entry, page

ROOT = "/v1/conversations"
TRANSFERS = "/v1/ownership-transfers"
NOBODY = uuid4()
GONE = {"conversation_id": NOBODY.bytes}
THERE = f"{ROOT}/{NOBODY}"
BOT = {"client": "bot"}
INDEXER = {"role": "indexer"}
LONG = "x" * 501


@dataclass(frozen=True)
class FailingCall:
    """A call with its body over HTTP and its fields over gRPC; `who` makes it, where that is not ana."""

    http: str
    rpc: str
    fields: dict[str, Any]
    body: Any = None
    who: dict[str, Any] = field(default_factory=dict)


def failing_calls(id: UUID, transfer: UUID) -> Iterator[FailingCall]:
    """Return calls on a conversation of ana's, which bob may write to and cleo read, and which is to be bob's."""
    yield from _conversations(id)
    yield from _entry_lists(id)
    yield from _appends(id)
    yield from _syncs(id)
    yield from _memberships(id)
    yield from _transfers(id, transfer)
    yield from _search(id)


def _conversations(id: UUID) -> Iterator[FailingCall]:
    here, one = f"{ROOT}/{id}", {"conversation_id": id.bytes}
    service = "ConversationsService"
    get, update = f"{service}.GetConversation", f"{service}.UpdateConversation"
    yield FailingCall(f"GET {here}", get, one, who={"user": None})
    yield FailingCall(f"GET {here}", get, one, who={"user": "eve"})
    yield FailingCall(f"GET {THERE}", get, GONE)
    yield FailingCall(f"DELETE {here}", f"{service}.DeleteConversation", one, who={"user": "bob"})
    yield FailingCall(f"PATCH {here}", update, {**one, "title": "x"}, {"title": "x"}, {"user": "cleo"})
    yield FailingCall(f"PATCH {here}", update, {**one, "title": LONG}, {"title": LONG})
    yield FailingCall(f"POST {ROOT}", f"{service}.CreateConversation", {"title": "\0"}, {"title": "\0"})
    listing = f"{service}.ListConversations"
    for query, fields in (
        ("limit=-1", page(size=-1)),
        ("limit=201", page(size=201)),
        ("after=x", page("x")),
        (f"after={NOBODY}", page(str(NOBODY))),
        (f"query={LONG * 2}", {"query": LONG * 2}),
    ):
        yield FailingCall(f"GET {ROOT}?{query}", listing, fields)
    at = {**one, "entry_id": NOBODY.bytes}
    yield FailingCall(f"POST {here}/entries/{NOBODY}/fork", f"{service}.ForkConversation", at)
    yield FailingCall(f"GET {THERE}/forks", f"{service}.ListForks", GONE)


def _entry_lists(id: UUID) -> Iterator[FailingCall]:
    for query, fields in (
        ("channel=memory", {"channel": pb.MEMORY}),
        ("epoch=-1", {"epoch_filter": "-1"}),
        ("forks=some", {"forks": "some"}),
        (f"after={NOBODY}", page(str(NOBODY))),
    ):
        asked = {"conversation_id": id.bytes, **fields}
        yield FailingCall(f"GET {ROOT}/{id}/entries?{query}", "EntriesService.ListEntries", asked)


def _appends(id: UUID) -> Iterator[FailingCall]:
    history = {"contentType": "history", "channel": "history"}
    memory = {"contentType": "x", "content": []}
    for body, sent, who in (
        (history | {"content": [{"role": "USER"}]},
         entry({"role": "USER"}, content_type="history", channel=pb.HISTORY), {}),
        (history | {"content": [1, 2]}, entry(1, 2, content_type="history", channel=pb.HISTORY), BOT),
        (history | {"contentType": "x", "content": []}, entry(content_type="x", channel=pb.HISTORY), BOT),
        ({"channel": "memory", "content": []}, entry(), {}),
        (memory | {"channel": "memory"}, entry(content_type="x"), {}),
        (memory | {"content": ["\0"]}, entry("\0", content_type="x"), BOT),
        (memory | {"content": [{"\0": 1}]}, entry({"\0": 1}, content_type="x"), BOT),
        (memory | {"content": [0] * 10_001}, entry(*[0] * 10_001, content_type="x"), BOT),
        (memory | {"indexedContent": ""}, entry(content_type="x", indexed_content=""), BOT),
        (memory | {"contentType": LONG}, entry(content_type=LONG), BOT),
        (memory | {"userId": LONG}, entry(content_type="x", user_id=LONG), BOT),
    ):  # fmt: skip
        asked = {"conversation_id": id.bytes, "entry": sent}
        yield FailingCall(f"POST {ROOT}/{id}/entries", "EntriesService.AppendEntry", asked, body, who)
    fork = memory | {"forkedAtEntryId": str(NOBODY)}
    asked = {**GONE, "entry": entry(content_type="x", forked_at_entry_id=NOBODY.bytes)}
    yield FailingCall(f"POST {THERE}/entries", "EntriesService.AppendEntry", asked, fork, BOT)


def _syncs(id: UUID) -> Iterator[FailingCall]:
    call, path = "EntriesService.SyncEntries", f"{ROOT}/{id}/entries/sync"
    body = {"channel": "memory", "contentType": "x", "content": []}
    one, sent = {"conversation_id": id.bytes}, {"entry": entry(content_type="x")}
    history = {"entry": entry(content_type="x", channel=pb.HISTORY)}
    yield FailingCall(f"POST {path}", call, one | history, body | {"channel": "history"}, BOT)
    yield FailingCall(f"POST {path}", call, one | sent, body)
    yield FailingCall(f"POST {THERE}/entries/sync", call, GONE | sent, body, BOT)


def _memberships(id: UUID) -> Iterator[FailingCall]:
    members, one = f"{ROOT}/{id}/memberships", {"conversation_id": id.bytes}
    service = "ConversationMembershipsService"
    for body, fields, who in (
        ({"userId": "dan", "accessLevel": "owner"}, {"user_id": "dan", "access_level": pb.OWNER}, {}),
        ({"userId": "dan", "accessLevel": "reader"}, {"user_id": "dan", "access_level": pb.READER}, {"user": "bob"}),
        ({"userId": "dan"}, {"user_id": "dan"}, {}),
        ({"accessLevel": "reader"}, {"access_level": pb.READER}, {}),
    ):  # fmt: skip
        yield FailingCall(f"POST {members}", f"{service}.ShareConversation", one | fields, body, who)
    change = {**one, "member_user_id": "dan", "access_level": pb.READER}
    yield FailingCall(
        f"PATCH {members}/dan", f"{service}.UpdateMembership", change, {"accessLevel": "reader"}
    )
    owner = {**one, "member_user_id": "ana"}
    yield FailingCall(f"DELETE {members}/ana", f"{service}.DeleteMembership", owner)
    yield FailingCall(f"GET {THERE}/memberships", f"{service}.ListMemberships", GONE)


def _transfers(id: UUID, transfer: UUID) -> Iterator[FailingCall]:
    one, asked = {"conversation_id": id.bytes}, {"transfer_id": transfer.bytes}
    service = "OwnershipTransfersService"
    create = f"{service}.CreateOwnershipTransfer"
    body = {"conversationId": str(id), "newOwnerUserId": "bob"}
    yield FailingCall(f"POST {TRANSFERS}", create, {**one, "new_owner_user_id": "bob"}, body)
    yield FailingCall(f"POST {TRANSFERS}", create, one, {"conversationId": str(id)})
    cleo = {"user": "cleo"}
    yield FailingCall(f"GET {TRANSFERS}/{transfer}", f"{service}.GetOwnershipTransfer", asked, who=cleo)
    yield FailingCall(f"POST {TRANSFERS}/{transfer}/accept", f"{service}.AcceptOwnershipTransfer", asked)
    gone = {"transfer_id": NOBODY.bytes}
    yield FailingCall(f"DELETE {TRANSFERS}/{NOBODY}", f"{service}.DeleteOwnershipTransfer", gone)


def _search(id: UUID) -> Iterator[FailingCall]:
    search, index = "SearchService.SearchConversations", "SearchService.IndexConversations"
    unindexed = "SearchService.ListUnindexedEntries"
    yield FailingCall(f"POST {ROOT}/search", search, {}, {})
    for wrong in ({"after": "x"}, {"limit": -1}, {"limit": 201}):
        asked = {"query": "x", **wrong}
        yield FailingCall(f"POST {ROOT}/search", search, asked, asked)
    for text, who in (("x", {}), ("x", INDEXER), ("", INDEXER), ("x" * 100_001, INDEXER)):
        fields = {"conversation_id": id.bytes, "entry_id": NOBODY.bytes, "indexed_content": text}
        body: dict[str, Any] = {"conversationId": str(id), "entryId": str(NOBODY), "indexedContent": text}
        yield FailingCall(
            f"POST {ROOT}/index", index, {"entries": [pb.IndexEntryRequest(**fields)]}, [body], who
        )
    yield FailingCall(f"POST {ROOT}/index", index, {}, [], INDEXER)
    yield FailingCall(f"GET {ROOT}/unindexed", unindexed, {})
    yield FailingCall(f"GET {ROOT}/unindexed?cursor=x", unindexed, {"cursor": "x"}, who=INDEXER)
    yield FailingCall(f"GET {ROOT}/unindexed?limit=201", unindexed, {"limit": 201}, who=INDEXER)
