"""Races of conversations: many do the same at one moment, and what is there is what some order would have left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

import msgspec

from elf.core.errors import Conflict, Forbidden, NotFound
from elf.db.queries import Queries, sql_folder
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.corpus import conversations_corpus
from elf.families.conversations.model import FAMILY, NewEntry
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore, Shown
from elf.families.conversations.trees import Who
from elf.indexing.fresh import FreshWrites
from elf.indexing.writes import CorpusWrites
from tests.chaos.races import Races
from tests.notes_kit import TurnedClock

T = TypeVar("T")

SPREAD_S: Final = 0.01
EXPECTED: Final = (NotFound, Forbidden, Conflict)


@dataclass
class ConversationRaces(Races):
    """Races of conversations."""

    writers: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        clock, queries = TurnedClock(), Queries.load(sql_folder() / FAMILY)
        self.clock, self.queries = clock, queries
        self._stores = [
            ConversationStore(database, clock, queries, embedding_version="test:model:8", ring=list)
            for database in self.databases
        ]
        self._sharings = [TreeSharing(database, clock, queries) for database in self.databases]

        self.oversight = Oversight(self.databases[0], clock, queries)
        corpus = conversations_corpus(queries, embedding_version="test:model:8")
        writes = CorpusWrites(corpus, FreshWrites(), ring=list)
        self._evictions = [Eviction(database, queries, writes, step=2) for database in self.databases]

    @property
    def eviction(self) -> Eviction:
        """That of any of the processes."""
        return self._rng.choice(self._evictions)

    async def left(self) -> dict[str, int]:
        """How many trees and entries there are."""
        async with self.databases[0].connection() as connection:
            return {
                table: await connection.fetchval(
                    f"SELECT count(*) FROM {table} WHERE tenant_id = $1", self.tenant
                )
                for table in ("conversation_trees", "conversation_entries")
            }

    @property
    def store(self) -> ConversationStore:
        """That of any of the processes."""
        return self._rng.choice(self._stores)

    @property
    def sharing(self) -> TreeSharing:
        """That of any of the processes."""
        return self._rng.choice(self._sharings)

    def loosen(self, query: str, was: str, instead: str) -> None:
        """Plant a fault: have a statement say something else."""
        assert was in self.queries[query]
        self.queries._statements[query] = self.queries[query].replace(was, instead)

    async def run(self, rounds: int) -> list[str]:
        """Run so many rounds of every race; returns the faults."""
        return await self.run_all(RACES, rounds)

    def who(self, user: str = "ana", client: str | None = None) -> Who:
        return Who(tenant_id=self.tenant, user=user, client=client)

    async def at_once(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Make calls at about one moment, in any order; returns what they came to that were not refused."""
        results = await self.meet(calls, spread_s=SPREAD_S, refusals=EXPECTED)
        done = [one for one in results if not isinstance(one, EXPECTED)]
        self.counts["refused"] += len(results) - len(done)
        return done

    async def new(self) -> UUID:
        return (await self.store.create(self.who(), title=None, metadata={})).conversation_id

    async def say(self, id: UUID, user: str = "ana") -> UUID:
        content = [{"role": "USER", "text": "Hi"}]
        entry = NewEntry(channel="history", content_type="history", content=content, user_id=user)
        return (await self.store.append(self.who(user), id, entry)).entry_id

    async def memory(self, id: UUID) -> list[tuple[int | None, Any]]:
        found = (
            await self.store.entries(
                self.who(client="bot"),
                id,
                shown=Shown(False, "bot", None),
                is_latest=False,
                after=None,
                limit=10_000,
            )
        ).entries
        return [(one.epoch, msgspec.json.decode(one.content)) for one in found]


async def syncs_of_one_scope(races: ConversationRaces) -> None:
    """All say what one agent remembers, each a little more: no item is there twice, epochs have no gap."""
    id = await races.new()
    numbers = list(range(races.writers))

    def sync(items: list[int]) -> Callable[[], Awaitable[Any]]:
        return lambda: races.store.sync(races.who(client="bot"), id, "LC4J", items, None)

    growing = [sync(numbers[: number + 1]) for number in numbers]
    await races.at_once(growing)
    by_epoch: dict[int, list[int]] = {}
    for epoch, items in await races.memory(id):
        assert epoch is not None
        by_epoch.setdefault(epoch, []).extend(items)
    races.expect(sorted(by_epoch) == list(range(1, len(by_epoch) + 1)), f"epochs {sorted(by_epoch)}")
    races.expect(
        all(items == numbers[: len(items)] for items in by_epoch.values()), f"a memory of {by_epoch}"
    )
    before = await races.memory(id)
    latest = by_epoch[max(by_epoch)]
    await races.at_once([sync(latest)] * races.writers)
    races.expect(await races.memory(id) == before, "a repeated sync changed something")


