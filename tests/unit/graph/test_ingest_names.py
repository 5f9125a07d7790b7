"""The names of dropped files: any name has one that it can be kept under, and a manifest beside it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.ingest import names

anything = st.binary(min_size=1, max_size=255).map(lambda raw: os.fsdecode(raw.replace(b"/", b"_")))


@pytest.mark.parametrize("name", [".a.md", "a.tmp", "a.md.part", "a.TMP"])
def test_a_name_says_that_its_file_is_not_finished(name: str) -> None:
    assert names.waits(name)
    assert not names.waits("a.md")


def test_files_are_read_by_their_suffix_however_it_is_written() -> None:
    assert [names.suffix_of(name) for name in ("a.md", "b.TXT", "c.tar.Json", "d", "md", "e.md.1")] == [
        ".md", ".txt", ".json", None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a\nb.md", "a\x7f.md", "\udcff.md", "x" * 240])
def test_a_name_that_cannot_be_shown_or_has_no_room_for_a_manifest_is_a_problem(name: str) -> None:
    assert names.problem_of(name) is not None
    assert names.problem_of("Ein gültiger Name \u202f1.md") is None


@given(anything)
def test_each_name_can_be_kept_under_one_that_can_be_shown_with_a_number_and_a_manifest(name: str) -> None:
    kept = names.kept(name)
    assert names.problem_of(kept) is None
    assert "/" not in kept
    longest = max(map(len, names.MANIFEST_SUFFIX.values()))
    assert len(kept.encode()) + len(".99999") + longest <= 255
    names.shown(name).encode()


@given(anything, anything)
def test_names_that_are_not_kept_as_they_are_stay_apart(one: str, other: str) -> None:
    assert (names.kept(one) == names.kept(other)) == (one == other) or names.problem_of(one) is None


def test_the_first_number_that_is_free_is_taken() -> None:
    taken = {"a.md", "a.md.1", "a.md.3"}
    assert names.free("a.md", taken.__contains__) == "a.md.2"
    assert names.free("b.md", taken.__contains__) == "b.md"
