"""Somebody is erased while everybody goes on: nobody is failed by it, and no word stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.errors import Forbidden, NotFound
from elf.db.database import Connection, Database
from elf.db.errors import Retryable
from elf.db.queries import Queries
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.corpus import conversations_corpus
from elf.families.conversations.index_texts import GivenText, IndexTexts
from elf.families.conversations.model import Entry, NewEntry
from elf.families.conversations.rules.memory import Epoch
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.families.conversations.trees import Who
from elf.indexing.fresh import FreshWrites
from elf.indexing.writes import CorpusWrites
from elf.offers import Subject
from tests.db.conftest import until
from tests.db.conversations.conftest import VERSION, nobody
from tests.db.conversations.planted import Planted, tables_with
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

TIMES = 25


class Watched(Database):
    """Tells of every deadlock that a transaction met."""

    def __init__(self) -> None:
        super().__init__(max_conns=20)
        self.deadlocks: list[str] = []

    def transaction(self, **more: Any) -> AbstractAsyncContextManager[Connection]:
        return self._watched(super().transaction(**more))

    @asynccontextmanager
    async def _watched(
        self, transaction: AbstractAsyncContextManager[Connection]
    ) -> AsyncIterator[Connection]:
        try:
            async with transaction as connection:
                yield connection
        except Retryable as error:
            if "40P01" in error.message:
                self.deadlocks.append(error.message)
            raise


@pytest.fixture
async def watched(conversations_dsn: str) -> AsyncIterator[Watched]:
    database = Watched()
    await database.open(conversations_dsn)
    yield database
    await database.close()


class House:
    """Bob's tree, of which ana is a member, and one of hers; both do what they may, all at once."""

    def __init__(
        self, database: Database, clock: TurnedClock, queries: Queries, writes: CorpusWrites
    ) -> None:
        self.tenant, self.marks, self._numbers = f"raced {uuid4()}", Planted(), count()
        self.ana, self.bob = self._who(self.marks.ana), self._who(self.marks.bob)
        self.bot = Who(tenant_id=self.tenant, user=self.bob.user, client="bot")
        self.her_bot = Who(tenant_id=self.tenant, user=self.ana.user, client="bot")
        self.store = ConversationStore(database, clock, queries, embedding_version=VERSION, ring=nobody)
        self.sharing = TreeSharing(database, clock, queries)
        self.texts = IndexTexts(database, clock, queries, writes)
        self.subjects = ConversationSubjects(database, queries, writes, step=5)
        self.eviction = Eviction(database, queries, writes, step=5)
        self.clock = clock
        self.hers: UUID
        self.theirs: UUID

    def _who(self, user: str) -> Who:
        return Who(tenant_id=self.tenant, user=user)

    async def begin(self) -> None:
        self.hers = (await self.store.create(self.ana, title=None, metadata={})).conversation_id
        self.theirs = (await self.store.create(self.bob, title=None, metadata={})).conversation_id
        await self.sharing.share(self.bob, self.theirs, self.ana.user, "writer")
        await self.sharing.share(self.ana, self.hers, self.bob.user, "writer")
        for _ in range(12):
            await self.say(self.ana, self.theirs)
            await self.say(self.bob, self.theirs)

    async def say(self, who: Who, id: UUID) -> Entry:
        word = self.marks.word if who.user == self.ana.user else self.marks.kept
        text = f"{word} {next(self._numbers)}"
        entry = NewEntry(
            channel="history", content_type="history", content=[{"role": "USER", "text": text}],
            user_id=who.user, indexed_content=text, title=text, preview=text,
        )  # fmt: skip
        return await self.store.append(who, id, entry)

    async def say_and_index(self) -> None:
        said = await self.say(self.ana, self.theirs)
        text = GivenText(self.theirs, said.entry_id, f"{self.marks.word} again")
        await self.texts._index(self.tenant, [text])

    async def remember(self, who: Who, id: UUID, user: str | None) -> None:
        word = self.marks.word if user == self.ana.user else self.marks.kept
        await self.store.sync(who, id, "LC4J", [f"{word} {next(self._numbers)}"], user)

    async def fork(self, who: Who, id: UUID) -> None:
        said = await self.say(who, id)
        title = self.marks.word if who is self.ana else None
        await self.store.fork(who, id, said.entry_id, title=title)

    async def retitle(self) -> None:
        await self.store.retitle(self.ana, self.theirs, f"{self.marks.word} {next(self._numbers)}")

    async def reshare(self) -> None:
        name = f"guest {next(self._numbers)}"
        await self.sharing.share(self.bob, self.theirs, name, "reader")
        await self.sharing.remove(self.bob, self.theirs, name)

    async def evict(self) -> None:
        async for _ in self.eviction.run(self.tenant, self.clock.now()):
            pass

    def work(self) -> list[Callable[[], Awaitable[object]]]:
        return [
            lambda: self.say(self.ana, self.theirs),
            lambda: self.say(self.bob, self.theirs),
            self.say_and_index,
            lambda: self.remember(self.her_bot, self.theirs, self.ana.user),
            lambda: self.remember(self.bot, self.theirs, None),
            lambda: self.remember(self.her_bot, self.hers, self.ana.user),
            lambda: self.fork(self.ana, self.theirs),
            lambda: self.fork(self.bob, self.theirs),
            self.retitle,
            self.reshare,
            self.evict,
        ]


