"""The handler of the indexing outbox: the index follows the notes, and no text is embedded twice."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from elf.core.errors import IndexUnavailable, InternalError, ProviderUnavailable
from elf.core.ids import chunk_id_for
from elf.families.notes.api.source_fields import tag
from elf.index.port import IndexPoint
from elf.index.schema import EVERY_TAG
from elf.indexing.embedding import EmbeddedText, TextEmbedder
from elf.indexing.fleet import Fleet
from elf.providers import portions
from tests.db.notes.conftest import House
from tests.notes_kit import FakeEmbedder, vector_of

pytestmark = pytest.mark.anyio

LONG = "Fact: one two three four five. Then six seven eight nine ten. And so on for ever."


async def statuses(house: House) -> list[str]:
    return [status for _, _, status in await house.jobs()]


async def test_a_note_becomes_points_with_the_payload_of_the_spec(house: House) -> None:
    note_id = await house.add_one("Fact: a.", key="k", ttl_days=3)
    await house.index_all()
    note = await house.note(note_id)
    assert note is not None
    (point,) = house.index.points.values()
    chunk_id = chunk_id_for(note_id, 0)
    assert (point.point_id, point.owner_id, point.text) == (chunk_id, note_id, "Fact: a.")
    assert np.array_equal(point.dense, vector_of("Fact: a."))
    assert note.expires_at is not None
    assert point.payload == {
        "note_id": str(note_id), "chunk_id": str(chunk_id), "chunk_index": 0, "start_offset": 0,
        "end_offset": 8, "tenant_id": "acme", "project_id": "alpha", "agent_id": "anna",
        "scope": "project_shared", "type": "fact", "key": "k", "status": "active",
        "created_at": note.created_at.isoformat(), "updated_at": note.updated_at.isoformat(),
        "expires_at": note.expires_at.isoformat(), "importance": 0.5, "confidence": 0.9,
        "embedding_version": "fake:hash:384",
    }  # fmt: skip
    assert await statuses(house) == ["DONE"]


async def test_every_point_of_a_note_has_the_tags_of_its_source_ref(house: House) -> None:
    source = {"ticket": "SUP-1", "app": {"name": "elf"}}
    await house.add_one(LONG, key="k", source_ref=source)
    await house.index_all()
    for point in house.index.points.values():
        assert point.tags == [tag("ticket", "SUP-1"), tag("app.name", "elf")]


async def test_a_large_source_ref_is_found_by_any_field(house: House) -> None:
    rng = random.Random(1)
    await house.add_one("Fact: a.", source_ref={"log": [rng.random() for _ in range(1000)], "ticket": 1})
    await house.index_all()
    assert [point.tags for point in house.index.points.values()] == [[EVERY_TAG]]


async def test_a_long_note_has_several_chunks_and_their_mean(house: House) -> None:
    note_id = await house.add_one(LONG, key="k")
    await house.index_all()
    points = sorted(house.index.points.values(), key=lambda point: str(point.payload["chunk_index"]))
    assert len(points) == 3
    assert "".join(point.text for point in points) == LONG
    for point in points:
        start, end = point.payload["start_offset"], point.payload["end_offset"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert LONG[start:end] == point.text
    pooled = await house.value("SELECT vec FROM note_embeddings WHERE note_id = $1", note_id)
    mean = np.stack([vector_of(point.text) for point in points]).mean(axis=0)
    assert np.allclose(pooled.to_numpy(), mean, atol=1e-6)


async def test_a_text_is_embedded_once_however_often_its_note_is_indexed(house: House) -> None:
    note_id = await house.add_one("Fact: a.", key="k")
    await house.index_all()
    assert house.model.texts == ["Fact: a."]
    await house.update(note_id, importance=0.1)
    house.index.points.clear()
    await house.index_all()
    assert house.model.texts == ["Fact: a."]
    (point,) = house.index.points.values()
    assert point.payload["importance"] == 0.1


async def test_several_jobs_of_one_batch_are_one_call_to_the_model(house: House) -> None:
    calls: list[int] = []

    async def count() -> None:
        calls.append(1)

    house.model.before_answer = count
    await house.add({"text": "Fact: a.", "key": "a"}, {"text": "Fact: b.", "key": "b"})
    await house.add({"text": "Fact: c.", "key": "c"}, {"text": "Fact: d.", "key": "b"})
    await house.index_all()
    assert calls == [1]
    assert house.index.texts() == {"Fact: a.", "Fact: c.", "Fact: d."}
    assert await statuses(house) == ["DONE"] * 4


async def test_a_shorter_text_leaves_no_points_of_the_longer_one(house: House) -> None:
    note_id = await house.add_one(LONG, key="k")
    await house.index_all()
    await house.update(note_id, text="Fact: short.")
    await house.index_all()
    assert house.index.texts() == {"Fact: short."}
    assert await house.value("SELECT count(*) FROM memory_note_chunks") == 1


async def test_a_deleted_note_loses_its_points(house: House) -> None:
    note_id = await house.add_one(LONG, key="k")
    await house.index_all()
    await house.delete(note_id)
    await house.index_all()
    assert house.index.points == {}
    assert await statuses(house) == ["DONE", "DONE"]


async def test_an_expired_note_is_not_indexed_and_loses_its_points(house: House) -> None:
    note_id = await house.add_one("Fact: a.", key="k", ttl_days=1)
    await house.index_all()
    await house.update(note_id, importance=0.1)
    house.clock.turn(days=1)
    await house.index_all()
    assert house.index.points == {}
    assert await statuses(house) == ["DONE", "DONE"]


async def test_a_note_changed_while_it_is_embedded_is_indexed_as_it_became(house: House) -> None:
    note_id = await house.add_one("Fact: old.", key="k")

    async def change() -> None:
        house.model.before_answer = None
        await house.update(note_id, text="Fact: new.")

    house.model.before_answer = change
    await house.index_all()
    assert house.index.points == {}
    assert await house.value("SELECT count(*) FROM memory_note_chunks") == 0, "no vectors of the old text"
    assert await statuses(house) == ["PENDING", "PENDING"]
    await house.index_all()
    assert house.index.texts() == {"Fact: new."}
    assert house.model.texts == ["Fact: old.", "Fact: new."]
    assert await statuses(house) == ["DONE", "DONE"]


async def test_a_note_changed_while_its_points_are_written_is_indexed_again(house: House) -> None:
    note_id = await house.add_one("Fact: old.", key="k")

    async def change() -> None:
        house.index.before_upsert = None
        await house.update(note_id, text="Fact: new.")

    house.index.before_upsert = change
    await house.index_all()
    assert await statuses(house) == ["PENDING", "PENDING"]
    await house.index_all()
    assert house.index.texts() == {"Fact: new."}
    assert await statuses(house) == ["DONE", "DONE"]


@pytest.mark.parametrize("moment", ["while embedded", "while written"])
async def test_a_note_deleted_during_indexing_ends_without_points(house: House, moment: str) -> None:
    note_id = await house.add_one("Fact: a.", key="k")

    async def delete() -> None:
        house.model.before_answer = house.index.before_upsert = None
        await house.delete(note_id)

    if moment == "while embedded":
        house.model.before_answer = delete
    else:
        house.index.before_upsert = delete
    await house.index_all()
    await house.index_all()
    assert house.index.points == {}
    assert await house.value("SELECT count(*) FROM memory_note_chunks") == 0
    assert await statuses(house) == ["DONE", "DONE"]


async def test_a_note_purged_during_indexing_ends_without_points(house: House) -> None:
    await house.add_one("Fact: a.", key="k")

    async def purge() -> None:
        house.index.before_upsert = None
        await house.execute("DELETE FROM memory_notes")

    house.index.before_upsert = purge
    await house.index_all()
    await house.index_all()
    assert house.index.points == {}
    assert await statuses(house) == ["DONE"]


async def test_a_slow_worker_cannot_bring_an_old_text_back(house: House) -> None:
    note_id = await house.add_one("Fact: old.", key="k")
    slow = await house.outbox.lease(10)

    async def overtaken() -> None:
        house.index.before_upsert = None
        await house.update(note_id, text="Fact: new.")
        await house.index_all()

    house.index.before_upsert = overtaken
    await house.indexing.handle(slow)
    await house.index_all()
    assert house.index.texts() == {"Fact: new."}
    assert set(await statuses(house)) == {"DONE"}


async def test_while_the_model_sleeps_no_job_ends_and_nothing_is_half_done(house: House) -> None:
    await house.add_one("Fact: a.", key="k")
    house.model.away = True
    await house.index_all()
    assert await statuses(house) == ["FAILED"]
    assert house.index.points == {}


class Forgetful(FakeEmbedder):
    """Answers as many calls as `more` says, and then no more."""

    more = 0

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.away = self.more <= 0
        self.more -= 1
        return await super().embed(texts)


@pytest.fixture
def forgetful(house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """The house with a model that is given one chunk a call, and answers few calls."""
    monkeypatch.setattr(portions, "CALL_BYTES", 1)
    house.model = Forgetful()
    house.texts = replace(house.texts, embedder=house.model)
    house.indexing = house.indexing_of(house.texts, house.fleet)
    return house


async def answer(house: House, calls: int) -> None:
    """Let the model answer so many calls, and handle what is due or was put off."""
    assert isinstance(house.model, Forgetful)
    house.model.more = calls
    await due_again(house)
    await house.index_all()


async def test_a_note_of_many_calls_goes_on_where_it_failed(forgetful: House) -> None:
    note_id = await forgetful.add_one(LONG, key="k")
    for count in (1, 2):
        await answer(forgetful, 1)
        stored = await forgetful.rows(
            "SELECT chunk_index FROM memory_note_chunks JOIN note_chunk_embeddings USING (chunk_id)"
        )
        assert sorted(row["chunk_index"] for row in stored) == list(range(count))
        assert await forgetful.value("SELECT count(*) FROM note_embeddings") == 0, "a part has no mean"
        assert (forgetful.index.points, await statuses(forgetful)) == ({}, ["FAILED"])
    await answer(forgetful, 1)
    assert forgetful.index.owners() == {note_id}
    assert await statuses(forgetful) == ["DONE"]
    assert "".join(forgetful.model.texts) == LONG, "each chunk once, in order"
    assert await forgetful.value("SELECT count(*) FROM note_embeddings") == 1


async def test_notes_that_came_before_a_failure_are_not_embedded_again(forgetful: House) -> None:
    notes = [await forgetful.add_one(f"Fact: {number}.", key=f"k{number}") for number in range(4)]
    await answer(forgetful, 2)
    assert forgetful.model.texts == ["Fact: 0.", "Fact: 1."]
    await answer(forgetful, 9)
    assert forgetful.index.owners() == set(notes)
    assert sorted(forgetful.model.texts) == [f"Fact: {number}." for number in range(4)]


async def test_a_note_that_is_found_stays_so_while_it_is_cut_anew_in_vain(forgetful: House) -> None:
    note_id = await forgetful.add_one(LONG, key="k")
    await answer(forgetful, 3)
    stored = "SELECT chunk_id, text FROM memory_note_chunks ORDER BY chunk_index"
    before = await forgetful.rows(stored)
    finer = replace(forgetful.texts, max_tokens=4)
    forgetful.fleet = Fleet(finer.version, finer.chunking, others=frozenset())
    forgetful.indexing = forgetful.indexing_of(finer, forgetful.fleet)
    await forgetful.execute(
        forgetful.queries["enqueue_indexing"], [note_id], ["UPSERT"], forgetful.model.version
    )
    await answer(forgetful, 2)
    assert await forgetful.rows(stored) == before
    await answer(forgetful, 9)
    assert len(await forgetful.rows(stored)) > len(before)
    assert len(forgetful.index.points) == len(await forgetful.rows(stored))


async def test_while_the_index_is_away_vectors_are_kept_for_the_next_try(house: House) -> None:
    await house.add_one("Fact: a.", key="k")

    async def away() -> None:
        raise IndexUnavailable("away")

    house.index.before_upsert = away
    jobs = await house.outbox.lease(10)
    with pytest.raises(IndexUnavailable):
        await house.indexing.handle(jobs)
    assert await statuses(house) == ["PENDING"]
    house.index.before_upsert = None
    await house.indexing.handle(jobs)
    assert house.model.texts == ["Fact: a."]
    assert await statuses(house) == ["DONE"]


# Beside notes that cannot be embedded


POISON = "Fact: poison."


class Choosy(FakeEmbedder):
    """Refuses, or does not answer, as long as a text that it does not like is among those it is given."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        if POISON in texts:
            raise self.error
        return await super().embed(texts)


