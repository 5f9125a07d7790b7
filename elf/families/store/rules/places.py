"""Where a value is: its namespace and key as the database knows them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

DOT: Final = "."
_BEHIND_DOT: Final = "/"  # the character after the dot
_LAST: Final = "\U0010ffff"
HEAD_CHARS: Final = 300
"""How much of a path the index has."""


def address_of(namespace: Sequence[str], key: str) -> bytes:
    """Return the digest of a namespace and a key. No label holds a dot, so no two have the same text."""
    return hashlib.sha256(f"{len(namespace)}:{path_of(namespace)}\x00{key}".encode()).digest()


def path_of(namespace: Sequence[str]) -> str:
    """Return the labels with a dot behind each, so that only whole labels begin a path."""
    return "".join(f"{label}{DOT}" for label in namespace)


class Within(NamedTuple):
    """The paths that begin with `path`: the first HEAD_CHARS of each lie from `first` on and before `end`."""

    path: str
    first: str
    end: str


def within(prefix: Sequence[str]) -> Within:
    """Return which paths are those of a prefix, as texts compare by their code points."""
    path = path_of(prefix)
    first = path[:HEAD_CHARS]
    if not first:
        return Within(path, first, _LAST * (HEAD_CHARS + 1))
    return Within(path, first, first[:-1] + _BEHIND_DOT if len(path) <= HEAD_CHARS else f"{first}\x01")
