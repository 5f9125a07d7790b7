"""Members of trees, and trees that get another owner: every rule holds for the tree, through whichever conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from elf.core.errors import Forbidden, ServiceError
from elf.families.conversations.errors import Missing, RuleBroken, TransferPending
from elf.families.conversations.model import LEVELS, AccessLevel, NewEntry
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who

pytestmark = pytest.mark.anyio

NUMBERS = count()


class House:
    """A tree of ana's with a fork, in a tenant of its own; and members of every other level, named by it."""

    def __init__(self, store: ConversationStore, sharing: TreeSharing) -> None:
        self.store, self.sharing = store, sharing
        self.tenant = f"sharing-{next(NUMBERS)}-{uuid4()}"

    def who(self, user: str) -> Who:
        return Who(tenant_id=self.tenant, user=user)

    async def settle(self) -> None:
        self.root = (await self.store.create(self.who("ana"), title="Trip", metadata={})).conversation_id
        entry = NewEntry(channel="history", content_type="history", content=[{"role": "USER", "text": "Hi"}])
        first = await self.store.append(self.who("ana"), self.root, entry)
        self.entry = first.entry_id
        self.fork = (await self.store.fork(self.who("ana"), self.root, first.entry_id)).conversation_id
        for level in LEVELS[:-1]:
            await self.sharing.share(self.who("ana"), self.root, level, level)

    async def levels(self) -> dict[str, AccessLevel]:
        members = await self.sharing.members(self.who(await self.owner()), self.fork)
        return {one.user_id: one.access_level for one in members}

    async def owner(self) -> str:
        for user in ("ana", *LEVELS[:-1]):
            try:
                return (await self.store.get(self.who(user), self.root)).owner_user_id
            except ServiceError:
                continue
        raise AssertionError("nobody is left")


@pytest.fixture
async def house(store: ConversationStore, sharing: TreeSharing) -> House:
    house = House(store, sharing)
    await house.settle()
    return house


async def refused(call: Callable[[], Awaitable[Any]]) -> type[ServiceError] | None:
    try:
        await call()
    except ServiceError as error:
        return type(error)
    return None


ALL = {"ana": "owner", "manager": "manager", "writer": "writer", "reader": "reader"}


async def test_each_level_may_what_it_takes(house: House) -> None:
    entry = NewEntry(channel="history", content_type="history", content=[{"role": "USER", "text": "Hi"}])
    store, sharing = house.store, house.sharing
    calls: list[tuple[AccessLevel, Callable[[Who], Awaitable[Any]]]] = [
        ("reader", lambda who: store.get(who, house.fork)),
        ("reader", lambda who: store.forks(who, house.fork)),
        ("reader", lambda who: sharing.members(who, house.fork)),
        ("writer", lambda who: store.append(who, house.fork, entry)),
        ("writer", lambda who: store.retitle(who, house.fork, "Trip")),
        ("writer", lambda who: store.fork(who, house.root, house.entry)),
        ("manager", lambda who: sharing.share(who, house.fork, "new", "writer")),
        ("manager", lambda who: sharing.change(who, house.fork, "reader", "reader")),
        ("manager", lambda who: sharing.remove(who, house.fork, "new")),
        ("owner", lambda who: sharing.share(who, house.fork, "manager", "manager")),
    ]
    for least, call in calls:
        for user in ("stranger", *LEVELS):
            name = "ana" if user == "owner" else user
            allowed = user in LEVELS and LEVELS.index(user) >= LEVELS.index(least)
            found = await refused(lambda call=call, name=name: call(house.who(name)))  # type: ignore[misc]
            assert found == (None if allowed else Forbidden), (least, user, call)
    assert await refused(lambda: store.delete(house.who("manager"), house.fork)) is Forbidden
    assert await refused(lambda: store.delete(house.who("ana"), house.fork)) is None
    for user in ("ana", "manager", "stranger"):
        for id in (house.root, house.fork):
            assert await refused(lambda user=user, id=id: store.get(house.who(user), id)) is Missing  # type: ignore[misc]


async def test_what_is_of_another_tenant_is_nowhere(house: House) -> None:
    other = Who(tenant_id=f"{house.tenant}-other", user="ana")
    for id in (house.root, uuid4()):
        assert await refused(lambda id=id: house.store.get(other, id)) is Missing  # type: ignore[misc]
        assert await refused(lambda id=id: house.sharing.members(other, id)) is Missing  # type: ignore[misc]
        assert await refused(lambda id=id: house.sharing.share(other, id, "x", "reader")) is Missing  # type: ignore[misc]


@pytest.mark.parametrize(
    ("by", "user", "level", "error"),
    [
        ("ana", "new", "owner", RuleBroken),
        ("ana", "ana", "reader", RuleBroken),
        ("manager", "ana", "writer", RuleBroken),
        ("manager", "new", "manager", Forbidden),
        ("manager", "manager", "reader", Forbidden),
        ("writer", "new", "reader", Forbidden),
    ],
)
async def test_owners_are_made_by_transfers_and_managers_by_owners(
    house: House, by: str, user: str, level: AccessLevel, error: type[ServiceError]
) -> None:
    with capture_logs() as logs:
        assert await refused(lambda: house.sharing.share(house.who(by), house.fork, user, level)) is error
    assert await house.levels() == ALL
    assert not [line for line in logs if line["event"] == "membership_audit"]


