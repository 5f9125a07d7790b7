"""The written data sets hold as much as their readers count on, and their halves share nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from data import fact_pairs as pairs
from data import ordinary_texts as texts
from data.fact_pairs import FactPair, fact_pairs
from data.ordinary_texts import ordinary_texts

from elf.core.cjk import contains_cjk

LONGEST_NOTE = 240
LONGEST_TEXT = 4096


@pytest.mark.parametrize("half", pairs.HALVES)
def test_a_half_of_the_fact_pairs_holds_each_kind(half: pairs.Half) -> None:
    assert Counter(pair.kind for pair in fact_pairs(half)) == {"same": 200, "changed": 150, "other": 150}


@pytest.mark.parametrize("half", pairs.HALVES)
def test_a_fact_pair_is_two_different_notes_of_a_storable_length(half: pairs.Half) -> None:
    for pair in fact_pairs(half):
        assert pair.subkind
        assert pair.first != pair.second
        assert all(0 < len(note) <= LONGEST_NOTE and note == note.strip() for note in _notes(pair))


def test_the_halves_of_the_fact_pairs_share_no_note() -> None:
    opened, sealed = ([note for pair in fact_pairs(half) for note in _notes(pair)] for half in pairs.HALVES)
    assert len(set(opened)) == len(opened)
    assert len(set(sealed)) == len(sealed)
    assert set(opened).isdisjoint(sealed)


@pytest.mark.parametrize("half", ["open", "sealed", "later"])
def test_a_half_of_the_ordinary_texts_holds_each_family_and_many_lines(half: texts.Half) -> None:
    ordinary = ordinary_texts(half)
    families = Counter(one.family for one in ordinary)
    assert len(ordinary) >= 250
    assert all(families[family] >= 30 for family in ("code", "log", "table", "prose")), families
    assert sum("\n" in one.text for one in ordinary) >= 100
    assert sum(len(one.text) >= 1000 for one in ordinary) >= 12


@pytest.mark.parametrize("half", texts.HALVES)
def test_an_ordinary_text_is_english_and_no_longer_than_a_tool_message(half: texts.Half) -> None:
    for one in ordinary_texts(half):
        assert one.text.strip()
        assert len(one.text) <= LONGEST_TEXT
        assert not contains_cjk(one.text)


def test_the_halves_of_the_ordinary_texts_share_no_text() -> None:
    every = [one.text for half in texts.HALVES for one in ordinary_texts(half)]
    assert len(set(every)) == len(every)


def _notes(pair: FactPair) -> tuple[str, str]:
    return pair.first, pair.second
