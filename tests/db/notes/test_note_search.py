"""Searching: the index proposes, Postgres decides, and a part that is away is done without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import anyio
import msgspec
import pytest

from elf.core.errors import (
    IndexUnavailable,
    InternalError,
    InvalidRequest,
    ProviderBroken,
    ProviderRefused,
    ProviderUnavailable,
    Unavailable,
)
from elf.core.ids import NoteId, chunk_id_for
from elf.db.database import Connection, Database
from elf.db.errors import Retryable
from elf.families.notes.api.requests import SearchFilters, SearchItem, SearchRequest, SearchResponse
from elf.families.notes.reading.ask import NoteAsk
from elf.families.notes.reading.finding import NoteFinding
from elf.families.notes.reading.ranking import NoteRanking, RankingRules
from elf.families.notes.reading.search import NoteSearch, SearchRules
from elf.index.port import IndexFilter, IndexQuery, LegHit, QueryResult
from elf.search.expand import ExpansionRules, QueryExpander
from elf.search.fuse import FusionRules
from elf.search.rerank import GREATEST_SCORE, CachedReranker
from elf.search.reranking import Reranking, ShownReranking
from elf.search.retrieve import CandidateRetrieval, RetrievalRules
from elf.search.trace import SearchTrace
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.notes_kit import NOW, at_cosine, scope_rules, unit
from tests.search_kit import FakeChat

pytestmark = pytest.mark.anyio

RULES = SearchRules(
    candidate_k=60, top_k=12, budget_s=None, expansion_mode="off", trace_days=7, snapshot={"a": 1}
)
RETRIEVAL = RetrievalRules(expansion="off", fusion=FusionRules("rrf", 60, 1.0, 1.0), prefilter=0)
RANKING = RankingRules(rerank_weight=1.0, retrieval_weight=0.0, tie_breaker_weight=0.1, recency_tau_days=60.0)
EXPANSION = ExpansionRules(
    mode="off", max_queries=4, include_original=True, min_candidates=0, min_top_score=0.0
)
NO_CACHE: Any = {"cache": None, "ttl_days": 1}


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


class Truth:
    """What is asked when the index is away."""

    def __init__(self) -> None:
        self.results: list[QueryResult] = []
        self.asked: list[Sequence[IndexQuery]] = []

    async def query(self, queries: Sequence[IndexQuery], ask: NoteAsk) -> list[QueryResult]:
        self.asked.append(queries)
        return self.results or [QueryResult([], []) for _ in queries]


class Desk:
    """A search over a house, with a reranker of its own."""

    def __init__(
        self,
        house: House,
        *,
        ranking: RankingRules = RANKING,
        retrieval: RetrievalRules = RETRIEVAL,
        expansion: ExpansionRules = EXPANSION,
        database: Database | None = None,
        reads: Database | None = None,
        reranking: Reranking | None = None,
        **rules: Any,
    ) -> None:
        self.reranker = Scripted({"good": 0.9, "fair": 0.5, "poor": 0.1})
        self.chat = FakeChat({"queries": []})
        self.traces: list[SearchTrace] = []
        self.stand_in = Truth()
        self.search = NoteSearch(
            database=database or house.database,
            store=house.store,
            finding=NoteFinding(
                database=database or house.database,
                reads=reads or house.database,
                store=house.store,
                retrieval=CandidateRetrieval(
                    index=house.index,
                    embedder=house.model,
                    expander=self._expander(expansion),
                    rules=replace(retrieval, expansion=expansion.mode),
                ),
                exactly=lambda queries, ask: self.stand_in.query(queries, ask),
                fresh=house.fresh,
            ),
            reranking=reranking or self._snippet_reranking(),
            ranking=NoteRanking(ranking, scope_rules()),
            scopes=scope_rules(),
            rules=replace(RULES, expansion_mode=expansion.mode, **rules),
            trace=self.traces.append,
            clock=house.clock,
        )

    def _snippet_reranking(self) -> Reranking:
        reranker = CachedReranker(
            reranker=self.reranker,
            material={"provider_id": "p", "model": "m", "rerank_version": "1"},
            later=lambda put: None,
            **NO_CACHE,
        )
        return ShownReranking(reranker, tells_relevance=False)

    def _expander(self, rules: ExpansionRules) -> QueryExpander:
        material = {"provider_id": "p", "model": "m", "temperature": 0.0, "expansion_version": "1"}
        return QueryExpander(chat=self.chat, rules=rules, material=material, **NO_CACHE)

    async def ask(self, query: str = "tea", **fields: Any) -> SearchResponse:
        body = CONTEXT_FIELDS | {"read_profile": "all_scopes", "query": query} | fields
        answer = msgspec.json.encode(await self.search.search(SearchRequest(**body)))
        response = SearchResponse.model_validate_json(answer)
        # No field is missing, added or of another form.
        assert response.model_dump(mode="json") == json.loads(answer)
        return response

    async def items(self, query: str = "tea", **fields: Any) -> list[SearchItem]:
        return (await self.ask(query, **fields)).items

    async def texts(self, query: str = "tea", **fields: Any) -> list[str]:
        return [item.snippet for item in await self.items(query, **fields)]


@pytest.fixture
def desk(house: House) -> Desk:
    return Desk(house)


def everything_about(text: str) -> IndexQuery:
    return IndexQuery(dense=None, text=text, where=IndexFilter({}), limit=60)


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


async def test_a_large_reference_comes_whole(house: House) -> None:
    refs: list[Any] = [
        {},
        {"m": "x" * 900},
        {"m": [str(number) for number in range(5000)]},
        {"m": "y" * 16_000},
    ]
    ids = [
        (await fill(house, f"good tea {number}", key=f"drink {number}", source_ref=ref))[0]
        for number, ref in enumerate(refs)
    ]
    found = {item.note_id: item.source_ref for item in await Desk(house).items()}
    assert found == dict(zip(ids, refs, strict=True))


async def test_a_weighted_retrieval_score_is_a_boost_of_its_own(house: House) -> None:
    desk = Desk(house, ranking=replace(RANKING, retrieval_weight=2.0, rerank_weight=0.5))
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
        desk = Desk(house, retrieval=replace(RETRIEVAL, prefilter=prefilter))
        await desk.items()
        assert len(desk.reranker.documents) == reranked


# Parts that are away


@pytest.mark.parametrize(
    "fault",
    [ProviderUnavailable("asleep"), ProviderBroken("nonsense"), ProviderRefused("no", provider_status=401)],
)
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


async def test_without_the_index_the_truth_itself_is_asked(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: Any) -> Any:
        raise IndexUnavailable("away")

    await fill(house, "good tea", "fair tea")
    desk.stand_in.results = await house.index.query([everything_about("tea")])
    monkeypatch.setattr(house.index, "query", away)
    answer = await desk.ask()
    assert answer.degraded == ["index"]
    assert [item.snippet for item in answer.items] == ["good tea", "fair tea"]


async def test_a_search_that_nothing_answers_in_time_is_told_and_may_be_retried(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> Any:
        await anyio.sleep_forever()

    desk = Desk(house, budget_s=0.2)
    monkeypatch.setattr(house.index, "query", hang)
    monkeypatch.setattr(desk.stand_in, "query", hang)
    with pytest.raises(Unavailable):
        await desk.ask()


async def test_slow_parts_leave_time_for_what_stands_in_for_them(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> Any:
        await anyio.sleep_forever()

    await fill(house, "good tea", "fair tea")
    desk = Desk(house, budget_s=2.0, expansion=replace(EXPANSION, mode="always"))
    desk.stand_in.results = await house.index.query([everything_about("tea")])
    monkeypatch.setattr(desk.chat, "ask", hang)
    monkeypatch.setattr(house.model, "embed", hang)
    monkeypatch.setattr(house.index, "query", hang)
    monkeypatch.setattr(desk.reranker, "rerank", hang)
    answer = await desk.ask()
    assert answer.degraded == ["expansion", "embedding", "index", "rerank"]
    assert {item.snippet for item in answer.items} == {"good tea", "fair tea"}


# Several wordings


async def test_every_wording_is_searched_for_in_one_call_and_the_original_is_reranked(house: House) -> None:
    await fill(house, "good tea", "fair coffee", "poor water")
    calls = house.index.queries
    desk = Desk(house, expansion=replace(EXPANSION, mode="always"))
    desk.chat.content = {"queries": ["coffee", "tea"]}
    answer = await desk.ask("tea")
    assert {item.snippet for item in answer.items} >= {"good tea", "fair coffee"}
    assert [query.text for query in calls[-1]] == ["tea", "coffee"]
    assert desk.traces[0].expanded_queries == ["tea", "coffee"]


async def test_a_first_search_that_finds_enough_is_not_expanded(house: House) -> None:
    await fill(house, "good tea", "fair coffee")
    desk = Desk(house, expansion=replace(EXPANSION, mode="dynamic", min_candidates=1))
    await desk.ask("tea")
    assert desk.chat.prompts == []


async def test_a_first_search_that_finds_little_is_widened_without_asking_the_original_again(
    house: House,
) -> None:
    await fill(house, "good tea", "fair coffee")
    calls = house.index.queries
    desk = Desk(house, expansion=replace(EXPANSION, mode="dynamic", min_candidates=50))
    desk.chat.content = {"queries": ["coffee"]}
    answer = await desk.ask("tea")
    assert {item.snippet for item in answer.items} == {"good tea", "fair coffee"}
    assert [[query.text for query in call] for call in calls[-2:]] == [["tea"], ["coffee"]]


async def test_a_widened_search_that_takes_too_long_keeps_what_the_first_found(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> Any:
        await anyio.sleep_forever()

    async def only_the_first(queries: Sequence[IndexQuery]) -> list[QueryResult]:
        if [query.text for query in queries] != ["tea"]:
            await hang()
        return found

    await fill(house, "good tea", "fair coffee")
    found = await house.index.query([everything_about("tea")])
    desk = Desk(house, budget_s=2.0, expansion=replace(EXPANSION, mode="dynamic", min_candidates=50))
    desk.chat.content = {"queries": ["coffee"]}
    monkeypatch.setattr(house.index, "query", only_the_first)
    monkeypatch.setattr(desk.stand_in, "query", hang)
    answer = await desk.ask("tea")
    assert answer.degraded == ["index", "expansion"]
    assert [item.snippet for item in answer.items] == ["good tea"]
    assert answer.items[0].explain.rerank_score == 0.9, "there was time for the reranker"
    assert desk.traces[0].expanded_queries == ["tea"]


async def test_a_model_that_is_away_leaves_the_original_query(house: House) -> None:
    await fill(house, "good tea")
    desk = Desk(house, expansion=replace(EXPANSION, mode="always"))
    desk.chat.content = ProviderUnavailable("asleep")
    answer = await desk.ask("tea")
    assert answer.degraded == ["expansion"]
    assert [item.snippet for item in answer.items] == ["good tea"]


# Traces


async def test_a_trace_accounts_for_every_candidate(house: House) -> None:
    ids = await fill(house, "good tea", "fair tea", "poor tea", "more tea", "late tea")
    await fill(house, LONG, key="long")
    await house.execute("UPDATE memory_notes SET status = 'deleted' WHERE note_id = $1", ids[3])
    desk = Desk(house, retrieval=replace(RETRIEVAL, prefilter=6), top_k=2)
    answer = await desk.ask()
    (trace,) = desk.traces
    assert trace.trace_id == answer.trace_id
    assert [item.item_id for item in trace.items] == [item.result_handle for item in answer.items]
    for item in trace.items:
        assert sum(boost["score"] for boost in item.boosts) == pytest.approx(item.final_score, abs=1e-9)
    reasons = [one.reason for one in trace.dropped]
    assert trace.candidate_count == 6
    assert len(trace.items) + len(reasons) == len(house.index.points)
    assert reasons.count("BEYOND_PREFILTER") == len(house.index.points) - 6
    assert reasons.count("NOT_LIVE") <= 1
    assert "BELOW_TOP_K" in reasons
    assert [name for name, _ in trace.stages] == ["embed", "index", "revalidate", "rerank"]
    assert trace.config_snapshot == {"a": 1}
    assert trace.expires_at - trace.created_at == timedelta(days=7)


async def test_a_trace_names_what_fusion_left_beyond_the_candidates_asked_for(house: House) -> None:
    texts = ["good tea", "fair tea", "poor tea", "more tea", "late tea"]
    await fill(house, *texts)
    desk = Desk(house, retrieval=replace(RETRIEVAL, prefilter=2))
    known = [QueryResult([hit], []) for hit in (await house.index.query([everything_about("tea")]))[0].bm25]

    async def all_of_them(queries: Sequence[IndexQuery]) -> list[QueryResult]:
        return known

    house.index.query = all_of_them  # type: ignore[method-assign]
    await desk.ask(candidate_k=3)
    (trace,) = desk.traces
    assert trace.candidate_count == 2
    assert [(one.reason, one.retrieval_rank) for one in trace.dropped] == [
        ("BEYOND_PREFILTER", 3), ("BEYOND_CANDIDATE_K", 4), ("BEYOND_CANDIDATE_K", 5),
    ]  # fmt: skip


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


async def test_hits_are_recorded_of_scores_as_large_as_a_reranker_may_give(house: House, desk: Desk) -> None:
    await fill(house, "good tea", "fair tea")
    desk.reranker.marks = {"good": GREATEST_SCORE, "fair": -GREATEST_SCORE}
    assert (await desk.ask(record_hits=True)).degraded == []
    assert await house.value("SELECT count(*) FROM memory_hits") == 2


@pytest.mark.parametrize("fault", [Retryable("met another"), InternalError("a number beyond its column")])
async def test_hits_that_cannot_be_recorded_do_not_fail_the_answer(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise fault

    await fill(house, "good tea")
    monkeypatch.setattr(house.store, "record_hits", fail)
    answer = await desk.ask(record_hits=True)
    assert (len(answer.items), answer.degraded) == (1, ["hits"])


async def test_points_of_nobody_are_passed_over(house: House, desk: Desk) -> None:
    (note_id,) = await fill(house, "good tea")
    known = house.index.points[chunk_id_for(note_id, 0)]
    stranger = uuid4()
    house.index.points[stranger] = replace(known, point_id=stranger, owner_id=uuid4())
    assert [item.note_id for item in await desk.items()] == [note_id]


# A profile that reads nothing


async def test_a_profile_that_reads_nothing_asks_nobody_and_finds_nothing(house: House) -> None:
    await fill(house, "good tea")
    await house.add({"text": "fair tea"}, scope="agent_private", agent_id="bob")
    await house.index_all()
    desk = Desk(house)
    house.model.texts.clear()
    answer = await desk.ask(read_profile="nothing", record_hits=True)
    assert (answer.items, answer.degraded) == ([], [])
    assert (house.model.texts, house.index.queries, desk.stand_in.asked, desk.reranker.documents) == (
        [],
        [],
        [],
        [],
    )
    (trace,) = desk.traces
    assert (trace.items, trace.dropped, trace.candidate_count, trace.allowed_scopes) == ([], [], 0, ())


# Filters


async def test_a_note_that_the_filter_no_longer_lets_through_is_dropped_and_told_so(house: House) -> None:
    good, fair = await fill(house, "good tea", "fair tea")
    await house.execute("UPDATE memory_notes SET type = 'plan' WHERE note_id = $1", good)
    desk = Desk(house)
    assert await desk.texts(filters=SearchFilters(type=["fact"])) == ["fair tea"]
    (trace,) = desk.traces
    assert [(one.subject_id, one.stage, one.reason, one.filter) for one in trace.dropped] == [
        (good, "revalidation", "FILTERED", "type")
    ]
    assert trace.filters == {"type": ["fact"]}
    assert [item.subject_id for item in trace.items] == [fair]
    assert desk.stand_in.asked == []  # the index named all that it had


async def test_every_filter_is_asked_of_postgres_again(house: House) -> None:
    await house.add_one("good tea", key="tea", source_ref={"ticket": "A"})
    await house.index_all()
    desk = Desk(house)
    before, after = ((NOW + timedelta(hours=hours)).isoformat() for hours in (-1, 1))
    for filters, change in (
        (SearchFilters(key_prefix="te"), "key = 'other'"),
        (SearchFilters(key_prefix="te"), "key = NULL"),
        (SearchFilters(source={"ticket": "A"}), """source_ref = '{"ticket": "B"}'"""),
        (
            SearchFilters.model_validate({"updated_since": before}),
            "updated_at = updated_at - interval '1 day'",
        ),
        (
            SearchFilters.model_validate({"updated_before": after}),
            "updated_at = updated_at + interval '1 day'",
        ),
        (
            SearchFilters.model_validate({"created_since": before}),
            "created_at = created_at - interval '1 day'",
        ),
        (
            SearchFilters.model_validate({"created_before": after}),
            "created_at = created_at + interval '1 day'",
        ),
    ):
        assert await desk.texts(filters=filters) == ["good tea"]
        (kept,) = await house.rows("SELECT key, source_ref, updated_at, created_at FROM memory_notes")
        await house.execute(f"UPDATE memory_notes SET {change}")
        assert await desk.texts(filters=filters) == []
        (one,) = desk.traces[-1].dropped
        assert (one.reason, one.filter) == ("FILTERED", next(iter(filters.model_fields_set)))
        await house.execute(
            "UPDATE memory_notes SET key = $1, source_ref = $2, updated_at = $3, created_at = $4",
            *kept.values(),
        )


async def test_when_dropped_notes_may_have_taken_the_place_of_others_postgres_is_asked_itself(
    house: House,
) -> None:
    many = {f"field {number}": number for number in range(65)}
    house.model.known = {"good tea": at_cosine(0.9), "fair tea": at_cosine(0.5)}
    await house.add_one("good tea", key="many", source_ref=many)
    fair = await house.add_one("fair tea", key="few", source_ref={"ticket": 1})
    await house.index_all()
    desk = Desk(house)
    desk.stand_in.results = [QueryResult([LegHit(chunk_id_for(fair, 0), fair, 0.5)], [])]
    house.model.known = {"what": unit(1.0)}
    fields = {"query": "what", "candidate_k": 1, "top_k": 1, "filters": SearchFilters(source={"ticket": 1})}
    answer = await desk.ask(**fields)
    assert ([item.note_id for item in answer.items], answer.degraded) == ([fair], [])
    assert len(desk.stand_in.asked) == 1
    assert [one.reason for one in desk.traces[0].dropped] == ["FILTERED"]
    assert "exact" in dict(desk.traces[0].stages)


async def test_what_postgres_cannot_say_in_time_is_answered_without(house: House) -> None:
    many = {f"field {number}": number for number in range(65)}
    await house.add_one("good tea", key="many", source_ref=many)
    await house.index_all()
    desk = Desk(house, budget_s=1.0)
    desk.stand_in.query = lambda queries, ask: anyio.sleep_forever()  # type: ignore[assignment, return-value]
    answer = await desk.ask(candidate_k=1, top_k=1, filters=SearchFilters(source={"ticket": 1}))
    assert (answer.items, answer.degraded) == ([], ["exact"])


# A replica that lags


class Snapshot(Database):
    """Stands for a replica that is behind: it reads what there was when it was taken."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(max_conns=1)
        self._connection = connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        yield self._connection