@pytest.fixture(
    params=[InternalError("too long"), ProviderUnavailable("no answer")], ids=["refused", "unanswered"]
)
def choosy(request: pytest.FixtureRequest, house: House) -> House:
    """The house with a model that does not serve a batch in which the text POISON is."""
    house.model = Choosy(request.param)
    house.texts = replace(house.texts, embedder=house.model)
    house.indexing = house.indexing_of(house.texts, house.fleet)
    return house


async def due_again(house: House) -> None:
    await house.execute("UPDATE indexing_outbox SET available_at = now() WHERE status = 'FAILED'")


async def test_one_note_that_cannot_be_embedded_holds_up_no_other(choosy: House) -> None:
    gone = await choosy.add_one("Fact: gone.", key="gone")
    shorter = await choosy.add_one(LONG, key="shorter")
    weighed = await choosy.add_one("Fact: weighed.", key="weighed")
    await choosy.index_all()
    await choosy.delete(gone)
    await choosy.update(weighed, importance=0.1)
    await choosy.add_one(POISON, key="poison")
    fresh = [await choosy.add_one(f"Fact: fresh {number}.", key=f"f{number}") for number in range(3)]
    await choosy.index_all()
    assert gone not in choosy.index.owners(), "what needs no model is done"
    assert choosy.index.points[chunk_id_for(weighed, 0)].payload["importance"] == 0.1
    for _ in range(50):  # who is tried without it is drawn by lot
        await due_again(choosy)
        await choosy.index_all()
        if choosy.index.owners() == {shorter, weighed, *fresh}:
            break
    assert choosy.index.owners() == {shorter, weighed, *fresh}
    failed = await choosy.rows(
        "SELECT n.text, o.attempts FROM indexing_outbox o JOIN memory_notes n USING (note_id)"
        " WHERE o.status <> 'DONE'"
    )
    assert [row["text"] for row in failed] == [POISON]


