"""What an agent's next call needs of a conversation: its memory, else the history, from the newest back."""

from __future__ import annotations

from itertools import accumulate, takewhile
from uuid import UUID, uuid4

import pytest

from elf.core.errors import Forbidden
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.contexts import ContextReader
from elf.families.conversations.errors import Missing
from elf.families.conversations.model import NewEntry
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who

pytestmark = pytest.mark.anyio

ALL = 1_000_000
PAGE = 3


@pytest.fixture
def reader(database: Database, queries: Queries) -> ContextReader:
    return ContextReader(database, queries, page=PAGE)


@pytest.fixture
def ana() -> Who:
    return Who(tenant_id=f"contexts-{uuid4()}", user="ana", client="bot")


async def said(store: ConversationStore, who: Who, id: UUID, *texts: str) -> list[UUID]:
    """Say texts; returns the ids of the entries."""
    entries = [
        NewEntry(channel="history", content_type="history", content=[{"role": "AI", "text": text}])
        for text in texts
    ]
    return [(await store.append(who, id, one)).entry_id for one in entries]


def chars(text: str) -> int:
    return len(f'[{{"role":"AI","text":"{text}"}}]')


async def begun(store: ConversationStore, who: Who) -> UUID:
    return (await store.create(who, title=None, metadata={})).conversation_id


async def test_a_client_that_remembers_nothing_gets_the_history_oldest_first(
    store: ConversationStore, reader: ContextReader, ana: Who
) -> None:
    id = await begun(store, ana)
    ids = await said(store, ana, id, *"abcdefgh")
    found = await reader.newest(ana, id, max_chars=ALL)
    assert [one.entry_id for one in found.entries] == ids
    assert (found.is_cut, found.epoch) == (False, None)


async def test_a_client_gets_its_memory_of_the_latest_epoch_and_nobody_else_does(
    store: ConversationStore, reader: ContextReader, ana: Who
) -> None:
    id = await begun(store, ana)
    await said(store, ana, id, "hello")
    await store.sync(ana, id, "LC4J", ["old"], None)
    await store.sync(ana, id, "LC4J", ["new"], None)
    await store.sync(ana, id, "LC4J", ["new", "newer"], None)
    mine = await reader.newest(ana, id, max_chars=ALL)
    assert ([one.content for one in mine.entries], mine.epoch) == (['["new"]', '["newer"]'], 2)
    for client in ("other", None):
        other = await reader.newest(
            Who(tenant_id=ana.tenant_id, user="ana", client=client), id, max_chars=ALL
        )
        assert ([one.channel for one in other.entries], other.epoch) == (["history"], None)


async def test_a_memory_that_was_emptied_is_empty(
    store: ConversationStore, reader: ContextReader, ana: Who
) -> None:
    id = await begun(store, ana)
    await said(store, ana, id, "hello")
    await store.sync(ana, id, "LC4J", ["old"], None)
    await store.sync(ana, id, "LC4J", [], None)
    found = await reader.newest(ana, id, max_chars=ALL)
    assert ([one.content for one in found.entries], found.epoch) == (["[]"], 2)


@pytest.mark.parametrize("room", [1, 40, 100, 101, 250, 400, 1000])
async def test_whole_entries_that_fit_come_and_the_newest_in_any_case(
    store: ConversationStore, reader: ContextReader, ana: Who, room: int
) -> None:
    id = await begun(store, ana)
    texts = ["x" * (7 * number % 40) for number in range(1, 12)]
    ids = await said(store, ana, id, *texts)
    together = accumulate(chars(text) for text in reversed(texts))
    fitting = max(1, len([*takewhile(lambda chars: chars <= room, together)]))
    found = await reader.newest(ana, id, max_chars=room)
    assert [one.entry_id for one in found.entries] == ids[-fitting:]
    assert found.is_cut == (fitting < len(ids))


async def test_a_newest_entry_that_is_too_large_comes_alone(
    store: ConversationStore, reader: ContextReader, ana: Who
) -> None:
    id = await begun(store, ana)
    (only,) = await said(store, ana, id, "x" * 100)
    found = await reader.newest(ana, id, max_chars=1)
    assert ([one.entry_id for one in found.entries], found.is_cut) == ([only], False)
    *_, last = await said(store, ana, id, "a", "b", "y" * 100)
    found = await reader.newest(ana, id, max_chars=1)
    assert ([one.entry_id for one in found.entries], found.is_cut) == ([last], True)


async def test_a_fork_has_the_context_of_its_view(
    store: ConversationStore, reader: ContextReader, ana: Who
) -> None:
    root = await begun(store, ana)
    ids = await said(store, ana, root, *"abcdefgh")
    fork = (await store.fork(ana, root, ids[5])).conversation_id
    own = await said(store, ana, fork, *"ij")
    await said(store, ana, root, "k")
    found = await reader.newest(ana, fork, max_chars=ALL)
    assert [one.entry_id for one in found.entries] == [*ids[:5], *own]
    room = sum(chars(text) for text in "dij")
    found = await reader.newest(ana, fork, max_chars=room)
    assert ([one.entry_id for one in found.entries], found.is_cut) == ([ids[4], *own], True)


async def test_a_conversation_without_entries_has_an_empty_context(
    store: ConversationStore, reader: ContextReader, ana: Who
) -> None:
    assert await reader.newest(ana, await begun(store, ana), max_chars=ALL) == ([], False, None)


async def test_it_is_for_members_alone(store: ConversationStore, reader: ContextReader, ana: Who) -> None:
    id = await begun(store, ana)
    with pytest.raises(Forbidden):
        await reader.newest(Who(tenant_id=ana.tenant_id, user="bob"), id, max_chars=ALL)
    with pytest.raises(Missing):
        await reader.newest(Who(tenant_id="another", user="ana"), id, max_chars=ALL)
    await store.delete(ana, id)
    with pytest.raises(Missing):
        await reader.newest(ana, id, max_chars=ALL)
