"""The set that extractors are judged by holds as much as its readers count on, in both halves."""

from __future__ import annotations

from collections import Counter

import pytest

from ops.eval import extraction_set as s


@pytest.mark.parametrize("held_out", [False, True])
def test_a_half_of_the_texts_holds_each_type_often(*, held_out: bool) -> None:
    counted = Counter(
        one.type for text in s.texts() if text.is_held_out == held_out for one in text.statements
    )
    assert set(counted) == set(s.TYPES)
    assert min(counted.values()) >= 20
    assert counted.total() >= 200


@pytest.mark.parametrize("held_out", [False, True])
def test_a_half_of_the_turns_is_mostly_ordinary(*, held_out: bool) -> None:
    types = [types for turn, types in s.labels().items() if s.is_held_out(turn) == held_out]
    assert sum(s.COMMITMENTS.isdisjoint(named) for named in types) >= 250
    assert set().union(*types) <= set(s.TYPES)


def test_no_text_stands_in_the_set_twice() -> None:
    texts = list(s.texts())
    assert len({text.id for text in texts}) == len({text.text for text in texts}) == len(texts)
