"""All families at work in one process without fronts: for tests that ask what each offers to whoever stands above."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio

from actors.assembly.index import with_indexing
from actors.families import FAMILIES
from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.config import load
from elf.core.measures import NoMeasures
from elf.db.database import Database
from elf.families.notes.writing.local_extraction import RULE_BASED_EXTRACTION
from elf.family import Opened, tables_of
from elf.ground import Ground, Models, ProcessId, Roles
from elf.index.space import Space
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.offers import Items, Recall
from elf.providers.factory import Providers, rules_as_chat
from elf.search.token_store import TokenStore
from elf.search.toolkit import search_toolkit
from elf.search.trace_store import LEASE_S, TraceStore, search_queries
from tests.late_kit import FakeLate
from tests.notes_kit import FakeEmbedder, MemoryIndex, TurnedClock, WordTokens
from tests.search_kit import FakeReranker
from tests.system.service import write_config

ROLES = Roles(serves=True, administers=True, works=True)


class Indexes:
    """The index of each space, in memory."""

    def __init__(self) -> None:
        self._of: dict[Space, MemoryIndex] = {}

    def of(self, space: Space) -> MemoryIndex:
        return self._of.setdefault(space, MemoryIndex())


@dataclass
class OffersHouse:
    """The families by their names, and a clock that a test can turn."""

    clock: TurnedClock
    model: FakeEmbedder
    opened: Mapping[str, Opened] = field(default_factory=dict)

    async def do(self, family: str, operation: Operation, caller: Caller, /, **request: Any) -> Any:
        """Return what carries out an operation answers to a request."""
        asked = operation.request.model_validate(request)
        return await self.opened[family].handlers[operation.name](asked, caller)

    async def settle(self, family: str) -> None:
        """Do the work that a family has left, such as bringing texts into the index."""
        for queue in self.opened[family].queues:
            while jobs := await queue.outbox.lease(queue.batch_size):
                await queue.handle(jobs)

    def recall(self, family: str) -> Recall:
        recall = self.opened[family].recall
        assert recall is not None
        return recall

    def items(self, family: str) -> Items:
        items = self.opened[family].items
        assert items is not None
        return items


@asynccontextmanager
async def offers_house(dsn: str, folder: Path) -> AsyncIterator[OffersHouse]:
    """Open all families on the database at an address, with files below a folder, for the block."""
    database = Database(max_conns=8)
    await database.open(dsn)
    try:
        async with _at_work(database, dsn, folder) as house:
            yield house
    finally:
        await database.close()


@asynccontextmanager
async def _at_work(database: Database, dsn: str, folder: Path) -> AsyncIterator[OffersHouse]:
    house = OffersHouse(TurnedClock(), FakeEmbedder())
    ground = _ground(house, database, dsn, folder)
    own = {family.name: family.open(ground) for family in FAMILIES}
    house.opened = {name: with_indexing(one, ROLES) for name, one in own.items()}
    async with anyio.create_task_group() as group:
        for owner in (owner for one in own.values() for owner in one.owners):
            await group.start(partial(owner.run))
        yield house
        group.cancel_scope.cancel()


def _ground(house: OffersHouse, database: Database, dsn: str, folder: Path) -> Ground:
    config = load(write_config(folder), tables_of(FAMILIES))
    model, late, queries = house.model, FakeLate(), search_queries()
    model.version = config.embedding_version
    providers = Providers(
        embedder=model, reranker=FakeReranker([]), late=late, connections=(),
        extractor=rules_as_chat(config.providers.llm_extractor, [RULE_BASED_EXTRACTION]),
    )  # fmt: skip
    return Ground(
        config=config,
        process=ProcessId(id=uuid4(), name="test"),
        roles=ROLES,
        clock=house.clock,
        database=database,
        reads=database,
        dsn=lambda: dsn,
        models=Models(embedder=model, late=late, all=providers),
        texts=TextEmbedder(model, WordTokens(), 64, 0, "words", late=late),
        fleet=Fleet(model.version, None),
        ring=_nobody,
        index=Indexes().of,
        fresh=FreshWrites(),
        tokens=TokenStore(queries, version=late.version, max_words=4000),
        traces=TraceStore(database, queries, lease_seconds=LEASE_S),
        search=search_toolkit(
            config,
            providers,
            cache=None,
            later_answer=_dropped,
            later_tokens=_dropped,
            trace=_dropped,
            measures=NoMeasures(),
        ),
    )


def _nobody(queue: str) -> Callable[[], None]:
    return lambda: None


def _dropped(_: object) -> None:
    """In place of what is stored behind a search's back."""
