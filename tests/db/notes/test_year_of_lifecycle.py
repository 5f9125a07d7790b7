"""A year in the life of five notes, over an index in memory and over the embedded one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from elf.core.errors import NotFound
from elf.db.database import Database
from elf.db.garbage import GarbageCollector
from elf.db.queries import Queries
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.edge.process import EdgeProcess
from elf.index.port import IndexFilter, IndexQuery, VectorIndex
from elf.search.retention import retention_steps
from elf.search.trace_store import search_queries
from tests.db.notes.aging import assert_gapless, places_of, rows_saying, steps_of, trace
from tests.db.notes.conftest import House
from tests.notes_kit import DIM, MemoryIndex, vector_of

pytestmark = pytest.mark.anyio

TEA = "Preference: tea over coffee."
LYON = "Fact: the office is in Lyon."
MOVE = "Plan: move to Lyon."
BASE = "Decision: use one database."
FRIDAY = "Constraint: no work on Friday."


@pytest.fixture(params=["memory", "edge"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorIndex]:
    """An index in this process, and one that a process of its own keeps in files."""
    if request.param == "memory":
        yield MemoryIndex()
        return
    process = await EdgeProcess.start(tmp_path / "index", vector_dim=DIM)
    edge = EdgeIndex(tmp_path / "index", NOTES)
    try:
        await process.wait_ready(deadline_s=60)
        yield edge
    finally:
        await edge.aclose()
        await process.stop()


@pytest.fixture
def house(database: Database, queries: Queries, index: VectorIndex) -> House:
    return House(database, queries, index=index)  # type: ignore[arg-type]  # only the port is used here


class Year:
    """A house with a collector; the clock begins with that of the database."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.clock.moment = datetime.now(UTC)
        search = search_queries()
        steps = [*steps_of(house), *retention_steps(house.database, search)]
        self.gc = GarbageCollector(house.database, steps, clock=house.clock, batch_size=100)
        self.began = house.clock.now()

    async def to_day(self, number: int) -> None:
        """Go on to a day, with a collection a week until the day before it, and one on each of these two days."""
        while left := (self.began + timedelta(days=number) - self.house.clock.now()).days:
            self.house.clock.turn(days=min(7, max(left - 1, 1)))
            assert (await self.gc.collect()).ran
            await self.house.index_all()

    async def deprecate(self, note_id: UUID) -> None:
        await self.house.execute(
            "UPDATE memory_notes SET status = 'deprecated', updated_at = $2 WHERE note_id = $1",
            note_id, self.house.clock.now(),
        )  # fmt: skip

    async def status(self, note_id: UUID) -> str:
        note = await self.house.note(note_id)
        return "purged" if note is None else note.status

    async def indexed(self) -> set[UUID]:
        """The notes that have points, by a scan of the whole index."""
        index, owners, after, points = self.house.index, set(), None, 0
        while page := await index.scan(after=after, limit=2):
            owners |= {point.owner_id for point in page}
            after, points = page[-1].point_id, points + len(page)
        assert points == await index.count()
        return owners

    async def finds(self, text: str) -> set[UUID]:
        """The notes that either leg of an unfiltered query finds: the nearest vector, and all with a word of it."""
        index, anywhere = self.house.index, IndexFilter(must={})
        nearest, worded = await index.query(
            [IndexQuery(vector_of(text), None, anywhere, 1), IndexQuery(None, text, anywhere, 100)]
        )
        return {hit.owner_id for hit in (*nearest.dense, *worded.bm25)}


async def test_a_year_of_lifecycle(house: House) -> None:
    year = Year(house)
    kept = await house.add_one(TEA, type="preference", key="drink")
    fact = await house.add_one(LYON, source_ref={"chat": "monday"})
    plan = await house.add_one(MOVE, type="plan")
    gone = await house.add_one(BASE, type="decision")
    old = await house.add_one(FRIDAY, type="constraint", key="friday")
    await house.update(gone, importance=0.9)
    await house.add({"text": "Fact: my password is hunter2hunter2."})
    await house.index_all()
    await trace(house, kept, fact, plan, days=400)
    assert await year.indexed() == {kept, fact, plan, gone, old}
    assert {plan, fact} <= await year.finds(MOVE)

    await year.to_day(10)
    await house.delete(gone)
    await year.deprecate(old)
    await year.to_day(13)
    assert await year.status(plan) == "active"
    await year.to_day(14)
    assert await year.status(plan) == "deleted", "fourteen days are the default life of a plan"
    assert await year.indexed() == {kept, fact, old}
    assert plan not in await year.finds(MOVE)
    assert await house.value("SELECT count(*) FROM memory_ingest_decisions WHERE op = 'REJECTED'") == 1
    await year.to_day(31)
    assert await house.value("SELECT count(*) FROM memory_ingest_decisions WHERE op = 'REJECTED'") == 0
    await year.to_day(40)
    assert await year.status(gone) == "deleted"
    await year.to_day(41)
    assert await year.status(gone) == "purged", "more than thirty days after its deletion"
    await year.to_day(45)
    assert await year.status(plan) == "purged", "more than thirty days after its expiry"
    await year.to_day(180)
    assert await year.status(fact) == "deleted", "180 days are the default life of a fact"
    await year.to_day(190)
    assert await year.status(old) == "deprecated"
    await year.to_day(191)
    assert await year.status(old) == "purged", "nobody has found it for more than 180 days"
    await year.to_day(365)

    await _assert_purged(house, fact, ["ADD", "DELETE", "PURGE"])
    await _assert_purged(house, plan, ["ADD", "DELETE", "PURGE"])
    await _assert_purged(house, gone, ["ADD", "UPDATE", "DELETE", "PURGE"])
    await _assert_purged(house, old, ["ADD", "PURGE"], gapless=False)  # deprecated behind the history's back
    assert await year.indexed() == {kept}
    for text in (TEA, LYON, MOVE, BASE, FRIDAY):
        assert await year.finds(text) == {kept}, (
            "which is the nearest to anything, and has no word of the others"
        )
    for word in ("Lyon", "one database", "Friday", "monday", "hunter2"):
        assert await rows_saying(house, word) == {}
    assert {"memory_notes", "memory_note_versions"} <= (await rows_saying(house, TEA)).keys()
    assert await year.status(kept) == "active"
    assert await house.jobs() == []
    assert await house.value("SELECT count(*) FROM memory_ingest_decisions") == 1


async def _assert_purged(house: House, note_id: UUID, ops: list[str], *, gapless: bool = True) -> None:
    versions = await house.versions(note_id)
    assert [version["op"] for version in versions] == ops
    assert await places_of(house, note_id) == {"memory_note_versions.note_id": len(ops)}
    shots = [shot for row in versions for shot in (row["prev_snapshot"], row["new_snapshot"]) if shot]
    assert {(shot["text"], shot["key"], str(shot["source_ref"])) for shot in shots} == {("", None, "{}")}
    if gapless:
        assert_gapless(versions)
    with pytest.raises(NotFound):
        await house.update(note_id, importance=0.1)
