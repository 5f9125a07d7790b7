"""The written data sets hold as much as their readers count on, and their halves share nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from data.fact_pairs import HALVES, FactPair, Half, fact_pairs

LONGEST_NOTE = 240


@pytest.mark.parametrize("half", HALVES)
def test_a_half_of_the_fact_pairs_holds_each_kind(half: Half) -> None:
    assert Counter(pair.kind for pair in fact_pairs(half)) == {"same": 200, "changed": 150, "other": 150}


@pytest.mark.parametrize("half", HALVES)
def test_a_fact_pair_is_two_different_notes_of_a_storable_length(half: Half) -> None:
    for pair in fact_pairs(half):
        assert pair.subkind
        assert pair.first != pair.second
        assert all(0 < len(text) <= LONGEST_NOTE and text == text.strip() for text in _texts(pair))


def test_the_halves_of_the_fact_pairs_share_no_text() -> None:
    opened, sealed = ([text for pair in fact_pairs(half) for text in _texts(pair)] for half in HALVES)
    assert len(set(opened)) == len(opened)
    assert len(set(sealed)) == len(sealed)
    assert set(opened).isdisjoint(sealed)


def _texts(pair: FactPair) -> tuple[str, str]:
    return pair.first, pair.second