@pytest.fixture
async def house(watched: Watched, clock: TurnedClock, queries: Queries, writes: CorpusWrites) -> House:
    house = House(watched, clock, queries, writes)
    await house.begin()
    return house


class Paused:
    """Where somebody stops in the midst of a transaction until it may go on."""

    def __init__(self) -> None:
        self.arrived, self.may_go_on = anyio.Event(), anyio.Event()

    async def stop(self) -> None:
        self.arrived.set()
        await self.may_go_on.wait()


class PausedStore(ConversationStore):
    """Stops before it reads what an agent remembers of a conversation that it has locked."""

    paused: Paused

    async def _latest(self, *values: Any) -> Epoch | None:
        await self.paused.stop()
        return await super()._latest(*values)


class PausedWrites(CorpusWrites):
    """Stops when texts are given, and not yet committed."""

    paused: Paused

    async def wrote(self, *values: Any) -> None:
        await super().wrote(*values)
        await self.paused.stop()


async def _is_waited_for(database: Database) -> bool:
    async with database.connection() as connection:
        waiting: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
    return waiting


async def _erased_behind(
    house: House, watched: Watched, paused: Paused, work: Callable[[], Awaitable[object]]
) -> None:
    """Have ana erased while somebody is in the midst of something."""
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        with anyio.fail_after(30):
            await paused.arrived.wait()
        group.start_soon(house.subjects.erase, Subject(tenant_id=house.tenant, user=house.ana.user))
        await until(lambda: _is_waited_for(watched))
        paused.may_go_on.set()
    for mark in (house.marks.word, house.marks.ana):
        assert await tables_with(watched, mark) == set()


@pytest.mark.parametrize("own", [True, False])
async def test_an_agent_that_is_about_to_write_is_waited_for(
    house: House, watched: Watched, queries: Queries, own: bool
) -> None:
    house.store = store = PausedStore(watched, house.clock, queries, embedding_version=VERSION, ring=nobody)
    store.paused = Paused()
    id = house.hers if own else house.theirs
    await _erased_behind(
        house, watched, store.paused, lambda: house.remember(house.her_bot, id, house.ana.user)
    )


async def test_an_indexer_that_gives_texts_is_waited_for(
    house: House, watched: Watched, queries: Queries
) -> None:
    said = await house.say(house.ana, house.theirs)
    writes = PausedWrites(
        conversations_corpus(queries, embedding_version=VERSION), FreshWrites(), ring=nobody
    )
    writes.paused = Paused()
    texts = IndexTexts(watched, house.clock, queries, writes)
    given = [GivenText(house.theirs, said.entry_id, f"{house.marks.word} again")]
    await _erased_behind(house, watched, writes.paused, lambda: texts._index(house.tenant, given))


async def _go_on(work: Callable[[], Awaitable[object]], begun: anyio.Semaphore) -> None:
    """Do something again and again; who is gone may be refused, and nothing else may happen."""
    for _ in range(TIMES):
        try:
            await work()
        except (NotFound, Forbidden):
            pass
        finally:
            begun.release()


async def _all_at_once(house: House, erase: Callable[[], Awaitable[object]]) -> None:
    work, begun = house.work(), anyio.Semaphore(0)
    async with anyio.create_task_group() as group:
        for one in work:
            group.start_soon(_go_on, one, begun)
        for _ in range(3 * len(work)):
            await begun.acquire()
        await erase()


async def test_a_user_is_erased_while_all_go_on(house: House, watched: Watched) -> None:
    await _all_at_once(
        house, lambda: house.subjects.erase(Subject(tenant_id=house.tenant, user=house.ana.user))
    )
    for mark in (house.marks.word, house.marks.ana):
        assert await tables_with(watched, mark) == set()
    assert "conversation_texts" in await tables_with(watched, house.marks.kept)
    assert watched.deadlocks == []


async def test_two_who_erase_the_same_user_at_once_both_end(house: House, watched: Watched) -> None:
    async def twice() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(house.subjects.erase, Subject(tenant_id=house.tenant, user=house.ana.user))

    await _all_at_once(house, twice)
    assert await tables_with(watched, house.marks.word) == set()
    assert watched.deadlocks == []


async def test_a_tenant_is_erased_while_all_go_on(house: House, watched: Watched) -> None:
    async def erase() -> None:
        await house.subjects.erase(Subject(tenant_id=house.tenant))

    await _all_at_once(house, erase)
    await erase()  # whoever wrote to an id that was gone has begun it anew
    for mark in (house.marks.word, house.marks.kept, house.tenant):
        assert await tables_with(watched, mark) == set()
    assert watched.deadlocks == []


async def test_an_agent_is_erased_while_it_goes_on(house: House, watched: Watched) -> None:
    async def erase() -> None:
        await house.subjects.erase(Subject(tenant_id=house.tenant, agent_id="bot"))

    await _all_at_once(house, erase)
    await erase()  # it has gone on
    async with watched.connection() as connection:
        left = await connection.fetchval(
            "SELECT count(*) FROM conversation_entries WHERE tenant_id = $1 AND channel = 'memory'"
            " AND content::text <> '[]'",
            house.tenant,
        )
    assert left == 0
    assert watched.deadlocks == []
