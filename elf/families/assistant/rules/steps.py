"""How something is done, as numbered steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from elf.families.assistant.rules.english import is_english
from elf.families.assistant.rules.texts import normalised

MOST_STEPS: Final = 20
MAX_STEP_CHARS: Final = 160
FEWEST_LINES: Final = 3
"""Of how many numbered lines a message has to have before it may tell how something is done."""

_NUMBER: Final = re.compile(r"(?:(?:step )?\d{1,3}[.):]|[-*\u2022])\s+", re.IGNORECASE)
_NUMBERED_LINE: Final = re.compile(
    r"^[ \t]*(?:\*\*)?(?:step )?\d{1,2}[.):][ \t]+\S", re.IGNORECASE | re.MULTILINE
)
_TELLS: Final = re.compile(
    r"(?:i|we|you|he|she|it|they|the|an?|this|that|these|those|there|my|our|your|his|her|its|their|user|to|was|were|is"
    r"|are)\b"
    r"|(?!bring|ping|sing|string|swing|fling|cling|wring|ring)\w+ing\b"
    r"|(?!need|feed|seed|embed|speed|exceed|proceed|succeed|shed|shred|bed|wed|weed|heed)\w+ed\b",
    re.IGNORECASE,
)


def plain_step(text: str) -> str:
    """Return a step in the form in which it is kept, without a number or mark of its own."""
    step = normalised(text)
    mark = _NUMBER.match(step)
    return step if mark is None else step[mark.end() :]


def numbered(steps: Sequence[str]) -> str:
    """Return plain steps as numbered lines."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))


def is_imperative(step: str) -> bool:
    """Tell whether a plain step may say what to do. Only of English can it be told that one does not."""
    return not is_english(step) or _TELLS.match(step) is None


def steps_in(texts: Sequence[str]) -> list[str]:
    """Return the plain steps of the last text that has a list of numbered lines; none where no text has one."""
    for text in reversed(texts):
        lines = [plain_step(line) for line in text.splitlines() if _NUMBERED_LINE.match(line)]
        if steps := [line for line in lines if line]:
            return steps
    return []


def may_tell_steps(text: str) -> bool:
    """Tell whether a text has a list of numbered lines, as who tells how something is done writes them."""
    return len(_NUMBERED_LINE.findall(text)) >= FEWEST_LINES
