"""What the clients rely on that conversations had before ELF: forks by appending, pages and ids of their own."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID, uuid4

import pytest

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.db.conversations.both_wires import BothWires, Failure, entry, page
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

ROOT = "/v1/conversations"


class Wire(Protocol):
    """The calls that these clients make, over HTTP or over gRPC."""

    async def append(self, id: UUID, text: str, **fork: UUID) -> Any: ...

    async def texts(self, id: UUID) -> list[str]: ...

    async def forks(self, id: UUID, *, limit: int, after: str | None) -> tuple[list[str], str | None]: ...

    async def transfers(self, *, limit: int, after: str | None) -> tuple[list[str], str | None]: ...

    async def end(self, transfer: UUID, *, user: str) -> Any: ...

    async def accept(self, transfer: UUID, *, user: str) -> Any: ...


class Http:
    """Pages are asked for as these clients do, by `limit` and `afterCursor`."""

    def __init__(self, both: BothWires) -> None:
        self._ask = both.http

    async def append(self, id: UUID, text: str, **fork: UUID) -> Any:
        names = {"conversation": "forkedAtConversationId", "entry": "forkedAtEntryId"}
        at = {names[name]: str(value) for name, value in fork.items()}
        body = {"channel": "history", "contentType": "history", "content": [said(text)], **at}
        return await self._ask(f"POST {ROOT}/{id}/entries", body)

    async def texts(self, id: UUID) -> list[str]:
        return [
            one["content"][0]["text"]
            for one in (await self._ask(f"GET {ROOT}/{id}/entries?limit=200"))["data"]
        ]

    async def forks(self, id: UUID, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        return await self._page(f"{ROOT}/{id}/forks", "conversationId", limit, after)

    async def transfers(self, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        return await self._page("/v1/ownership-transfers", "id", limit, after)

    async def _page(self, path: str, key: str, limit: int, after: str | None) -> tuple[list[str], str | None]:
        more = "" if after is None else f"&afterCursor={after}"
        found = await self._ask(f"GET {path}?limit={limit}{more}")
        assert found["afterCursor"] == found["nextCursor"]
        return [one[key] for one in found["data"]], found["afterCursor"]

    async def end(self, transfer: UUID, *, user: str) -> Any:
        return await self._ask(f"DELETE /v1/ownership-transfers/{transfer}", user=user)

    async def accept(self, transfer: UUID, *, user: str) -> Any:
        return await self._ask(f"POST /v1/ownership-transfers/{transfer}/accept", user=user)


class Grpc:
    def __init__(self, both: BothWires) -> None:
        self._ask = both.rpc

    async def append(self, id: UUID, text: str, **fork: UUID) -> Any:
        at = {f"forked_at_{name}_id": value.bytes for name, value in fork.items()}
        new = entry(said(text), content_type="history", channel=pb.HISTORY, **at)
        written = await self._ask("EntriesService.AppendEntry", conversation_id=id.bytes, entry=new)
        return written if isinstance(written, Failure) else {"id": str(UUID(bytes=written.id))}

    async def texts(self, id: UUID) -> list[str]:
        found = await self._ask("EntriesService.ListEntries", conversation_id=id.bytes, **page(size=200))
        return [one.content[0].struct_value["text"] for one in found.entries]

    async def forks(self, id: UUID, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        asked = page(after or "", limit)
        found = await self._ask("ConversationsService.ListForks", conversation_id=id.bytes, **asked)
        ids = [str(UUID(bytes=one.conversation_id)) for one in found.forks]
        return ids, found.page_info.next_page_token or None

    async def transfers(self, *, limit: int, after: str | None) -> tuple[list[str], str | None]:
        found = await self._ask(
            "OwnershipTransfersService.ListOwnershipTransfers", **page(after or "", limit)
        )
        return [str(UUID(bytes=one.id)) for one in found.transfers], found.page_info.next_page_token or None

    async def end(self, transfer: UUID, *, user: str) -> Any:
        call = "OwnershipTransfersService.DeleteOwnershipTransfer"
        return await self._ask(call, transfer_id=transfer.bytes, user=user)

    async def accept(self, transfer: UUID, *, user: str) -> Any:
        call = "OwnershipTransfersService.AcceptOwnershipTransfer"
        return await self._ask(call, transfer_id=transfer.bytes, user=user)


@pytest.fixture(params=[Http, Grpc])
def wire(request: pytest.FixtureRequest, both: BothWires) -> Wire:
    made: Wire = request.param(both)
    return made


def said(text: str) -> dict[str, str]:
    return {"role": "USER", "text": text}


async def three(wire: Wire) -> tuple[UUID, list[UUID]]:
    """Begin a conversation of A, B and C; return it, and their ids."""
    id = uuid4()
    return id, [UUID((await wire.append(id, text))["id"]) for text in "ABC"]


async def test_a_fork_by_appending_has_what_comes_before_the_entry(both: BothWires, wire: Wire) -> None:
    root, (a, b, c) = await three(wire)
    at_b, at_a, at_n, at_nothing = uuid4(), uuid4(), uuid4(), uuid4()
    n = UUID((await wire.append(at_b, "N", conversation=root, entry=b))["id"])
    await wire.append(at_a, "N", conversation=root, entry=a)
    await wire.append(at_n, "M", conversation=at_b, entry=n)
    await wire.append(at_nothing, "N", conversation=root)
    shown = [await wire.texts(id) for id in (root, at_b, at_a, at_n, at_nothing)]
    assert shown == [list("ABC"), ["A", "N"], ["N"], ["A", "M"], ["N"]]
    found = [await both.http(f"GET {ROOT}/{id}") for id in (at_b, at_a, at_n, at_nothing)]
    assert [one.get("forkedAtEntryId") for one in found] == [str(a), None, str(a), None]
    assert [one["forkedAtConversationId"] for one in found] == [str(id) for id in (root, root, at_b, root)]
    await wire.append(at_b, "O", conversation=root, entry=c)  # it exists: where it forks from stays
    assert await wire.texts(at_b) == ["A", "N", "O"]


async def test_an_entry_to_fork_at_takes_its_conversation(wire: Wire) -> None:
    root, (a, *_) = await three(wire)
    failure = await wire.append(uuid4(), "N", entry=a)
    assert failure.code == "INVALID_ARGUMENT"
    assert "forkedAtConversationId" in failure.text
    unknown = await wire.append(uuid4(), "N", conversation=root, entry=uuid4())
    assert unknown.code == "NOT_FOUND"


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_forks_come_in_pages(both: BothWires, wire: Wire, clock: TurnedClock, limit: int) -> None:
    root, (a, *_) = await three(wire)
    ids = [root]
    for _ in range(3):
        clock.turn(seconds=1)
        for fork in sorted((uuid4(), uuid4())):  # of the same moment
            ids.append(fork)
            await wire.append(fork, "N", conversation=root, entry=a)
    found: list[str] = []
    after = None
    while not found or after is not None:
        data, after = await wire.forks(ids[-1], limit=limit, after=after)
        assert 0 < len(data) <= limit
        found += data
    assert found == [str(id) for id in ids]
    other = (await both.http(f"POST {ROOT}", {}))["id"]
    for unknown in (other, uuid4()):
        refused = await both.http(f"GET {ROOT}/{root}/forks?after={unknown}")
        assert (refused.code, refused.text) == (
            "INVALID_ARGUMENT",
            "after is not a conversation of this listing",
        )


async def test_transfers_come_in_pages_and_a_page_goes_on_behind_one_that_ended(
    both: BothWires, wire: Wire, clock: TurnedClock
) -> None:
    asked = []
    for _ in range(5):
        clock.turn(seconds=1)
        id = (await both.http(f"POST {ROOT}", {}))["id"]
        await both.http(f"POST {ROOT}/{id}/memberships", {"userId": "bob", "accessLevel": "reader"})
        body = {"conversationId": id, "newOwnerUserId": "bob"}
        asked.append((await both.http("POST /v1/ownership-transfers", body))["id"])
    first, after = await wire.transfers(limit=2, after=None)
    assert first == asked[:2]
    for one in first:
        assert not isinstance(await wire.accept(UUID(one), user="bob"), Failure)
    second, after = await wire.transfers(limit=2, after=after)
    third, end = await wire.transfers(limit=2, after=after)
    assert (second, third, end) == (asked[2:4], asked[4:], None)
    for cursor in ("x", after):  # the latter is of the listing of both roles
        refused = await both.http(f"GET /v1/ownership-transfers?role=sender&after={cursor}")
        assert (refused.code, refused.text) == ("INVALID_ARGUMENT", "after is not a cursor of this listing")


async def test_the_transfer_of_others_is_not_ones_to_end(both: BothWires, wire: Wire) -> None:
    id = (await both.http(f"POST {ROOT}", {}))["id"]
    for user in ("bob", "cleo"):
        await both.http(f"POST {ROOT}/{id}/memberships", {"userId": user, "accessLevel": "manager"})
    body = {"conversationId": id, "newOwnerUserId": "bob"}
    transfer = UUID((await both.http("POST /v1/ownership-transfers", body))["id"])
    for stranger in ("cleo", "dan"):  # a member of the conversation, and none
        for call in (wire.end, wire.accept):
            assert (await call(transfer, user=stranger)).code == "PERMISSION_DENIED"
            assert (await call(uuid4(), user=stranger)).code == "NOT_FOUND"
        read = await both.http(f"GET /v1/ownership-transfers/{transfer}", user=stranger)
        assert read.code == "NOT_FOUND"
    assert not isinstance(await wire.end(transfer, user="bob"), Failure)
    assert (await wire.end(transfer, user="bob")).code == "NOT_FOUND"


async def test_all_pages_have_their_cursor_under_both_names(both: BothWires) -> None:
    id = (await both.http(f"POST {ROOT}", {}))["id"]
    for text in ("Lisbon one", "Lisbon two", "Lisbon three"):
        body = {"contentType": "history", "content": [{"text": text}]}
        await both.http(f"POST {ROOT}/{id}/entries", body)
        await both.http(f"POST {ROOT}", {"title": text})
        memory = {"channel": "memory", "contentType": "x", "content": [{"text": text}]}
        await both.http(f"POST {ROOT}/{id}/entries", memory, client="bot")
    listings = (
        (f"GET {ROOT}", None),
        (f"GET {ROOT}/{id}/entries?channel=memory&epoch=all", None),
        (f"GET {ROOT}/{id}/entries?forks=all", None),
        (f"POST {ROOT}/search", {"query": "Lisbon", "groupByConversation": False, "searchType": "fulltext"}),
        ("GET /v1/admin/conversations", None),
        (f"GET /v1/admin/conversations/{id}/entries", None),
    )
    for call, body in listings:
        role = "auditor" if "admin" in call else None
        seen, after = 0, None
        while after is not None or not seen:
            asked = {"limit": 2} | ({} if after is None else {"afterCursor": after})
            query = "&".join(f"{name}={value}" for name, value in asked.items())
            line = call if body else f"{call}{'&' if '?' in call else '?'}{query}"
            found = await both.http(line, {**body, **asked} if body else None, role=role, client="bot")
            assert not isinstance(found, Failure), (line, found)
            assert found["afterCursor"] == found["nextCursor"], call
            seen, after = seen + len(found["data"]), found["afterCursor"]
        assert seen >= 3, call


async def test_a_conversation_is_created_under_an_id_that_none_has(both: BothWires) -> None:
    id = uuid4()
    made = await both.http(f"POST {ROOT}", {"id": str(id), "title": "Trip", "metadata": {"a": 1}})
    assert (made["id"], made["title"]) == (str(id), "Trip")
    assert await both.http(f"GET {ROOT}/{id}") == made
    taken = Failure("ALREADY_EXISTS", f"there is a conversation of the id {id} already")
    assert await both.http(f"POST {ROOT}", {"id": str(id)}) == taken
    assert await both.http(f"POST {ROOT}", {"id": str(id)}, user="bob") == taken
    await both.http(f"DELETE {ROOT}/{id}")
    assert await both.http(f"POST {ROOT}", {"id": str(id)}) == taken
    assert (await both.http(f"POST {ROOT}", {"id": "x"})).code == "INVALID_ARGUMENT"
