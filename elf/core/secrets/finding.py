"""What a detector of secrets returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret or personal number in a text: its kind in snake_case, and where it stands, in code points."""

    kind: str
    start: int
    end: int


Detector = Callable[[str, str], Iterator[SecretFinding]]
"""Yields what it finds in a folded text (see `folding`), in any order, in time linear in the text. The same text in
lower case is its second argument.
"""
