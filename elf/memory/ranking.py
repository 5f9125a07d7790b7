"""Putting candidates of all families in one order, those that say the same as one, and what does not fit left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from elf.core.chunking import windows
from elf.core.same_fact import same_fact
from elf.core.slices import Slices, at_once
from elf.core.words import Stems, words_of
from elf.memory.gathering import Offered

FAMILY_WEIGHT: Final = 0.1
"""What a candidate gets for being the first that its family names."""
FAMILY_PLACES: Final = 10.0
"""At this place it is half of that."""
SAME_WORDS: Final = 0.6
"""Texts that have a smaller share of their words in common are not looked at more closely."""
PASSAGE_CHARS: Final = 200
"""So much that stands in another text word for word is a passage of it; less may be said anew."""

Reason = Literal["NOT_COMPARED", "SAME_AS_ANOTHER", "BELOW_MIN_RELEVANCE", "BELOW_TOP_K", "BEYOND_BUDGET"]


class Compared(NamedTuple):
    """How well a candidate answers the query among all that were compared, 0 to 1, and how relevant it is if known."""

    answer: float
    relevance: float | None


class Ranked(Struct, frozen=True):
    """A candidate with what its score is the sum of, and others that say the same."""

    offered: Offered
    score: float
    terms: Mapping[str, float]
    relevance: float | None
    also: list[Offered] = msgspec.field(default_factory=list)


class LeftOut(NamedTuple):
    """A candidate that is not in the answer, and why."""

    offered: Offered
    reason: Reason
    score: float | None = None
    relevance: float | None = None


def ranked(offers: Sequence[Offered], scores: Sequence[Compared | None]) -> list[Ranked]:
    """Return candidates by their scores, best first; among equals the earlier of its family, and then by address.

    One that was not compared counts as the middle of those that were, so its family's order decides. Where none was,
    that order alone does.
    """
    known = [score.answer for score in scores if score is not None]
    middle = median(known) if known else 0.0
    found = []
    for offered, score in zip(offers, scores, strict=True):
        terms = {"answer": middle if score is None else score.answer, "family": _of_family(offered.place)}
        relevance = None if score is None else score.relevance
        found.append(Ranked(offered, sum(terms.values()), terms, relevance))
    return sorted(found, key=lambda one: (-one.score, one.offered.place, one.offered.address))


def _of_family(place: int) -> float:
    return FAMILY_WEIGHT * FAMILY_PLACES / (FAMILY_PLACES + place)


class Sameness:
    """Tells which texts state the same fact; most are told apart by their words alone, a bit each, at little cost."""

    def __init__(self, stems: Stems) -> None:
        self._stems = stems
        self._bits: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._plain: dict[str, str] = {}

    def reading(self, texts: Iterable[str]) -> Slices[None]:
        """Read texts beforehand that are to be told apart."""
        for text in texts:
            yield from self._reading(text)
            yield

    def first_of(self, told: Sequence[Ranked], one: Ranked) -> Ranked | None:
        """Return the first of what is told that may stand for a candidate, too."""
        said = one.offered.said
        ours, is_long = self._of(said), len(said) >= PASSAGE_CHARS
        least = SAME_WORDS * ours.bit_count()  # by which most of very many pairs are told apart at once
        for other in told:
            theirs = other.offered.said
            words = self._words.get(theirs) or self._of(theirs)
            if (
                said == theirs
                or (is_long and self._is_passage(said, theirs))
                or ((ours & words).bit_count() >= least and _is_near(ours, words) and same_fact(said, theirs))
            ):
                return other
        return None

    def _is_passage(self, first: str, second: str) -> bool:
        """Tell whether one of two texts is a passage of the other, however it is spaced."""
        if len(second) < PASSAGE_CHARS:
            return False
        shorter, longer = sorted((self._spaced(first), self._spaced(second)), key=len)
        return shorter in longer

    def _spaced(self, text: str) -> str:
        if text not in self._plain:
            self._plain[text] = " ".join(text.split())
        return self._plain[text]

    def _of(self, text: str) -> int:
        return at_once(self._reading(text))

    def _reading(self, text: str) -> Slices[int]:
        words = self._words.get(text)
        if words is None:
            words = 0
            for start, end in windows(text):
                for stem in self._stems.of(words_of(text[start:end])):
                    words |= 1 << self._bits.setdefault(stem, len(self._bits))
                yield
            self._words[text] = words
        return words


def _is_near(ours: int, theirs: int) -> bool:
    return (ours & theirs).bit_count() >= SAME_WORDS * max(1, (ours | theirs).bit_count())
