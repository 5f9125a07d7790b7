"""What extraction gives: candidates for memories, each with the words of the text that make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elf.families.graph.model import NodeType
from elf.families.graph.rules.subjects import Key

IMPORTANCE: Final[Mapping[NodeType, int]] = MappingProxyType(
    {"Decision": 75, "Goal": 70, "Todo": 65, "Preference": 60}
)
OTHER_IMPORTANCE: Final = 55
"""Of all other types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement in a text: `quote` stands there word for word from `start` to `end`, in code points.

    `text` is the quote with whitespace collapsed, behind the name of the speaker where the text has one. `key` says
    what the statement is about, where a rule knows it.
    """

    type: NodeType
    text: str
    quote: str
    start: int
    end: int
    importance: int
    confidence: float
    key: Key | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was proposed and not taken: where the part of the text begins that it was proposed for, and why."""

    start: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What an extractor made of a text, and its name."""

    extractor: str
    candidates: Sequence[Candidate]
    skipped: Sequence[Skipped] = ()


def importance_of(type: NodeType) -> int:
    """Return how much a statement of this type matters, 0 to 100."""
    return IMPORTANCE.get(type, OTHER_IMPORTANCE)
