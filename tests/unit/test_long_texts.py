"""Texts that are taken out of bytes, because they are sent beside them, and put in again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.long_texts import LONG_CHARS, long_texts, put_in, taken_out
from elf.core.slices import at_once

LONG = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4).map(
    lambda text: text * LONG_CHARS
)
VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["Cs"])) | LONG,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("abc"), inner, max_size=5),
    max_leaves=20,
)
WRITERS = {
    "msgpack": msgspec.msgpack.encode,
    "json": msgspec.json.encode,
    "ascii": lambda it: json.dumps(it).encode(),
}


@given(VALUES, st.sampled_from(sorted(WRITERS)))
def test_what_is_taken_out_comes_back(value: Any, writer: str) -> None:
    data = WRITERS[writer](value)
    texts = at_once(long_texts(value))
    left, places = taken_out(data, texts)
    assert put_in(left, at_once(long_texts(msgspec.json.decode(msgspec.json.encode(value)))), places) == data


@given(st.binary(max_size=2000), st.lists(LONG | st.text("ab", min_size=1), max_size=9))
def test_bytes_that_have_nothing_to_do_with_the_texts_come_back(data: bytes, texts: list[str]) -> None:
    left, places = taken_out(data, texts)
    assert put_in(left, texts, places) == data


@given(VALUES)
def test_msgpack_is_left_without_its_long_texts(value: Any) -> None:
    texts = at_once(long_texts(value))
    left, places = taken_out(msgspec.msgpack.encode(value), texts)
    assert len(left) == len(msgspec.msgpack.encode(value)) - sum(len(text.encode()) for text in texts)
    assert len(places) == len(texts)


def test_texts_come_in_the_order_of_the_document_and_without_keys() -> None:
    first, second, third, key = (letter * LONG_CHARS for letter in "abck")
    value = {key: [first, {"x": second, "y": "short" * 20}], "z": third, "n": 1}
    assert at_once(long_texts(value)) == [first, second, third]


def test_a_large_value_is_gone_through_in_slices() -> None:
    text = "a" * LONG_CHARS
    looking = long_texts([*range(2500), text])
    assert [next(looking), next(looking)] == [None, None]
    assert at_once(looking) == [text]


def test_a_text_that_is_not_there_does_not_keep_those_behind_it_in() -> None:
    texts = [letter * LONG_CHARS for letter in "abc"]
    left, places = taken_out(f"<{texts[0]}><{texts[2]}>".encode(), texts)
    assert (left, places) == (b"<><>", [1, -1, 3])


def test_bytes_that_hide_their_texts_are_given_up_soon() -> None:
    texts = [f"{number:04}" * LONG_CHARS for number in range(1000)]
    data = bytes(len(texts))
    left, places = taken_out(data, texts)
    assert left == data
    assert len(places) < 100


@pytest.mark.parametrize("places", [[2], [1, 0], [-2], [0, 0, 0]])
def test_places_that_cannot_be_are_refused(places: list[int]) -> None:
    with pytest.raises(ValueError, match="place"):
        put_in(b"x", ["a", "b"], places)
