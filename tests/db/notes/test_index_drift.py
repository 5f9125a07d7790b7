"""Drift is counted and named without a write, what is on its way is none, and a repair mends just what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.ids import NoteId, chunk_id_for
from elf.index.port import StoredPoint
from elf.indexing import drift
from elf.indexing.drift import Comparison, IndexDrift
from elf.indexing.reconcile import Difference
from tests.db.notes.conftest import House

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True, params=[1, 2000], ids=["small batches", "one batch"])
def _batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "BATCH", request.param)


@pytest.fixture
def index_drift(house: House) -> IndexDrift:
    return IndexDrift(database=house.database, corpus=house.corpus, reconciler=house.reconciler)


async def indexed(house: House, count: int) -> list[NoteId]:
    results = await house.add(*({"text": f"Fact: {number}.", "key": f"k{number}"} for number in range(count)))
    await house.index_all()
    house.model.texts.clear()
    return [result.note_id for result in results]


def plant(house: House, notes: list[NoteId]) -> dict[str, Difference]:
    """Lose the point of one note, age that of another, and add one of nobody."""
    missing, stale, stranger = notes[0], notes[1], NoteId(uuid4())
    points = house.index.points
    del points[chunk_id_for(missing, 0)]
    old = points[chunk_id_for(stale, 0)]
    points[old.point_id] = replace(old, payload={**old.payload, "updated_at": "2020-01-01T00:00:00+00:00"})
    stray = chunk_id_for(stranger, 0)
    points[stray] = replace(old, point_id=stray, owner_id=stranger)
    return {
        "missing": Difference("missing", chunk_id_for(missing, 0), missing),
        "stale": Difference("stale", old.point_id, stale),
        "orphaned": Difference("orphaned", stray, stranger),
    }


async def test_an_index_that_agrees_has_no_drift(house: House, index_drift: IndexDrift) -> None:
    await indexed(house, 3)
    assert await index_drift.look(most_examples=5) == Comparison()


async def test_what_was_planted_is_counted_and_named_and_nothing_is_written(
    house: House, index_drift: IndexDrift
) -> None:
    planted = plant(house, await indexed(house, 5))
    points, jobs, rings = dict(house.index.points), await house.jobs(), house.rings
    found = await index_drift.look(most_examples=5)
    assert found.counts == {"missing": 1, "stale": 1, "orphaned": 1}
    assert found.examples == {kind: [difference] for kind, difference in planted.items()}
    assert found.moving == 0
    assert (house.index.points, await house.jobs(), house.rings) == (points, jobs, rings)


async def test_of_many_differences_only_some_are_named(house: House, index_drift: IndexDrift) -> None:
    await indexed(house, 7)
    house.index.points.clear()
    found = await index_drift.look(most_examples=2)
    assert found.counts["missing"] == 7
    assert len(found.examples["missing"]) == 2
    assert (await index_drift.look(most_examples=0)).examples == {"missing": []}


async def test_a_note_that_waits_for_an_indexer_is_no_drift(house: House, index_drift: IndexDrift) -> None:
    notes = await indexed(house, 3)
    await house.update(notes[0], importance=0.1)
    await house.delete(notes[1])
    await house.add_one("Fact: new.")  # it has its vector, and no point yet
    found = await index_drift.look(most_examples=5)
    assert (dict(found.counts), found.moving) == ({}, 3)
    await house.index_all()
    assert await index_drift.look(most_examples=5) == Comparison()


async def test_a_note_that_was_indexed_during_the_comparison_is_no_drift(
    house: House, index_drift: IndexDrift
) -> None:
    notes = await indexed(house, 3)
    scan = house.index.scan

    async def scan_after_a_write(*, after: UUID | None, limit: int) -> list[StoredPoint]:
        house.index.scan = scan  # type: ignore[method-assign]
        await house.update(notes[0], importance=0.1)
        await house.add_one("Fact: late.", key="late")
        await house.index_all()
        return await scan(after=after, limit=limit)

    house.index.scan = scan_after_a_write  # type: ignore[method-assign]
    found = await index_drift.look(most_examples=5)
    assert (dict(found.counts), found.moving) == ({}, 2)


# Repairing


async def repaired(
    house: House, index_drift: IndexDrift, monkeypatch: pytest.MonkeyPatch, *, indexers: bool = True
) -> drift.Repair:
    """Repair while indexers work, or do not."""
    rung = anyio.Event()
    ring: Callable[[], None] = rung.set
    monkeypatch.setattr(house.reconciler, "_ring", ring)

    async def work() -> None:
        await rung.wait()
        await house.index_all()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            if indexers:
                group.start_soon(work)
            repair = await index_drift.repair()
            group.cancel_scope.cancel()
    return repair


async def test_a_repair_mends_just_what_differs(
    house: House, index_drift: IndexDrift, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = await indexed(house, 6)
    before = dict(house.index.points)
    planted = plant(house, notes)
    jobs = len(await house.jobs())
    repair = await repaired(house, index_drift, monkeypatch)
    assert repair.found.counts == {"missing": 1, "stale": 1, "orphaned": 1}
    assert (repair.jobs, repair.open_jobs) == (3, 0)
    new = (await house.jobs())[jobs:]
    assert {note_id for note_id, *_ in new} == {difference.subject_id for difference in planted.values()}
    assert {one: point.payload for one, point in house.index.points.items()} == {
        one: point.payload for one, point in before.items()
    }
    assert house.model.texts == []
    assert await index_drift.look(most_examples=5) == Comparison()


async def test_a_repair_that_finds_nothing_asks_for_nothing(
    house: House, index_drift: IndexDrift, monkeypatch: pytest.MonkeyPatch
) -> None:
    await indexed(house, 2)
    repair = await repaired(house, index_drift, monkeypatch, indexers=False)
    assert repair == drift.Repair(Comparison(), 0, 0)


async def test_a_repair_that_takes_too_long_says_how_much_is_open(
    house: House, index_drift: IndexDrift, monkeypatch: pytest.MonkeyPatch
) -> None:
    await indexed(house, 3)
    house.index.points.clear()
    monkeypatch.setattr(drift, "REPAIR_WAIT_S", 0.05)
    repair = await repaired(house, index_drift, monkeypatch, indexers=False)
    assert (repair.jobs, repair.open_jobs) == (3, 3)
