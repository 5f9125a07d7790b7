"""A rebuild writes the whole index from the stored vectors, beside writers, and leaves no older state behind."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.errors import IndexUnavailable, InvalidRequest
from elf.core.ids import NoteId, chunk_id_for
from elf.families.notes.keeping.space import NOTES
from elf.index.port import IndexPoint, VectorIndex
from elf.index.server import QdrantServerIndex
from elf.indexing import rebuild
from elf.indexing.leased_points import LeasedPoints
from elf.indexing.rebuild import IndexRebuild, RebuildReport, Tally
from elf.indexing.reconcile import IndexReconciler
from tests.db.notes.conftest import House
from tests.notes_kit import DIM

pytestmark = pytest.mark.anyio

LONG = "One two three four five six. Seven eight nine ten eleven twelve. Thirteen fourteen fifteen sixteen."


@pytest.fixture(autouse=True, params=[2, 512], ids=["small pages", "one page"])
def _pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "PAGE", request.param)
    monkeypatch.setattr(rebuild, "SCAN", request.param)
    monkeypatch.setattr(rebuild, "RETRY_S", 0.001)


def rebuild_of(house: House, index: VectorIndex | None = None) -> IndexRebuild:
    index = index or house.index
    reconciler = IndexReconciler(
        database=house.database, corpus=house.corpus, index=index, clock=house.clock, ring=house.ring,
    )  # fmt: skip
    points = LeasedPoints(
        database=house.database, corpus=house.corpus, lease_seconds=60,
        clock=house.clock, ring=house.ring,
    )  # fmt: skip
    return IndexRebuild(
        database=house.database, corpus=house.corpus, index=index, points=points, reconciler=reconciler,
        clock=house.clock,
    )  # fmt: skip


async def rebuilt(house: House) -> RebuildReport:
    return await rebuild_of(house).run(Tally())


async def indexed(house: House, count: int = 5) -> list[NoteId]:
    """That many notes, indexed."""
    results = await house.add(*({"text": f"Fact: {number}.", "key": f"k{number}"} for number in range(count)))
    await house.index_all()
    house.model.texts.clear()
    return [result.note_id for result in results]


async def open_jobs(house: House) -> list[UUID]:
    return [note_id for note_id, _, status in await house.jobs() if status != "DONE"]


def at_the_first_write(house: House, happen: Callable[[], Awaitable[object]]) -> None:
    """Let something happen after the rebuild has read a page and before it writes it."""

    async def before_upsert() -> None:
        house.index.before_upsert = None
        await happen()

    house.index.before_upsert = before_upsert


@asynccontextmanager
async def at_the_first_deletion(house: House, happen: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    delete_points = house.index.delete_points

    async def after_something(point_ids: Sequence[UUID]) -> None:
        house.index.delete_points = delete_points  # type: ignore[method-assign]
        await happen()
        await delete_points(point_ids)

    house.index.delete_points = after_something  # type: ignore[method-assign]
    yield
    assert house.index.delete_points == delete_points, "nothing was deleted, so nothing is proved"


# What it writes


async def test_a_lost_index_is_written_again_without_the_model(house: House) -> None:
    await indexed(house)
    await house.add_one(LONG, key="long")
    await house.index_all()
    before, jobs = dict(house.index.points), await house.jobs()
    house.model.texts.clear()
    house.index.points.clear()
    tally = Tally()
    assert await rebuild_of(house).run(tally) == RebuildReport(8, 0, 0, 0)
    assert (tally.done, tally.total) == (8, 8)
    assert {one: point.payload for one, point in house.index.points.items()} == {
        one: point.payload for one, point in before.items()
    }
    assert all((point.dense == before[one].dense).all() for one, point in house.index.points.items())
    assert {point.text for point in house.index.points.values()} == {point.text for point in before.values()}
    assert house.model.texts == []
    assert await house.jobs() == jobs, "it leaves no job behind"


async def test_a_rebuild_of_nothing_reports_nothing(house: House) -> None:
    assert await rebuilt(house) == RebuildReport(0, 0, 0, 0)


async def test_a_dropped_collection_of_a_server_is_made_again(house: House) -> None:
    from qdrant_client import AsyncQdrantClient

    client = AsyncQdrantClient(location=":memory:")
    index = QdrantServerIndex(client, collection="notes", space=NOTES, vector_dim=DIM, timeout_s=5)
    await indexed(house)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
        await index.ensure()
        await client.delete_collection("notes")
        assert (await rebuild_of(house, index).run(Tally())).rebuilt_count == 5
    assert await index.count() == 5
    assert house.model.texts == []
    await index.aclose()


async def test_notes_without_vectors_are_counted_and_left_to_the_model(house: House) -> None:
    await indexed(house)
    await house.add_one("Fact: never embedded.", key="never")
    half = await house.add_one(LONG, key="half")
    gone = await house.add_one("Fact: gone.", key="gone")
    await house.execute("DELETE FROM indexing_outbox WHERE note_id NOT IN ($1, $2)", half, gone)
    await house.index_all()
    house.model.texts.clear()
    await house.execute("DELETE FROM note_chunk_embeddings WHERE chunk_id <> ALL ($1)", [
        chunk_id_for(half, 1), *house.index.points.keys() - {chunk_id_for(half, n) for n in range(3)},
    ])  # fmt: skip
    await house.delete(gone)
    house.index.points.clear()
    assert await rebuilt(house) == RebuildReport(6, 2, 0, 0)
    assert [one for one in house.index.points if house.index.points[one].owner_id == half] == [
        chunk_id_for(half, 1)
    ]
    assert house.model.texts == []


async def test_points_that_postgres_does_not_know_are_removed(house: House) -> None:
    notes = await indexed(house)
    expired = await house.add_one("Fact: expired.", key="expired", ttl_days=1)
    await house.index_all()
    stranger = NoteId(uuid4())
    known = house.index.points[chunk_id_for(notes[0], 0)]
    for owner, place in ((stranger, 0), (notes[0], 7)):
        stray = chunk_id_for(owner, place)
        house.index.points[stray] = replace(known, point_id=stray, owner_id=owner)
    await house.delete(notes[1])
    await house.execute("DELETE FROM memory_notes WHERE note_id = $1", notes[2])
    await house.execute("UPDATE indexing_outbox SET status = 'DONE'")
    house.clock.turn(days=2)
    assert expired in house.index.owners()
    assert await rebuilt(house) == RebuildReport(3, 0, 0, removed_count=5)
    assert set(house.index.points) == {chunk_id_for(notes[number], 0) for number in (0, 3, 4)}
    assert await open_jobs(house) == []


async def test_notes_of_another_model_keep_points_that_say_so_and_count_as_waiting_for_this_one(
    house: House,
) -> None:
    notes = await indexed(house, 2)
    for table, column in (
        ("memory_notes", "note_id"), ("memory_note_chunks", "note_id"), ("note_chunk_embeddings", "chunk_id"),
    ):  # fmt: skip
        await house.execute(
            f"UPDATE {table} SET embedding_version = 'fake:older:384' WHERE {column} = $1",
            notes[0] if column == "note_id" else chunk_id_for(notes[0], 0),
        )
    assert await rebuilt(house) == RebuildReport(2, 1, 0, 0)
    versions = {point.owner_id: point.payload["embedding_version"] for point in house.index.points.values()}
    assert versions == {notes[0]: "fake:older:384", notes[1]: "fake:hash:384"}
    assert await open_jobs(house) == []


async def test_a_chunk_without_a_vector_is_counted_and_left_to_the_indexers(house: House) -> None:
    note_id = await house.add_one(LONG, key="k")
    await house.index_all()
    house.index.points.clear()
    house.model.texts.clear()
    lost = chunk_id_for(note_id, 1)
    await house.execute("DELETE FROM note_chunk_embeddings WHERE chunk_id = $1", lost)
    assert await rebuilt(house) == RebuildReport(2, 1, 0, 0)
    assert lost not in house.index.points
    assert await open_jobs(house) == [note_id]
    await house.index_all()
    assert house.model.texts == [house.index.points[lost].text]
    assert await rebuilt(house) == RebuildReport(3, 0, 0, 0)


async def test_a_note_that_is_cut_anew_while_it_is_written_ends_in_its_new_cut(house: House) -> None:
    note_id = await house.add_one(LONG, key="k")
    await house.index_all()
    coarser = replace(house.texts, max_tokens=100)
    house.fleet.chunking = coarser.chunking
    indexing = house.indexing_of(coarser, house.fleet)

    async def cut_anew() -> None:
        await house.execute(house.queries["enqueue_renewal"], [note_id], house.model.version)
        await indexing.handle(await house.outbox.lease(10))

    at_the_first_write(house, cut_anew)
    await rebuilt(house)
    await indexing.handle(await house.outbox.lease(10))
    (point,) = house.index.points.values()
    assert (point.text, point.payload["end_offset"]) == (LONG, len(LONG))


# Beside writers


async def change_text(house: House, note_id: NoteId) -> None:
    await house.update(note_id, text="Fact: newer.")


async def change_weight(house: House, note_id: NoteId) -> None:
    await house.update(note_id, importance=0.1)


async def remove(house: House, note_id: NoteId) -> None:
    await house.delete(note_id)


async def purge(house: House, note_id: NoteId) -> None:
    await house.delete(note_id)
    await house.execute("DELETE FROM memory_notes WHERE note_id = $1", note_id)


@pytest.mark.parametrize("change", [change_text, change_weight, remove, purge])
async def test_a_note_that_changes_while_it_is_written_ends_in_its_newer_state(
    house: House, change: Callable[[House, NoteId], Awaitable[None]]
) -> None:
    notes = await indexed(house)
    first = min(notes)

    async def change_and_index() -> None:
        await change(house, first)
        await house.index_all()
        expected.update(house.index.points)

    expected: dict[UUID, IndexPoint] = {}
    rings = house.rings
    at_the_first_write(house, change_and_index)
    await rebuilt(house)
    assert first in await open_jobs(house)
    assert house.rings > rings
    await house.index_all()
    assert {one: (point.text, point.payload) for one, point in house.index.points.items()} == {
        one: (point.text, point.payload) for one, point in expected.items()
    }
    assert await open_jobs(house) == []


async def test_the_notes_of_a_page_are_leased_before_they_are_written(house: House) -> None:
    notes = await indexed(house)
    leased: list[UUID] = []

    async def look() -> None:
        leased.extend(await open_jobs(house))
        assert await house.outbox.lease(100) == [], "nobody else takes them"

    at_the_first_write(house, look)
    await rebuilt(house)
    assert set(leased) >= set(sorted(notes)[:2])


async def test_a_note_written_meanwhile_is_indexed_and_stays(house: House) -> None:
    await indexed(house)

    async def write() -> None:
        for number in range(9):
            await house.add_one(f"Fact: late {number}.", key=f"late {number}")
        await house.index_all()

    at_the_first_write(house, write)
    await rebuilt(house)
    await house.index_all()
    assert len(house.index.points) == 14


async def test_a_deleted_note_that_is_restored_as_its_point_is_deleted_gets_its_point_back(
    house: House,
) -> None:
    notes = await indexed(house)
    before = dict(house.index.points)
    await house.delete(notes[0])
    await house.execute("UPDATE indexing_outbox SET status = 'DONE'")
    text = "Fact: 0."

    async def restore() -> None:
        await house.execute(
            "UPDATE memory_notes SET status = 'active', updated_at = now() WHERE note_id = $1", notes[0]
        )
        await house.execute(
            "INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)"
            " VALUES (gen_random_uuid(), $1, 'UPSERT', $2, 'PENDING')", notes[0], house.model.version,
        )  # fmt: skip
        await house.index_all()

    async with at_the_first_deletion(house, restore):
        await rebuilt(house)
    assert chunk_id_for(notes[0], 0) not in house.index.points
    await house.index_all()
    assert house.index.points.keys() == before.keys()
    assert house.model.texts == [text]


async def test_a_point_that_becomes_a_chunk_as_it_is_deleted_comes_back(house: House) -> None:
    notes = await indexed(house)
    await house.update(notes[0], text="Fact: newer.")  # its chunks are gone until it is embedded

    async with at_the_first_deletion(house, house.index_all):
        await rebuilt(house)
    assert await open_jobs(house) == [notes[0]]
    await house.index_all()
    assert house.index.points[chunk_id_for(notes[0], 0)].text == "Fact: newer."


# When the index or the rebuild ends in the middle


async def lose_everything(house: House) -> None:
    house.index.points.clear()
    raise IndexUnavailable("gone for a moment")


async def test_an_index_that_comes_back_empty_is_whole_in_the_end(house: House) -> None:
    notes = await indexed(house)
    at_the_first_write(house, partial(lose_everything, house))
    report = await rebuilt(house)
    assert (report.rebuilt_count, report.error_count) == (5, 0)
    house.index.points.pop(chunk_id_for(max(notes), 0))  # as if it had been written before the loss
    at_the_first_write(house, partial(lose_everything, house))
    await rebuilt(house)
    await house.index_all()
    assert house.index.owners() == set(notes)


async def test_what_an_outage_took_is_left_to_the_indexers(house: House) -> None:
    notes = await indexed(house)
    scan = house.index.scan

    async def fail_once(*, after: UUID | None, limit: int) -> list[object]:
        house.index.scan = scan  # type: ignore[method-assign]
        house.index.points.clear()
        raise IndexUnavailable("gone after everything was written")

    house.index.scan = fail_once  # type: ignore[method-assign, assignment]
    await rebuilt(house)
    assert set(await open_jobs(house)) == set(notes)
    await house.index_all()
    assert house.index.owners() == set(notes)


async def test_an_index_that_stays_away_ends_the_rebuild_and_its_leases(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await indexed(house)
    monkeypatch.setattr(rebuild, "PATIENCE_S", 0.01)

    async def away() -> None:
        raise IndexUnavailable("away")

    at_the_first_write(house, partial(setattr_and_raise, house, away))
    tally = Tally()
    with pytest.raises(IndexUnavailable, match="away"):
        await rebuild_of(house).run(tally)
    assert tally.total == 5
    waiting = await house.value("SELECT count(*) FROM indexing_outbox WHERE available_at > now()")
    assert waiting == 0, "what it had leased is due at once"
    assert house.rings > 1


async def setattr_and_raise(house: House, away: Callable[[], Awaitable[None]]) -> None:
    house.index.ensure = away  # type: ignore[method-assign, assignment]
    house.index.before_upsert = away
    await away()


async def test_a_point_that_the_index_refuses_is_counted_and_the_others_are_written(house: House) -> None:
    notes = await indexed(house)
    house.index.points.clear()
    upsert = house.index.upsert

    async def refuse_one(points: Sequence[IndexPoint]) -> None:
        if any(point.owner_id == notes[2] for point in points):
            raise IndexUnavailable("a vector holds a number that is not finite")
        await upsert(points)

    house.index.upsert = refuse_one  # type: ignore[method-assign]
    assert await rebuilt(house) == RebuildReport(
        rebuilt_count=4, missing_vector_count=0, error_count=1, removed_count=0
    )
    assert house.index.owners() == set(notes) - {notes[2]}
    assert notes[2] in await open_jobs(house), "the indexers go on trying"


async def test_a_rebuild_that_is_cut_off_leaves_due_jobs_behind(house: House) -> None:
    notes = await indexed(house)
    await house.update(min(notes), importance=0.3)
    await house.index_all()
    house.index.points.clear()
    entered = anyio.Event()

    async def hang() -> None:
        entered.set()
        await anyio.sleep_forever()

    house.index.before_upsert = hang
    async with anyio.create_task_group() as group:
        group.start_soon(rebuild_of(house).run, Tally())
        await entered.wait()
        group.cancel_scope.cancel()
    house.index.before_upsert = None
    assert min(notes) in await open_jobs(house)
    assert min(notes) in {job.subject_id for job in await house.index_all()}
    assert (await rebuilt(house)).rebuilt_count == 5, "the lock went with it"


async def test_two_processes_do_not_rebuild_at_once(house: House) -> None:
    await indexed(house)
    refusals: list[InvalidRequest] = []

    async def rebuild_too() -> None:
        with pytest.raises(InvalidRequest, match="another process") as refusal:
            await rebuilt(house)
        refusals.append(refusal.value)

    at_the_first_write(house, rebuild_too)
    assert (await rebuilt(house)).rebuilt_count == 5
    assert len(refusals) == 1
