"""Exact search: what the index would find, from Postgres alone."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import anyio
import numpy as np
import pytest

from elf.core.ids import NoteId, chunk_id_for
from elf.families.notes.model import Context
from elf.families.notes.reading.ask import NoteAsk
from elf.families.notes.reading.exact_search import ExactSearch
from elf.families.notes.reading.note_filter import EVERYTHING, NoteFilter
from elf.index.port import IndexFilter, IndexQuery, LegHit, Period, QueryResult
from tests.db.conftest import until
from tests.db.notes.conftest import House
from tests.notes_kit import CONTEXT, NOW, SCOPES, at_cosine, unit, vector_of

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)


def query(text: str | None = None, dense: Any = None, limit: int = 10) -> IndexQuery:
    return IndexQuery(dense=dense, text=text, where=IndexFilter(must={}), limit=limit)


class Desk:
    """Exact search over a house."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.search = ExactSearch(
            database=house.database, queries=house.queries, embedding_version=house.model.version
        )

    async def ask(
        self,
        *queries: IndexQuery,
        context: Context = CONTEXT,
        scopes: Sequence[str] = SCOPES,
        filter: NoteFilter = EVERYTHING,
    ) -> list[QueryResult]:
        ask = NoteAsk(
            query="",
            context=context,
            scopes=scopes,
            now=self.house.clock.now(),
            candidate_k=10,
            filter=filter,
        )
        return await self.search.query(queries, ask)

    async def words(self, text: str, **reader: Any) -> Sequence[LegHit]:
        [result] = await self.ask(query(text), **reader)
        return result.bm25

    async def near(self, dense: Any, **reader: Any) -> Sequence[LegHit]:
        [result] = await self.ask(query(dense=dense), **reader)
        return result.dense


@pytest.fixture
def desk(house: House) -> Desk:
    return Desk(house)


async def fill(house: House, *texts: str, **fields: Any) -> list[NoteId]:
    """Store notes, each under a key of its own, and give them chunks and vectors."""
    ids = [await house.add_one(text, **({"key": text} | fields)) for text in texts]
    await house.index_all()
    return ids


def owners(hits: Sequence[LegHit]) -> list[Any]:
    return [hit.owner_id for hit in hits]


# Filters


@pytest.mark.parametrize(
    ("filter", "due"),
    [
        (NoteFilter(types=["plan"]), {"plan"}),
        (NoteFilter(types=["plan", "decision"]), {"plan", "decided"}),
        (NoteFilter(key_prefix="de"), {"decided"}),
        (NoteFilter(key_prefix="D"), set()),
        (NoteFilter(updated=Period(since=NOW + HOUR)), {"decided", "later"}),
        (NoteFilter(updated=Period(since=NOW, before=NOW + HOUR)), {"plan", "fact"}),
        (NoteFilter(created=Period(before=NOW + HOUR)), {"plan", "fact", "decided"}),
        (NoteFilter(created=Period(since=NOW + HOUR)), {"later"}),
        (NoteFilter(source={"app.name": "elf"}), {"plan", "fact"}),
        (NoteFilter(source={"app.name": "elf", "build": 7.0}), {"plan"}),
        (NoteFilter(source={"build": "7"}), {"decided"}),
        (NoteFilter(source={"build": None}), {"later"}),
        (NoteFilter(source={"app": "elf", "app.name": "elf"}), set()),
    ],
)
async def test_both_legs_know_only_what_the_filter_lets_through(
    house: House, desk: Desk, filter: NoteFilter, due: set[str]
) -> None:
    ids = {}
    for key, fields in {
        "plan": {"type": "plan", "source_ref": {"app": {"name": "elf"}, "build": 7}},
        "fact": {"source_ref": {"app.name": "elf", "build": True}},
        "decided": {"type": "decision", "source_ref": {"build": "7", "app": {"name": ["elf"]}}},
    }.items():
        ids[key] = await house.add_one(f"tea {key}", key=key, **fields)
    house.clock.turn(hours=1)
    ids["later"] = await house.add_one("tea later", key="later", source_ref={"build": None})
    await house.update(ids["decided"], importance=0.9)
    await house.index_all()
    [result] = await desk.ask(query("tea", unit(1.0)), filter=filter)
    assert set(owners(result.dense)) == set(owners(result.bm25)) == {ids[key] for key in due}