class Overheard(Database):
    """A primary whose queries are noted."""

    def __init__(self, database: Database) -> None:
        super().__init__(max_conns=1)
        self._database = database
        self.queries: list[str] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        async with self._database.connection() as connection:
            yield cast("Connection", _Noting(connection, self.queries))


class _Noting:
    def __init__(self, connection: Connection, queries: list[str]) -> None:
        self._connection = connection
        self._queries = queries

    async def fetch(self, query: str, *values: Any) -> list[Mapping[str, Any]]:
        self._queries.append(query)
        return await self._connection.fetch(query, *values)


@asynccontextmanager
async def snapshot_of(house: House) -> AsyncIterator[Snapshot]:
    async with house.database.connection() as connection:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await connection.fetchval("SELECT count(*) FROM memory_notes")
        try:
            yield Snapshot(connection)
        finally:
            await connection.execute("ROLLBACK")


async def test_what_a_lagging_replica_still_has_is_not_shown(house: House) -> None:
    gone, changed, late, _ = await fill(
        house, "good tea one", "good tea two", "good tea three", "good tea four", ttl_days=30
    )
    async with snapshot_of(house) as replica:
        desk = Desk(house, reads=replica)
        points = dict(house.index.points)
        await house.delete(gone)
        await house.update(changed, text="fair tea")
        await house.execute(
            "UPDATE memory_notes SET expires_at = $2 WHERE note_id = $1", late, house.clock.now()
        )
        await house.index_all()
        house.index.points.update(points)  # an index that lags, too
        assert sorted(await desk.texts()) == ["fair tea", "good tea four"]
        assert {one.subject_id for one in desk.traces[-1].dropped} == {gone, late}


async def test_what_has_not_reached_the_replica_is_found(house: House) -> None:
    async with snapshot_of(house) as replica:
        await fill(house, "good tea")
        assert await Desk(house, reads=replica).texts() == ["good tea"]


async def test_without_the_primary_nothing_of_a_replica_is_shown(house: House) -> None:
    await fill(house, "good tea")
    async with snapshot_of(house) as replica:
        desk = Desk(house, reads=replica, database=Database(max_conns=1))  # one that is not open
        with pytest.raises(Unavailable):
            await desk.ask()


async def test_a_replica_spares_the_primary_the_texts(house: House) -> None:
    await fill(house, *(f"good tea {number}" for number in range(20)))
    async with snapshot_of(house) as replica:
        primary = Overheard(house.database)
        assert len(await Desk(house, reads=replica, database=primary).texts(top_k=20)) == 20
        assert [query.split()[1] for query in primary.queries] == ["unchanged_notes"]
