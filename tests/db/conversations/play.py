"""Random steps on a tree of conversations, by whatever way, and on its plain twin."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import msgspec
import pytest

from tests.db.conversations.plain import PlainConversation, PlainEntry, PlainTree

STEPS: Final = 25
CLIENTS: Final = ("bot", "other-bot")
TYPES: Final = ("LC4J", "SpringAI")
ITEMS: Final[list[Any]] = [1, 1.0, True, "a", None, {"a": 1, "b": [2]}, {"b": [2], "a": 1.0}, []]
ITEMS_OF_DOUBLES: Final[list[Any]] = [1.0, 2.5, True, "a", None, {"a": [1.0]}, {"b": {"c": 2.0}}, []]
"""Where all numbers are doubles, and keys have no order."""

LATEST: Final = "latest"


class Gone(Exception):
    """There is no such thing, for whoever asks."""


class Listed(NamedTuple):
    """An entry of a listing."""

    id: UUID
    created_at: datetime


class Remembered(NamedTuple):
    """What a sync came to: the latest epoch, whether it began, and the entry that was written with what it holds."""

    epoch: int | None
    is_new: bool
    entry_id: UUID | None = None
    content: Any = None


class Wanted(NamedTuple):
    """Which entries: the history or not, of whose memory, and of which epoch; None is all of them."""

    history: bool
    client: str | None
    epoch: int | str | None = None


class Stage(Protocol):
    """A way to the conversations of one user, by a client where one is named. Raises Gone for what is not there."""

    async def create(self) -> UUID: ...

    async def say(self, id: UUID, text: str) -> UUID: ...

    async def note(self, id: UUID, client: str, kind: str, items: list[Any]) -> tuple[UUID, int | None]:
        """Return the entry and its epoch."""
        ...

    async def sync(self, id: UUID, client: str, kind: str, items: list[Any]) -> Remembered: ...

    async def fork(self, id: UUID, client: str, entry_id: UUID) -> UUID: ...

    async def read(self, id: UUID) -> None: ...

    async def vanish(self, id: UUID) -> None:
        """Delete the tree."""
        ...

    async def restore(self, id: UUID) -> bool:
        """Bring the tree back; tell whether it was deleted."""
        ...

    async def forks(self, id: UUID) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
        """Return of which conversation each is a fork, and behind which entry."""
        ...

    async def entries(self, id: UUID, wanted: Wanted, *, after: UUID | None, limit: int) -> Sequence[Listed]:
        """Return a page of a view."""
        ...

    async def tree_entries(
        self, id: UUID, client: str | None, *, after: UUID | None, limit: int
    ) -> Sequence[Listed]:
        """Return a page of all entries of the tree: the history, and the memory of a client."""
        ...


class Play:
    """One sequence of steps; `items` are what agents remember."""

    def __init__(self, stage: Stage, seed: int, items: Sequence[Any] = ITEMS) -> None:
        self._stage = stage
        self._rng = random.Random(seed)
        self._plain = PlainTree({})
        self._said = count()
        self._known = items

    async def run(self) -> int:
        """Go through the steps, compare everything, and return how many there were. Raises AssertionError."""
        self._plain.conversations[await self._stage.create()] = PlainConversation()
        steps = self._rng.randrange(1, STEPS + 1)
        for _ in range(steps):
            await self._step()
        await self._check()
        return steps

    async def _step(self) -> None:
        id = self._rng.choice(list(self._plain.conversations))
        client = self._rng.choice(CLIENTS)
        do = self._rng.choice(
            (self._say, self._say, self._note, self._sync, self._sync, self._fork, self._vanish)
        )
        await do(id, client)

    async def _say(self, id: UUID, client: str) -> None:
        text = f"thing {next(self._said)}"
        written = await self._stage.say(id, text)
        self._plain.add(id, written, "history", None, None, "history", [{"role": "USER", "text": text}])

    async def _note(self, id: UUID, client: str) -> None:
        items, kind = self._items(), self._rng.choice(TYPES)
        written, told = await self._stage.note(id, client, kind, items)
        epoch = self._plain.latest(id, client) or 1
        assert told == epoch
        self._plain.add(id, written, "memory", client, epoch, kind, items)

    async def _sync(self, id: UUID, client: str) -> None:
        kind, items = self._rng.choice(TYPES), self._items()
        known = self._plain.memory(id, client)
        if known and self._rng.random() < 0.7:  # go on from what is there
            latest = self._plain.latest(id, client)
            kind = known[-1].content_type
            items = [item for one in known if one.epoch == latest for item in one.content]
            items = items + self._rng.choice(([], self._items()))
        epoch, is_new, rest = self._expected(id, client, kind, items)
        done = await self._stage.sync(id, client, kind, items)
        assert (done.epoch, done.is_new, done.entry_id is None) == (epoch, is_new, rest is None)
        if done.entry_id is not None and rest is not None:
            assert as_json(done.content) == as_json(rest)
            self._plain.add(id, done.entry_id, "memory", client, epoch, kind, rest)

    def _expected(
        self, id: UUID, client: str, kind: str, items: list[Any]
    ) -> tuple[int | None, bool, list[Any] | None]:
        plain = PlainTree(
            {
                one: PlainConversation(
                    [tell_apart(entry) for entry in each.inherited], [tell_apart(entry) for entry in each.own]
                )
                for one, each in self._plain.conversations.items()
            }
        )
        epoch, is_new, rest = plain.sync(id, client, kind, told_apart(items))
        return epoch, is_new, None if rest is None else items[len(items) - len(rest) :]

    async def _fork(self, id: UUID, client: str) -> None:
        visible = self._plain.conversations[id].visible(client)
        hidden = [one for one in self._plain.conversations[id].view if one not in visible]
        if hidden:
            with pytest.raises(Gone):
                await self._stage.fork(id, client, self._rng.choice(hidden).id)
        if visible:
            at = self._rng.choice(visible)
            self._plain.fork(id, at.id, await self._stage.fork(id, client, at.id))

    async def _vanish(self, id: UUID, client: str) -> None:
        """Delete the tree, and bring it back."""
        await self._stage.vanish(id)
        for one in self._plain.conversations:
            with pytest.raises(Gone):
                await self._stage.read(one)
        assert await self._stage.restore(id)
        assert not await self._stage.restore(id)

    def _items(self) -> list[Any]:
        return self._rng.choices(self._known, k=self._rng.choice((0, 1, 1, 2, 3)))

    async def _check(self) -> None:
        """Compare every listing, page by page."""
        forks = {id: (one.parent, one.forked_at) for id, one in self._plain.conversations.items()}
        assert await self._stage.forks(next(iter(forks))) == forks
        for id in forks:
            limit = self._rng.choice((1, 2, 3, 50))
            for client in (None, *CLIENTS):
                for epoch in (None, 1, 2, 7, LATEST):
                    await self._compare(id, Wanted(True, client, epoch), limit)
                    if client is not None:
                        await self._compare(id, Wanted(False, client, epoch), limit)
        for client in (None, *CLIENTS):
            await self._compare_tree(next(iter(forks)), client)

    async def _compare(self, id: UUID, wanted: Wanted, limit: int) -> None:
        epoch = self._plain.latest(id, wanted.client) if wanted.epoch == LATEST else wanted.epoch
        assert not isinstance(epoch, str)
        listed = self._plain.listed(id, history=wanted.history, client=wanted.client, epoch=epoch)
        found: list[UUID] = []
        while True:
            after = found[-1] if found else None
            page = await self._stage.entries(id, wanted, after=after, limit=limit)
            found += [one.id for one in page]
            if len(page) < limit:
                break
        assert found == listed

    async def _compare_tree(self, root: UUID, client: str | None) -> None:
        wanted = self._plain.all_listed(history=True, client=client, epoch=None)
        found: list[Listed] = []
        while True:
            after = found[-1].id if found else None
            page = await self._stage.tree_entries(root, client, after=after, limit=3)
            found += page
            if len(page) < 3:
                break
        assert [one.created_at for one in found] == sorted(one.created_at for one in found)
        # In one moment, entries of different conversations come in the order of their ids.
        assert sorted(one.id for one in found) == sorted(wanted)


def told_apart(value: Any) -> Any:
    """A value in which true is not 1, as in JSON."""
    if isinstance(value, bool):
        return ("flag", value)
    if isinstance(value, list):
        return [told_apart(item) for item in value]
    if isinstance(value, dict):
        return {key: told_apart(item) for key, item in value.items()}
    return value


def tell_apart(entry: PlainEntry) -> PlainEntry:
    return PlainEntry(
        entry.id, entry.number, entry.channel, entry.client, entry.epoch, entry.content_type,
        told_apart(entry.content),
    )  # fmt: skip


def as_json(value: Any) -> bytes:
    return msgspec.json.encode(value)
