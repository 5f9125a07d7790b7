"""Words written together, taken apart: `doesn't`, `Ana's`, `follow-up`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from elf.core.wording.number_words import is_number_word
from elf.core.wording.tokens import CAPITAL, CAPITALS, FIRST, LOWER, NOT, POSSESSIVE, Token, word

_IRREGULAR: Final = {
    "can't": ("can", "not"), "cannot": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not"),
    "let's": ("let", "us"),
}  # fmt: skip
_ENDINGS: Final = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}

# After these, 's is "is" (where it is "has", the two spellings are not taken for the same); after a name it is whose.
_BEFORE_IS: Final = frozenset("it he she that there here what who where how".split())

_COMPARING: Final = frozenset({"more", "most", "less", "least"})


def taken_apart(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with contractions, possessives and hyphenated words as several."""
    return [part for token in tokens for whole in _expanded(token) for part in _unhyphenated(whole)]


def _expanded(token: Token) -> Iterator[Token]:
    key = token.key
    if "'" not in key and key != "cannot":
        yield token
    elif key in _IRREGULAR:
        first, second = _IRREGULAR[key]
        yield from (token._replace(key=first), word(second))
    elif key.endswith("n't"):
        yield from (token._replace(key=key[:-3]), NOT)
    elif key.endswith("s'"):
        yield from (token._replace(key=key[:-1]), POSSESSIVE)
    elif key.lower().endswith("'s"):
        yield from (token._replace(key=key[:-2]), word("is") if key[:-2] in _BEFORE_IS else POSSESSIVE)
    else:
        base, ending = key[: key.rfind("'")], key[key.rfind("'") :]
        case = CAPITALS if base == "i" and token.case in (CAPITAL, FIRST) else token.case
        yield from (Token(base, case), word(_ENDINGS[ending])) if ending in _ENDINGS else (token,)


def _unhyphenated(token: Token) -> Iterator[Token]:
    parts = token.key.split("-")
    is_compound = len(parts) > 1 and all(part.isalpha() for part in parts)
    if not is_compound or any(map(_holds_together, parts)):
        yield token
        return
    yield token._replace(key=parts[0])
    later = LOWER if token.case == FIRST else token.case
    for part in parts[1:]:
        yield Token(part, later)


def _holds_together(part: str) -> bool:
    """Tell whether hyphens beside a word say what belongs to it.

    Three hundred-year-old trees are not three-hundred-year-old trees, a man-eating shark is no man eating shark.
    """
    return is_number_word(part) or part.endswith("ing") or part in _COMPARING
