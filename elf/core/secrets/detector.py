"""Detectors, each with what a text has at the least in which it finds something: most texts have too little of it.

To look for that takes a part of the time of the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import lower
from elf.core.secrets.places import count_digits

Find: TypeAlias = Callable[[str, str], Iterator[SecretFinding]]
"""Yields what it finds in a folded text (see `folding`), in any order, in time linear in the text. The same text in
lower case is its second argument.
"""


@dataclass(frozen=True, slots=True)
class Detector:
    """Finds nothing in a text that has fewer `digits` of ASCII, no `word` of so many characters between white space, or
    none of the `marks` in lower case, where there are any.
    """

    find: Find
    digits: int = 0
    word: int = 0
    marks: tuple[str, ...] = ()


def detect(ranked: Sequence[tuple[int, Detector]], text: str) -> Iterator[tuple[SecretFinding, int]]:
    """Yield what detectors find in a folded text, each with the rank of its detector."""
    lowered = lower(text)
    digits = count_digits(text)
    word = max(map(len, text.split()), default=0)
    for rank, detector in ranked:
        if digits < detector.digits or word < detector.word:
            continue
        if detector.marks and not _has_any(detector.marks, lowered):
            continue
        for finding in detector.find(text, lowered):
            yield finding, rank


def any_of(*marks: str) -> tuple[str, ...]:
    """Return marks without those that hold another one, which is there where they are."""
    different = dict.fromkeys(marks)
    return tuple(mark for mark in different if not any(one != mark and one in mark for one in different))


def _has_any(marks: tuple[str, ...], lowered: str) -> bool:
    for mark in marks:  # noqa: SIM110 - any() takes twice as long
        if mark in lowered:
            return True
    return False
