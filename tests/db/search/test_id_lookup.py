"""Ids by how they begin: all that the context may read, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from pydantic import ValidationError

from elf.db.database import Database
from elf.families.notes.api.id_requests import MAX_IDS, FindIdsRequest
from elf.families.notes.keeping.queries import note_queries
from elf.families.notes.reading.id_lookup import IdLookup
from elf.search.trace import SearchTrace
from elf.search.trace_store import Payload, TraceStore
from tests.db.search.test_explain import OTHERS, OWNER, put_note
from tests.notes_kit import NOW, TurnedClock
from tests.traces_kit import a_trace, an_item

pytestmark = pytest.mark.anyio

FIRST, LAST = UUID("0b8ff2a0" + 24 * "0"), UUID("0b8ff2a0" + 24 * "f")
BEFORE, AFTER = UUID(int=FIRST.int - 1), UUID(int=LAST.int + 1)


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def ids(database: Database, clock: TurnedClock) -> IdLookup:
    return IdLookup(database=database, queries=note_queries(), clock=clock)


async def found(ids: IdLookup, kind: str, prefix: str = "0b8ff2a0", **context: str) -> list[tuple[UUID, str]]:
    request = FindIdsRequest.model_validate(OWNER | context | {"kind": kind, "prefix": prefix})
    return [(item.id, item.text) for item in (await ids.find(request)).items]


async def put_version(database: Database, version_id: UUID, note_id: UUID) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO memory_note_versions (version_id, note_id, op, new_snapshot, reason, actor)"
            " VALUES ($1, $2, 'ADD', '{\"text\": \"old tea\"}', 'seed', 'seed')",
            version_id, note_id,
        )  # fmt: skip


async def test_all_notes_that_begin_so_are_found_and_no_neighbour(ids: IdLookup, database: Database) -> None:
    for note_id in (BEFORE, FIRST, LAST, AFTER):
        await put_note(database, note_id, "project_shared")
    assert await found(ids, "note") == [(FIRST, "tea"), (LAST, "tea")]
    assert await found(ids, "note", "0B8FF2A0-0000-0") == [(FIRST, "tea")]
    assert await found(ids, "note", str(LAST)) == [(LAST, "tea")]
    assert await found(ids, "version") == []


@pytest.mark.parametrize("other", OTHERS)
async def test_nothing_of_another_context_is_found(
    ids: IdLookup, store: TraceStore, database: Database, other: dict[str, str]
) -> None:
    await put_note(database, FIRST, "agent_private")
    await put_version(database, FIRST, FIRST)
    trace = a_trace(trace_id=FIRST, items=[an_item(item_id=FIRST, note_id=FIRST)])
    await store.write(await store.enqueue([Payload.of(trace)]))
    expected = {"note": "tea", "version": "old tea", "search": "hot tea", "result": "tea"}
    for kind, text in expected.items():
        assert await found(ids, kind) == [(FIRST, text)]
        assert await found(ids, kind, **other) == []


async def test_shared_notes_are_found_by_every_agent_of_the_project(
    ids: IdLookup, database: Database
) -> None:
    await put_note(database, FIRST, "project_shared")
    assert await found(ids, "note", agent_id="bob") == [(FIRST, "tea")]


async def test_traces_that_expired_are_not_found(
    ids: IdLookup, store: TraceStore, clock: TurnedClock
) -> None:
    trace: SearchTrace = a_trace(
        trace_id=FIRST, items=[an_item(item_id=FIRST)], expires_at=NOW + timedelta(1)
    )
    await store.write(await store.enqueue([Payload.of(trace)]))
    assert await found(ids, "result") == [(FIRST, "")]  # whose note is gone
    clock.turn(days=1)
    assert await found(ids, "search") == await found(ids, "result") == []


async def test_no_more_are_listed_than_a_person_reads(ids: IdLookup, database: Database) -> None:
    for number in range(MAX_IDS + 1):
        await put_note(database, UUID(int=FIRST.int + number), "project_shared")
    assert len(await found(ids, "note")) == MAX_IDS


@pytest.mark.parametrize(
    "prefix", ["", "0b8ff2a", "0b8ff2ag", "0b8ff2a0%", f"{FIRST}0", "-0b8ff2a0", "0b8ff2a0--1"]
)
def test_what_is_no_beginning_of_an_id_is_refused(prefix: str) -> None:
    with pytest.raises(ValidationError):
        FindIdsRequest.model_validate(OWNER | {"kind": "note", "prefix": prefix})