async def test_a_note_without_a_vector_is_done_once_there_is_one(choosy: House) -> None:
    note_id = await choosy.add_one(POISON, key="poison")
    await choosy.index_all()
    assert isinstance(choosy.model, Choosy)
    choosy.model.error = AssertionError("asked for the poison")
    choosy.model.embed = FakeEmbedder().embed  # type: ignore[method-assign]
    await due_again(choosy)
    await choosy.index_all()
    assert choosy.index.owners() == {note_id}
    assert await statuses(choosy) == ["DONE"]


async def test_a_text_that_got_no_vector_fails_its_note_alone(house: House) -> None:
    @dataclass(frozen=True)
    class Gappy(TextEmbedder):
        async def embed_in_turn(self, texts: Sequence[str], *known: Any) -> list[EmbeddedText | None]:
            embedded = await super().embed_in_turn(texts, *known)
            return [None if text == POISON else one for text, one in zip(texts, embedded, strict=True)]

    gappy = Gappy(house.model, house.texts.tokens, 8, 0, "words")
    house.indexing = house.indexing_of(gappy, house.fleet)
    await house.add_one(POISON, key="poison")
    other = await house.add_one("Fact: other.", key="other")
    await house.index_all()
    assert house.index.owners() == {other}
    assert sorted(await statuses(house)) == ["DONE", "FAILED"]


