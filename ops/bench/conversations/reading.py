"""Reading: a page of a deep fork beside a short conversation, and a sync that changes nothing beside a list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.config import Config
from elf.db.database import Connection
from ops.bench.conversations import seeding
from ops.bench.conversations.talking import ROOT, Talker, talking
from ops.bench.conversations.turns import compare, medians, show
from ops.bench.write import opened
from tests.system.service import RunningService

USER, AGENT = "ana", "agent"
PAGE: Final = 50
DEPTH: Final = 5
DEEP: Final = 10_000
SIBLINGS: Final = 100
SIBLING: Final = 1000
ITEMS: Final = 2000
AN_ENTRY: Final = 10
ROUNDS: Final = 100
SYNCS: Final = 20


async def paging(config: Config, service: RunningService) -> None:
    """Compare pages of 50: of a fork that is 5 deep, with and without others beside it, and of a conversation of 50."""
    async with opened(config) as database, database.connection() as connection:
        (plain,) = await seeding.trees(connection, USER, 1)
        await seeding.write(connection, [plain], PAGE)
        alone, _ = await _deep(connection)
        among, root = await _deep(connection)
        forks = [await seeding.fork(connection, root, DEEP // (DEPTH + 1) // 2) for _ in range(SIBLINGS)]
        await seeding.write(connection, forks, SIBLING)
        await connection.execute("VACUUM ANALYZE conversation_entries", timeout=seeding.PATIENCE_S)
    async with talking(service, USER) as talker:
        names = "a page of a plain conversation", "a page of a deep fork", "the same beside 100 forks"
        paths = [_first(plain), *[await _middle(talker, one) for one in (alone, among)]]
        calls = {name: _reading(talker, path) for name, path in zip(names, paths, strict=True)}
        turns = await medians(calls, rounds=ROUNDS)
    show(turns, "ms")
    for name in names[1:]:
        compare(turns, name, names[0], goal="at most 1.5")


async def _deep(connection: Connection) -> tuple[UUID, UUID]:
    """Make a fork of a fork and so on, and return it with the root."""
    (root,) = await seeding.trees(connection, USER, 1)
    each = DEEP // (DEPTH + 1) + 1
    last = root
    await seeding.write(connection, [root], each)
    for _ in range(DEPTH):
        last = await seeding.fork(connection, last, each)
        await seeding.write(connection, [last], each)
    return last, root


def _first(id: UUID) -> str:
    return f"{ROOT}/{id}/entries?limit={PAGE}"


async def _middle(talker: Talker, id: UUID) -> str:
    """Return the path of the page in the middle of a view."""
    after = ""
    for _ in range(DEEP // 2 // 200):
        listed = await talker.read("GET", f"{ROOT}/{id}/entries?limit=200{after}")
        after = f"&after={listed['nextCursor']}"
    return _first(id) + after


def _reading(talker: Talker, path: str) -> Callable[[], Any]:
    async def read() -> None:
        assert len(msgspec.json.decode(await talker.ask("GET", path))["data"]) == PAGE

    return read


async def syncing(_config: Config, service: RunningService) -> None:
    """Compare syncs of a memory of 2,000 items, which change nothing or add an item, with listing it."""
    async with talking(service, USER, AGENT) as talker:
        memory = _Memory(talker, await talker.begin())
        for _ in range(ITEMS // AN_ENTRY):
            await memory.grow(AN_ENTRY)
        calls = {
            "a list of the memory, by pages of 50": lambda: memory.listed(50),
            "a list of the memory, by pages of 200": lambda: memory.listed(200),
            "a sync that changes nothing": memory.same,
            "a sync of one item more": lambda: memory.grow(1),
        }
        turns = await medians(calls, rounds=SYNCS)
    show(turns, "ms")
    listed, _pages, same, more = calls
    compare(turns, same, listed, goal="at most 1")
    compare(turns, more, same, goal="at most 1.3")


class _Memory:
    """What an agent remembers, and says it remembers."""

    def __init__(self, talker: Talker, id: str) -> None:
        self._talker = talker
        self._path = f"{ROOT}/{id}/entries"
        self._items: list[Any] = []
        self._numbers = itertools.count()

    async def grow(self, count: int) -> None:
        """Remember more items, and say so."""
        self._items += [_item(next(self._numbers)) for _ in range(count)]
        assert not (await self._synced())["noOp"]

    async def same(self) -> None:
        """Say it once more."""
        assert (await self._synced())["noOp"]

    async def listed(self, limit: int) -> None:
        """List all of it."""
        found, after = 0, ""
        while True:
            page = await self._talker.read("GET", f"{self._path}?channel=memory&limit={limit}{after}")
            found += sum(len(one["content"]) for one in page["data"])
            if page["nextCursor"] is None:
                break
            after = f"&after={page['nextCursor']}"
        assert found == len(self._items)

    async def _synced(self) -> Any:
        return await self._talker.read(
            "POST", f"{self._path}/sync", channel="memory", contentType="agent/v1", content=self._items
        )


def _item(number: int) -> dict[str, Any]:
    steps: Sequence[str] = [f"step {number}.{place}" for place in range(3)]
    return {
        "role": "assistant",
        "text": f"I looked at ticket {number} and told Ana what I found.",
        "steps": steps,
    }
