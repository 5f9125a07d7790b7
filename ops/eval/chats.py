"""What an evaluation stores and asks: chats of notes, and questions that say which notes answer them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from elf.client import NewNote

CUTS = (5, 10, 12, 20)


@dataclass(frozen=True)
class Question:
    """A question, the keys of the notes that answer it, and what kind of question it is."""

    id: str
    text: str
    gold: frozenset[str]
    kind: str


@dataclass(frozen=True)
class Chat:
    """A chat, which becomes a project: its notes, oldest first, each with a key, and its people by their names."""

    name: str
    notes: list[NewNote]
    questions: list[Question]
    people: list[str] = field(default_factory=list)


def recall(found: Sequence[str | None], gold: frozenset[str], cut: int) -> float:
    """Return the share of the gold keys among the first `cut` keys found, 0 to 1."""
    return len(gold & set(found[:cut])) / len(gold)


def naming(names: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of any of these names, as a word of its own."""
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names)) or '(?!)'})\b")