async def test_every_change_is_told_with_who_and_whom(house: House) -> None:
    with capture_logs() as logs:
        await house.sharing.share(house.who("ana"), house.root, "writer", "manager")
        await house.sharing.change(house.who("ana"), house.fork, "reader", "writer")
        await house.sharing.remove(house.who("reader"), house.root, "reader")
        await house.sharing.remove(house.who("ana"), house.root, "nobody")
    told = [
        (line["by"], line["member"], line["was"], line["now"])
        for line in logs
        if line["event"] == "membership_audit"
    ]
    assert told == [
        ("ana", "writer", "writer", "manager"), ("ana", "reader", "reader", "writer"),
        ("reader", "reader", "writer", None),
    ]  # fmt: skip
    assert await house.levels() == {"ana": "owner", "manager": "manager", "writer": "manager"}


async def test_one_who_is_no_member_is_not_changed_and_the_owner_not_removed(house: House) -> None:
    sharing = house.sharing
    assert await refused(lambda: sharing.change(house.who("ana"), house.root, "new", "reader")) is Missing
    for by in ("ana", "manager"):
        assert await refused(lambda by=by: sharing.remove(house.who(by), house.root, "ana")) is RuleBroken  # type: ignore[misc]
    assert await refused(lambda: sharing.remove(house.who("reader"), house.root, "writer")) is Forbidden
    assert await house.levels() == ALL


async def test_a_tree_gets_another_owner_once_the_recipient_accepts(house: House) -> None:
    sharing = house.sharing
    transfer = await sharing.transfer(house.who("ana"), house.fork, "writer")
    assert (transfer.from_user_id, transfer.to_user_id) == ("ana", "writer")
    assert transfer.conversation_id == house.fork
    assert await sharing.transfers(house.who("ana"), "sender") == [transfer]
    assert await sharing.transfers(house.who("ana"), "recipient") == []
    assert await sharing.transfers(house.who("writer"), "all") == [transfer]
    assert await sharing.transfers(house.who("reader"), "all") == []
    with pytest.raises(TransferPending) as pending:
        await sharing.transfer(house.who("ana"), house.root, "reader")
    assert pending.value.transfer_id == transfer.transfer_id
    assert await refused(lambda: sharing.accept(house.who("ana"), transfer.transfer_id)) is Forbidden
    for call, error in (
        (sharing.accept, Forbidden), (sharing.end_transfer, Forbidden), (sharing.get_transfer, Missing),
    ):  # fmt: skip
        assert await refused(lambda call=call: call(house.who("reader"), transfer.transfer_id)) is error  # type: ignore[misc]
    await sharing.accept(house.who("writer"), transfer.transfer_id)
    assert await house.levels() == ALL | {"writer": "owner", "ana": "manager"}
    for id in (house.root, house.fork):
        assert (await house.store.get(house.who("ana"), id)).owner_user_id == "writer"
    assert await refused(lambda: sharing.accept(house.who("writer"), transfer.transfer_id)) is Missing


@pytest.mark.parametrize(
    ("by", "to", "error"),
    [("ana", "ana", RuleBroken), ("ana", "new", RuleBroken), ("manager", "reader", Forbidden)],
)
async def test_a_tree_goes_from_its_owner_to_a_member(
    house: House, by: str, to: str, error: type[ServiceError]
) -> None:
    assert await refused(lambda: house.sharing.transfer(house.who(by), house.root, to)) is error


@pytest.mark.parametrize("ended_by", ["ana", "writer"])
async def test_a_transfer_is_cancelled_or_rejected(house: House, ended_by: str) -> None:
    transfer = await house.sharing.transfer(house.who("ana"), house.root, "writer")
    await house.sharing.end_transfer(house.who(ended_by), transfer.transfer_id)
    assert await house.sharing.transfers(house.who("ana"), "all") == []
    await house.sharing.transfer(house.who("ana"), house.root, "writer")


async def test_with_the_recipient_the_transfer_goes(house: House) -> None:
    await house.sharing.transfer(house.who("ana"), house.root, "writer")
    await house.sharing.remove(house.who("ana"), house.root, "writer")
    assert await house.sharing.transfers(house.who("ana"), "all") == []


async def test_a_restored_tree_has_its_owner_and_nobody_else(house: House, oversight: Oversight) -> None:
    await house.sharing.transfer(house.who("ana"), house.root, "writer")
    await house.store.delete(house.who("ana"), house.fork)
    assert await house.sharing.transfers(house.who("writer"), "all") == []
    assert await oversight.restore(house.tenant, house.root)
    assert await house.levels() == {"ana": "owner"}


async def test_the_id_of_what_is_deleted_is_not_used_again(house: House) -> None:
    entry = NewEntry(channel="history", content_type="history", content=[{"role": "USER", "text": "Hi"}])
    await house.store.delete(house.who("ana"), house.root)
    for user in ("ana", "stranger"):
        assert (
            await refused(lambda user=user: house.store.append(house.who(user), house.fork, entry)) is Missing
        )  # type: ignore[misc]
