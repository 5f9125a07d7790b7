"""The sentences of an episode that somebody states in earnest, and who.

What programs and assistants print, quotations, code, tables and pasted documents state nothing, and neither does a turn
that speaks to a model about its instructions or its memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from elf.core.sentences import sentence_ends
from elf.core.text_labels import is_label

USER: Final = "user"
LONGEST_SENTENCE: Final = 500  # characters; what is longer is no plain statement

_SPEAKER: Final = re.compile(r"\s*(?:[-*\u2022] )?(?P<name>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,2}): +(?=\S)")
_THE_USER: Final = frozenset({"user", "human", "the user", "me"})
_PROGRAMS: Final = frozenset(
    [
        "ai",
        "agent",
        "api",
        "assistant",
        "bot",
        "butler",
        "chatbot",
        "console",
        "cron",
        "error",
        "function",
        "info",
        "log",
        "logs",
        "model",
        "output",
        "result",
        "stderr",
        "stdout",
        "system",
        "tool",
        "trace",
        "warning",
    ]
)
_LABELS: Final = frozenset(
    [
        "constraint",
        "context",
        "decision",
        "fact",
        "fyi",
        "goal",
        "idea",
        "note",
        "notes",
        "plan",
        "preference",
        "profile",
        "remember",
        "reminder",
        "rule",
        "summary",
        "task",
        "todo",
        "update",
        "warning",
    ]
)

_PASTED: Final = re.compile(r"\s*(?:[>|#{}\[\]]|<[/!?\w]|\"\w+\":)")
_CLOSING_TAG: Final = re.compile(r"</\w")
_OPENING_TAG: Final = re.compile(r"\s*<\w")
_QUOTATION: Final = re.compile(
    r"\"[^\"]*+(?:\"|\Z)|\u201c[^\u201d]*+(?:\u201d|\Z)|\u00ab[^\u00bb]*+(?:\u00bb|\Z)|(?<!\w)'[^'\n]{2,400}'(?!\w)"
    r"|(?<!\w)\u2018[^\u2019\n]{2,400}\u2019(?!\w)"
)
_QUOTED: Final = "\ufffc"
_SPOKEN_TO_THE_MODEL: Final = re.compile(
    r"\b(?:ignore|disregard|override|bypass|forget)\b[^.!?\n]{0,60}\b(?:above|all|earlier|instructions?|previous"
    r"|prior|rules|told you)\b"
    r"|\b(?:system (?:override|prompt|message|instruction)|(?:new|updated|hidden|secret|following) instructions?"
    r"|admin mode)\b"
    r"|\b(?:developer|jailbreak|root) mode\b|\bas an? (?:ai|assistant|language model)\b|\byou are now\b|\byou"
    r" must (?:now )?(?:store|remember|confirm)"
    r"|\b(?:store|save|add|insert|record|create) (?:this|these|a|the|following)(?: new)? (?:facts?|rules?"
    r"|memor(?:y|ies))\b"
    r"|\b(?:confirm|delete|update|list|retract) (?:all|any|each|every)\b|\b(?:memory system|consolidation"
    r"|episode_content|new_facts|target_id)\b"
    r"|\b(?:just kidding|only joking|only kidding|just joking)\b|\A\W*(?:(?:please|can you|could you) )*"
    r"(?:complete|correct|paraphrase|proofread|rephrase|rewrite|spell|summari[sz]e|translate"
    r"|write (?:an?|the|me|some))\b"
    r"|\bact as\b|^\s*system\b[^a-z\n]{0,3}:",
    re.IGNORECASE,
)
_ABBREVIATED: Final = re.compile(
    r"\b(?:approx|dr|messrs|mr|mrs|ms|nr|prof|st|vs|e\.g|i\.e)\.\s*\Z", re.IGNORECASE
)
_BULLET: Final = re.compile(r"(?:[-*\u2022]|\d{1,2}[.)]) +")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without quotations, on one line, and whose it is: `user`, or the name that stands before it."""

    speaker: str
    text: str


def sentences_of(content: str) -> Iterator[Sentence]:
    """Yield what an episode states, in its order. Takes time in proportion to its length."""
    for speaker, lines in _turns(content):
        said = _QUOTATION.sub(_QUOTED, "\n".join(lines).replace("\u2019", "'"))
        if speaker is None or _SPOKEN_TO_THE_MODEL.search(said):
            continue
        for text in _cut(said):
            if _QUOTED not in text and len(text) <= LONGEST_SENTENCE:
                yield Sentence(speaker, text)


def _turns(content: str) -> Iterator[tuple[str | None, Sequence[str]]]:
    """Yield who speaks and the lines of prose; None speaks for programs."""
    speaker: str | None = USER
    lines: list[str] = []
    people: set[str] = set()
    pasted = _Pasted()
    for line in content.split("\n"):
        match = None if pasted.is_open else _SPEAKER.match(line)
        if match is not None and _takes_over(match["name"], speaker, people):
            yield speaker, lines
            people.add(match["name"])
            speaker, lines, line = _who(match["name"]), [], line[match.end() :]
        if not pasted.takes(line):
            lines.append(line)
    yield speaker, lines


class _Pasted:
    """Tells code, tables, quotations, markup and what markup encloses from prose, line by line."""

    def __init__(self) -> None:
        self._in_code = self._in_tag = False

    @property
    def is_open(self) -> bool:
        return self._in_code or self._in_tag

    def takes(self, line: str) -> bool:
        """Tell whether the next line is none of prose."""
        if "```" in line:
            self._in_code ^= line.count("```") % 2 == 1
            return True
        if self._in_tag or (not self._in_code and _OPENING_TAG.match(line)):
            self._in_tag = _CLOSING_TAG.search(line) is None
            return True
        return self._in_code or _PASTED.match(line) is not None


def _takes_over(name: str, speaker: str | None, people: Collection[str]) -> bool:
    """Tell whether a name with a colon begins a turn. Programs print much that looks like it."""
    lowered = name.lower()
    if speaker is None:
        return lowered in _THE_USER or name in people
    return lowered not in _LABELS and (not is_label(name) or _who(name) is None)


def _who(name: str) -> str | None:
    lowered = name.lower()
    if lowered in _THE_USER:
        return USER
    return None if _PROGRAMS & set(lowered.split()) or (name.isupper() and " " in name) else name


def _cut(said: str) -> Iterator[str]:
    start = 0
    for end in sentence_ends(said):
        if end < len(said) and _ABBREVIATED.search(said[max(start, end - 12) : end]):
            continue  # "Dr. Weber" is no two sentences
        text = said[start:end].strip()
        start = end
        if text:
            bullet = _BULLET.match(text)
            yield " ".join((text if bullet is None else text[bullet.end() :]).split())
