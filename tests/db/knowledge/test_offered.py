"""The family brings what it offers into a process that serves, and of subjects into one that administers."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from elf.config.load import loads
from elf.config.tables import TABLES
from elf.families.knowledge.manifest import KNOWLEDGE
from elf.ground import Ground, Models, ProcessId, Roles
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.offers import Question, Subject
from elf.search.trace_store import LEASE_S, TraceStore, search_queries
from tests.db.knowledge.conftest import ANA, TENANT, KnowledgeHouse
from tests.system.service import write_config

pytestmark = pytest.mark.anyio


def _no_index(space: Space) -> VectorIndex:
    raise AssertionError(f"knowledge needs no index, and {space} is one")


def ground_of(house: KnowledgeHouse, folder: Path, roles: Roles) -> Ground:
    path = write_config(folder)
    config = loads(path.read_text(encoding="utf-8"), source=str(path), folder=folder, tables=TABLES)
    return Ground(
        config=config,
        process=ProcessId(id=uuid4(), name="test"),
        roles=roles,
        clock=house.clock,
        database=house.database,
        reads=house.database,
        dsn=lambda: "",
        models=Models(embedder=house.model),
        texts=house.kit.texts,
        fleet=Fleet(house.model.version, None),
        ring=lambda queue: house.ring,
        index=_no_index,
        fresh=FreshWrites(),
        tokens=None,
        traces=TraceStore(house.database, search_queries(), lease_seconds=LEASE_S),
        search=None,
    )


async def test_what_serves_offers_all_of_it(knowledge: KnowledgeHouse, tmp_path: Path) -> None:
    roles = Roles(serves=True, administers=False, works=False)
    opened = KNOWLEDGE.open(ground_of(knowledge, tmp_path, roles))
    fact = await knowledge.fact(scope="user:ana")
    subject = Subject(tenant_id=TENANT, user="ana")
    assert opened.recall is not None
    assert opened.items is not None
    assert opened.subjects is not None
    (found,) = await opened.recall(Question(text="window", vector=None, subject=subject, limit=5), ANA)
    assert found.id == str(fact.id)
    assert (await opened.items.read("fact", found.id, subject, ANA)).text == found.text
    pieces = [one async for one in opened.subjects.export(subject)]
    assert (await opened.subjects.erase(subject))["facts"] == 1
    assert [one["kind"] for one in pieces] == ["fact", "event"]
    assert await opened.subjects.take_in(pieces) == 1  # that there was an event is not erased


@pytest.mark.parametrize("administers", [True, False])
async def test_what_does_not_serve_offers_subjects_to_operators_alone(
    knowledge: KnowledgeHouse, tmp_path: Path, administers: bool
) -> None:
    roles = Roles(serves=False, administers=administers, works=True)
    opened = KNOWLEDGE.open(ground_of(knowledge, tmp_path, roles))
    assert (opened.recall, opened.items, opened.subjects is not None) == (None, None, administers)
