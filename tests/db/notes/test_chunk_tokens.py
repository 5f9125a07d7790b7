"""Token vectors of notes: made in the pass that embeds, kept with the chunks, and never those of a former text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.errors import InvalidRequest
from elf.core.scopes import AGENT_PRIVATE
from elf.families.notes.keeping.chunk_tokens import NOTE_CHUNK_TOKENS
from elf.families.notes.reading.note_filter import EVERYTHING
from elf.search.late_rerank import LateDocument, LateReranker
from elf.search.reranking import TokenReranking
from elf.search.token_store import LONG_WORDS, TokenRow, TokenStore
from elf.search.trace_store import search_queries
from tests.db.notes.conftest import House
from tests.db.notes.test_note_search import Desk
from tests.late_kit import FakeLate, tokens_of
from tests.notes_kit import CONTEXT

pytestmark = pytest.mark.anyio

PLENTY = 10_000
LONG = "tea " * 60 + "and then a good deal of rye bread"


class Kitchen:
    """A house whose notes have token vectors, and a reranker that compares them."""

    def __init__(self, house: House, *, max_words: int = PLENTY) -> None:
        self.late = FakeLate()
        self.tokens = TokenStore(search_queries(), version=self.late.version, max_words=max_words)
        house.tokens, house.late = self.tokens, self.late
        house.__post_init__()
        self.house = house
        self.made: list[Sequence[TokenRow]] = []
        self.reranker = LateReranker(late=self.late, max_words=max_words, later=self.made.append)

    def desk(self, *, length_weight: float = 0.0, **rules: Any) -> Desk:
        reranking = TokenReranking(self.reranker, self.tokens, length_weight=length_weight)
        return Desk(self.house, reranking=reranking, **rules)

    async def chunks(self) -> dict[str, UUID]:
        rows = await self.house.rows("SELECT text, chunk_id FROM memory_note_chunks ORDER BY text")
        return {row["text"]: row["chunk_id"] for row in rows}

    async def kept(
        self, *, changed: Mapping[str, str] = MappingProxyType({}), first: Sequence[str] = ()
    ) -> dict[str, list[list[float]]]:
        """Return the vectors that a search is given of each chunk's text, in the order of the texts or `first`."""
        chunks = await self.chunks()
        texts = {chunks[text]: changed.get(text, text) for text in first or chunks}
        house = self.house
        async with house.database.connection() as connection:
            rows = await house.store.candidates(
                connection, chunk_ids=list(texts), embedding_version=house.model.version, context=CONTEXT,
                scopes=[AGENT_PRIVATE, "project_shared"], now=house.clock.now(), filter=EVERYTHING,
            )  # fmt: skip
        found = {row["chunk_id"]: self.tokens.read(row, texts[row["chunk_id"]]) for row in rows}
        return {
            text: vectors.unpack().tolist()
            for chunk_id, text in texts.items()
            if (vectors := found.get(chunk_id)) is not None
        }

    async def has_words(self, texts: Mapping[str, int]) -> None:
        """Store notes and keep the vectors of so many words for each."""
        await self.house.add(*({"text": text, "key": text} for text in texts))
        await self.house.index_all()
        await self.house.execute("DELETE FROM note_chunk_tokens")
        rows = [
            TokenRow(
                chunk_id, text, tokens_of(" ".join([text, *map(str, range(LONG_WORDS + 1))][: texts[text]]))
            )
            for text, chunk_id in (await self.chunks()).items()
        ]
        await self.put(*rows)

    async def put(self, *rows: TokenRow) -> None:
        async with self.house.database.connection() as connection:
            await self.tokens.put(connection, NOTE_CHUNK_TOKENS, rows)


@pytest.fixture
def kitchen(house: House) -> Kitchen:
    return Kitchen(house)


def vectors_of(*texts: str) -> dict[str, list[list[float]]]:
    return {text: tokens_of(text).unpack().tolist() for text in texts}


def while_below(words: int, texts: Sequence[str]) -> list[str]:
    """Return the texts before which there are fewer than so many words."""
    before = accumulate((len(text.split()) for text in texts), initial=0)
    return [text for text, count in zip(texts, before, strict=False) if count < words]


# Writing


async def test_they_are_kept_with_the_vectors_of_a_note_that_is_embedded_as_it_is_written(
    kitchen: Kitchen,
) -> None:
    await kitchen.house.add_one("Rye bread is baked.")
    assert await kitchen.kept() == vectors_of("Rye bread is baked.")
    await kitchen.house.index_all()
    assert kitchen.late.texts == ["Rye bread is baked."]


async def test_the_indexer_keeps_those_of_a_note_that_it_embeds(kitchen: Kitchen) -> None:
    await kitchen.house.add_one("The ferry leaves at noon.", key="ferry")
    assert await kitchen.kept() == {}
    await kitchen.house.index_all()
    assert await kitchen.kept() == vectors_of("The ferry leaves at noon.")


