"""A year in the life of five notes, a collection a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from elf.core.errors import NotFound
from elf.db.garbage import GarbageCollector
from elf.db.queries import Queries, sql_folder
from elf.search.retention import retention_steps
from tests.db.notes.aging import assert_gapless, places_of, steps_of
from tests.db.notes.conftest import House

pytestmark = pytest.mark.anyio


class Year:
    """A house with a collector that comes once a day; the clock begins with that of the database."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.clock.moment = datetime.now(UTC)
        search = Queries.load(sql_folder() / "search")
        steps = [*steps_of(house), *retention_steps(house.database, search)]
        self.gc = GarbageCollector(house.database, steps, clock=house.clock, batch_size=100)
        self.began = house.clock.now()

    async def to_day(self, number: int) -> None:
        while self.house.clock.now() < self.began + timedelta(days=number):
            self.house.clock.turn(days=1)
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


async def test_a_year_of_lifecycle(house: House) -> None:
    year = Year(house)
    kept = await house.add_one("Preference: tea over coffee.", type="preference", key="drink")
    fact = await house.add_one("Fact: the office is in Lyon.", source_ref={"chat": "monday"})
    plan = await house.add_one("Plan: move to Lyon.", type="plan")
    gone = await house.add_one("Decision: use one database.", type="decision")
    old = await house.add_one("Constraint: no work on Friday.", type="constraint", key="friday")
    await house.update(gone, importance=0.9)
    await house.add({"text": "Fact: my password is hunter2hunter2."})
    await house.index_all()
    assert house.index.owners() == {kept, fact, plan, gone, old}

    await year.to_day(10)
    await house.delete(gone)
    await year.deprecate(old)
    await year.to_day(13)
    assert await year.status(plan) == "active"
    await year.to_day(14)
    assert await year.status(plan) == "deleted", "fourteen days are the default life of a plan"
    assert house.index.owners() == {kept, fact, old}
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
    assert house.index.owners() == {kept}
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
