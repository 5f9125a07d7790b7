"""What becomes of a new memory beside those that it is like: each band to its very edge."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.assistant.model import Memory
from elf.families.assistant.rules.bands import Bands, Neighbour, decide, shares_words
from elf.families.assistant.rules.judging import Verdict, judged

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BANDS = Bands(0.85, 0.60, 0.30)
BELOW = {edge: math.nextafter(edge, 0) for edge in (0.85, 0.60, 0.30)}


def neighbour(cosine: float, text: str = "User likes tea.", number: int = 1, days: float = 1) -> Neighbour:
    moment = NOW - timedelta(days=days)
    memory = Memory(
        tenant_id="acme", user_id="ana", memory_id=UUID(int=number), type="semantic", category="c", text=text,
        importance=2, pinned=False, state="active", source="turn", created_at=moment, updated_at=moment,
    )  # fmt: skip
    return Neighbour(memory, cosine)


def outcome(
    *near: Neighbour, verdict: Verdict = "same", text: str = "User likes green tea.", bands: Bands = BANDS
) -> str:
    return decide(text, "c", near, bands, judge=lambda new, old: verdict, now=NOW).outcome


@pytest.mark.parametrize(
    ("cosine", "days", "text", "merges"),
    [
        (1.0, 1, "Tea", True),
        (0.85, 1000, "Elsewhere", True),
        (BELOW[0.85], 1000, "Elsewhere", True),
        (0.60, 1000, "Elsewhere", True),
        (BELOW[0.60], 1, "User likes tea.", True),
        (BELOW[0.60], 1, "Xy is ab.", False),  # no word is shared
        (BELOW[0.60], 90, "User likes tea.", False),  # too long ago
        (BELOW[0.60], 89.9, "User likes tea.", True),
        (0.30, 1, "User likes tea.", True),
        (BELOW[0.30], 1, "User likes tea.", False),
        (-1.0, 1, "User likes tea.", False),
    ],
)
def test_each_band_begins_at_its_edge(cosine: float, days: float, text: str, merges: bool) -> None:
    assert outcome(neighbour(cosine, text, days=days)) == ("MERGE" if merges else "ADD")


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("same", "MERGE"), ("changed", "UPDATE"), ("opposite", "ADD"), ("undecided", "ADD")],
)
@pytest.mark.parametrize("cosine", [0.9, 0.7, 0.4])
def test_a_verdict_means_the_same_in_each_band(verdict: Verdict, expected: str, cosine: float) -> None:
    assert outcome(neighbour(cosine), verdict=verdict) == expected


def test_in_the_first_band_only_the_nearest_is_decided_upon() -> None:
    judged_texts = []

    def judge(new: str, old: str) -> Verdict:
        judged_texts.append(old)
        return "undecided"

    near = [neighbour(0.9, "A.", 1), neighbour(0.88, "B.", 2), neighbour(0.7, "C.", 3)]
    found = decide("New.", "c", near, BANDS, judge=judge, now=NOW)
    assert (found.outcome, judged_texts) == ("ADD", ["A."])
    assert found.similar_to == near[0]


def test_of_those_that_are_checked_the_first_same_one_is_taken() -> None:
    verdicts: dict[str, Verdict] = {"A.": "undecided", "B.": "opposite", "C.": "same", "D.": "same"}
    near = [neighbour(0.8 - number / 100, text, number) for number, text in enumerate(verdicts, start=1)]
    found = decide("New.", "c", reversed(near), BANDS, judge=lambda _, old: verdicts[old], now=NOW)
    assert (found.outcome, found.into) == ("MERGE", near[2])


def test_opposites_stay_and_are_named() -> None:
    near = neighbour(0.9, "User hates tea.")
    found = decide("User likes tea.", "c", [near], BANDS, judge=judged, now=NOW)
    assert (found.outcome, found.similar_to, list(found.opposites)) == ("ADD", None, [near])


def test_at_most_three_are_looked_at_in_the_last_band_and_in_its_categories_only() -> None:
    seen = []

    def judge(new: str, old: str) -> Verdict:
        seen.append(old)
        return "undecided"

    near = [neighbour(0.5 - number / 100, f"User likes tea {number}.", number) for number in range(1, 6)]
    decide("User likes tea.", "c", near, BANDS, judge=judge, now=NOW)
    assert seen == ["User likes tea 1.", "User likes tea 2.", "User likes tea 3."]
    others = Bands(0.85, 0.60, 0.30, frozenset({"d"}))
    assert outcome(*near, text="User likes tea.", bands=others) == "ADD"


@pytest.mark.parametrize("cosine", [1.0, 0.5, 0.0])
def test_equal_text_is_nothing_new(cosine: float) -> None:
    assert outcome(neighbour(cosine), text="User likes tea.", verdict="undecided") == "NONE"


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("User has tea", "tea is hot", True),
        ("ab cd", "ab cd", False),
        ("User's tea", "User rests", False),
        ("a 12", "b 12", True),
        ("a 12", "b 13", True),
        ("a 12", "b 14", False),
        ("a 1.5", "b 2", False),
    ],
)
def test_shared_words_and_numbers(first: str, second: str, shared: bool) -> None:
    assert shares_words(first, second) == shared
    assert shares_words(second, first) == shared


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.integers(0, 200), st.sampled_from(["A.", "User likes tea."])),
        max_size=5,
    ),
    st.sampled_from(["same", "changed", "opposite", "undecided"]),
)
def test_nothing_is_merged_that_is_too_far_or_not_known_to_be_one(
    drawn: list[tuple[float, int, str]], verdict: Verdict
) -> None:
    near = [neighbour(cosine, text, n, days) for n, (cosine, days, text) in enumerate(drawn, start=1)]
    found = decide("User likes green tea.", "c", near, BANDS, judge=lambda _new, _old: verdict, now=NOW)
    if found.outcome != "ADD":
        assert found.into is not None
        assert found.into.cosine >= BANDS.fallback_low
        assert verdict in ("same", "changed")
    assert {one.cosine >= BANDS.fallback_low for one in found.opposites} <= {True}


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        ("User lives in Berlin.", "User lives in Paris.", "changed"),
        ("User moved to Berlin.", "User lives in Paris.", "changed"),
        ("User works at Acme.", "User lives in Acme.", "undecided"),
        ("User's favorite color is green.", "User's favorite color is blue.", "changed"),
        ("User's favorite color is green.", "User's favorite food is rice.", "undecided"),
        ("User's sister is Ana.", "Ben's sister is Eva.", "undecided"),
        ("User's sister is Ana.", "User's sister is a nurse.", "undecided"),
        ("The API limit is 500.", "The API limit is 100.", "changed"),
        ("User likes tea.", "User does not like tea.", "opposite"),
        ("User hates tea.", "User loves tea.", "opposite"),
        ("User hates tea.", "User loves coffee.", "undecided"),
        ("User does not hate tea.", "User loves tea.", "undecided"),
        ("User likes tea.", "User likes coffee.", "undecided"),
    ],
)
def test_what_rules_know_of_two_texts(new: str, old: str, verdict: Verdict) -> None:
    assert judged(new, old) == judged(old, new) == verdict
