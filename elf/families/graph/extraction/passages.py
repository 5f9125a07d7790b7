"""The sentences of notes and transcripts with their places: who says each, and which of them are open tasks.

Code, quotations, headings, tables and ticked tasks are left out, and so is what an assistant says, who offers and
explains. Lines that were wrapped are one passage. Takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from elf.core.sentences import sentence_ends
from elf.core.text_labels import is_label

WRAPPED_CHARS: Final = 50
"""A shorter line was ended on purpose, and the next one is a passage of its own."""

_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_LEFT_OUT: Final = re.compile(r"\s*[>|#]")
_MARK: Final = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_BOX: Final = re.compile(r"\[(?P<ticked>[ xX])\](?:\s+|$)")
_SPEAKER: Final = re.compile(r"(?P<name>[A-Z][\w'.-]{0,30}(?: [A-Z][\w'.-]{0,30}){0,2}): +(?=\S)")
_LABEL: Final = re.compile(
    r"(?:action|agreed|aim|approved|constraint|decided|decision|fact|fyi|goal|note|objective|okr|outcome|plan|preference"
    r"|profile|remember|resolved|target|task|to-?do)s?\b",
    re.IGNORECASE,
)
_ASSISTANTS: Final = frozenset({"AI", "Assistant", "Bot", "Chatbot", "System", "Tool"})
_USERS: Final = frozenset({"User", "Human", "Customer", "Client"})
_ABBREVIATED: Final = re.compile(r"(?:^|[\s(])(?:Dr|Mr|Mrs|Ms|Prof|St|No|vs|approx|e\.g|i\.e)\.\s*$")
_TERMINATED: Final = re.compile(r"[.!?:;][\"')\]\u201d]*\s*$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence from `start` to `end`; `plain` is of the same length, with straight quotes and no line ends."""

    start: int
    end: int
    plain: str
    speaker: str | None
    is_task: bool


@dataclass(slots=True)
class _Passage:
    """Lines that belong together: none follows once it `is_over`, and it follows another only if it `may_go_on`."""

    start: int
    end: int
    speaker: str | None
    is_task: bool
    is_over: bool
    may_go_on: bool


class _Speakers:
    """Who speaks: an assistant goes on until somebody speaks who spoke before, or a user."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.assistant = False

    def begin(self, line: str) -> tuple[str | None, int]:
        """Return who begins to speak with a line, if anybody does, and how many characters that takes."""
        named = _SPEAKER.match(line)
        if named is None or _LABEL.match(line):
            return None, 0
        if is_label(named["name"]):
            return None, named.end()
        name = named["name"]
        if name in _ASSISTANTS:
            self.assistant = True
        elif not self.assistant or name in _USERS or name in self._seen:
            self.assistant = False
            self._seen.add(name)
        return name, named.end()


def sentences_of(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text that may state something, in their order."""
    for passage in _passages(text):
        plain = _plain(text[passage.start : passage.end])
        start, is_task = 0, passage.is_task
        for end in _ends(plain):
            sentence = plain[start:end].strip()
            if sentence:
                at = passage.start + plain.index(sentence, start)
                yield Sentence(at, at + len(sentence), sentence, passage.speaker, is_task)
            start, is_task = end, False  # what follows a task explains it


def _ends(plain: str) -> Iterator[int]:
    """Yield where sentences end; one after "Dr." goes on."""
    for end in sentence_ends(plain):
        if end == len(plain) or not _ABBREVIATED.search(plain, max(0, end - 12), end):
            yield end


def _passages(text: str) -> Iterator[_Passage]:
    speakers = _Speakers()
    last: _Passage | None = None
    for start, line in _prose(text):
        begun = None if line is None else _begun(line, start, speakers)
        if last is not None and begun is not None and not last.is_over and begun.may_go_on:
            last.end, last.is_over = begun.end, begun.is_over
            continue
        if last is not None:
            yield last
        last = begun
    if last is not None:
        yield last


def _prose(text: str) -> Iterator[tuple[int, str | None]]:
    """Yield the lines of prose and where each begins; None is a line that interrupts it."""
    in_code = False
    start = 0
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        in_code ^= fence
        is_prose = not (fence or in_code or line.isspace() or _LEFT_OUT.match(line))
        yield start, line if is_prose else None
        start += len(line)


def _begun(line: str, start: int, speakers: _Speakers) -> _Passage | None:
    """Return the passage that a line begins; None where nothing in it is stated."""
    mark = _MARK.match(line)
    at = 0 if mark is None else mark.end()
    box = _BOX.match(line, at) if mark is not None else None
    at = at if box is None else box.end()
    speaker, taken = (None, 0) if mark is not None else speakers.begin(line)
    if speakers.assistant or (box is not None and box["ticked"] != " "):
        return None
    is_over = len(line.rstrip()) < WRAPPED_CHARS or _TERMINATED.search(line[-12:]) is not None
    may_go_on = mark is None and speaker is None and _LABEL.match(line.lstrip()) is None
    return _Passage(start + at + taken, start + len(line), speaker, box is not None, is_over, may_go_on)


def _plain(text: str) -> str:
    """Return a text of the same length with straight quotes, and spaces for all whitespace."""
    if _OTHER_SPACE.search(text):
        text = _OTHER_SPACE.sub(" ", text)
    return text if text.isascii() else text.translate(_STRAIGHT)


_OTHER_SPACE: Final = re.compile(r"[^\S ]")
_STRAIGHT: Final = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
