"""An entry whose indexing was given up or discarded: nothing enqueues it again but its own change."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from elf.core.ids import chunk_id_for
from elf.indexing.garbage import DONE_JOBS_KEPT
from elf.outbox.given_up import Place
from tests.db.indexing.conftest import Talks
from tests.notes_kit import NOW

pytestmark = pytest.mark.anyio

DECIDED = pytest.mark.parametrize("status", ["GIVEN_UP", "DISCARDED"])


async def given_up(talks: Talks, status: str, text: str = "Poison.") -> UUID:
    """An entry that has no vectors, as the only job for it was given up, or discarded."""
    entry_id = await talks.say(text)
    await talks.value(
        "UPDATE talks_indexing_outbox SET status = $2, attempts = 3 WHERE subject_id = $1", entry_id, status
    )
    return entry_id


async def jobs_of(talks: Talks, entry_id: UUID) -> list[str]:
    async with talks.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT status FROM talks_indexing_outbox WHERE subject_id = $1 ORDER BY created_at", entry_id
        )
    return [row["status"] for row in rows]


async def index_partly(talks: Talks, entry_id: UUID) -> None:
    """Give an entry a first chunk with its vector and none of the rest, as a job does that fails in between."""
    await talks.value(
        "INSERT INTO talks_chunks"
        " (chunk_id, subject_id, chunk_index, start_offset, end_offset, text, embedding_version)"
        " VALUES ($1, $2, 0, 0, 3, 'Poi', $3)",
        chunk_id_for(entry_id, 0), entry_id, talks.model.version,
    )  # fmt: skip
    await talks.value(
        "INSERT INTO talks_chunk_embeddings (chunk_id, embedding_version, embedding_dim, vec)"
        " SELECT $1, $2, embedding_dim, vec FROM talks_chunk_embeddings LIMIT 1",
        chunk_id_for(entry_id, 0), talks.model.version,
    )  # fmt: skip


@DECIDED
async def test_nothing_that_looks_over_the_corpus_enqueues_it_again(talks: Talks, status: str) -> None:
    fine = await talks.say("Fine.")
    await talks.index_all()
    entry_id = await given_up(talks, status)
    await index_partly(talks, entry_id)
    old = next(iter(talks.memory.points.values()))
    stray = replace(old, point_id=uuid4(), owner_id=entry_id)
    talks.memory.points[stray.point_id] = stray

    await talks.indexed.bring_up_to_date(clean=False)
    repair = await talks.indexed.drift.repair()
    assert (repair.jobs, repair.open_jobs) == (0, 0)
    assert repair.found.counted() == {
        "missing_count": 0, "stale_count": 0, "orphaned_count": 0, "moving_count": 0, "given_up_count": 2,
    }  # fmt: skip
    await talks.rebuilt()
    assert (await talks.indexed.renewal().walk()).asked == 0
    assert await talks.indexed.renewal().adopt() == 0
    assert await jobs_of(talks, entry_id) == [status]
    assert await talks.index_all() == []
    assert {one.owner_id for one in talks.memory.points.values()} - {entry_id} == {fine}


@DECIDED
async def test_another_model_does_not_enqueue_it_again(talks: Talks, status: str) -> None:
    fine, entry_id = await talks.say("Fine."), await given_up(talks, status)
    await talks.index_all()
    talks.model.version = "fake:newer:384"
    newer = Talks(talks.database, talks.memory, talks.model)
    assert await newer.indexed.renewal().adopt() == 0
    assert (await newer.indexed.renewal().walk()).asked == 1
    await newer.index_all()
    assert await jobs_of(talks, entry_id) == [status]
    assert newer.memory.owners() == {fine}


@DECIDED
async def test_a_change_makes_a_new_job_and_removes_the_others(talks: Talks, status: str) -> None:
    entry_id = await given_up(talks, status)
    await talks.change(entry_id, "said = $2", "Harmless.")
    assert await jobs_of(talks, entry_id) == ["PENDING"]
    await talks.index_all()
    assert {one.owner_id for one in talks.memory.points.values()} == {entry_id}


@DECIDED
async def test_its_end_removes_the_job_and_its_points(talks: Talks, status: str) -> None:
    entry_id = await given_up(talks, status)
    await talks.remove(entry_id)
    assert await jobs_of(talks, entry_id) == ["PENDING"]
    await talks.index_all()
    assert await jobs_of(talks, entry_id) == ["DONE"]


async def test_a_retry_indexes_it_and_a_discard_does_not(talks: Talks) -> None:
    entry_ids = [await given_up(talks, "GIVEN_UP", text) for text in ("One.", "Two.")]
    jobs = talks.indexed.outbox.jobs
    start = Place(NOW + timedelta(days=36_500), UUID(int=2**128 - 1))
    listed = await jobs.page(["GIVEN_UP"], start, 9, tenant_id="acme")
    ids = {one.subject_id: one.id for one in listed}
    assert {(one.subject_kind, one.tenant_id, one.attempts) for one in listed} == {("talk", "acme", 3)}
    one, two = (ids[str(entry_id)] for entry_id in entry_ids)
    assert await jobs.retry([one], tenant_id=None, by=None) == [one]
    assert await jobs.discard([two], tenant_id="acme", by=None) == [two]
    await talks.index_all()
    assert {one.owner_id for one in talks.memory.points.values()} == {entry_ids[0]}
    assert await talks.statuses() == ["DONE", "DISCARDED"]


async def test_an_open_job_that_does_the_same_work_ends_an_older_one_that_was_given_up(talks: Talks) -> None:
    entry_id = await given_up(talks, "PENDING")
    leased = await talks.queue.outbox.lease(9)
    await talks.change(entry_id, "said = $2", "Newer.")
    await talks.value(
        "UPDATE talks_indexing_outbox SET status = 'GIVEN_UP' WHERE outbox_id = $1", leased[0].outbox_id
    )
    await talks.index_all()
    assert await jobs_of(talks, entry_id) == ["DONE", "DONE"]


async def test_a_leased_job_is_not_doubled_by_the_look_over_the_corpus(talks: Talks) -> None:
    entry_id = await talks.say("Being indexed.")
    assert len(await talks.queue.outbox.lease(9)) == 1
    assert (await talks.indexed.renewal().walk()).asked == 0
    assert await jobs_of(talks, entry_id) == ["PENDING"]


@DECIDED
async def test_the_job_is_kept_for_as_long_as_the_entry_is_there(talks: Talks, status: str) -> None:
    kept, gone = [await given_up(talks, status, text) for text in ("Kept.", "Gone.")]
    await talks.value("DELETE FROM talk_entries WHERE entry_id = $1", gone)
    await talks.value("UPDATE talks_indexing_outbox SET updated_at = $1", NOW)
    (step,) = talks.indexed.garbage()
    assert await step.collect(NOW + DONE_JOBS_KEPT, 9) == 0
    assert await step.collect(NOW + DONE_JOBS_KEPT + timedelta(seconds=1), 9) == 1
    assert await jobs_of(talks, kept) == [status]
    assert await jobs_of(talks, gone) == []