async def test_while_the_model_is_away_what_needs_none_is_done(house: House) -> None:
    stays = await house.add_one("Fact: stays.", key="stays")
    goes = await house.add_one("Fact: goes.", key="goes")
    await house.index_all()
    house.model.away = True
    await house.add_one("Fact: waits.", key="waits")
    await house.delete(goes)
    house.index.points.clear()
    await house.execute(house.queries["enqueue_indexing"], [stays], ["UPSERT"], house.model.version)
    await house.index_all()
    assert house.index.owners() == {stays}
    assert sorted(await statuses(house)) == ["DONE"] * 4 + ["FAILED"]


async def test_a_lost_vector_in_the_middle_is_made_again_and_no_other(house: House) -> None:
    note_id = await house.add_one(LONG, key="k")
    await house.index_all()
    before = dict(house.index.points)
    house.index.points.clear()
    house.model.texts.clear()
    middle = chunk_id_for(note_id, 1)
    await house.execute("DELETE FROM note_chunk_embeddings WHERE chunk_id = $1", middle)
    await house.execute(house.queries["enqueue_indexing"], [note_id], ["UPSERT"], house.model.version)
    await house.index_all()
    assert house.model.texts == [before[middle].text]
    assert house.index.points.keys() == before.keys()


async def test_points_are_written_before_others_are_taken_away(house: House) -> None:
    # Otherwise a search between the two would not find the note at all.
    seen: list[str] = []
    upsert, delete = house.index.upsert, house.index.delete_owners

    async def upsert_noted(points: Sequence[IndexPoint]) -> None:
        seen.append("upsert")
        await upsert(points)

    async def delete_noted(owner_ids: Sequence, *, keep: Sequence = ()) -> None:  # type: ignore[type-arg]
        seen.append("delete")
        await delete(owner_ids, keep=keep)

    note_id = await house.add_one("Fact: a.", key="k")
    await house.update(note_id, text="Fact: b.")
    house.index.upsert, house.index.delete_owners = upsert_noted, delete_noted  # type: ignore[method-assign]
    await house.index_all()
    assert seen == ["upsert", "delete"]
