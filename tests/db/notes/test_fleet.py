"""Processes that share a database: who lives, whose jobs and notes are whose, and what becomes of a former model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.ids import NoteId
from elf.families.notes.keeping.corpus import notes_corpus
from elf.indexing import renewal
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import GONE_AFTER, SILENT_AFTER, Fleet, FleetRegister, Member
from elf.indexing.renewal import CorpusRenewal, Renewed
from elf.indexing.worker import IndexWorker
from elf.outbox.leased import JobsFailed, LeasedOutbox
from elf.outbox.leases import Job
from tests.db.notes.conftest import House
from tests.db.notes.test_index_rebuild import rebuilt
from tests.notes_kit import FakeEmbedder, WordTokens

pytestmark = pytest.mark.anyio

LONG = "Fact: one two three four five. Then six seven eight nine ten. And so on for ever."
LOST_VECTOR = (
    "DELETE FROM note_chunk_embeddings e USING memory_note_chunks c"
    " WHERE c.note_id = $1 AND c.chunk_index = 1 AND c.chunk_id = e.chunk_id"
)
OWN = "fake:hash:384"
NEWER = "fake:newer:384"


@dataclass
class Process:
    """A process with indexers: what it embeds with, whom it sees, and what it does."""

    house: House
    texts: TextEmbedder
    model: FakeEmbedder
    fleet: Fleet
    register: FleetRegister
    indexing: IndexWorker
    renewal: CorpusRenewal
    outbox: LeasedOutbox
    process_id: UUID

    async def look(self) -> None:
        await self.register.look()

    async def index_all(self) -> Sequence[Job]:
        jobs = await self.outbox.lease(1000)
        if jobs:
            try:
                await self.indexing.handle(jobs)
            except JobsFailed as some:
                for job, error in some.failed:
                    await self.outbox.fail([job], str(error))
        return jobs

    async def settle(self) -> None:
        """Do whatever it would do in time."""
        await self.look()
        while True:
            await self.renewal.adopt()
            renewed = await self.renewal.walk()
            if not await self.index_all() and not renewed.asked:
                return

    def found(self) -> set[UUID]:
        """The notes that its searches can find."""
        return {
            point.owner_id
            for point in self.house.index.points.values()
            if point.payload["embedding_version"] == self.texts.version
        }


def process(
    house: House, version: str = OWN, *, max_tokens: int = 8, indexes: bool = True, name: str = "there:1"
) -> Process:
    model = FakeEmbedder()
    model.version = version
    texts = TextEmbedder(model, WordTokens(), max_tokens, 0, "words")
    fleet = Fleet(version, texts.chunking)
    process_id = uuid4()
    register = FleetRegister(
        database=house.database, corpora=[house.queries], process_id=process_id, fleet=fleet,
        own=Member(name, version, texts.chunking, indexes),
    )  # fmt: skip
    renewal = CorpusRenewal(
        database=house.database, corpus=house.corpus, texts=texts, fleet=fleet, clock=house.clock, ring=house.ring
    )  # fmt: skip
    return Process(
        house, texts, model, fleet, register, house.indexing_of(texts, fleet), renewal, house.outbox_of(version),
        process_id,
    )  # fmt: skip


async def age(house: House, one: Process, by: timedelta) -> None:
    """Let a process have been silent for a while."""
    await house.execute(
        "UPDATE note_processes SET seen_at = seen_at - $2::interval WHERE process_id = $1", one.process_id, by
    )


async def versions(house: House) -> set[str]:
    return set(await versions_of(house, "memory_notes")) | set(await versions_of(house, "memory_note_chunks"))


async def versions_of(house: House, table: str) -> list[str]:
    return [row["embedding_version"] for row in await house.rows(f"SELECT embedding_version FROM {table}")]


async def jobs_of(house: House, version: str) -> int:
    return int(
        await house.value(
            "SELECT count(*) FROM indexing_outbox WHERE status <> 'DONE' AND embedding_version = $1", version
        )
    )


async def indexed(house: House, one: Process, count: int = 3) -> set[NoteId]:
    """That many notes, indexed by a process of the house's own model."""
    notes = {await house.add_one(f"Fact: {number}.", key=f"k{number}") for number in range(count)}
    await one.look()
    await one.index_all()
    assert one.found() == notes
    one.model.texts.clear()
    return notes


