"""The family as a process opens it: what it offers to whoever stands above all families."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from elf.api.caller import ANONYMOUS
from elf.config.load import loads
from elf.config.tables import TABLES
from elf.core.measures import NoMeasures
from elf.db.database import Database
from elf.families.notes.api.operations import ADD_NOTE
from elf.families.notes.api.requests import AddNoteRequest, NewNote
from elf.families.notes.manifest import NOTES
from elf.ground import Ground, Models, ProcessId, Roles
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.offers import Question, Subject
from elf.providers.factory import Providers
from elf.search.toolkit import search_toolkit
from elf.search.trace_store import LEASE_S, TraceStore, search_queries
from tests.db.notes.conftest import CONTEXT_FIELDS
from tests.notes_kit import FakeEmbedder, MemoryIndex, TurnedClock, WordTokens
from tests.search_kit import FakeChat
from tests.system.service import write_config

pytestmark = pytest.mark.anyio


class _NoReranker:
    async def rerank(self, query: str, documents: Any) -> list[float]:
        raise AssertionError("whoever stands above compares all candidates")


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    path = write_config(tmp_path)
    config = loads(path.read_text(encoding="utf-8"), source=str(path), folder=tmp_path, tables=TABLES)
    model, index = FakeEmbedder(), MemoryIndex()
    model.version = config.embedding_version
    providers = Providers(model, _NoReranker(), None, FakeChat({}), ())
    texts = TextEmbedder(model, WordTokens(), 64, 0, "words")
    return Ground(
        config=config,
        process=ProcessId(id=uuid4(), name="test"),
        roles=Roles(serves=True, administers=False, works=True),
        clock=TurnedClock(),
        database=database,
        reads=database,
        dsn=lambda: "",
        models=Models(embedder=model, all=providers),
        texts=texts,
        fleet=Fleet(texts.version, texts.chunking, others=frozenset()),
        ring=lambda queue: lambda: None,
        index=lambda space: index,
        fresh=FreshWrites(),
        tokens=None,
        traces=TraceStore(database, search_queries(), lease_seconds=LEASE_S),
        search=search_toolkit(
            config,
            providers,
            cache=None,
            later_answer=lambda put: None,
            later_tokens=lambda put: None,
            trace=lambda trace: None,
            measures=NoMeasures(),
        ),
    )


async def test_a_process_that_serves_offers_notes_and_all_of_a_subject(ground: Ground) -> None:
    opened = NOTES.open(ground)
    assert opened.recall is not None
    assert opened.items is not None
    assert opened.subjects is not None
    notes = [NewNote(type="fact", text="Fact: tea is hot.", importance=0.5, confidence=0.9)]
    request = AddNoteRequest(**CONTEXT_FIELDS, scope="agent_private", notes=notes)
    await opened.handlers[ADD_NOTE.name](request, ANONYMOUS)
    (corpus,) = opened.corpora
    queue = corpus.queue()
    await queue.handle(await queue.outbox.lease(10))
    subject = Subject(**CONTEXT_FIELDS)
    question = Question(text="Is tea hot?", vector=None, subject=subject, limit=5)
    (item,) = await opened.recall(question, ANONYMOUS)
    assert item.text == "Fact: tea is hot."
    assert (await opened.items.read(item.kind, item.id, subject, ANONYMOUS)).text == item.text
    lines = [line async for line in opened.subjects.export(subject)]
    assert (await opened.subjects.erase(subject))["notes"] == 1
    assert await opened.recall(question, ANONYMOUS) == []
    assert await opened.subjects.take_in(lines) == len(lines) == 3
    await queue.handle(await queue.outbox.lease(10))
    assert [one.id for one in await opened.recall(question, ANONYMOUS)] == [item.id]


@pytest.mark.parametrize(("administers", "offers"), [(True, {"subjects"}), (False, set())])
async def test_other_processes_offer_what_they_are_for(
    ground: Ground, administers: bool, offers: set[str]
) -> None:
    roles = Roles(serves=False, administers=administers, works=True)
    opened = NOTES.open(replace(ground, roles=roles, search=None))
    assert {name for name in ("recall", "items", "subjects") if getattr(opened, name) is not None} == offers
