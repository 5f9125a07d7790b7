"""Candidates of several families become one order, with each fact told once, and all bounds kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from elf.core.slices import at_once
from elf.core.words import Stems
from elf.memory.choosing import Bounds, Chosen, TextRoom, chosen
from elf.memory.gathering import Gathered, Offered
from elf.memory.ranking import FAMILY_WEIGHT, Compared, Ranked, Sameness, ranked
from elf.offers import Item
from tests.notes_kit import WordTokens

FAMILIES: Final = ("notes", "knowledge", "graph")
TEXTS: Final = (
    "Ana drinks tea in the morning.",
    "Ana drinks tea in the morning",
    "Ana drinks coffee in the morning.",
    "The rate limit is 100 requests.",
    "The rate limit is 500 requests.",
    "Bob never flies.",
)

scores = st.one_of(
    st.none(),
    st.builds(Compared, st.floats(0, 1), st.one_of(st.none(), st.floats(-1, 1))),
)


def offered(family: str, place: int, text: str) -> Offered:
    return Offered.of(family, place, Item(kind="note", id=f"{family}-{place}", text=text))


@st.composite
def candidates(draw: st.DrawFn) -> tuple[list[Offered], list[Compared | None]]:
    gathered = Gathered(
        offers={
            family: [
                offered(family, place, text).item
                for place, text in enumerate(draw(st.lists(st.sampled_from(TEXTS), max_size=6)))
            ]
            for family in FAMILIES
        }
    )
    offers, _ = gathered.in_turn(100)
    return offers, [draw(scores) for _ in offers]


def told_of(
    found: tuple[Sequence[Offered], Sequence[Compared | None]], bounds: Bounds, room: TextRoom
) -> tuple[list[Ranked], Chosen]:
    order = ranked(*found)
    return order, at_once(chosen(order, bounds, room, Sameness(Stems())))


@given(candidates(), st.integers(1, 10), st.none() | st.integers(0, 30), st.none() | st.floats(0, 1))
def test_every_candidate_is_told_or_left_out_for_a_reason(
    found: tuple[list[Offered], list[Compared | None]],
    top_k: int,
    budget: int | None,
    least: float | None,
) -> None:
    room = TextRoom(WordTokens(), budget)
    order, choice = told_of(found, Bounds(top_k=top_k, min_relevance=least), room)
    everything = Counter(one.address for one in found[0])
    assert Counter(one.offered.address for one in order) == everything
    told = [*(one.offered for one in choice.best), *(one.offered for one in choice.left_out)]
    assert Counter(one.address for one in told) == everything
    assert len(choice.best) <= top_k
    assert budget is None or room.tokens <= budget
    assert least is None or all(one.relevance is not None and one.relevance >= least for one in choice.best)
    assert [one.score for one in choice.best] == sorted((one.score for one in choice.best), reverse=True)
    assert all(one.score == sum(one.terms.values()) for one in order)
    same = [other.address for one in choice.best for other in one.also]
    assert Counter(same) == Counter(
        one.offered.address for one in choice.left_out if one.reason == "SAME_AS_ANOTHER"
    )


@given(candidates())
def test_the_order_hangs_on_nothing_but_the_candidates(
    found: tuple[list[Offered], list[Compared | None]],
) -> None:
    offers, compared = found
    backwards = ranked(offers[::-1], compared[::-1])
    assert [one.offered.address for one in backwards] == [
        one.offered.address for one in ranked(offers, compared)
    ]


def test_a_family_moves_its_candidates_by_little() -> None:
    offers = [offered("notes", 0, TEXTS[0]), offered("graph", 5, TEXTS[5])]
    first, second = ranked(offers, [Compared(0.3, 0.4), Compared(0.3 + FAMILY_WEIGHT, 0.4)])
    assert first.offered.family == "graph"
    assert second.terms == {"answer": 0.3, "family": FAMILY_WEIGHT}


def test_one_that_was_not_compared_stands_in_the_middle() -> None:
    offers = [offered("notes", place, text) for place, text in enumerate(TEXTS[:3])]
    order = ranked(offers, [Compared(0.9, 0.9), None, Compared(0.1, 0.1)])
    assert [one.offered.place for one in order] == [0, 1, 2]
    assert order[1].terms["answer"] == 0.5
    assert order[1].relevance is None


def test_where_nothing_was_compared_families_take_turns() -> None:
    gathered = Gathered(
        offers={
            family: [offered(family, place, f"{family} {place}").item for place in range(2)]
            for family in FAMILIES
        }
    )
    offers, beyond = gathered.in_turn(5)
    assert [one.offered.family for one in ranked(offers, [None] * 5)] == [
        "graph", "knowledge", "notes", "knowledge", "notes",
    ]  # fmt: skip
    assert [one.address for one in beyond] == [("graph", "note", "graph-1")]


def test_a_text_that_several_families_have_takes_the_room_of_one() -> None:
    gathered = Gathered(
        offers={
            family: [offered(family, place, text).item for place, text in enumerate(TEXTS[:3])]
            for family in FAMILIES
        }
    )
    offers, beyond = gathered.in_turn(2)
    assert {one.item.text for one in offers} == set(TEXTS[:2])
    assert [one.item.text for one in beyond] == [TEXTS[2]] * 3


def test_who_says_it_makes_no_other_text() -> None:
    said = [TEXTS[0], f"user: {TEXTS[0]}", f"assistant: {TEXTS[0]}", f"rejected: {TEXTS[0]}"]
    gathered = Gathered(
        offers={"notes": [offered("notes", place, text).item for place, text in enumerate(said)]}
    )
    offers, beyond = gathered.in_turn(1)
    assert [one.item.text for one in offers] == said[:3]
    assert [one.item.text for one in beyond] == said[3:]
    _, choice = told_of((offers, [Compared(0.5, None)] * 3), Bounds(top_k=10), TextRoom(WordTokens(), None))
    assert [one.offered.item.text for one in choice.best] == said[:1]
    assert [other.item.text for other in choice.best[0].also] == said[1:3]


def test_a_passage_stands_for_all_of_it_and_all_of_it_for_a_passage() -> None:
    passage = " ".join(f"We went by the {number}th bridge." for number in range(10))
    whole = f"user: Hello.\n{passage.replace('. ', '.  ')}\nIt rained."
    other = passage.replace("9th", "8th")
    for first, second in ((passage, whole), (whole, passage)):
        offers = [
            offered("notes", place, text) for place, text in enumerate((first, second, other, TEXTS[0]))
        ]
        compared = [Compared(1 - place / 10, None) for place in range(4)]
        _, choice = told_of((offers, compared), Bounds(top_k=10), TextRoom(WordTokens(), None))
        assert [one.offered.item.text for one in choice.best] == [first, other, TEXTS[0]]
        assert [one.item.text for one in choice.best[0].also] == [second]


def test_a_few_words_are_no_passage() -> None:
    offers = [
        offered("notes", place, text) for place, text in enumerate((TEXTS[5], f"Nobody says that {TEXTS[5]}"))
    ]
    _, choice = told_of((offers, [Compared(0.5, None)] * 2), Bounds(top_k=10), TextRoom(WordTokens(), None))
    assert len(choice.best) == 2


def test_the_same_fact_is_told_once_and_another_number_is_another_fact() -> None:
    offers = [offered(FAMILIES[place % 3], place, text) for place, text in enumerate(TEXTS)]
    compared = [Compared(1 - place / 10, None) for place in range(len(TEXTS))]
    _, choice = told_of((offers, compared), Bounds(top_k=10), TextRoom(WordTokens(), None))
    assert [one.offered.item.text for one in choice.best] == [TEXTS[0], *TEXTS[2:]]
    assert [other.item.text for other in choice.best[0].also] == [TEXTS[1]]
