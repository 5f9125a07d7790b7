"""Searching: the index proposes, Postgres decides, and a part that is away is done without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import anyio
import pytest

from elf.core.errors import IndexUnavailable, InternalError, InvalidRequest, ProviderUnavailable
from elf.core.ids import NoteId, chunk_id_for
from elf.db.errors import Retryable
from elf.families.notes.requests import SearchItem, SearchRequest, SearchResponse
from elf.families.notes.search import NoteSearch, SearchRules
from elf.search.fuse import FusionRules
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.notes_kit import at_cosine, scope_rules, unit

pytestmark = pytest.mark.anyio

RULES = SearchRules(
    fusion=FusionRules("rrf", 60, 1.0, 1.0),
    rerank_weight=1.0,
    retrieval_weight=0.0,
    tie_breaker_weight=0.1,
    recency_tau_days=60.0,
    candidate_k=60,
    top_k=12,
    prefilter=0,
)


class Scripted:
    """A reranker that scores a document by the marks it holds."""

    def __init__(self, marks: Mapping[str, float]) -> None:
        self.marks = marks
        self.documents: list[str] = []
        self.fault: Exception | None = None

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        self.documents = list(documents)
        if self.fault is not None:
            raise self.fault
        return [
            max((score for mark, score in self.marks.items() if mark in text), default=0.0)
            for text in documents
        ]


class Desk:
    """A search over a house, with a reranker of its own."""

    def __init__(self, house: House, **rules: Any) -> None:
        self.reranker = Scripted({"good": 0.9, "fair": 0.5, "poor": 0.1})
        self.search = NoteSearch(
            database=house.database,
            store=house.store,
            index=house.index,
            embedder=house.model,
            reranker=self.reranker,
            scopes=scope_rules(),
            rules=replace(RULES, **rules),
            fresh=house.fresh,
            clock=house.clock,
        )

    async def ask(self, query: str = "tea", **fields: Any) -> SearchResponse:
        body = CONTEXT_FIELDS | {"read_profile": "all_scopes", "query": query} | fields
        return await self.search.search(SearchRequest(**body))

    async def items(self, query: str = "tea", **fields: Any) -> list[SearchItem]:
        return (await self.ask(query, **fields)).items

    async def texts(self, query: str = "tea", **fields: Any) -> list[str]:
        return [item.snippet for item in await self.items(query, **fields)]


@pytest.fixture
def desk(house: House) -> Desk:
    return Desk(house)


async def fill(house: House, *texts: str, **fields: Any) -> list[NoteId]:
    """Store notes, each under a key of its own, and index them."""
    ids = [await house.add_one(text, **({"key": text} | fields)) for text in texts]
    await house.index_all()
    return ids


async def test_the_reranker_orders_what_was_found(house: House, desk: Desk) -> None:
    await fill(house, "poor tea", "good tea", "fair tea")
    answer = await desk.ask()
    assert [item.snippet for item in answer.items] == ["good tea", "fair tea", "poor tea"]
    assert answer.degraded == []
    assert len({item.result_handle for item in answer.items}) == 3


async def test_an_item_says_what_the_note_is_and_why_it_is_there(house: House, desk: Desk) -> None:
    (note_id,) = await fill(house, "good tea", key="drinks", importance=0.5, source_ref={"m": 1}, ttl_days=3)
    (item,) = await desk.items("Which teas and drinks?")
    assert (item.note_id, item.chunk_id, item.chunk_index) == (note_id, chunk_id_for(note_id, 0), 0)
    assert (item.start_offset, item.end_offset, item.snippet) == (0, 8, "good tea")
    assert (item.type, item.key, item.scope) == ("fact", "drinks", "project_shared")
    assert (item.source_ref, item.updated_at) == ({"m": 1}, house.clock.now())
    assert item.expires_at == house.clock.now() + timedelta(days=3)
    why = item.explain
    assert (why.retrieval_rank, why.rerank_score) == (1, 0.9)
    assert why.tie_breaker_score == pytest.approx(0.1 * 1.3)
    assert [boost.name for boost in why.boosts] == ["rerank", "recency_importance"]
    assert sum(boost.score for boost in why.boosts) == pytest.approx(why.final_score)
    assert why.final_score == item.final_score
    assert (why.matched_terms, why.matched_fields) == (["teas", "drinks"], ["key", "text"])


async def test_a_weighted_retrieval_score_is_a_boost_of_its_own(house: House) -> None:
    desk = Desk(house, retrieval_weight=2.0, rerank_weight=0.5)
    await fill(house, "good tea")
    (item,) = await desk.items()
    assert {boost.name: boost.score for boost in item.explain.boosts} == {
        "rerank": pytest.approx(0.45),
        "retrieval": pytest.approx(2.0),
        "recency_importance": pytest.approx(0.13),
    }


async def test_an_empty_project_has_no_items_and_asks_no_reranker(desk: Desk) -> None:
    assert await desk.items() == []
    assert desk.reranker.documents == []


async def test_an_unknown_profile_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await desk.ask(read_profile="everything")
    assert caught.value.fields == ("$.read_profile",)


# Postgres decides


async def test_what_changed_since_it_was_indexed_is_never_shown_as_it_was(house: House, desk: Desk) -> None:
    deleted, changed, expired, purged, live = [
        (await fill(house, f"{name} tea", **fields))[0]
        for name, fields in (
            ("deleted", {}), ("changed", {}), ("expired", {"ttl_days": 1}), ("purged", {}), ("live", {}),
        )
    ]  # fmt: skip
    await house.delete(deleted)
    await house.update(changed, text="quite another tea")
    await house.execute("DELETE FROM memory_notes WHERE note_id = $1", purged)
    house.clock.turn(days=1)
    assert house.index.owners() == {deleted, changed, expired, purged, live}
    assert await desk.texts() == ["live tea"]


async def test_a_change_that_keeps_the_text_is_shown_at_once(house: House, desk: Desk) -> None:
    (note_id,) = await fill(house, "good tea")
    await house.update(note_id, importance=1.0)
    assert [item.importance for item in await desk.items()] == [1.0]


async def test_a_point_that_lies_about_its_owner_shows_nothing(house: House, desk: Desk) -> None:
    (mine,) = await fill(house, "good tea")
    for place in ({"agent_id": "bob"}, {"project_id": "beta"}, {"tenant_id": "other"}):
        await house.add({"text": f"their tea {place}"}, scope="agent_private", **place)
    await house.index_all()
    for point_id, point in house.index.points.items():
        payload = {**point.payload, **CONTEXT_FIELDS, "scope": "project_shared"}
        house.index.points[point_id] = replace(point, payload=payload)
    assert len(house.index.points) == 4
    assert [item.note_id for item in await desk.items()] == [mine]


@pytest.mark.parametrize(
    ("profile", "agent", "seen"),
    [
        ("private_only", "anna", {"private tea"}),
        ("private_plus_project", "anna", {"private tea", "shared tea"}),
        ("all_scopes", "anna", {"private tea", "shared tea"}),
        ("private_only", "bob", set()),
        ("all_scopes", "bob", {"shared tea"}),
    ],
)
async def test_a_profile_shows_its_scopes_and_private_notes_to_their_agent_alone(
    house: House, desk: Desk, profile: str, agent: str, seen: set[str]
) -> None:
    await house.add({"text": "private tea"}, scope="agent_private")
    await house.add({"text": "shared tea"})
    await house.index_all()
    assert set(await desk.texts(read_profile=profile, agent_id=agent)) == seen


async def test_chunks_of_another_model_are_not_shown(house: House, desk: Desk) -> None:
    await fill(house, "good tea")
    await house.execute("UPDATE memory_note_chunks SET embedding_version = 'fake:older:384'")
    assert await desk.items() == []


# Snippets and notes


LONG = "Fact: one two three four five. Then tea seven eight nine ten. And so on for ever."


async def test_a_snippet_is_the_chunk_with_its_neighbours_and_no_repetition(house: House, desk: Desk) -> None:
    await fill(house, LONG, key="k")
    (item,) = await desk.items()
    assert item.snippet in LONG
    assert LONG[item.start_offset : item.end_offset] in item.snippet
    assert {document in LONG for document in desk.reranker.documents} == {True}
    whole = {document == LONG for document in desk.reranker.documents}
    assert whole == {True, False}, "the middle chunk reaches both ends, the others do not"


async def test_a_note_with_several_chunks_is_one_item_with_its_best_chunk(house: House, desk: Desk) -> None:
    (note_id,) = await fill(house, LONG, key="k")
    desk.reranker.marks = {"for ever": 0.9}
    (item,) = await desk.items()
    assert item.note_id == note_id
    assert item.explain.rerank_score == 0.9


# Ties and bounds


async def test_equal_scores_fall_to_the_scope_with_precedence(house: House, desk: Desk) -> None:
    await house.add({"text": "good tea for us"})
    await house.add({"text": "good tea for me"}, scope="agent_private")
    await house.index_all()
    assert [item.scope for item in await desk.items()] == ["agent_private", "project_shared"]


async def test_the_recent_and_the_important_win_among_equals(house: House, desk: Desk) -> None:
    await fill(house, "good tea, old", ttl_days=900)
    house.clock.turn(days=30)
    await fill(house, "good tea, new", ttl_days=900)
    await fill(house, "good tea, new and important", importance=1.0, ttl_days=900)
    assert await desk.texts() == ["good tea, new and important", "good tea, new", "good tea, old"]


async def test_top_k_and_the_default_bound_the_answer(house: House) -> None:
    await fill(house, *(f"good tea {number}" for number in range(5)))
    desk = Desk(house, top_k=3, candidate_k=4)
    assert len(await desk.items()) == 3
    assert len(await desk.items(top_k=1)) == 1
    assert len(await desk.items(top_k=5)) == 5, "more results need more candidates than the default"
    assert len(await desk.items(candidate_k=2)) == 2


async def test_the_prefilter_bounds_what_is_reranked(house: House) -> None:
    await fill(house, *(f"good tea {number}" for number in range(5)))
    for prefilter, reranked in ((2, 2), (0, 5), (60, 5)):
        desk = Desk(house, prefilter=prefilter)
        await desk.items()
        assert len(desk.reranker.documents) == reranked


# Parts that are away


@pytest.mark.parametrize("fault", [ProviderUnavailable("asleep"), InternalError("nonsense")])
async def test_without_the_reranker_the_fused_order_answers(
    house: House, desk: Desk, fault: Exception
) -> None:
    house.model.known |= {"tea": unit(1.0), "good drink": at_cosine(0.2), "poor tea": at_cosine(0.9)}
    await fill(house, "good drink", "poor tea")
    desk.reranker.fault = fault
    answer = await desk.ask()
    assert answer.degraded == ["rerank"]
    assert [item.snippet for item in answer.items] == ["poor tea", "good drink"]
    for item in answer.items:
        assert item.explain.rerank_score == item.explain.retrieval_score
        assert [boost.name for boost in item.explain.boosts] == ["retrieval", "recency_importance"]


async def test_without_the_embedder_words_alone_find(house: House, desk: Desk) -> None:
    await fill(house, "good tea", "fair coffee")
    house.model.away = True
    answer = await desk.ask()
    assert answer.degraded == ["embedding"]
    assert [item.snippet for item in answer.items] == ["good tea"]


async def test_without_both_the_answer_says_so(house: House, desk: Desk) -> None:
    await fill(house, "good tea")
    house.model.away = True
    desk.reranker.fault = ProviderUnavailable("asleep")
    answer = await desk.ask()
    assert answer.degraded == ["embedding", "rerank"]
    assert len(answer.items) == 1


async def test_an_index_that_is_away_is_told_and_may_be_retried(house: House, desk: Desk) -> None:
    async def away(_: Any) -> Any:
        raise IndexUnavailable("away")

    house.index.query = away  # type: ignore[method-assign]
    with pytest.raises(IndexUnavailable):
        await desk.ask()


# Hits


async def test_hits_are_recorded_only_when_asked(house: House, desk: Desk) -> None:
    notes = await fill(house, "good tea", "fair tea")
    await desk.ask()
    assert await house.value("SELECT count(*) FROM memory_hits") == 0
    await desk.ask(record_hits=True)
    rows = await house.rows("SELECT * FROM memory_hits ORDER BY rank")
    assert [(row["note_id"], row["rank"]) for row in rows] == [(notes[0], 1), (notes[1], 2)]
    assert [row["chunk_id"] for row in rows] == [chunk_id_for(note_id, 0) for note_id in notes]
    assert "tea" not in rows[0]["query_hash"]
    counts = await house.rows("SELECT hit_count, last_hit_at FROM memory_notes")
    assert [(row["hit_count"], row["last_hit_at"]) for row in counts] == [(1, house.clock.now())] * 2


async def test_a_hit_leaves_the_notes_content_and_moment_alone(house: House, desk: Desk) -> None:
    (note_id,) = await fill(house, "good tea")
    before = await house.note(note_id)
    await desk.ask(record_hits=True)
    assert await house.note(note_id) == before


async def test_searches_at_once_count_every_hit(house: House, desk: Desk) -> None:
    await fill(house, *(f"good tea {number}" for number in range(12)))
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(lambda: desk.ask(record_hits=True))
    assert await house.value("SELECT min(hit_count) FROM memory_notes") == 8


async def test_hits_that_cannot_be_recorded_do_not_fail_the_answer(house: House, desk: Desk) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise Retryable("met another")

    await fill(house, "good tea")
    house.store.record_hits = fail  # type: ignore[method-assign]
    assert len(await desk.items(record_hits=True)) == 1


async def test_points_of_nobody_are_passed_over(house: House, desk: Desk) -> None:
    (note_id,) = await fill(house, "good tea")
    known = house.index.points[chunk_id_for(note_id, 0)]
    stranger = uuid4()
    house.index.points[stranger] = replace(known, point_id=stranger, owner_id=uuid4())
    assert [item.note_id for item in await desk.items()] == [note_id]
