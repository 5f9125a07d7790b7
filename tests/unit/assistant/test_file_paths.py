"""Where files of a user may be: whatever a path is, it leads nowhere else, and each file has one name."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.errors import InvalidRequest
from elf.families.assistant.rules.file_paths import ROOT, FilePath, file_path

PIECES = st.sampled_from(
    ["/", "//", ".", "..", "memories", "/memories", "a", "a.md", "%2e", "%2E%2e", "%2f", "%252e", "%", "\\", "~", " ",
     "\n", "\x00", "\u2028", "\u202e", "é", "e\u0301", "\uff0e\uff0e", "…", "日本", "\ud800", "C:", "*"]
)  # fmt: skip
PATHS = st.one_of(
    st.text(max_size=40),
    st.lists(PIECES, max_size=8).map("".join),
    st.lists(PIECES, max_size=8).map(lambda parts: f"{ROOT}/{'/'.join(parts)}"),
)


def kept(path: str) -> str | None:
    try:
        return file_path(path).kept
    except InvalidRequest:
        return None


@given(PATHS)
def test_a_path_is_at_the_root_or_below_however_it_is_read(path: str) -> None:
    found = kept(path)
    if found is None:
        return
    for read in (found, unquote(found), unquote(unquote(found)), unicodedata.normalize("NFC", found)):
        parts = PurePosixPath(read).parts
        assert parts[:2] == ("/", "memories")
        assert not {"..", "."} & {*parts}
        assert not set(read) & {"\\", "\x00", "\n"}
    assert len(found.encode()) <= 1024


@given(PATHS)
def test_a_path_that_is_kept_is_kept_as_it_is(path: str) -> None:
    found = kept(path)
    if found is not None:
        assert kept(found) == found
        assert kept(f"{found}/") == found
        assert found == str(PurePosixPath(found))


@given(PATHS)
def test_what_is_above_a_path_can_be_a_path(path: str) -> None:
    if kept(path) is not None:
        read = file_path(path)
        assert read.above == [kept(one) for one in read.above]
        assert [str(one) for one in PurePosixPath(read.kept).parents] == [*reversed(read.above), ROOT, "/"][
            0 if not read.is_root else -1 :
        ]


def test_both_forms_of_a_letter_are_one_name() -> None:
    assert file_path("/memories/e\u0301.md").kept == file_path("/memories/é.md").kept


@pytest.mark.parametrize(
    "path",
    ["/memories", "/memories/", "/memories/a", "/memories/..a", "/memories/a..", "/memories/...", "/memories/.hidden",
     "/memories/50%.md", "/memories/100%25", "/memories/a b.md", "/memories/C:", "/memories/memories"],
)  # fmt: skip
def test_what_merely_looks_odd_is_a_path(path: str) -> None:
    assert (kept(path) is not None) == ("%25" not in path)


def test_a_folder_is_above_what_is_in_it_alone() -> None:
    folder, other = FilePath("", "/memories/b"), FilePath("", "/memories/b.md")
    assert file_path("/memories/b/c").is_below(folder)
    assert not other.is_below(folder)
    assert not folder.is_below(folder)


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(InvalidRequest) as refused:
        file_path("/memories/..", "$.new_path")
    assert refused.value.fields == ("$.new_path",)


def test_a_credential_in_a_path_is_not_told() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    for path in (f"/memories/{key}", f"/memories/../{key}", f"/etc/{key}", f"/memories/{key}//x"):
        with pytest.raises(InvalidRequest) as refused:
            file_path(path)
        assert key not in refused.value.message
