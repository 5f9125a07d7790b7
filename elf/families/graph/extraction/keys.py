"""How keys are made of what a rule matched: the subject of a statement, the attribute, and the value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from elf.families.graph.rules.subjects import Key, key_of
from elf.providers.local.statements import KeyOf as AttributeOf

KeyOf = Callable[[re.Match[str], str], Key | None]
"""Makes a key of a match, and of who "I" is."""

_CLAUSE_END: Final = re.compile(r"[,;!?(]|\.(?:\s|$)| (?:and|because|but|for|since|so|with)\b|$")
_LAST_WORD: Final = re.compile(r"[\w'-]+$")
_COPULAS: Final = frozenset({"are", "been", "called", "is", "named"})
_EXACT: Final = re.compile(r"\S*\d\S*")


def owned(attribute_of: AttributeOf) -> KeyOf:
    """The key of a rule of notes: the speaker is the subject, and the rule names the attribute."""
    return lambda match, speaker: key_of(speaker, attribute_of(match) or "", _told(match))


def chosen(match: re.Match[str], _speaker: str) -> Key | None:
    """What was chosen for something: "going with Postgres for the ledger"."""
    return key_of(match["what"], "choice", match["chosen"])


def measured(match: re.Match[str], _speaker: str) -> Key | None:
    """What figures a thing has: they are the value, and the other words of the sentence the attribute."""
    told = match.string[match.end("subject") :]
    return key_of(match["subject"], _EXACT.sub(" ", told), " ".join(_EXACT.findall(told)))


def _told(match: re.Match[str]) -> str:
    """Return the value that a sentence gives: what follows "is", or begins with the last word of the match."""
    last = _LAST_WORD.search(match[0])
    rest = match.string[match.end() :]
    if last is None or last[0].lower() in _COPULAS:
        told = rest
    else:
        goes_on = re.match(r"[\w'-]", rest) is not None
        told = last[0] + rest if goes_on else last[0]
    end = _CLAUSE_END.search(told)
    return told if end is None else told[: end.start()]
