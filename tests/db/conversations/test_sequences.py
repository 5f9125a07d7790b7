"""Whatever is done to a tree, each of its listings is that of plain lists in memory."""

from __future__ import annotations

import os
import random
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from elf.families.conversations.errors import Missing
from elf.families.conversations.model import NewEntry
from elf.families.conversations.store import ConversationStore, Shown
from elf.families.conversations.trees import Who
from tests.db.conversations.plain import PlainConversation, PlainTree
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

SEQUENCES = int(os.environ.get("ELF_TEST_SEQUENCES", "25"))
STEPS = 25
CLIENTS = ("bot", "other bot")
TYPES = ("LC4J", "SpringAI")
ITEMS: list[Any] = [1, 1.0, True, "a", None, {"a": 1, "b": [2]}, {"b": [2], "a": 1.0}, []]


class Play:
    """One sequence of steps on a tree, and on its plain twin."""

    def __init__(self, store: ConversationStore, clock: TurnedClock, seed: int) -> None:
        self._store = store
        self._clock = clock
        self._rng = random.Random(seed)
        self._tenant = f"play-{seed}-{uuid4()}"
        self.plain = PlainTree({})
        self._said = count()

    def who(self, client: str | None = None) -> Who:
        return Who(tenant_id=self._tenant, user="ana", client=client)

    async def begin(self) -> None:
        root = await self._store.create(self.who(), title=None, metadata={})
        self.plain.conversations[root.conversation_id] = PlainConversation()

    async def step(self) -> None:
        self._clock.turn(microseconds=self._rng.choice((0, 0, 1, 1000)))
        id = self._rng.choice(list(self.plain.conversations))
        client = self._rng.choice(CLIENTS)
        do = self._rng.choice((self.say, self.say, self.note, self.sync, self.sync, self.fork, self.vanish))
        await do(id, client)

    async def say(self, id: UUID, client: str) -> None:
        content = [{"role": "USER", "text": f"thing {next(self._said)}"}]
        entry = NewEntry(channel="history", content_type="history", content=content, user_id="ana")
        written = await self._store.append(self.who(), id, entry)
        self.plain.add(id, written.entry_id, "history", None, None, "history", content)

    async def note(self, id: UUID, client: str) -> None:
        items, kind = self._items(), self._rng.choice(TYPES)
        entry = NewEntry(channel="memory", content_type=kind, content=items, client_id=client)
        written = await self._store.append(self.who(client), id, entry)
        epoch = self.plain.latest(id, client) or 1
        assert written.epoch == epoch
        self.plain.add(id, written.entry_id, "memory", client, epoch, kind, items)

    async def sync(self, id: UUID, client: str) -> None:
        kind, items = self._rng.choice(TYPES), self._items()
        known = self.plain.memory(id, client)
        if known and self._rng.random() < 0.7:  # go on from what is there
            latest = self.plain.latest(id, client)
            kind = known[-1].content_type
            items = [item for one in known if one.epoch == latest for item in one.content]
            items = items + self._rng.choice(([], self._items()))
        epoch, is_new, rest = self._expected(id, client, kind, items)
        done = await self._store.sync(self.who(client), id, kind, items, None)
        assert (done.epoch, done.is_new_epoch, done.entry is None) == (epoch, is_new, rest is None)
        if done.entry is not None and rest is not None:
            assert as_json(msgspec.json.decode(done.entry.content)) == as_json(rest)
            self.plain.add(id, done.entry.entry_id, "memory", client, epoch, kind, rest)

    def _expected(
        self, id: UUID, client: str, kind: str, items: list[Any]
    ) -> tuple[int | None, bool, list[Any] | None]:
        plain = PlainTree(
            {
                one: PlainConversation(
                    [tell_apart(entry) for entry in each.inherited], [tell_apart(entry) for entry in each.own]
                )
                for one, each in self.plain.conversations.items()
            }
        )
        epoch, is_new, rest = plain.sync(id, client, kind, told_apart(items))
        return epoch, is_new, None if rest is None else items[len(items) - len(rest) :]

    async def fork(self, id: UUID, client: str) -> None:
        visible = self.plain.conversations[id].visible(client)
        hidden = [one for one in self.plain.conversations[id].view if one not in visible]
        if hidden:
            with pytest.raises(Missing):
                await self._store.fork(self.who(client), id, self._rng.choice(hidden).id)
        if not visible:
            return
        at = self._rng.choice(visible)
        made = await self._store.fork(self.who(client), id, at.id)
        before = self.plain.fork(id, at.id, made.conversation_id)
        assert (made.forked_at_conversation_id, made.forked_at_entry_id) == (id, before)

    async def vanish(self, id: UUID, client: str) -> None:
        """Delete the tree, and bring it back."""
        await self._store.delete(self.who(), id)
        for one in self.plain.conversations:
            with pytest.raises(Missing):
                await self._store.get(self.who(), one)
        assert await self._store.restore(self._tenant, id)
        assert not await self._store.restore(self._tenant, id)

    def _items(self) -> list[Any]:
        return self._rng.choices(ITEMS, k=self._rng.choice((0, 1, 1, 2, 3)))

    async def check(self) -> None:
        """Compare every listing, page by page."""
        forks = await self._store.forks(self.who(), next(iter(self.plain.conversations)))
        assert {
            row["conversation_id"]: (row["forked_at_conversation_id"], row["forked_at_entry_id"])
            for row in forks
        } == {id: (one.parent, one.forked_at) for id, one in self.plain.conversations.items()}
        for id in self.plain.conversations:
            size = self._rng.choice((1, 2, 3, 50))
            for client in (None, *CLIENTS):
                for epoch in (None, 1, 2, 7):
                    await self._compare(id, Shown(True, client, epoch), size)
                    await self._compare(id, Shown(False, client, epoch), size)
                latest = self.plain.latest(id, client)
                wanted = self.plain.listed(id, history=False, client=client, epoch=latest)
                found = await self._store.entries(
                    self.who(client),
                    id,
                    shown=Shown(False, client, None),
                    is_latest=True,
                    after=None,
                    limit=200,
                )
                assert [one.entry_id for one in found] == (wanted if latest is not None else [])
        await self._compare_tree()

    async def _compare(self, id: UUID, shown: Shown, size: int) -> None:
        wanted = self.plain.listed(id, history=shown.history, client=shown.client, epoch=shown.epoch)
        found: list[UUID] = []
        while True:
            after = found[-1] if found else None
            page = await self._store.entries(
                self.who(shown.client), id, shown=shown, is_latest=False, after=after, limit=size
            )
            found += [one.entry_id for one in page]
            if len(page) < size:
                break
        assert found == wanted

    async def _compare_tree(self) -> None:
        root = next(iter(self.plain.conversations))
        for client in (None, *CLIENTS):
            wanted = self.plain.all_listed(history=True, client=client, epoch=None)
            found: list[UUID] = []
            while page := await self._store.tree_entries(
                self.who(client),
                root,
                shown=Shown(True, client, None),
                after=found[-1] if found else None,
                limit=3,
            ):
                assert [one.created_at for one in page] == sorted(one.created_at for one in page)
                found += [one.entry_id for one in page]
            # In one moment, entries of different conversations come in the order of their ids.
            assert sorted(found) == sorted(wanted)


def told_apart(value: Any) -> Any:
    """A value in which true is not 1, as in JSON."""
    if isinstance(value, bool):
        return ("flag", value)
    if isinstance(value, list):
        return [told_apart(item) for item in value]
    if isinstance(value, dict):
        return {key: told_apart(item) for key, item in value.items()}
    return value


def tell_apart(entry: Any) -> Any:
    return type(entry)(
        entry.id,
        entry.number,
        entry.channel,
        entry.client,
        entry.epoch,
        entry.content_type,
        told_apart(entry.content),
    )


def as_json(value: Any) -> bytes:
    return msgspec.json.encode(value)


@pytest.mark.timeout(580)
async def test_every_listing_is_that_of_plain_lists(store: ConversationStore, clock: TurnedClock) -> None:
    for seed in range(SEQUENCES):
        play = Play(store, clock, seed)
        await play.begin()
        for _ in range(play._rng.randrange(1, STEPS + 1)):
            await play.step()
        await play.check()
