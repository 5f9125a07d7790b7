"""Notes beside another family in one index: what keeps one right never touches the other."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from elf.core.ids import NoteId, chunk_id_for
from elf.families.notes.space import NOTES
from elf.index.port import IndexPoint, VectorIndex
from elf.indexing import drift
from elf.indexing.drift import IndexDrift
from elf.indexing.rebuild import Tally
from elf.indexing.reconcile import IndexReconciler
from tests.index_kit import ADAPTERS, TALKS, emptied, opener_of
from tests.notes_kit import DIM

from .conftest import House
from .test_index_rebuild import indexed, rebuild_of

pytestmark = pytest.mark.anyio


@pytest.fixture(params=ADAPTERS)
async def spaces(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[VectorIndex, VectorIndex]]:
    opener = opener_of(request.param, request, vector_dim=DIM)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
        async with opener(tmp_path) as open_space:
            yield await open_space(NOTES), await open_space(TALKS)


def entries_for(house: House, notes: list[NoteId]) -> list[IndexPoint]:
    """Points of another family: one has the id of a note's chunk, one the id of no chunk at all."""
    known = house.index.points[chunk_id_for(notes[0], 0)]
    fields = {
        "tenant_id": "acme",
        "group_id": "g",
        "created_at": "2026-01-01T00:00:00+00:00",
        "updated_at": "2026-01-01T00:00:00+00:00",
    }
    return [
        IndexPoint(point_id, uuid4(), known.dense, "an entry", fields)
        for point_id in (chunk_id_for(notes[0], 0), uuid4(), uuid4())
    ]


async def stored(index: VectorIndex) -> set[UUID]:
    return {point.point_id for point in await index.scan(after=None, limit=1000)}


async def test_a_rebuild_a_comparison_and_a_repair_of_notes_leave_the_points_of_the_other_family(
    house: House, spaces: tuple[VectorIndex, VectorIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "REPAIR_WAIT_S", 0.0)  # the jobs are done below
    index, talks = spaces
    notes = await indexed(house, 4)
    chunks = {chunk_id_for(note_id, 0) for note_id in notes}
    entries = entries_for(house, notes)
    theirs = {point.point_id for point in entries}
    await talks.upsert(entries)
    await index.upsert(entries[1:2])  # a stray, with the id of an entry

    assert (await rebuild_of(house, index).run(Tally())).removed_count == 1
    assert (await stored(index), await stored(talks)) == (chunks, theirs)

    comparing = IndexDrift(
        database=house.database, corpus=house.corpus,
        reconciler=IndexReconciler(
            database=house.database, corpus=house.corpus, index=index, clock=house.clock, ring=house.ring
        ),
    )  # fmt: skip
    found = await comparing.look(most_examples=0)
    assert (dict(found.counts), found.moving) == ({}, 0)

    await emptied(index)
    await talks.delete_points([entries[2].point_id])
    repair = await comparing.repair()
    assert (dict(repair.found.counts), repair.jobs) == ({"missing": 4}, 4)
    house.index = index  # type: ignore[assignment]
    house.indexing = house.indexing_of(house.texts, house.fleet)
    await house.index_all()
    assert (await stored(index), await stored(talks)) == (chunks, theirs - {entries[2].point_id})
    assert house.model.texts == []
