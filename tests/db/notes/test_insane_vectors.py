"""Vectors without a direction, fresh from a model or stored long ago: no note is lost to them or by them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pytest
from pgvector import Vector as PgVector

from elf.index.port import QueryResult
from elf.indexing.rebuild import RebuildReport, Tally
from elf.outbox.leased import JobsFailed
from elf.providers.vectors import have_direction
from tests.db.notes.conftest import House
from tests.db.notes.test_exact_search import Desk as ExactDesk
from tests.db.notes.test_index_rebuild import rebuild_of
from tests.db.notes.test_note_search import Desk
from tests.notes_kit import DIM, unit, vector_of

pytestmark = pytest.mark.anyio

Vector = npt.NDArray[np.float32]

STORABLE = {
    "zeros": np.zeros(DIM, np.float32),
    "denormal": np.full(DIM, 1e-44, np.float32),
    "squares vanish": np.full(DIM, 1e-25, np.float32),
    "squares overflow": np.full(DIM, 1e25, np.float32),
    "huge": np.full(DIM, 1e38, np.float32),
}
INSANE = STORABLE | {"NaN": np.full(DIM, np.nan, np.float32), "infinite": np.full(DIM, np.inf, np.float32)}

fresh = pytest.mark.parametrize("bad", INSANE.values(), ids=INSANE.keys())
stored = pytest.mark.parametrize("bad", STORABLE.values(), ids=STORABLE.keys())
TEXTS = ("The ferry leaves at noon.", "Our cat sleeps.", "Rye bread is baked.")


async def put_in(house: House, bad: Vector, *note_ids: UUID) -> None:
    """Store the vector for notes and their chunks, as code did that checked none."""
    await house.execute(
        "UPDATE note_embeddings SET vec = $1 WHERE note_id = ANY ($2)", PgVector(bad), list(note_ids)
    )
    await house.execute(
        "UPDATE note_chunk_embeddings SET vec = $1 WHERE chunk_id IN"
        " (SELECT chunk_id FROM memory_note_chunks WHERE note_id = ANY ($2))",
        PgVector(bad), list(note_ids),
    )  # fmt: skip


# Writing


@fresh
async def test_notes_without_a_sane_vector_are_added_unchecked_together_and_one_by_one(
    house: House, bad: Vector
) -> None:
    house.model.known = dict.fromkeys(TEXTS, bad)
    results = await house.add({"text": TEXTS[0]}, {"text": TEXTS[1]})
    results += await house.add({"text": TEXTS[2]})
    assert [(one.op, one.reason_code) for one in results] == [("ADD", "SIMILARITY_UNCHECKED")] * 3
    assert {text for (text,) in await house.rows("SELECT text FROM memory_notes")} == set(TEXTS)
    assert await house.value("SELECT count(*) FROM note_chunk_embeddings") == 0


@fresh
async def test_one_insane_vector_of_a_request_costs_its_own_note_the_comparison_alone(
    house: House, bad: Vector
) -> None:
    house.model.known = {TEXTS[1]: bad}
    results = await house.add(*({"text": text} for text in TEXTS))
    assert [one.op for one in results] == ["ADD"] * 3
    assert [one.reason_code for one in results] == [None, "SIMILARITY_UNCHECKED", None]
    assert await house.value("SELECT count(*) FROM note_embeddings") == 2


@stored
async def test_a_stored_insane_vector_neither_takes_a_note_over_nor_hides_a_duplicate(
    house: House, bad: Vector
) -> None:
    old = await house.add_one(TEXTS[0])
    await put_in(house, bad, old)
    (good,) = await house.add({"text": TEXTS[1]})
    assert good.op == "ADD"
    house.model.known = {f"{TEXTS[1]} ": vector_of(TEXTS[1])}
    (new, duplicate) = await house.add({"text": TEXTS[2]}, {"text": f"{TEXTS[1]} "})
    assert (new.op, duplicate.op, duplicate.note_id) == ("ADD", "NONE", good.note_id)
    note = await house.note(old)
    assert note is not None
    assert note.text == TEXTS[0]


async def test_chunks_that_cancel_out_leave_a_note_that_is_like_no_other_and_is_indexed(house: House) -> None:
    first, second = "One two three four five six.", "Seven eight nine ten eleven twelve."
    house.model.known = {f"{first} ": unit(1.0), second: -unit(1.0)}
    (result,) = await house.add({"text": f"{first} {second}"})
    assert (result.op, result.reason_code) == ("ADD", "SIMILARITY_UNCHECKED")
    await house.index_all()
    assert len(house.index.points) == 2
    assert await house.value("SELECT count(*) FROM note_embeddings") == 0
    (other,) = await house.add({"text": TEXTS[0]})
    assert other.op == "ADD"


# Indexing


@fresh
async def test_a_note_without_a_sane_vector_waits_and_the_others_keep_theirs(
    house: House, bad: Vector
) -> None:
    house.model.known = {TEXTS[1]: bad}
    ids = [await house.add_one(text, key=text) for text in TEXTS]
    jobs = await house.outbox.lease(10)
    with pytest.raises(JobsFailed) as caught:
        await house.indexing.handle(jobs)
    assert [job.subject_id for job, _ in caught.value.failed] == [ids[1]]
    assert house.index.owners() == {ids[0], ids[2]}
    house.model.texts.clear()
    house.model.known = {}
    await house.indexing.handle([job for job, _ in caught.value.failed])
    assert house.model.texts == [TEXTS[1]]
    assert house.index.owners() == set(ids)
    assert {status for _, _, status in await house.jobs()} == {"DONE"}


@stored
async def test_a_stored_insane_vector_is_replaced_when_its_note_is_indexed_again(
    house: House, bad: Vector
) -> None:
    note_id = await house.add_one(TEXTS[0], key="k")
    await house.index_all()
    await put_in(house, bad, note_id)
    await house.update(note_id, importance=0.1)
    await house.index_all()
    (point,) = house.index.points.values()
    assert np.array_equal(point.dense, vector_of(TEXTS[0]))


@stored
async def test_a_rebuild_leaves_stored_insane_vectors_to_the_model(house: House, bad: Vector) -> None:
    old, good = await house.add_one(TEXTS[0], key="a"), await house.add_one(TEXTS[1], key="b")
    await house.index_all()
    await put_in(house, bad, old)
    house.index.points.clear()
    assert await rebuild_of(house).run(Tally()) == RebuildReport(1, 1, 0, 0)
    assert house.index.owners() == {good}
    await house.index_all()
    assert house.index.owners() == {old, good}


# Searching


@fresh
async def test_a_query_with_an_insane_vector_is_found_by_its_words_and_says_so(
    house: House, bad: Vector
) -> None:
    await house.add({"text": "tea"}, {"text": "coffee"})
    await house.index_all()
    house.model.known = {"tea": bad}
    answer = await Desk(house).ask("tea")
    assert [item.snippet for item in answer.items] == ["tea"]
    assert answer.degraded == ["embedding"]
    assert house.index.queries[-1][0].dense is None


@stored
async def test_exact_search_passes_stored_insane_vectors_over(house: House, bad: Vector) -> None:
    old, good = await house.add_one(TEXTS[0], key="a"), await house.add_one(TEXTS[1], key="b")
    await house.index_all()
    await put_in(house, bad, old)
    desk = ExactDesk(house)
    assert [hit.owner_id for hit in await desk.near(vector_of(TEXTS[1]))] == [good]
    assert [hit.owner_id for hit in await desk.words("ferry")] == [old]


async def test_scores_that_are_no_numbers_are_no_hits(house: House) -> None:
    note_id = await house.add_one("tea", key="k")
    await house.index_all()
    asked = house.index.query

    async def with_nan(queries: Any) -> list[QueryResult]:
        return [
            QueryResult([hit._replace(score=float("nan")) for hit in result.dense], result.bm25)
            for result in await asked(queries)
        ]

    house.index.query = with_nan  # type: ignore[method-assign]
    (item,) = (await Desk(house).ask("tea")).items
    assert item.note_id == note_id
    assert np.isfinite([item.final_score, item.explain.retrieval_score]).all()


# The two that say what is sane


async def test_python_and_postgres_agree_on_what_has_a_direction(house: House) -> None:
    rng = np.random.default_rng(1)
    exponents = [
        *rng.uniform(-37, 37, size=500),
        *rng.uniform(-3.01, -2.99, size=100),
        *rng.uniform(5.99, 6.01, 100),
    ]
    directions = rng.standard_normal((len(exponents), 8))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    vectors = (directions * 10.0 ** np.array(exponents)[:, np.newaxis]).astype(np.float32)
    rows = await house.rows(
        "SELECT has_direction(v) AS sane FROM unnest($1::vector[]) WITH ORDINALITY AS t (v, n) ORDER BY n",
        [PgVector(vector) for vector in vectors],
    )
    said = [row["sane"] for row in rows]
    assert said == have_direction(vectors).tolist()
    assert 0 < sum(said) < len(said)
