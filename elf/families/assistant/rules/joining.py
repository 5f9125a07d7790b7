"""One text for two memories of the same fact."""

from __future__ import annotations

import re
from typing import Final

from elf.core.same_fact import contains_fact
from elf.families.assistant.model import MemoryType
from elf.families.assistant.rules.attributes import may_replace
from elf.families.assistant.rules.texts import contains
from elf.families.assistant.rules.validators import Accepted, accepted

_TOKEN: Final = re.compile(r"\w+(?:['.:,/-]\w+)*")


def text_of_both(newer: str, older: str, composed: str | None, type: MemoryType) -> str | None:
    """Return one text for two of the same fact: the longer where it contains the other, else what a model `composed`,
    else both in one; None where nothing of that may be kept.

    What is composed of a value and of a statement without one is not used: it may leave out the statement.
    """
    if contains(newer, older):
        return newer
    if contains(older, newer):
        return older
    is_sound = composed is not None and is_made_of(composed, newer, older) and may_replace(newer, older)
    if composed is not None and is_sound and (made := _as_it_is(composed, type)):
        return made
    return _as_it_is(f"{_ended(older)} {_ended(newer)}", type)


def text_of_same(newer: str, older: str) -> str:
    """Return the text that stays of two that state the same by rule: the longer where it contains the other, else the
    newer.
    """
    return older if contains(older, newer) or contains_fact(older, newer) else newer


def is_made_of(text: str, *sources: str) -> bool:
    """Tell whether every number and every name in a text stands in one of its sources."""
    known = {token.lower() for source in sources for token in _TOKEN.findall(source)}
    return all(token.lower() in known for token in _telling(text))


def _telling(text: str) -> list[str]:
    """Return the tokens with a digit, or with a capital letter that is not that of a beginning sentence."""
    found = []
    for match in _TOKEN.finditer(text):
        begins = (
            not text[: match.start()].rstrip(" \"'(") or text[: match.start()].rstrip(" \"'(")[-1] in ".!?"
        )
        if re.search(r"\d", match[0]) or (match[0] != match[0].lower() and not begins):
            found.append(match[0])
    return found


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _as_it_is(text: str, type: MemoryType) -> str | None:
    """Return a text in its normal form where all of it may be kept."""
    match accepted(text, type):
        case Accepted(kept, False):
            return kept
        case _:
            return None
