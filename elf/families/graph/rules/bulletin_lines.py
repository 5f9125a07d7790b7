"""The text of a bulletin: memories as lines in six sections, cut to its limits in one fixed order.

    knowledge_summary:
    - The staging database is Postgres 16. [m-1]
    active_goals:
    -
    ...

What is most needed goes last: first lines of what is known, preferred and uncertain, then decisions, todos and goals,
from the last line of each up; where even the names of the sections are too long, whole sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from elf.core.stored_text import inert
from elf.families.graph.model import NodeType
from elf.families.graph.rules.texts import beginning

Section: TypeAlias = Literal[
    "knowledge_summary",
    "active_goals",
    "open_todos",
    "recent_decisions",
    "preference_profile",
    "conflicts_and_uncertainties",
]

SECTIONS: Final[tuple[Section, ...]] = get_args(Section)
MAX_LINE_CHARS: Final = 320
MAX_CITATIONS: Final = 32
UNCERTAIN_BELOW: Final = 0.5
"""A memory of less confidence than this is uncertain."""

_OF_TYPE: Final[Mapping[NodeType, Section]] = MappingProxyType(
    {
        "Goal": "active_goals",
        "Todo": "open_todos",
        "Decision": "recent_decisions",
        "Preference": "preference_profile",
    }
)
_LINES_GO: Final[tuple[Section, ...]] = (
    "knowledge_summary",
    "preference_profile",
    "conflicts_and_uncertainties",
    "recent_decisions",
    "open_todos",
    "active_goals",
)
_SECTIONS_GO: Final[tuple[Section, ...]] = (
    "conflicts_and_uncertainties",
    "preference_profile",
    "knowledge_summary",
    "recent_decisions",
    "open_todos",
    "active_goals",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory that may be shown: `text` is its snippet or summary, on one line."""

    memory_id: str
    type: NodeType
    text: str
    confidence: float
    contradicted: bool


class Line(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of a bulletin, and the memory that it cites."""

    memory_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BulletinText:
    """A bulletin: the lines of each section that is shown, their text, and the memories cited, as they appear."""

    sections: Mapping[Section, tuple[Line, ...]]
    rendered: str
    citations: tuple[str, ...]


def compose(entries: Iterable[Entry], *, max_chars: int) -> BulletinText:
    """Return the bulletin of memories, the most relevant first; no memory is there twice.

    It has at most `max_chars` code points and 32 citations, and a line of it at most 320 code points.
    """
    sections: dict[Section, list[Line]] = {section: [] for section in SECTIONS}
    for entry in entries:
        for section in _sections_of(entry):
            sections[section].append(_line(entry))
    return cut(sections, max_chars=max_chars)


def cut(sections: Mapping[Section, Sequence[Line]], *, max_chars: int) -> BulletinText:
    """Return the bulletin of lines that are in their sections already, cut to its limits."""
    draft = _Draft(sections)
    while not draft.fits(max_chars):
        draft.shorten()
    return draft.finished()


class _Draft:
    """A bulletin that is being cut; it fits at last, when nothing is left."""

    def __init__(self, sections: Mapping[Section, Sequence[Line]]) -> None:
        self._sections = {section: list(sections[section]) for section in SECTIONS if section in sections}

    def fits(self, max_chars: int) -> bool:
        return self._length() <= max_chars and len(self._cited()) <= MAX_CITATIONS

    def shorten(self) -> None:
        """Take away what is needed least."""
        section = next((one for one in _LINES_GO if self._sections.get(one)), None)
        if section is not None:
            self._sections[section].pop()
        else:
            del self._sections[next(one for one in _SECTIONS_GO if one in self._sections)]

    def finished(self) -> BulletinText:
        return BulletinText(
            sections={section: tuple(lines) for section, lines in self._sections.items()},
            rendered="\n".join(self._texts()),
            citations=tuple(self._cited()),
        )

    def _length(self) -> int:
        texts = self._texts()
        return sum(map(len, texts)) + max(0, len(texts) - 1)

    def _texts(self) -> list[str]:
        return [
            text
            for section, lines in self._sections.items()
            for text in (f"{section}:", *([line.text for line in lines] or ["-"]))
        ]

    def _cited(self) -> dict[str, None]:
        return dict.fromkeys(line.memory_id for lines in self._sections.values() for line in lines)


def _sections_of(entry: Entry) -> Iterable[Section]:
    yield _OF_TYPE.get(entry.type, "knowledge_summary")
    if entry.contradicted or entry.confidence < UNCERTAIN_BELOW:
        yield "conflicts_and_uncertainties"


def _line(entry: Entry) -> Line:
    citation = f" [{entry.memory_id}]"
    text = beginning(inert(entry.text), MAX_LINE_CHARS - len("- ") - len(citation))
    return Line(memory_id=entry.memory_id, text=f"- {text}{citation}")
