"""What a rule between keys of a config file is, and what it says when it is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

KeyPath = tuple[str | int, ...]


class Breach(NamedTuple):
    """A broken rule: the path of the value to change, and what is wrong with it and allowed."""

    path: KeyPath
    problem: str


class _Faulty:
    """The type of FAULTY."""


FAULTY: Final = _Faulty()
"""Stands for a value that is known to be wrong already."""

Rule = Callable[..., Iterator[Breach]]


def key_path(key: str, *rest: str | int) -> KeyPath:
    return (*key.split("."), *rest)
