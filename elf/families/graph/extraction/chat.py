"""Extraction with a language model: it proposes types and quotes, and what does not stand in the text is not taken.

The rules are asked in any case, and what they recognise stands: the model adds what they do not know. When it does not
answer, there is what the rules found. Texts have passed the secret gate before they come here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import anyio.to_thread
import structlog

from elf.core.blank_text import is_blank
from elf.core.errors import ProviderUnavailable
from elf.families.graph.extraction.candidate import Candidate, Extraction, Skipped, importance_of
from elf.families.graph.extraction.prompt import (
    MOST_STATEMENTS,
    PROPOSED_TYPES,
    STATEMENTS,
    Proposal,
    statements_prompt,
)
from elf.families.graph.extraction.rules import extract
from elf.providers.port import Chat

RULES, CHAT = "rules", "chat"
"""The names of the extractors: `chat` is a model and the rules, `rules` the rules alone."""

CHAT_CONFIDENCE: Final = 0.7
MOST_QUOTE_CHARS: Final = 1_000
PORTION_CHARS: Final = 8_000
MOST_PORTIONS: Final = 25

NOT_VERBATIM: Final = "quote_not_found"
UNKNOWN_TYPE: Final = "unknown_type"
MALFORMED: Final = "malformed"
TOO_LONG: Final = "quote_too_long"
TOO_MANY: Final = "too_many_statements"
NOT_SHOWN: Final = "not_shown_to_the_model"

_PARAGRAPH: Final = re.compile(r"\n\s*\n")

log = structlog.get_logger()


class TextExtractor:
    """Takes candidates out of texts: by the rules, and by a chat model where there is one."""

    def __init__(self, chat: Chat | None) -> None:
        self._chat = chat

    async def extract(self, text: str) -> Extraction:
        """Return the candidates of a text in their order. Never fails for want of a model."""
        by_rules = await anyio.to_thread.run_sync(extract, text)
        if self._chat is None or is_blank(text):
            return Extraction(extractor=RULES, candidates=by_rules)
        try:
            proposed = [(portion, await self._proposals(self._chat, portion)) for portion in _shown(text)]
        except ProviderUnavailable as error:
            log.warning("memory.extract.model_unavailable", error_class=type(error).__name__)
            return Extraction(extractor=RULES, candidates=by_rules)
        return _extraction(text, by_rules, proposed)

    async def _proposals(self, chat: Chat, portion: Portion) -> list[Proposal | None]:
        return await chat.ask(statements_prompt(portion.text), STATEMENTS)


class Portion(NamedTuple):
    """A part of a text that a model sees at once, and where it begins."""

    start: int
    text: str


def portions(text: str, most: int = PORTION_CHARS) -> Iterator[Portion]:
    """Cut a text at ends of paragraphs, lines or words, the first of these that there are, so that each part fits."""
    start = 0
    while start < len(text):
        end = _cut(text, start, most)
        if not is_blank(text[start:end]):
            yield Portion(start, text[start:end])
        start = end


def _cut(text: str, start: int, most_chars: int) -> int:
    most = start + most_chars
    if most >= len(text):
        return len(text)
    ends = [end.end() for end in _PARAGRAPH.finditer(text, start, most)]
    line, word = text.rfind("\n", start, most) + 1, text.rfind(" ", start, most) + 1
    return max(ends, default=0) or max(line, 0) or max(word, 0) or most


def _shown(text: str) -> list[Portion]:
    return [portion for portion, _ in zip(portions(text), range(MOST_PORTIONS), strict=False)]


def _extraction(
    text: str, by_rules: Sequence[Candidate], proposed: Sequence[tuple[Portion, Sequence[Proposal | None]]]
) -> Extraction:
    """Put together what the rules and the model found; of two that share characters, that of the rules stays."""
    taken = _Taken(by_rules)
    skipped: list[Skipped] = []
    for portion, proposals in proposed:
        found = [_found(one, portion) for one in proposals[:MOST_STATEMENTS]]
        skipped += [one for one in found if isinstance(one, Skipped)]
        for one in found:
            if isinstance(one, Candidate):
                taken.add(one)
        if len(proposals) > MOST_STATEMENTS:
            skipped.append(Skipped(portion.start, TOO_MANY))
    last = proposed[-1][0]
    shown = last.start + len(last.text)
    if not is_blank(text[shown:]):
        skipped.append(Skipped(shown, NOT_SHOWN))
    return Extraction(extractor=CHAT, candidates=taken.candidates, skipped=skipped)


def _found(proposal: Proposal | None, portion: Portion) -> Candidate | Skipped:
    """Return the candidate that a model proposes for a portion, or why it is none."""
    if proposal is None:
        return Skipped(portion.start, MALFORMED)
    type = next((type for type in PROPOSED_TYPES if type == proposal.type), None)
    if type is None:
        return Skipped(portion.start, UNKNOWN_TYPE)
    quote = proposal.quote.strip()
    if len(quote) > MOST_QUOTE_CHARS:
        return Skipped(portion.start, TOO_LONG)
    place = -1 if is_blank(quote) else portion.text.find(quote)
    if place < 0:
        return Skipped(portion.start, NOT_VERBATIM)
    start = portion.start + place
    return Candidate(
        type=type, text=" ".join(quote.split()), quote=quote, start=start, end=start + len(quote),
        importance=importance_of(type), confidence=CHAT_CONFIDENCE,
    )  # fmt: skip


class _Taken:
    """Candidates in their order, of which no two share a character."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.candidates = list(candidates)
        self._starts = [one.start for one in self.candidates]
        self._ends = [one.end for one in self.candidates]

    def add(self, candidate: Candidate) -> None:
        """Take one where nothing else was taken."""
        place = bisect_right(self._ends, candidate.start)
        if place != bisect_left(self._starts, candidate.end):
            return
        self.candidates.insert(place, candidate)
        self._starts.insert(place, candidate.start)
        self._ends.insert(place, candidate.end)
