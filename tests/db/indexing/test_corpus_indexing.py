"""The protocol of every corpus over a small one: the index follows its rows, whatever happens meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import numpy as np
import pytest

from elf.core.errors import IndexUnavailable
from elf.core.ids import chunk_id_for
from elf.db.garbage import GarbageCollector
from elf.indexing.fleet import Member
from elf.indexing.fresh import FreshNews
from elf.indexing.garbage import corpus_garbage
from elf.indexing.renewal import Renewed
from tests.notes_kit import NOW, vector_of

from .conftest import PLACE, Talks, talks_corpus

pytestmark = pytest.mark.anyio

LONG = "One two three four five six. Seven eight nine ten eleven twelve. Thirteen fourteen fifteen sixteen."


async def test_an_entry_becomes_points_with_what_its_document_says_and_what_all_points_carry(
    talks: Talks,
) -> None:
    entry_id = await talks.say("Tea at five.", expires_at=NOW + timedelta(days=1))
    await talks.index_all()
    (point,) = talks.memory.points.values()
    chunk_id = chunk_id_for(entry_id, 0)
    assert (point.point_id, point.owner_id, point.text, point.tags) == (
        chunk_id,
        entry_id,
        "Tea at five.",
        (),
    )
    assert np.array_equal(point.dense, vector_of("Tea at five."))
    created_at = await talks.value("SELECT created_at FROM talk_entries")
    assert point.payload == {
        "created_at": created_at.isoformat(), "updated_at": created_at.isoformat(),
        "entry_id": str(entry_id), "chunk_id": str(chunk_id), "chunk_index": 0, "start_offset": 0,
        "end_offset": 12, "tenant_id": "acme", "group_id": "g", "speaker": "anna",
        "expires_at": (NOW + timedelta(days=1)).isoformat(), "embedding_version": "fake:hash:384",
    }  # fmt: skip
    assert await talks.statuses() == ["DONE"]
    assert talks.rings == 1


async def test_an_entry_that_changed_has_the_points_of_what_it_says_now_and_no_others(talks: Talks) -> None:
    entry_id = await talks.say(LONG)
    await talks.index_all()
    assert len(talks.memory.points) == 3
    await talks.change(entry_id, "said = 'Short.'")
    await talks.index_all()
    assert talks.memory.texts() == {"Short."}
    assert await talks.value("SELECT count(*) FROM talks_chunks") == 1


@pytest.mark.parametrize("moment", ["while embedded", "while written"])
async def test_an_entry_that_changes_while_it_is_indexed_is_indexed_as_it_became(
    talks: Talks, moment: str
) -> None:
    entry_id = await talks.say("Old.")

    async def change() -> None:
        talks.model.before_answer = talks.memory.before_upsert = None
        await talks.change(entry_id, "said = 'New.'")

    if moment == "while embedded":
        talks.model.before_answer = change
    else:
        talks.memory.before_upsert = change
    await talks.index_all()
    assert await talks.statuses() == ["PENDING", "PENDING"]
    await talks.index_all()
    assert talks.memory.texts() == {"New."}
    assert await talks.statuses() == ["DONE", "DONE"]


@pytest.mark.parametrize("moment", ["later", "while embedded", "while written"])
@pytest.mark.parametrize("end", ["withdrawn", "removed"])
async def test_an_entry_that_ends_has_no_points(talks: Talks, end: str, moment: str) -> None:
    entry_id = await talks.say(LONG)

    async def finish() -> None:
        talks.model.before_answer = talks.memory.before_upsert = None
        if end == "withdrawn":
            await talks.change(entry_id, "is_withdrawn = true")
        else:
            await talks.remove(entry_id)

    if moment == "while embedded":
        talks.model.before_answer = finish
    elif moment == "while written":
        talks.memory.before_upsert = finish
    await talks.index_all()
    if moment == "later":
        await finish()
    await talks.index_all()
    assert talks.memory.points == {}
    assert set(await talks.statuses()) == {"DONE"}


async def test_an_entry_past_its_time_loses_its_points_when_it_is_looked_at(talks: Talks) -> None:
    entry_id = await talks.say("Tea at five.", expires_at=NOW + timedelta(hours=1))
    await talks.index_all()
    talks.clock.turn(hours=2)
    await talks.change(entry_id, "speaker = 'ben'")
    await talks.index_all()
    assert talks.memory.points == {}


async def test_what_came_of_an_entry_before_the_model_went_is_kept(talks: Talks) -> None:
    await talks.say(LONG)

    async def leave() -> None:
        talks.model.away = True
        talks.model.before_answer = None

    talks.memory.before_upsert = fail_once(talks)
    talks.model.before_answer = leave
    with pytest.raises(IndexUnavailable):
        await talks.index_all()
    assert await talks.value("SELECT count(*) FROM talks_chunk_embeddings") == 3
    await talks.value("UPDATE talks_indexing_outbox SET available_at = now() RETURNING 1")
    await talks.index_all()
    assert len(talks.memory.points) == 3, "and the model, which is away, is not asked"


def fail_once(talks: Talks):  # type: ignore[no-untyped-def]
    async def fail() -> None:
        talks.memory.before_upsert = None
        raise IndexUnavailable("the index is away")

    return fail


# Rebuilding and comparing


async def test_a_lost_index_is_rebuilt_without_the_model(talks: Talks) -> None:
    for number in range(5):
        await talks.say(f"Number {number}.")
    await talks.say(LONG)
    await talks.index_all()
    before = {one: point.payload for one, point in talks.memory.points.items()}
    talks.memory.points.clear()
    talks.model.away = True
    report = await talks.rebuilt()
    assert (report.rebuilt_count, report.missing_vector_count, report.removed_count) == (8, 0, 0)
    assert {one: point.payload for one, point in talks.memory.points.items()} == before
    assert set(await talks.statuses()) == {"DONE"}


async def test_an_entry_that_changes_during_a_rebuild_is_there_as_it_became(talks: Talks) -> None:
    entry_id = await talks.say("Old.")
    await talks.index_all()

    async def change() -> None:
        talks.memory.before_upsert = None
        await talks.change(entry_id, "said = 'New.'")
        await talks.index_all()
        assert talks.memory.texts() == {"New."}

    talks.memory.before_upsert = change
    await talks.rebuilt()  # it read the old text, and writes it over the new one
    await talks.index_all()
    assert talks.memory.texts() == {"New."}


async def test_a_rebuild_leaves_out_and_takes_away_what_is_not_live(talks: Talks) -> None:
    gone = [await talks.say(f"Gone {number}.", expires_at=NOW + timedelta(hours=1)) for number in range(2)]
    kept = await talks.say("Kept.")
    await talks.index_all()
    stranger = uuid4()
    known = talks.memory.points[chunk_id_for(kept, 0)]
    talks.memory.points[stranger] = replace(known, point_id=stranger, owner_id=uuid4())
    talks.clock.turn(hours=2)
    report = await talks.rebuilt()
    assert (report.rebuilt_count, report.removed_count) == (1, len(gone) + 1)
    assert set(talks.memory.points) == {chunk_id_for(kept, 0)}


async def test_drift_is_counted_by_kind_and_mended(talks: Talks) -> None:
    missing, stale, fine = [await talks.say(text) for text in ("Missing.", "Stale.", "Fine.")]
    await talks.index_all()
    points = talks.memory.points
    del points[chunk_id_for(missing, 0)]
    old = points[chunk_id_for(stale, 0)]
    points[old.point_id] = replace(old, payload={**old.payload, "updated_at": "2001-01-01T00:00:00+00:00"})
    orphan = replace(old, point_id=uuid4(), owner_id=uuid4())
    points[orphan.point_id] = orphan
    found = await talks.indexed.drift.look(most_examples=9)
    assert found.counted() == {
        "missing_count": 1,
        "stale_count": 1,
        "orphaned_count": 1,
        "moving_count": 0,
        "given_up_count": 0,
    }
    assert [one.subject_id for one in found.examples["missing"]] == [missing]

    assert (await talks.indexed.reconciler.reconcile()) == (1, 1, 1)
    await talks.index_all()
    assert {point.owner_id for point in talks.memory.points.values()} == {missing, stale, fine}
    assert (await talks.indexed.drift.look(most_examples=0)).counts == {}


async def test_an_index_is_only_compared_by_size_when_it_was_left_clean(talks: Talks) -> None:
    entry_id = await talks.say("One.")
    await talks.index_all()
    del talks.memory.points[chunk_id_for(entry_id, 0)]
    await talks.indexed.bring_up_to_date(clean=True)
    await talks.index_all()
    assert talks.memory.owners() == {entry_id}
    rings = talks.rings
    await talks.indexed.bring_up_to_date(clean=True)
    assert talks.rings == rings


# Other models


async def test_entries_of_a_living_process_with_another_model_are_left_to_it(talks: Talks) -> None:
    await talks.say("Theirs.")
    await talks.value("UPDATE talk_entries SET embedding_version = 'other' RETURNING 1")
    talks.fleet.see(frozenset({Member("there:2", "other", talks.texts.chunking, True)}))
    await talks.index_all()
    assert talks.memory.points == {}
    assert await talks.value("SELECT embedding_version FROM talks_indexing_outbox") == "other"


async def test_after_another_model_every_entry_is_made_anew(talks: Talks) -> None:
    entries = {await talks.say(text) for text in ("One.", LONG)}
    await talks.index_all()
    await talks.say("Waits for the former model.")
    talks.model.version = "fake:newer:384"
    newer = Talks(talks.database, talks.memory, talks.model)
    renewal = newer.indexed.renewal()
    assert await renewal.adopt() == 1
    assert await renewal.walk() == Renewed(seen=3, asked=2)
    await newer.index_all()
    assert len(newer.memory.owners()) == 3
    assert newer.memory.owners() > entries
    assert {point.payload["embedding_version"] for point in newer.memory.points.values()} == {
        "fake:newer:384"
    }
    assert await talks.value("SELECT count(DISTINCT embedding_version) FROM talks_chunk_embeddings") == 1
    assert await renewal.walk() == Renewed(seen=3)


async def test_a_chunking_that_cuts_alike_is_only_written_down(talks: Talks) -> None:
    await talks.say("One.")
    await talks.say(LONG)
    await talks.index_all()
    wider = Talks(talks.database, talks.memory, talks.model, max_tokens=40)
    renewal = wider.indexed.renewal()
    assert await renewal.walk() == Renewed(seen=2, asked=1, marked=1)
    await wider.index_all()
    assert wider.memory.texts() == {"One.", LONG}


# What is told, and what is left


async def test_a_write_is_told_when_it_is_committed_and_not_before(talks: Talks) -> None:
    entry_id = uuid4()
    async with talks.database.transaction() as connection:
        await talks.writes.wrote(connection, PLACE, [entry_id])
        assert (talks.told, talks.rings) == ([], 0)
    assert talks.told == [FreshNews("talks", PLACE, [entry_id])]
    assert talks.rings == 1
    await talks.index_all()
    assert talks.told[1:] == [FreshNews("talks", None, [entry_id])]


async def test_a_write_that_is_undone_is_never_told(talks: Talks) -> None:
    async def undone() -> None:
        async with talks.database.transaction() as connection:
            await talks.writes.wrote(connection, PLACE, [uuid4()])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await undone()
    async with talks.database.transaction():
        pass  # the same connection again
    assert (talks.told, talks.rings) == ([], 0)
    assert await talks.statuses() == []


async def test_what_is_told_needs_a_transaction(talks: Talks) -> None:
    async with talks.database.connection() as connection:
        with pytest.raises(RuntimeError, match="no transaction is open"):
            await talks.writes.wrote(connection, PLACE, [uuid4()])


async def test_done_jobs_are_collected_after_a_day(talks: Talks) -> None:
    await talks.say("One.")
    await talks.index_all()
    await talks.say("Two.")
    talks.clock.moment = await talks.value("SELECT now()") + timedelta(days=1, hours=1)
    steps = corpus_garbage(talks.database, talks_corpus("v"))
    collected = await GarbageCollector(talks.database, steps, clock=talks.clock, batch_size=10).collect()
    assert collected.counts == {"done_jobs_talks": 1}
    assert await talks.statuses() == ["PENDING"]
