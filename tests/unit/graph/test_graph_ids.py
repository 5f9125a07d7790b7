"""Ids of graph memory: their form, and what derives from what."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.rules.ids import derived_id, file_name, is_id, new_id

parts = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=8), min_size=1, max_size=4)
names = st.text("abAB01._:-", min_size=1, max_size=12)


@pytest.mark.parametrize("text", ["a", "A.b_c:d-9", "-", ".", "x" * 128])
def test_an_id_is_letters_digits_and_four_marks(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["", "a b", "a/b", "ä", "a\n", "x" * 129, "a\0"])
def test_anything_else_is_no_id(text: str) -> None:
    assert not is_id(text)


def test_a_made_id_is_an_id_and_never_the_same() -> None:
    made = [new_id() for _ in range(50)]
    assert all(map(is_id, made))
    assert len(set(made)) == 50


def test_a_derived_id_is_24_digits_of_the_digest_of_its_parts() -> None:
    digest = hashlib.sha256(b"workflow\0step").hexdigest()
    assert derived_id("w", "workflow", "step") == f"w-{digest[:24]}"


@given(first=parts, second=parts)
def test_derived_ids_are_equal_when_their_parts_are(first: list[str], second: list[str]) -> None:
    assert is_id(derived_id("ingest", *first))
    assert (derived_id("t", *first) == derived_id("t", *second)) is (first == second)


def test_parts_that_could_be_cut_otherwise_derive_nothing() -> None:
    with pytest.raises(ValueError, match="NUL"):
        derived_id("d", "a\0b")


@given(message_ids=st.sets(names, max_size=6))
def test_each_message_has_a_safe_file_of_its_own(message_ids: set[str]) -> None:
    files = {file_name(one) for one in message_ids}
    assert len(files) == len(message_ids)
    assert not any(file.startswith(".") or "/" in file or ":" in file for file in files)


@pytest.mark.parametrize("name", ["..", ".hidden", "a:b", "-x", "_x"])
def test_the_file_of_an_unsafe_message_id_is_named_by_its_hash(name: str) -> None:
    assert file_name(name) == "_" + hashlib.sha256(name.encode()).hexdigest()


def test_a_safe_message_id_names_its_file() -> None:
    assert file_name("msg-1.2_3") == "msg-1.2_3"
