"""Reconciling: every difference between Postgres and the index is found and mended, without one embedding."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from elf.core.ids import NoteId, chunk_id_for
from elf.families.notes.keeping.corpus import notes_corpus
from elf.index.port import StoredPoint
from elf.indexing import reconcile
from elf.indexing.reconcile import Drift
from tests.db.notes.conftest import House

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True, params=[2, 2000], ids=["small pages", "one page"])
def _pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "PAGE", request.param)


async def indexed(house: House, count: int = 5) -> list[NoteId]:
    """That many notes, indexed."""
    results = await house.add(*({"text": f"Fact: {number}.", "key": f"k{number}"} for number in range(count)))
    await house.index_all()
    house.model.texts.clear()
    return [result.note_id for result in results]


async def test_an_index_that_agrees_is_left_alone(house: House) -> None:
    await indexed(house)
    rings = house.rings
    assert await house.reconciler.is_whole()
    assert await house.reconciler.reconcile() == Drift(0, 0, 0)
    assert house.rings == rings
    assert await house.outbox.statistics() == (0, 0, None, 0)


async def test_two_empty_sides_agree(house: House) -> None:
    assert await house.reconciler.is_whole()
    assert await house.reconciler.reconcile() == Drift(0, 0, 0)


async def test_a_lost_index_is_filled_again_without_the_model(house: House) -> None:
    notes = await indexed(house)
    house.index.points.clear()
    rings = house.rings
    assert not await house.reconciler.is_whole()
    assert await house.drift() == Drift(missing=5, stale=0, orphaned=0)
    assert house.index.owners() == set(notes)
    assert house.model.texts == []
    assert house.rings == rings + 1
    assert await house.drift() == Drift(0, 0, 0)


async def test_a_single_missing_point_is_found(house: House) -> None:
    notes = await indexed(house)
    del house.index.points[chunk_id_for(notes[2], 0)]
    assert await house.drift() == Drift(missing=1, stale=0, orphaned=0)
    assert house.index.owners() == set(notes)


async def test_a_stale_point_is_found_and_written_anew(house: House) -> None:
    notes = await indexed(house)
    await house.update(notes[1], importance=0.1)
    await house.execute("UPDATE indexing_outbox SET status = 'DONE'")
    assert await house.reconciler.is_whole(), "counting does not show it"
    assert await house.drift() == Drift(missing=0, stale=1, orphaned=0)
    assert house.index.points[chunk_id_for(notes[1], 0)].payload["importance"] == 0.1


async def test_points_of_unknown_deleted_and_purged_notes_are_removed(house: House) -> None:
    notes = await indexed(house)
    stranger = NoteId(uuid4())
    known = house.index.points[chunk_id_for(notes[0], 0)]
    house.index.points[chunk_id_for(stranger, 0)] = replace(
        known, point_id=chunk_id_for(stranger, 0), owner_id=stranger
    )
    await house.delete(notes[1])
    await house.execute("DELETE FROM memory_notes WHERE note_id = $1", notes[2])
    await house.execute("UPDATE indexing_outbox SET status = 'DONE'")
    assert await house.drift() == Drift(missing=0, stale=0, orphaned=3)
    assert house.index.owners() == {notes[0], notes[3], notes[4]}
    assert await house.drift() == Drift(0, 0, 0)


async def test_a_left_over_point_of_a_live_note_is_removed_and_the_others_stay(house: House) -> None:
    notes = await indexed(house)
    left_over = chunk_id_for(notes[0], 7)
    house.index.points[left_over] = replace(house.index.points[chunk_id_for(notes[0], 0)], point_id=left_over)
    assert await house.drift() == Drift(missing=0, stale=0, orphaned=1)
    assert left_over not in house.index.points
    assert house.index.owners() == set(notes)


async def test_points_of_expired_notes_are_removed(house: House) -> None:
    await house.add_one("Fact: a.", key="a", ttl_days=1)
    keep = await house.add_one("Fact: b.", key="b")
    await house.index_all()
    house.clock.turn(days=1)
    assert await house.drift() == Drift(missing=0, stale=0, orphaned=1)
    assert house.index.owners() == {keep}


async def test_a_note_written_and_indexed_meanwhile_keeps_its_points(house: House) -> None:
    await indexed(house)
    scan = house.index.scan

    async def scan_after_a_write(*, after: UUID | None, limit: int) -> list[StoredPoint]:
        house.index.scan = scan  # type: ignore[method-assign]
        for number in range(9):
            await house.add_one(f"Fact: late {number}.", key=f"late {number}")
        await house.index_all()
        return await scan(after=after, limit=limit)

    house.index.scan = scan_after_a_write  # type: ignore[method-assign]
    assert (await house.drift()).missing == 0
    assert len(house.index.points) == 14, "what looked like orphans was looked at again"


async def test_everything_wrong_at_once_is_mended_in_one_go(house: House) -> None:
    notes = await indexed(house, 12)
    await house.update(notes[0], confidence=0.2)
    await house.delete(notes[1])
    await house.execute("UPDATE indexing_outbox SET status = 'DONE'")
    for lost in notes[2:6]:
        del house.index.points[chunk_id_for(lost, 0)]
    assert await house.drift() == Drift(missing=4, stale=1, orphaned=1)
    assert await house.drift() == Drift(0, 0, 0)
    assert house.index.owners() == set(notes) - {notes[1]}
    assert house.model.texts == []


async def test_a_chunk_without_its_vector_is_found_and_gets_one_although_its_point_is_there(
    house: House,
) -> None:
    note_id = await house.add_one(
        "Fact: one two three four five. Then six seven eight nine ten. And so on for ever.", key="k"
    )
    await house.index_all()
    house.model.texts.clear()
    middle = chunk_id_for(note_id, 1)
    await house.execute("DELETE FROM note_chunk_embeddings WHERE chunk_id = $1", middle)
    assert await house.drift() == Drift(missing=1, stale=0, orphaned=0)
    assert house.model.texts == [house.index.points[middle].text], "and no other text is embedded again"
    assert await house.value("SELECT count(*) FROM note_chunk_embeddings") == 3
    assert await house.drift() == Drift(0, 0, 0)


async def test_points_of_another_model_are_no_drift(house: House) -> None:
    notes = await indexed(house)
    other = reconcile.IndexReconciler(
        database=house.database, index=house.index,
        corpus=notes_corpus(house.queries, house.store, embedding_version="fake:newer:384"),
        clock=house.clock, ring=house.ring,
    )  # fmt: skip
    assert await other.reconcile() == Drift(0, 0, 0)
    house.index.points.clear()
    assert await other.reconcile() == Drift(5, 0, 0)
    assert {job.subject_id for job in await house.index_all()} == set(notes), (
        "the jobs are for their own model"
    )
    assert len(house.index.points) == 5
