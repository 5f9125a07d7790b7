"""What entities and hints have in common, against the plain definitions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elf.families.knowledge.rules.likeness import jaccard, terms_of

words = st.frozensets(st.sampled_from("abcdefgh"))


def plain_terms(text: str) -> set[str]:
    runs = groupby(text.lower(), key=str.isalnum)
    return {"".join(run) for is_word, run in runs if is_word}


@given(words, words)
def test_likeness_is_the_share_in_common(some: frozenset[str], others: frozenset[str]) -> None:
    in_common = sum(1 for word in some if word in others)
    together = len(set(some) | set(others))
    expected = Fraction(in_common, together) if together else Fraction(0)
    assert jaccard(some, others) == pytest.approx(float(expected), abs=1e-12)


@given(words, words)
def test_likeness_is_mutual_and_whole_only_with_its_like(
    some: frozenset[str], others: frozenset[str]
) -> None:
    assert jaccard(some, others) == jaccard(others, some)
    assert (jaccard(some, others) == 1.0) == (some == others != frozenset())


@given(st.lists(st.text(), max_size=4))
@example(["snake_case, don't 3.14"])
@example(["\u0130stanbul stra\u00dfe", "\u4e2d\u6587 \u0967\u0968"])
def test_terms_are_runs_of_letters_and_digits_in_lower_case(texts: Sequence[str]) -> None:
    assert terms_of(texts) == {term for text in texts for term in plain_terms(text)}
