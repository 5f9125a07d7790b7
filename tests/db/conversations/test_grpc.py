"""Conversations over gRPC: whatever is asked for, HTTP says the same, entry for entry and failure for failure."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID, uuid4

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.db.conversations.both_wires import CONTENT, BothWires, Failure, entry, plain

pytestmark = pytest.mark.anyio

ROOT = "/v1/conversations"


async def test_health_is_open(both: BothWires) -> None:
    assert (await both.rpc("SystemService.GetHealth", Empty(), user=None)).status == "ok"


# Conversations


async def test_a_conversation_is_the_same_over_both(both: BothWires, trip: UUID) -> None:
    asked = {"conversation_id": trip.bytes}
    over_rpc = await both.rpc("ConversationsService.GetConversation", **asked)
    assert plain(over_rpc) == await both.http(f"GET {ROOT}/{trip}")
    metadata = Struct()
    metadata.update({"trip": "Lisbon", "places": [1, {"b": None}]})
    made = await both.rpc("ConversationsService.CreateConversation", title="New", metadata=metadata)
    assert plain(made) == await both.http(f"GET {ROOT}/{UUID(bytes=made.id)}")
    found = await both.http(f"GET {ROOT}?query=lisbon")
    assert [one["id"] for one in found["data"]] == [str(UUID(bytes=made.id))]


async def test_lists_have_the_same_pages(both: BothWires, trip: UUID) -> None:
    await both.http(f"POST {ROOT}", {})
    (_, told) = (await both.http(f"GET {ROOT}/{trip}/entries"))["data"][:2]
    await both.http(f"POST {ROOT}/{trip}/entries/{told['id']}/fork")
    for mode, number in (
        ("latest-fork", 0),
        ("all", pb.ALL),
        ("roots", pb.ROOTS),
        ("latest-fork", pb.LATEST_FORK),
    ):
        after, token, pages = "", "", 0
        while pages == 0 or token:
            over_http = await both.http(f"GET {ROOT}?mode={mode}&limit=1{after}")
            page = pb.PageRequest(page_token=token, page_size=1)
            over_rpc = await both.rpc("ConversationsService.ListConversations", mode=number, page=page)
            assert plain(over_rpc).get("conversations", []) == over_http["data"]
            assert (over_rpc.page_info.next_page_token or None) == over_http["nextCursor"]
            token = over_rpc.page_info.next_page_token
            after, pages = f"&after={token}", pages + 1
        assert pages == (3 if mode == "all" else 2)


async def test_a_title_is_left_changed_or_taken_away(both: BothWires, trip: UUID) -> None:
    call, asked = "ConversationsService.UpdateConversation", {"conversation_id": trip.bytes}
    before = await both.rpc("ConversationsService.GetConversation", **asked)
    assert await both.rpc(call, **asked) == before
    assert (await both.rpc(call, **asked, title="Other")).title == "Other"
    assert "title" not in plain(await both.rpc(call, **asked, title=""))
    assert "title" not in await both.http(f"GET {ROOT}/{trip}")
    await both.http(f"POST {ROOT}/{trip}/memberships", {"userId": "bob", "accessLevel": "reader"})
    refused = await both.http(f"PATCH {ROOT}/{trip}", {"title": "Mine"}, user="bob")
    assert await both.rpc(call, **asked, user="bob") == refused == Failure("PERMISSION_DENIED", refused.text)


async def test_forks_are_the_same_over_both_whole_and_page_by_page(both: BothWires, trip: UUID) -> None:
    entries = (await both.http(f"GET {ROOT}/{trip}/entries"))["data"]
    for one in entries:
        at = UUID(one["id"]).bytes
        made = await both.rpc(
            "ConversationsService.ForkConversation", conversation_id=trip.bytes, entry_id=at
        )
        assert plain(made) == await both.http(f"GET {ROOT}/{UUID(bytes=made.id)}")
    whole = (await both.http(f"GET {ROOT}/{trip}/forks"))["data"]
    assert len(whole) == len(entries) + 1
    assert (
        await pages_of(both, "ConversationsService.ListForks", "forks", conversation_id=trip.bytes) == whole
    )
    await both.rpc("ConversationsService.DeleteConversation", conversation_id=trip.bytes)
    assert (await both.http(f"GET {ROOT}/{trip}")).code == "NOT_FOUND"


async def pages_of(both: BothWires, call: str, name: str, **asked: Any) -> list[Any]:
    """Return a list that is given whole, having seen that all ways to ask for pages of it give the same."""
    whole = await both.rpc(call, **asked)
    assert whole.page_info.next_page_token == ""
    assert await both.rpc(call, **asked, page=pb.PageRequest()) == whole
    found, token = [], ""
    while not found or token:
        page = await both.rpc(call, **asked, page=pb.PageRequest(page_token=token, page_size=2))
        items = plain(page)[name]
        assert len(items) == 2 or not page.page_info.next_page_token
        found, token = [*found, *items], page.page_info.next_page_token
    first = await both.rpc(call, **asked, page=pb.PageRequest(page_size=1))
    rest = []
    if token := first.page_info.next_page_token:
        rest = plain(await both.rpc(call, **asked, page=pb.PageRequest(page_token=token)))[name]
    assert found == plain(whole)[name] == [*plain(first)[name], *rest]
    return found


# Entries


async def test_entries_are_the_same_over_both(both: BothWires, trip: UUID) -> None:
    ways: list[tuple[str, dict[str, Any], str | None]] = [
        ("channel=history", {}, "bot"),
        ("channel=history", {}, None),
        ("channel=history", {"channel": pb.HISTORY, "forks": "all"}, None),
        ("channel=memory", {"channel": pb.MEMORY}, "bot"),
        ("channel=memory&epoch=1", {"channel": pb.MEMORY, "epoch_filter": "1"}, "bot"),
        ("channel=memory&epoch=7", {"channel": pb.MEMORY, "epoch_filter": "7"}, "bot"),
        (
            "channel=memory&epoch=all&forks=all",
            {"channel": pb.MEMORY, "epoch_filter": "ALL", "forks": "all"},
            "bot",
        ),
    ]
    for query, fields, client in ways:
        over_http = await both.http(f"GET {ROOT}/{trip}/entries?{query}", client=client)
        over_rpc = await both.rpc(
            "EntriesService.ListEntries", conversation_id=trip.bytes, **fields, client=client
        )
        assert plain(over_rpc).get("entries", []) == over_http["data"], query
    (memory,) = (await both.http(f"GET {ROOT}/{trip}/entries?channel=memory", client="bot"))["data"]
    assert memory["content"] == [CONTENT]


async def test_entries_have_the_same_pages(both: BothWires, trip: UUID) -> None:
    found, token = [], ""
    for _ in range(2):
        page = pb.PageRequest(page_token=token, page_size=2)
        answer = await both.rpc("EntriesService.ListEntries", conversation_id=trip.bytes, page=page)
        found += plain(answer)["entries"]
        token = answer.page_info.next_page_token
    assert found == (await both.http(f"GET {ROOT}/{trip}/entries"))["data"]
    assert token == ""


async def test_what_is_appended_over_one_is_read_over_the_other(both: BothWires, trip: UUID) -> None:
    written = await both.rpc(
        "EntriesService.AppendEntry",
        conversation_id=trip.bytes,
        entry=entry(CONTENT, content_type="x"),
        client="bot",
    )
    assert plain(written) | {"epoch": 1, "channel": "memory"} == plain(written), (
        "memory, unless it is said otherwise"
    )
    *_, read = (await both.http(f"GET {ROOT}/{trip}/entries?channel=memory", client="bot"))["data"]
    assert read == plain(written)
    said = entry({"role": "USER", "text": "four"}, content_type="history", channel=pb.HISTORY)
    written = await both.rpc("EntriesService.AppendEntry", conversation_id=trip.bytes, entry=said)
    *_, read = (await both.http(f"GET {ROOT}/{trip}/entries"))["data"]
    assert read == plain(written)
    assert written.epoch == 0


async def test_a_conversation_begins_with_its_first_entry_maybe_as_a_fork(
    both: BothWires, trip: UUID
) -> None:
    (first, second, *_) = (await both.http(f"GET {ROOT}/{trip}/entries"))["data"]
    new = uuid4()
    at = {"forked_at_conversation_id": trip.bytes, "forked_at_entry_id": UUID(second["id"]).bytes}
    said = entry({"role": "USER", "text": "elsewhere"}, content_type="history", channel=pb.HISTORY, **at)
    await both.rpc("EntriesService.AppendEntry", conversation_id=new.bytes, entry=said)
    made = await both.http(f"GET {ROOT}/{new}")
    assert (made["forkedAtConversationId"], made["forkedAtEntryId"]) == (str(trip), first["id"])


async def test_memory_is_synced_as_over_http(both: BothWires, trip: UUID) -> None:
    async def sync(*items: Any) -> Any:
        memory = entry(*items, content_type="x")
        answer = await both.rpc(
            "EntriesService.SyncEntries", conversation_id=trip.bytes, entry=memory, client="bot"
        )
        return answer.no_op, answer.epoch_incremented, answer.epoch, answer.HasField("entry")

    assert await sync(CONTENT) == (True, False, 1, False)
    assert await sync(CONTENT, "more") == (False, False, 1, True)
    assert await sync("other") == (False, True, 2, True)
    assert await sync() == (False, True, 3, True)
    other = await both.rpc(
        "EntriesService.SyncEntries", conversation_id=trip.bytes, entry=entry(content_type="x"), client="new"
    )
    assert (other.no_op, other.HasField("epoch")) == (True, False)


async def test_numbers_that_no_double_has_come_as_the_nearest(both: BothWires, trip: UUID) -> None:
    body = {"contentType": "x", "content": [2**63 + 1, 10**400, -(10**400)]}
    await both.http(f"POST {ROOT}/{trip}/entries", body, client="large")
    answer = await both.rpc(
        "EntriesService.ListEntries", conversation_id=trip.bytes, channel=pb.MEMORY, client="large"
    )
    (one,) = answer.entries
    limit = math.nextafter(math.inf, 0)
    assert [value.number_value for value in one.content] == [float(2**63), limit, -limit]


async def test_content_too_deep_for_the_wire_is_told_and_http_has_it(both: BothWires, trip: UUID) -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    body = {"contentType": "x", "content": [deep]}
    assert (await both.http(f"POST {ROOT}/{trip}/entries", body, client="deep"))["content"] == [deep]
    asked = {"conversation_id": trip.bytes, "channel": pb.MEMORY}
    failure = await both.rpc("EntriesService.ListEntries", **asked, client="deep")
    assert failure == Failure("RESOURCE_EXHAUSTED", "the answer is nested too deeply for gRPC; HTTP has it")


# Sharing


async def test_memberships_are_the_same_over_both(both: BothWires, trip: UUID) -> None:
    service, asked = "ConversationMembershipsService", {"conversation_id": trip.bytes}
    for user, level in (("bob", pb.WRITER), ("cleo", pb.READER), ("dan", pb.MANAGER)):
        given = await both.rpc(f"{service}.ShareConversation", **asked, user_id=user, access_level=level)
        assert (given.user_id, given.access_level) == (user, level)
    changed = {"member_user_id": "cleo", "access_level": pb.WRITER}
    assert (await both.rpc(f"{service}.UpdateMembership", **asked, **changed)).access_level == pb.WRITER
    await both.rpc(f"{service}.DeleteMembership", **asked, member_user_id="dan")
    whole = (await both.http(f"GET {ROOT}/{trip}/memberships"))["data"]
    assert [one["userId"] for one in whole] == ["ana", "bob", "cleo"]
    assert await pages_of(both, f"{service}.ListMemberships", "memberships", **asked) == whole


async def test_transfers_are_the_same_over_both(both: BothWires, trip: UUID) -> None:
    service, asked = "OwnershipTransfersService", {"conversation_id": trip.bytes}
    await both.http(f"POST {ROOT}/{trip}/memberships", {"userId": "bob", "accessLevel": "reader"})
    made = await both.rpc(f"{service}.CreateOwnershipTransfer", **asked, new_owner_user_id="bob")
    assert await both.rpc(f"{service}.GetOwnershipTransfer", transfer_id=made.id, user="bob") == made
    whole = (await both.http("GET /v1/ownership-transfers"))["data"]
    assert await pages_of(both, f"{service}.ListOwnershipTransfers", "transfers") == whole == [plain(made)]
    for user, role, count in (("ana", pb.SENDER, 1), ("ana", pb.RECIPIENT, 0), ("bob", pb.RECIPIENT, 1)):
        listing = pb.ListOwnershipTransfersRequest(role=role)
        found = await both.rpc(f"{service}.ListOwnershipTransfers", listing, user=user)
        assert len(found.transfers) == count
    await both.rpc(f"{service}.DeleteOwnershipTransfer", transfer_id=made.id)
    made = await both.rpc(f"{service}.CreateOwnershipTransfer", **asked, new_owner_user_id="bob")
    await both.rpc(f"{service}.AcceptOwnershipTransfer", transfer_id=made.id, user="bob")
    assert (await both.http(f"GET {ROOT}/{trip}"))["ownerUserId"] == "bob"


# Search


async def test_entries_are_found_and_given_texts_as_over_http(both: BothWires, trip: UUID) -> None:
    over_http = await both.http(f"POST {ROOT}/search", {"query": "two"})
    over_rpc = await both.rpc("SearchService.SearchConversations", query="two")
    (found,), (result,) = over_http["data"], plain(over_rpc)["results"]
    assert {**result, "score": pytest.approx(found["score"], rel=1e-6)} == found
    bare = await both.rpc("SearchService.SearchConversations", query="two", include_entry=False)
    assert not bare.results[0].HasField("entry")
    body = {"contentType": "history", "channel": "history", "content": [{"role": "AI", "text": "four"}]}
    for _ in range(2):
        await both.http(f"POST {ROOT}/{trip}/entries", body, client="bot")
    page = await both.rpc("SearchService.ListUnindexedEntries", limit=1, role="indexer")
    rest = await both.rpc("SearchService.ListUnindexedEntries", cursor=page.cursor, role="indexer")
    assert not rest.HasField("cursor")
    unindexed = (await both.http(f"GET {ROOT}/unindexed", role="indexer"))["data"]
    listed = [*page.entries, *rest.entries]
    assert [plain(one) for one in listed] == unindexed
    texts = [
        pb.IndexEntryRequest(
            conversation_id=one.conversation_id, entry_id=one.entry.id, indexed_content="lemon"
        )
        for one in listed
    ]
    indexed = await both.rpc("SearchService.IndexConversations", entries=texts, role="indexer")
    assert indexed.indexed == 2
    assert len((await both.rpc("SearchService.SearchConversations", query="lemon")).results) == 1
