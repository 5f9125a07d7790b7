"""Whatever is done to a tree, each of its listings is that of plain lists in memory."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from elf.families.conversations.errors import Missing
from elf.families.conversations.model import Entry, NewEntry
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.store import ConversationStore, Shown
from elf.families.conversations.trees import Who
from tests.db.conversations.play import LATEST, Gone, Listed, Play, Remembered, Wanted
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

SEQUENCES = int(os.environ.get("ELF_TEST_SEQUENCES", "25"))


class StoreStage:
    """The store itself; whenever something is written, the clock may go on or stand still."""

    def __init__(self, store: ConversationStore, oversight: Oversight, clock: TurnedClock, seed: int) -> None:
        self._store = store
        self._oversight = oversight
        self._clock = clock
        self._rng = random.Random(seed)
        self._tenant = f"play-{seed}-{uuid4()}"

    def _who(self, client: str | None = None) -> Who:
        return Who(tenant_id=self._tenant, user="ana", client=client)

    def _turn(self) -> None:
        self._clock.turn(microseconds=self._rng.choice((0, 0, 1, 1000)))

    async def create(self) -> UUID:
        return (await self._store.create(self._who(), title=None, metadata={})).conversation_id

    async def say(self, id: UUID, text: str) -> UUID:
        content = [{"role": "USER", "text": text}]
        entry = NewEntry(channel="history", content_type="history", content=content, user_id="ana")
        self._turn()
        return (await self._store.append(self._who(), id, entry)).entry_id

    async def note(self, id: UUID, client: str, kind: str, items: list[Any]) -> tuple[UUID, int | None]:
        entry = NewEntry(channel="memory", content_type=kind, content=items, client_id=client)
        self._turn()
        written = await self._store.append(self._who(client), id, entry)
        return written.entry_id, written.epoch

    async def sync(self, id: UUID, client: str, kind: str, items: list[Any]) -> Remembered:
        self._turn()
        done = await self._store.sync(self._who(client), id, kind, items, None)
        if done.entry is None:
            return Remembered(done.epoch, done.outcome == "new_epoch")
        content = msgspec.json.decode(done.entry.content)
        return Remembered(done.epoch, done.outcome == "new_epoch", done.entry.entry_id, content)

    async def fork(self, id: UUID, client: str, entry_id: UUID) -> UUID:
        self._turn()
        with _gone():
            return (await self._store.fork(self._who(client), id, entry_id)).conversation_id

    async def read(self, id: UUID) -> None:
        with _gone():
            await self._store.get(self._who(), id)

    async def vanish(self, id: UUID) -> None:
        await self._store.delete(self._who(), id)

    async def restore(self, id: UUID) -> bool:
        return await self._oversight.restore(self._tenant, id)

    async def forks(self, id: UUID) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
        rows = await self._store.forks(self._who(), id)
        return {
            row["conversation_id"]: (row["forked_at_conversation_id"], row["forked_at_entry_id"])
            for row in rows
        }

    async def entries(self, id: UUID, wanted: Wanted, *, after: UUID | None, limit: int) -> Sequence[Listed]:
        epoch = None if isinstance(wanted.epoch, str) else wanted.epoch
        found = await self._store.entries(
            self._who(wanted.client), id, shown=Shown(wanted.history, wanted.client, epoch),
            is_latest=wanted.epoch == LATEST, after=after, limit=limit,
        )  # fmt: skip
        return _listed(found.entries)

    async def tree_entries(
        self, id: UUID, client: str | None, *, after: UUID | None, limit: int
    ) -> Sequence[Listed]:
        shown = Shown(True, client, None)
        found = await self._store.tree_entries(self._who(client), id, shown=shown, after=after, limit=limit)
        return _listed(found.entries)


@contextmanager
def _gone() -> Iterator[None]:
    try:
        yield
    except Missing as error:
        raise Gone from error


def _listed(entries: Sequence[Entry]) -> Sequence[Listed]:
    return [Listed(one.entry_id, one.created_at) for one in entries]


@pytest.mark.timeout(580)
async def test_every_listing_is_that_of_plain_lists(
    store: ConversationStore, oversight: Oversight, clock: TurnedClock
) -> None:
    for seed in range(SEQUENCES):
        await Play(StoreStage(store, oversight, clock, seed), seed).run()
