"""Keys of programs: made, kept as a digest, read from a file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from elf.api.key_file import is_open_to_others, read_key_file
from elf.core.api_key import checked_key, hash_of, new_key


def test_a_new_key_is_told_by_its_beginning_and_is_never_the_same() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("elf_") and len(key) == 4 + 43 and checked_key(key) == key for key in keys)


def test_a_hash_is_that_of_the_whole_key() -> None:
    assert hash_of("elf_a") == f"sha256:{hashlib.sha256(b'elf_a').hexdigest()}"


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "é", "tab\t", "\x7f"])
def test_what_no_header_can_carry_is_no_key_and_is_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        checked_key(key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize("content", [b"elf_a", b"elf_a\n", b"\xef\xbb\xbfelf_a\r\n", b"  elf_a\n\n"])
def test_a_key_file_holds_one_key_and_white_space(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.key").write_bytes(content)
    assert read_key_file(tmp_path / "a.key") == "elf_a"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b" \n", "is empty"), (b"\xff\xfe", "is not UTF-8"), (b"elf_a\nelf_b\n", "must be of one or more")],
)
def test_a_key_file_without_a_key_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "a.key").write_bytes(content)
    with pytest.raises(ValueError, match=problem) as caught:
        read_key_file(tmp_path / "a.key")
    assert str(tmp_path / "a.key") in str(caught.value)
    assert "elf_a" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "problem"), [("none.key", "No such file"), (".", "Is a directory"), ("\0", "null")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_key_file(tmp_path / name)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_is_open_to_others_by_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.key"
    assert not is_open_to_others(file)
    file.touch()
    for mode, is_open in ((0o600, False), (0o640, False), (0o644, True)):
        file.chmod(mode)
        assert is_open_to_others(file) is is_open
