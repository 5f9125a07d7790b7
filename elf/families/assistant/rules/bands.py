"""What becomes of a new memory beside those that it is like, by how like they are.

    cosine   fallback_low      check_low       auto_update
    ----------+-----------------+----------------+--------------
      added   | judged where    | judged one by  | the nearest is
              | words are shared| one            | decided upon

Lower bounds are inclusive. What a judge does not surely know to be one fact is added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Literal, TypeAlias

from elf.families.assistant.model import Memory
from elf.families.assistant.rules.attributes import valued
from elf.families.assistant.rules.judging import Verdict

MOST_FALLBACKS: Final = 3
RECENT: Final = timedelta(days=90)
FEWEST_TOKEN_CHARS: Final = 3

_TOKEN: Final = re.compile(r"\w+")
_OF_ALL: Final = frozenset({"user"})  # nearly every memory begins with it
_INTEGER: Final = re.compile(r"(?<![\w.])\d+(?![\w.]\d)")

Judge: TypeAlias = Callable[[str, str], Verdict]
Outcome: TypeAlias = Literal["ADD", "UPDATE", "MERGE", "NONE"]


@dataclass(frozen=True, slots=True)
class Bands:
    """The lower bounds of the bands. `fallback_categories`: empty is all."""

    auto_update: float
    check_low: float
    fallback_low: float
    fallback_categories: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory that a new one is like, and their cosine."""

    memory: Memory
    cosine: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a new memory: `into` is the memory that it merges with, updates or equals.

    `undecided` are those that nobody knows to be one with it or not, `similar_to` the nearest of them that is very like
    it, `opposites` those that it contradicts.
    """

    outcome: Outcome
    into: Neighbour | None = None
    similar_to: Neighbour | None = None
    opposites: Sequence[Neighbour] = field(default=())
    undecided: Sequence[Neighbour] = field(default=())


def decide(
    text: str, category: str, neighbours: Iterable[Neighbour], bands: Bands, *, judge: Judge, now: datetime
) -> Decision:
    """Return what becomes of a new text beside its neighbours in its category."""
    nearest = sorted(neighbours, key=lambda one: (-one.cosine, one.memory.memory_id))
    equal = next((one for one in nearest if one.memory.text == text), None)
    if equal is not None:
        return Decision("NONE", equal)
    if nearest and nearest[0].cosine >= bands.auto_update:
        return _judged(text, nearest[:1], judge, bands)
    checked = [one for one in nearest if one.cosine >= bands.check_low]
    return _judged(text, [*checked, *_fallbacks(text, category, nearest, bands, now)], judge, bands)


def _judged(text: str, neighbours: Iterable[Neighbour], judge: Judge, bands: Bands) -> Decision:
    """Return the decision about the first neighbour that is one with the text, or that it is added."""
    opposites: list[Neighbour] = []
    undecided: list[Neighbour] = []
    for one in neighbours:
        match judge(text, one.memory.text):
            case "same":
                return Decision("MERGE", one)
            case "changed":
                return Decision("UPDATE", one)
            case "opposite":
                opposites.append(one)
            case "undecided":
                undecided.append(one)
            case "different":
                pass
    like = [one for one in undecided if one.cosine >= bands.check_low and not opposites]
    return Decision("ADD", None, next(iter(like), None), opposites, undecided)


def _fallbacks(
    text: str, category: str, nearest: Iterable[Neighbour], bands: Bands, now: datetime
) -> list[Neighbour]:
    """Return the neighbours that are a little like a text, changed not long ago, and share words or numbers with it."""
    if bands.fallback_categories and category not in bands.fallback_categories:
        return []
    able = (
        one
        for one in nearest
        if bands.fallback_low <= one.cosine < bands.check_low
        and one.memory.updated_at > now - RECENT
        and may_be_one(text, one.memory.text)
    )
    return list(islice(able, MOST_FALLBACKS))


def may_be_one(first: str, second: str) -> bool:
    """Tell whether texts share words or numbers, or state the same attribute in others."""
    if shares_words(first, second):
        return True
    ours, theirs = valued(first), valued(second)
    return ours is not None and theirs is not None and ours.attribute == theirs.attribute


def shares_words(first: str, second: str) -> bool:
    """Tell whether texts share a token of three characters, or an integer, or have integers that are one apart."""
    ours, theirs = _tokens(first), _tokens(second)
    if ours & theirs:
        return True
    numbers, others = _integers(first), _integers(second)
    return any({number - 1, number, number + 1} & others for number in numbers)


def _tokens(text: str) -> set[str]:
    return {token for token in _TOKEN.findall(text.lower()) if len(token) >= FEWEST_TOKEN_CHARS} - _OF_ALL


def _integers(text: str) -> set[int]:
    return {int(digits) for digits in _INTEGER.findall(text) if len(digits) <= 18}