# The dense leg


async def test_vectors_are_found_by_their_cosine_the_closest_first(house: House, desk: Desk) -> None:
    house.model.known = {name: at_cosine(cosine) for name, cosine in (("a", 0.2), ("b", 0.9), ("c", -0.5))}
    a, b, c = await fill(house, "a", "b", "c")
    hits = await desk.near(3 * unit(1.0))
    assert owners(hits) == [b, a, c]
    assert [hit.score for hit in hits] == pytest.approx([0.9, 0.2, -0.5], abs=1e-6)
    assert [hit.point_id for hit in hits] == [chunk_id_for(note_id, 0) for note_id in (b, a, c)]


async def test_every_chunk_of_a_note_is_a_hit_of_its_own(house: House, desk: Desk) -> None:
    first, second = "One two three four five six.", "Seven eight nine ten eleven twelve."
    [note_id] = await fill(house, f"{first} {second}")
    hits = await desk.near(vector_of(second))
    assert [(hit.owner_id, hit.point_id) for hit in hits] == [
        (note_id, chunk_id_for(note_id, 1)), (note_id, chunk_id_for(note_id, 0)),
    ]  # fmt: skip


async def test_a_vector_without_a_direction_finds_nothing(house: House, desk: Desk) -> None:
    await fill(house, "tea")
    assert await desk.near(np.zeros(384, np.float32)) == []


# The words leg


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("She prefers green teas.", "Which tea does she prefer?"),
        ("Order tea/coffee for all.", "coffee"),
        ("The preferred_language is French.", "language"),
        ("Ann's cat sleeps.", "Where is Ann?"),
        ("Read docs.example.com daily.", "example"),
        ("The café opens at 7:30.", "Café, 30"),
        ("A <b>bold</b> plan.", "BOLD"),
    ],
)
async def test_words_are_found_in_whatever_form_they_come(
    house: House, desk: Desk, text: str, asked: str
) -> None:
    note_id, _ = await fill(house, text, "Something else entirely.")
    assert owners(await desk.words(asked)) == [note_id]


async def test_any_word_is_enough_and_rare_words_count_for_more(house: House, desk: Desk) -> None:
    common = [f"Ann likes number {number}." for number in range(8)]
    *_, rare = await fill(house, *common, "A heron stood there.")
    hits = await desk.words("Did Ann see the heron?")
    assert len(hits) == 9
    assert hits[0].owner_id == rare
    assert hits[0].score > hits[1].score > 0


async def test_scores_are_those_of_bm25(house: House, desk: Desk) -> None:
    texts = ["red red blue", "red green yellow white", "blue black", "grey"]
    await fill(house, *texts)
    hits = await desk.words("red blue")
    expected = sorted((score for text in texts if (score := bm25("red blue", text, texts))), reverse=True)
    assert [hit.score for hit in hits] == pytest.approx(expected)


def bm25(asked: str, text: str, texts: Sequence[str]) -> float:
    """Of words without stems; a text's length is how many different words it has."""
    average = sum(len(set(other.split())) for other in texts) / len(texts)
    score = 0.0
    for word in asked.split():
        holding = sum(word in other.split() for other in texts)
        often = text.split().count(word)
        idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        length = len(set(text.split())) / average
        score += idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length))
    return score


@pytest.mark.parametrize("text", ["", "the of and", "?!", "heron", "a | b & !c <-> 'd' \\"])
async def test_texts_that_hold_none_of_the_words_are_no_hits(house: House, desk: Desk, text: str) -> None:
    await fill(house, "tea is hot")
    assert await desk.words(text) == []