async def test_those_of_a_former_text_are_never_read_and_give_way_to_the_new_ones(kitchen: Kitchen) -> None:
    note_id = await kitchen.house.add_one("The ferry leaves at noon.", key="ferry")
    await kitchen.house.index_all()
    await kitchen.house.update(note_id, text="The ferry leaves at nine.")
    assert await kitchen.kept(changed={"The ferry leaves at noon.": "The ferry leaves at nine."}) == {}
    await kitchen.house.index_all()
    assert await kitchen.kept() == vectors_of("The ferry leaves at nine.")


async def test_they_go_with_the_note_that_is_purged(kitchen: Kitchen) -> None:
    note_id = await kitchen.house.add_one("Rye bread is baked.")
    await kitchen.house.execute("DELETE FROM memory_notes WHERE note_id = $1", note_id)
    assert await kitchen.house.value("SELECT count(*) FROM note_chunk_tokens") == 0


async def test_those_of_a_chunk_that_is_gone_meanwhile_are_left_out(kitchen: Kitchen) -> None:
    await kitchen.house.add_one("Rye bread is baked.", key="rye")
    await kitchen.house.index_all()
    (there,) = (await kitchen.chunks()).values()
    await kitchen.house.execute("DELETE FROM note_chunk_tokens")
    rows = [TokenRow(chunk_id, "Rye bread is baked.", tokens_of("rye")) for chunk_id in (uuid4(), there)]
    await kitchen.put(*rows)
    assert await kitchen.house.rows("SELECT chunk_id FROM note_chunk_tokens") == [(there,)]


# Reading


async def test_those_of_another_version_are_not_read(kitchen: Kitchen) -> None:
    await kitchen.house.add_one("Rye bread is baked.")
    await kitchen.house.execute("UPDATE note_chunk_tokens SET version = 'fake:0'")
    assert await kitchen.kept() == {}


async def test_reading_ends_when_there_are_words_enough_in_the_order_given(kitchen: Kitchen) -> None:
    texts = ["apples are red", "beans are long and green", "cabbage"]
    await kitchen.house.add(*({"text": text} for text in texts))
    for order in (texts, texts[::-1]):
        for budget in (1, 3, 4, 8, 9):
            kitchen.tokens.max_words = budget
            assert list(await kitchen.kept(first=order)) == while_below(budget, order)


async def test_those_of_long_texts_are_read_after_the_others(kitchen: Kitchen) -> None:
    words = {"longest": LONG_WORDS + 1, "longer": LONG_WORDS, "short": 1}
    await kitchen.has_words(words)
    order = list(words)
    for budget, read in ((1, order[1:2]), (LONG_WORDS + 1, order[1:]), (LONG_WORDS + 2, order)):
        kitchen.tokens.max_words = budget
        assert list(await kitchen.kept(first=order)) == read


# Searching


async def test_a_search_compares_what_is_kept_and_encodes_nothing(kitchen: Kitchen) -> None:
    await kitchen.house.add({"text": "The heron eats fish."}, {"text": "Stocks fell."})
    await kitchen.house.index_all()
    del kitchen.late.texts[:]
    desk = kitchen.desk()
    assert (await desk.texts("heron fish"))[0] == "The heron eats fish."
    assert kitchen.late.texts == []
    assert kitchen.made == []


async def test_what_is_missing_is_made_and_handed_on_to_be_kept(kitchen: Kitchen) -> None:
    await kitchen.house.add({"text": "The heron eats fish."}, {"text": "Stocks fell."})
    await kitchen.house.index_all()
    await kitchen.house.execute("DELETE FROM note_chunk_tokens")
    del kitchen.late.texts[:]
    assert (await kitchen.desk().texts("heron fish"))[0] == "The heron eats fish."
    assert sorted(kitchen.late.texts) == ["Stocks fell.", "The heron eats fish."]
    (rows,) = kitchen.made
    await kitchen.put(*rows)
    assert await kitchen.kept() == vectors_of("Stocks fell.", "The heron eats fish.")


async def test_beyond_its_words_a_search_keeps_the_order_of_the_candidates(house: House) -> None:
    kitchen = Kitchen(house, max_words=3)
    texts = ["first of all", "second best", "third and last"]
    await house.add(*({"text": text} for text in texts))
    documents = [
        LateDocument(chunk_id, text, len(tokens_of(text)), 0.0, tokens_of(text))
        for text, chunk_id in sorted((await kitchen.chunks()).items(), key=lambda pair: texts.index(pair[0]))
    ]
    scores = await kitchen.reranker.scores("third", documents)
    assert scores is not None
    assert [score is not None for score in scores] == [True, False, False]