# Who lives


async def test_processes_see_each_other_and_not_themselves(house: House) -> None:
    one, other = process(house, name="a"), process(house, NEWER, name="b", indexes=False)
    for _ in range(2):
        await one.look()
        await other.look()
    assert {member.name for member in one.fleet.others or ()} == {"b"}
    assert other.fleet.others == {Member("a", OWN, one.texts.chunking, True)}
    assert one.fleet.foreign_versions == {NEWER}


async def test_who_leaves_is_gone_after_a_moment_unless_it_comes_back(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    await other.look()
    await other.register.leave()
    await one.look()
    assert one.fleet.foreign_versions == {NEWER}, "it may only be starting again"
    await other.look()
    await age(house, other, GONE_AFTER * 2)
    await one.look()
    assert one.fleet.foreign_versions == {NEWER}
    await other.register.leave()
    await age(house, other, GONE_AFTER * 2)
    await one.look()
    assert one.fleet.others == frozenset()


async def test_who_is_silent_is_gone_for_those_who_watched_it_all_the_time(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    await other.look()
    await age(house, other, SILENT_AFTER * 2)
    await one.look()
    assert one.fleet.foreign_versions == {NEWER}, "it may come back as this one just did"
    await house.execute(
        "UPDATE note_processes SET watching_since = watching_since - $2::interval WHERE process_id = $1",
        one.process_id, SILENT_AFTER * 2,
    )  # fmt: skip
    await one.look()
    assert one.fleet.others == frozenset()


async def test_who_was_cut_off_itself_watches_anew(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    await one.look()
    await other.look()
    await house.execute(
        "UPDATE note_processes SET watching_since = watching_since - $1::interval", SILENT_AFTER * 2
    )
    for each in (one, other):  # as after an outage of Postgres
        await age(house, each, SILENT_AFTER * 2)
    await one.look()
    assert one.fleet.foreign_versions == {NEWER}


# Two models at once


async def test_a_worker_of_another_model_leaves_jobs_alone_and_what_waits_for_nobody_is_told(
    house: House,
) -> None:
    api, worker = process(house, indexes=False), process(house, NEWER)
    note_id = await house.add_one("Fact: a.", key="a")
    await api.look()
    await worker.settle()
    assert await worker.index_all() == []
    assert await versions(house) == {OWN}
    assert house.index.points == {}
    assert api.fleet.waiting == {}
    await house.execute("UPDATE indexing_outbox SET available_at = now() - interval '1 minute'")
    for each in (api, worker):
        await each.look()
        assert each.fleet.waiting == {OWN: 1}
    mate = process(house)
    await mate.settle()
    assert mate.found() == {note_id}
    await api.look()
    assert api.fleet.waiting == {}


async def test_two_fleets_keep_their_own_notes_however_often_they_look_for_work(house: House) -> None:
    one, other = process(house), process(house, NEWER, max_tokens=100)
    notes = await indexed(house, one)
    long = await house.add_one(LONG, key="long")
    await one.settle()
    for _ in range(3):
        await other.settle()
        await one.settle()
    assert one.found() == {*notes, long}
    assert other.found() == set()
    assert other.model.texts == []
    assert await jobs_of(house, OWN) == await jobs_of(house, NEWER) == 0


async def test_a_job_of_the_wrong_version_goes_to_those_whose_note_it_is(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    notes = await indexed(house, one)
    await other.look()
    house.index.points.clear()
    await house.execute("UPDATE indexing_outbox SET status = 'PENDING', embedding_version = $1", NEWER)
    await other.index_all()
    assert other.model.texts == []
    assert (await jobs_of(house, OWN), await jobs_of(house, NEWER)) == (len(notes), 0)
    await one.index_all()
    assert one.found() == notes


async def test_a_deletion_is_done_by_whoever_has_the_job(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    notes = await indexed(house, one)
    await other.look()
    gone = notes.pop()
    await house.delete(gone)
    await house.execute("UPDATE indexing_outbox SET embedding_version = $1 WHERE status <> 'DONE'", NEWER)
    await other.index_all()
    assert one.found() == notes


async def test_a_note_that_is_taken_over_while_it_is_embedded_ends_with_the_newer_model(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    note_id = await house.add_one("Fact: a.", key="a")

    async def taken_over() -> None:
        one.model.before_answer = None
        await other.settle()

    one.model.before_answer = taken_over
    one.fleet.see(frozenset())
    await one.index_all()
    await other.settle()
    assert other.found() == {note_id}
    assert await versions(house) == {NEWER}


# A change of model


async def test_when_the_last_process_of_a_model_is_gone_its_notes_and_jobs_are_taken_over(
    house: House,
) -> None:
    old, new = process(house), process(house, NEWER)
    notes = await indexed(house, old)
    waiting = await house.add_one("Fact: waits.", key="waits")
    (gone, *_) = notes
    await house.delete(gone)
    await new.settle()
    assert new.found() == set()
    await old.register.leave()
    await age(house, old, GONE_AFTER * 2)
    await new.settle()
    assert new.found() == {*notes, waiting} - {gone}
    assert house.index.owners() == new.found(), "the deletion was adopted, too"
    assert set(await versions_of(house, "memory_notes")) == {OWN, NEWER}
    assert (
        await house.value("SELECT embedding_version FROM memory_notes WHERE note_id = $1", waiting) == NEWER
    )
    assert set(await versions_of(house, "note_chunk_embeddings")) == {NEWER}
    assert set(await versions_of(house, "note_embeddings")) == {NEWER}
    assert len(new.model.texts) == 3
    await new.settle()
    assert len(new.model.texts) == 3, "once is enough"


async def test_notes_of_a_model_that_comes_back_stay_with_the_one_that_took_them(house: House) -> None:
    old, new = process(house), process(house, NEWER)
    notes = await indexed(house, old)
    await new.settle()
    await old.register.leave()
    await age(house, old, GONE_AFTER * 2)
    await new.settle()
    for _ in range(2):
        await old.settle()
        await new.settle()
    assert new.found() == notes
    assert old.model.texts == []


async def test_a_note_whose_version_lagged_behind_its_vectors_is_set_right_without_the_model(
    house: House,
) -> None:
    one = process(house, NEWER)
    note_id = await house.add_one("Fact: a.", key="a")
    await one.settle()
    await house.execute("UPDATE memory_notes SET embedding_version = $1", OWN)
    one.model.texts.clear()
    await one.settle()
    assert await versions_of(house, "memory_notes") == [NEWER]
    assert one.found() == {note_id}
    assert one.model.texts == []


# What is found in the background


@pytest.fixture(params=[1, 200], ids=["small pages", "one page"])
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "PAGE", request.param)


@pytest.mark.usefixtures("pages")
async def test_a_walk_over_sound_notes_asks_for_nothing(house: House) -> None:
    one = process(house)
    await indexed(house, one, 4)
    await house.add_one("Fact: expired.", key="expired", ttl_days=1)
    await house.delete(await house.add_one("Fact: deleted.", key="deleted"))
    await one.index_all()
    house.clock.turn(days=2)
    assert await one.renewal.walk() == Renewed(seen=6)
    assert await one.index_all() == []


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    "loss",
    [
        "DELETE FROM memory_note_chunks WHERE note_id = $1",
        "DELETE FROM memory_note_chunks WHERE note_id = $1 AND chunk_index = 0",
        "DELETE FROM memory_note_chunks WHERE note_id = $1 AND chunk_index = 1",
        "DELETE FROM memory_note_chunks WHERE note_id = $1 AND chunk_index = 2",
        LOST_VECTOR,
    ],
)
async def test_whatever_a_note_lost_of_its_chunks_and_vectors_it_gets_back(house: House, loss: str) -> None:
    one = process(house)
    await indexed(house, one)
    note_id = await house.add_one(LONG, key="long")
    await one.settle()
    before = dict(house.index.points)
    one.model.texts.clear()
    await house.execute(loss, note_id)
    await one.settle()
    assert house.index.points.keys() == before.keys()
    assert await house.value("SELECT count(*) FROM note_chunk_embeddings") == len(before)
    assert len(one.model.texts) == (3 if "chunk_index" not in loss else 1)


@pytest.mark.usefixtures("pages")
async def test_a_changed_chunking_cuts_only_the_notes_anew_that_it_cuts_otherwise(house: House) -> None:
    old = process(house)
    notes = await indexed(house, old)
    long = await house.add_one(LONG, key="long")
    await old.settle()
    jobs = len(await house.jobs())
    new = process(house, max_tokens=100)
    await old.register.leave()
    await age(house, old, GONE_AFTER * 2)
    await new.settle()
    assert new.found() == {*notes, long}
    assert [point.text for point in house.index.points.values() if point.owner_id == long] == [LONG]
    assert new.model.texts == [LONG], "the others are cut as before"
    assert len(await house.jobs()) == jobs + 1
    chunkings = {row["chunking"] for row in await house.rows("SELECT chunking FROM memory_note_chunks")}
    assert chunkings == {new.texts.chunking}
    pooled = await house.value("SELECT vec FROM note_embeddings WHERE note_id = $1", long)
    assert pooled == await house.value(
        "SELECT vec FROM note_chunk_embeddings JOIN memory_note_chunks USING (chunk_id) WHERE note_id = $1",
        long,
    )


async def test_of_a_note_that_is_cut_anew_only_the_changed_chunks_are_embedded(house: House) -> None:
    old = process(house)
    await house.add_one(LONG, key="long")
    await old.settle()
    texts = set(old.model.texts)
    await old.register.leave()
    await age(house, old, GONE_AFTER * 2)
    new = process(house, max_tokens=10)
    await new.settle()
    cut = {chunk.text for chunk in new.texts.split(LONG)}
    assert cut & texts
    assert set(new.model.texts) == cut - texts


async def test_processes_that_cut_differently_leave_each_others_chunks_alone(house: House) -> None:
    one, other = process(house), process(house, max_tokens=100)
    await one.look()
    await other.look()
    await house.add_one(LONG, key="long")
    await one.settle()
    cut = await house.rows("SELECT chunk_id, chunking FROM memory_note_chunks")
    for _ in range(3):
        await other.settle()
        await one.settle()
    assert await house.rows("SELECT chunk_id, chunking FROM memory_note_chunks") == cut
    assert other.model.texts == []


@pytest.mark.usefixtures("pages")
async def test_chunks_from_before_chunkings_were_written_down_are_compared_and_stay(house: House) -> None:
    one = process(house)
    notes = await indexed(house, one)
    long = await house.add_one(LONG, key="long")
    await one.settle()
    await house.execute("UPDATE memory_note_chunks SET chunking = NULL")
    one.model.texts.clear()
    jobs = len(await house.jobs())
    assert await one.renewal.walk() == Renewed(seen=4, marked=4)
    assert await one.renewal.walk() == Renewed(seen=4)
    assert len(await house.jobs()) == jobs
    assert one.found() == {*notes, long}


async def test_a_walk_waits_for_the_indexers_so_that_new_notes_need_not(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "PAGE", 2)
    monkeypatch.setattr(renewal, "MOST_OPEN", 3)
    monkeypatch.setattr(renewal, "LOOK_AGAIN_S", 0.01)
    old = process(house)
    notes = await indexed(house, old, 10)
    await old.register.leave()
    await age(house, old, GONE_AFTER * 2)
    new = process(house, NEWER)
    await new.look()
    most = 0
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(new.renewal.walk)
            while new.found() != notes:
                most = max(most, await jobs_of(house, NEWER))
                jobs = await new.outbox.lease(1)
                if jobs:
                    await new.indexing.handle(jobs)
                await anyio.sleep(0.001)
    assert 3 <= most <= 3 + 2


async def test_a_rebuild_by_another_model_takes_no_points_away(house: House) -> None:
    one, other = process(house), process(house, NEWER)
    notes = await indexed(house, one)
    await other.look()
    house.corpus = notes_corpus(house.queries, house.store, embedding_version=NEWER)  # that of the rebuild
    report = await rebuilt(house)
    assert (report.removed_count, report.missing_vector_count) == (0, len(notes))
    assert one.found() == notes