async def first_appends_of_one_id(races: ConversationRaces) -> None:
    """All write to a conversation that is not there yet: one begins it, and everything is kept, in one order."""
    id = uuid4()
    written = await races.at_once([lambda: races.say(id)] * races.writers)
    found = (
        await races.store.entries(
            races.who(), id, shown=Shown(True, None, None), is_latest=False, after=None, limit=1000
        )
    ).entries
    races.expect(len(written) == races.writers, f"{len(written)} of {races.writers} entries were taken")
    races.expect({one.entry_id for one in found} == {*written}, "an entry is lost")
    moments = [one.created_at for one in found]
    races.expect(moments == sorted(set(moments)), "moments do not grow")
    members = await races.sharing.members(races.who(), id)
    races.expect([(one.user_id, one.access_level) for one in members] == [("ana", "owner")], f"{members}")


async def share_against_remove(races: ConversationRaces) -> None:
    """Somebody is shared with and removed while writing: who is none any more writes nothing more."""
    id = await races.new()
    await races.sharing.share(races.who(), id, "bob", "writer")
    shares = [lambda: races.sharing.share(races.who(), id, "bob", "writer")] * (races.writers // 4)
    removes = [lambda: races.sharing.remove(races.who(), id, "bob")] * (races.writers // 4)
    writes = [lambda: races.say(id, "bob")] * (races.writers // 2)
    calls: list[Callable[[], Awaitable[Any]]] = [*shares, *removes, *writes]
    await races.at_once(calls)
    await races.sharing.remove(races.who(), id, "bob")
    races.expect(await races.at_once([lambda: races.say(id, "bob")]) == [], "one who was removed wrote")
    members = {one.user_id: one.access_level for one in await races.sharing.members(races.who(), id)}
    races.expect(members == {"ana": "owner"}, f"members are {members}")


async def accept_against_cancel(races: ConversationRaces) -> None:
    """A transfer is accepted and cancelled at once: one of the two is done, and there is one owner."""
    id = await races.new()
    await races.sharing.share(races.who(), id, "bob", "writer")
    transfer = (await races.sharing.transfer(races.who(), id, "bob")).transfer_id
    accepts = [lambda: races.sharing.accept(races.who("bob"), transfer)] * (races.writers // 2)
    cancels = [lambda: races.sharing.end_transfer(races.who(), transfer)] * (races.writers // 2)
    done = await races.at_once([*accepts, *cancels])
    members = {one.user_id: one.access_level for one in await races.sharing.members(races.who(), id)}
    owner = (await races.store.get(races.who(), id)).owner_user_id
    races.expect(len(done) == 1, f"{len(done)} of accept and cancel are done")
    wanted = {"bob": "owner", "ana": "manager"} if owner == "bob" else {"ana": "owner", "bob": "writer"}
    races.expect(members == wanted, f"members are {members}, the owner {owner}")
    races.counts["accepted"] += owner == "bob"
    races.expect(await races.sharing.transfers(races.who(), "all") == [], "a transfer is left")


async def writes_against_delete(races: ConversationRaces) -> None:
    """A tree is written to and forked while it is deleted: then nothing of it is there, and nothing is half done."""
    id = await races.new()
    entry = await races.say(id)
    writes: list[Callable[[], Awaitable[Any]]] = [lambda: races.say(id)] * (races.writers // 2)
    writes += [lambda: races.store.fork(races.who(), id, entry)] * (races.writers // 2 - 1)
    await races.at_once([*writes, lambda: races.store.delete(races.who(), id)])
    races.expect(await races.at_once([lambda: races.store.get(races.who(), id)]) == [], "it is not deleted")
    races.expect(await races.at_once(writes) == [], "what is deleted was written to")
    await races.oversight.restore(races.tenant, id)
    forks = await races.store.forks(races.who(), id)
    for fork in forks:
        found = await races.at_once([lambda fork=fork: races.store.get(races.who(), fork["conversation_id"])])  # type: ignore[misc]
        races.expect(len(found) == 1, "a fork is lost")


async def evictions_at_once(races: ConversationRaces) -> None:
    """Deleted trees are evicted by three at once while another is written to: they vanish whole, and it stays."""
    kept = await races.new()
    for _ in range(3):
        id = await races.new()
        for _ in range(3):
            await races.say(id)
        await races.store.delete(races.who(), id)
    races.clock.turn(days=1)
    before = races.clock.now() - timedelta(hours=1)

    async def evict() -> int:
        told = [percent async for percent in races.eviction.run(races.tenant, before)]
        races.expect(told == sorted(told) and told[-1] == 100, f"progress is {told}")
        return len(told)

    writes: list[Callable[[], Awaitable[Any]]] = [lambda: races.say(kept)] * 4
    await races.at_once([evict, evict, evict, *writes])
    await evict()  # what one of them had at work was left to it
    left = await races.left()
    races.expect(left == {"conversation_trees": 1, "conversation_entries": 4}, f"{left} are left")


RACES: Final = (
    syncs_of_one_scope, first_appends_of_one_id, share_against_remove, accept_against_cancel, writes_against_delete,
    evictions_at_once,
)  # fmt: skip