async def test_a_search_compares_what_was_read_for_its_words_and_makes_nothing(house: House) -> None:
    kitchen = Kitchen(house, max_words=LONG_WORDS + 1)
    await kitchen.has_words({"bread and tea": LONG_WORDS + 1, "bread": LONG_WORDS, "tea": 1})
    del kitchen.late.texts[:]
    items = {item.snippet: item for item in await kitchen.desk().items("bread and tea")}
    compared = {text: item.relevance is not None for text, item in items.items()}
    assert compared == {"bread and tea": False, "bread": True, "tea": True}
    assert kitchen.late.texts == []


async def test_making_what_is_missing_ends_with_half_of_the_time(kitchen: Kitchen) -> None:
    texts = [f"number {number} of many words about tea" for number in range(64)]
    await kitchen.house.add(*({"text": text, "key": text} for text in texts))
    await kitchen.house.index_all()
    await kitchen.house.execute("DELETE FROM note_chunk_tokens")
    documents = [
        LateDocument(chunk_id, text, 7, 0.0, None) for text, chunk_id in (await kitchen.chunks()).items()
    ]

    async def last_until_half_is_over() -> None:
        await anyio.sleep(max(0.0, half - anyio.current_time()))

    kitchen.late.before_answer = last_until_half_is_over
    with anyio.fail_after(1.0):
        half = anyio.current_time() + 0.5
        scores = await kitchen.reranker.scores("tea", documents)
    assert scores is not None
    assert 0 < sum(score is not None for score in scores) < len(texts)


async def test_no_candidates_are_no_scores(kitchen: Kitchen) -> None:
    assert await kitchen.reranker.scores("tea", []) == []


# Ranking


async def test_a_long_note_loses_by_its_length_and_the_answer_says_how_much(kitchen: Kitchen) -> None:
    await kitchen.house.add({"text": LONG[:240]}, {"text": "bread and tea"})
    await kitchen.house.index_all()
    await kitchen.house.execute(
        "UPDATE memory_notes SET text = text || repeat('.', 1000) WHERE length(text) > 100"
    )
    plain = {item.snippet[:13]: item for item in await kitchen.desk().items("tea")}
    handicapped = {item.snippet[:13]: item for item in await kitchen.desk(length_weight=0.1).items("tea")}
    names = {text: {boost.name for boost in item.explain.boosts} for text, item in handicapped.items()}
    assert "length" not in names.pop("bread and tea")
    assert all("length" in found for found in names.values())
    for text, item in handicapped.items():
        boosts = {boost.name: boost.score for boost in item.explain.boosts}
        assert sum(boosts.values()) == pytest.approx(item.final_score)
        assert boosts.get("length", 0.0) <= 0.0
        assert item.explain.rerank_score == pytest.approx(plain[text].explain.rerank_score)


# Relevance


async def test_results_tell_how_relevant_they_are_and_the_answer_whether_any_is(kitchen: Kitchen) -> None:
    await kitchen.house.add({"text": "The heron eats fish."}, {"text": "Stocks fell."})
    await kitchen.house.index_all()
    desk = kitchen.desk(weak_below=0.6)
    strong = await desk.ask("heron fish")
    assert strong.weak_match is False
    assert strong.items[0].relevance == pytest.approx(1.0, abs=0.01)
    weak = await desk.ask("sailing boats")
    assert weak.weak_match is True
    assert all(item.relevance is not None and item.relevance < 0.6 for item in weak.items)
    assert desk.traces[0].items[0].relevance == strong.items[0].relevance


async def test_results_of_too_little_relevance_are_left_out_and_traced(kitchen: Kitchen) -> None:
    await kitchen.house.add({"text": "The heron eats fish."}, {"text": "Stocks fell."})
    await kitchen.house.index_all()
    desk = kitchen.desk(weak_below=0.6)
    assert await desk.texts("heron fish", min_relevance=0.6) == ["The heron eats fish."]
    assert [one.reason for one in desk.traces[0].dropped] == ["BELOW_MIN_RELEVANCE"]
    nothing = await desk.ask("sailing boats", min_relevance=0.6)
    assert (nothing.items, nothing.weak_match) == ([], True)
    assert await kitchen.desk(min_relevance=0.6).texts("heron fish") == ["The heron eats fish."]


async def test_where_relevance_is_not_told_none_can_be_asked_for(house: House) -> None:
    await house.add_one("good tea")
    await house.index_all()
    desk = Desk(house)
    (item,) = (answer := await desk.ask()).items
    assert (item.relevance, answer.weak_match) == (None, None)
    with pytest.raises(InvalidRequest, match="does not know how relevant") as caught:
        await desk.ask(min_relevance=0.5)
    assert list(caught.value.fields) == ["$.min_relevance"]
