"""How a process has all its threads share one arena: by an option of glibc, and of no other library."""

from __future__ import annotations

import ctypes
import platform

import pytest

from elf.core.allocator import use_one_arena


class Library:
    """The C library, which keeps the options that it is given."""

    def __init__(self) -> None:
        self.options: list[tuple[int, int]] = []

    def mallopt(self, option: int, value: int) -> None:
        self.options.append((option, value))


@pytest.mark.parametrize(
    ("system", "name", "options"),
    [("linux", "glibc", [(-8, 1)]), ("linux", "musl", []), ("darwin", "", [])],
)
def test_glibc_is_told_to_have_one_arena(
    monkeypatch: pytest.MonkeyPatch, system: str, name: str, options: list[tuple[int, int]]
) -> None:
    library = Library()
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr(platform, "libc_ver", lambda: (name, ""))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    use_one_arena()
    assert library.options == options
