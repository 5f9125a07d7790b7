"""What a text begins with before it says anything: the label of a note, or words such as "note that"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from elf.core.wording.tokens import BREAK, COLON, COMMA, Token

LABELS: Final = frozenset({"preference", "constraint", "decision", "profile", "fact", "plan"})

_FILLERS: Final = tuple(
    tuple(filler.split())
    for filler in """
    note that
    please note that
    note :
    please note :
    remember that
    please remember that
    keep in mind that
    please keep in mind that
    bear in mind that
    be aware that
    important :
    reminder :
    just a reminder that
    as a reminder ,
    fyi
    fyi ,
    fyi :
    for your information ,
    for the record ,
    for reference ,
    basically ,
    by the way ,
    btw ,
    btw
    as mentioned ,
    as mentioned before ,
    as mentioned earlier ,
    just so you know ,
    heads up :
    to be clear ,
    it is worth noting that
    it should be noted that
    it turns out that
    """.strip().splitlines()
)
_BY_FIRST_WORD: Final = {
    first: sorted((one for one in _FILLERS if one[0] == first), key=len, reverse=True)
    for first in {one[0] for one in _FILLERS}
}
_MOST_OPENINGS: Final = 4


def without_openings(tokens: Sequence[Token]) -> tuple[str | None, list[Token]]:
    """Return the label that the text begins with, in lower case, or None, and the text without label and fillers."""
    label: str | None = None
    rest = list(tokens)
    for _ in range(_MOST_OPENINGS):
        if label is None and len(rest) > 2 and rest[0].key in LABELS and rest[1] in (COLON, BREAK):
            label, rest = rest[0].key, rest[2:]
        elif length := _filler_length(rest):
            rest = rest[length:]
        else:
            break
    return label, rest


def _filler_length(tokens: Sequence[Token]) -> int:
    if not tokens:
        return 0
    for filler in _BY_FIRST_WORD.get(tokens[0].key, ()):
        said = tuple(token.key for token in tokens[: len(filler)])
        if said == filler and len(tokens) > len(filler) and tokens[len(filler)] not in (COMMA, COLON, BREAK):
            return len(filler)
    return 0
