"""What comes of a memory when all of it is said again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.conversations.rules.memory import (
    NOTHING,
    Change,
    Epoch,
    change_of,
    continued,
    running_digest,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def epoch(items: list[Any], number: int = 3, content_type: str | None = "LC4J") -> Epoch:
    return Epoch(
        number=number, count=len(items), digest=running_digest(NOTHING, items), content_type=content_type
    )


def test_nothing_is_begun_by_nothing() -> None:
    assert change_of(None, "LC4J", []) is None
    assert change_of(None, "LC4J", [1]) == Change(outcome="first", epoch=1, items=[1])


@pytest.mark.parametrize(
    ("stored", "incoming", "change"),
    [
        ([1, 2], [1, 2], None),
        ([], [], None),
        ([1, 2], [1, 2, 3], Change(outcome="extended", epoch=3, items=[3])),
        ([], [1], Change(outcome="extended", epoch=3, items=[1])),
        ([1, 2], [1], Change(outcome="new_epoch", epoch=4, items=[1])),
        ([1, 2], [2, 1], Change(outcome="new_epoch", epoch=4, items=[2, 1])),
        ([1, 2], [2, 1, 3], Change(outcome="new_epoch", epoch=4, items=[2, 1, 3])),
        ([1, 2], [], Change(outcome="new_epoch", epoch=4, items=[])),
        ([1], [True], Change(outcome="new_epoch", epoch=4, items=[True])),
        ([1], [1.0], None),
        ([{"a": 1, "b": [2]}], [{"b": [2.0], "a": 1}], None),
        ([["a", "b"]], [["b", "a"]], Change(outcome="new_epoch", epoch=4, items=[["b", "a"]])),
        (["1"], [1], Change(outcome="new_epoch", epoch=4, items=[1])),
        ([None], [[]], Change(outcome="new_epoch", epoch=4, items=[[]])),
    ],
)  # fmt: skip
def test_a_memory_goes_on_or_begins_anew(
    stored: list[Any], incoming: list[Any], change: Change | None
) -> None:
    assert change_of(epoch(stored), "LC4J", incoming) == change


def test_another_content_type_begins_anew() -> None:
    for known in ("SpringAI", None):
        latest = epoch([1], content_type=known)
        assert change_of(latest, "LC4J", [1]) == Change(outcome="new_epoch", epoch=4, items=[1])
        assert change_of(latest, "LC4J", [1, 2]) == Change(outcome="new_epoch", epoch=4, items=[1, 2])


@given(st.lists(JSON, max_size=4), st.lists(JSON, max_size=4))
def test_what_is_written_in_parts_has_the_digest_of_the_whole(first: list[Any], second: list[Any]) -> None:
    one = continued(None, 1, "LC4J", first)
    both = continued(one, 1, "LC4J", second)
    assert both == epoch([*first, *second], number=1)
    assert change_of(both, "LC4J", [*first, *second]) is None
    assert continued(both, 2, "SpringAI", second) == epoch(second, number=2, content_type="SpringAI")


def test_an_epoch_of_several_content_types_has_none() -> None:
    one = continued(continued(None, 1, "LC4J", [1]), 1, "SpringAI", [2])
    assert one.content_type is None
    assert continued(one, 1, "SpringAI", [3]).content_type is None