# Both


async def test_several_queries_are_answered_in_their_order_each_with_its_own_legs_and_limit(
    house: House, desk: Desk
) -> None:
    house.model.known = {"tea one": unit(1.0), "tea two": at_cosine(0.5), "milk": unit(0.0, 1.0)}
    one, two, milk = await fill(house, "tea one", "tea two", "milk")
    results = await desk.ask(
        query("tea", limit=1),
        query(dense=unit(1.0), limit=2),
        query("milk", unit(0.0, 1.0), limit=3),
        query(),
        query("two", limit=5),
    )
    assert [(owners(result.dense), owners(result.bm25)) for result in results] == [
        ([], [min(one, two, key=lambda note_id: chunk_id_for(note_id, 0))]),
        ([one, two], []),
        ([milk, two, one], [milk]),
        ([], []),
        ([], [two]),
    ]
    assert await desk.ask() == []


async def test_only_what_is_live_and_readable_is_found(house: House, desk: Desk) -> None:
    """Among notes of random contexts, scopes and fates, exactly those are found that a list in Python keeps."""
    draw = random.Random(7)
    readable: dict[str, set[NoteId]] = {agent: set() for agent in ("anna", "ben")}
    for number in range(40):
        agent, project = draw.choice(["anna", "ben"]), draw.choice(["alpha", "alpha", "beta"])
        scope, fate = draw.choice(SCOPES[:2]), draw.choice(["live", "live", "deleted", "expired"])
        note = {"text": f"tea {number}", "key": f"key {number}", "ttl_days": 1 if fate == "expired" else None}
        [result] = await house.add(note, scope=scope, agent_id=agent, project_id=project)
        if fate == "deleted":
            await house.execute(
                "UPDATE memory_notes SET status = 'deleted' WHERE note_id = $1", result.note_id
            )
        if (project, fate) == ("alpha", "live"):
            for reader, found in readable.items():
                if scope != "agent_private" or reader == agent:
                    found.add(NoteId(result.note_id))
    await house.index_all()
    house.clock.turn(days=2)
    for reader, expected in readable.items():
        [result] = await desk.ask(
            query("tea", vector_of("tea"), limit=100), context=Context("acme", "alpha", reader)
        )
        assert set(owners(result.dense)) == set(owners(result.bm25)) == expected
        assert len(result.dense) == len(expected)
        private = await desk.words("tea", context=Context("acme", "alpha", reader), scopes=["agent_private"])
        assert 0 < len(private) < len(expected)


async def test_vectors_of_another_model_are_not_compared(house: House, desk: Desk) -> None:
    await fill(house, "tea")
    await house.execute("UPDATE memory_note_chunks SET embedding_version = 'other'")
    [result] = await desk.ask(query("tea", vector_of("tea")))
    assert (result.dense, result.bm25) == ([], [])


async def test_a_search_that_is_cut_off_stops_postgres_too(house: House, desk: Desk) -> None:
    async def at_work() -> bool:
        statement = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '-- exact%' AND state = 'active'"
        return bool(await house.value(statement))

    async def idle() -> bool:
        return not await at_work()

    async with house.database.transaction() as connection, anyio.create_task_group() as group:
        await connection.execute(
            "LOCK TABLE memory_notes IN ACCESS EXCLUSIVE MODE"
        )  # it cannot end by itself
        group.start_soon(desk.near, unit(1.0))
        await until(at_work)
        group.cancel_scope.cancel()
    await until(idle)
    assert await desk.near(unit(1.0)) == []


async def test_a_reader_of_no_scope_finds_nothing(desk: Desk) -> None:
    await fill(desk.house, "tea")
    assert len(await desk.words("tea")) == 1
    assert await desk.words("tea", scopes=()) == []
    assert await desk.near(vector_of("tea"), scopes=()) == []
