"""Words and marks of a text.

A token remembers how it was capitalised: in the middle of a sentence a capital tells a name from a word, at its
beginning it tells nothing. What is no plain word (a path, an identifier, `camelCase`) is kept as it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

# The ways in which a word may have been meant to be capitalised, as bits.
LOWER: Final = 1
CAPITAL: Final = 2
CAPITALS: Final = 4
FIRST: Final = LOWER | CAPITAL  # the first word of a sentence: its capital says nothing
ANY: Final = LOWER | CAPITAL | CAPITALS


class Token(NamedTuple):
    """A word in lower case, or anything else as it stands; `article` is the one before it: `a`, `the` or none."""

    key: str
    case: int = ANY
    article: str = ""

    @property
    def is_common(self) -> bool:
        """Tell whether it may be a word of the dictionary, not a name."""
        return self.case & LOWER != 0


BREAK: Final = Token(".")
COMMA: Final = Token(",")
COLON: Final = Token(":")
QUESTION: Final = Token("?")
POSSESSIVE: Final = Token("'s")
NOT: Final = Token("not", LOWER)
MARKS: Final = frozenset({BREAK, COMMA, COLON, QUESTION})

_SAME_CHARACTER: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        "\u2014": " - ",
        "\u2026": ". ",
    }
)
_OPENING_MARKS: Final = {"(": COMMA, "[": COMMA}
_CLOSING_MARKS: Final = {
    ".": BREAK, "!": BREAK, ";": BREAK, ",": COMMA, ")": COMMA, "]": COMMA, ":": COLON, "?": QUESTION,
}  # fmt: skip
_QUOTES: Final = "\"'`"
_PAIRS: Final = {")": "(", "]": "["}
_LONE_MARKS: Final = {"-": BREAK, "&": Token("and", LOWER)}

# After these a full stop ends no sentence.
_SHORTENED: Final = frozenset(
    "dr mr mrs ms prof st jr sr vs etc inc ltd co corp approx apt dept jan feb mar apr jun jul aug sep sept oct nov "
    "dec mon tue tues wed thu thurs fri sat sun".split()
)

# Words that are something else with a capital, or in capitals; case counts for them wherever it can be seen.
_TWO_WORDS_IN_ONE: Final = frozenset(
    "us it may march mark bill will art rose go rust swift who polish turkey china apple windows oracle python java "
    "shell ruby spark flask express slack teams meet zoom linear notion signal teller amazon target gap visa main "
    "admin id path debug prod test dev an am pm".split()
)

_ACRONYM: Final = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*'?")
_RATE: Final = re.compile(r"([^\W\d_]+)/(s|sec|second|min|minute|h|hour|day|week|month|year)")
_SPANS: Final = {"s": "second", "sec": "second", "min": "minute", "h": "hour"}
_INVISIBLE: Final = frozenset({"Cf", "Cc"})


def tokens(text: str) -> list[Token]:
    """Return the words and marks of a text, in its order; hyphenated words are still whole."""
    clean = "".join(_cleaned(text))
    found = [token for chunk in clean.split() for token in _of_chunk(chunk)]
    if clean.islower() or (clean.isupper() and len(found) > 1):
        return [_of_any_case(token) for token in found]  # whose capitals tell no names from words
    return found


def beginning_sentences(found: list[Token]) -> list[Token]:
    """Return the tokens with the first word of each sentence free to have a capital or none."""
    begins, result = True, []
    for token in found:
        result.append(token._replace(case=FIRST) if begins and token.case == CAPITAL else token)
        begins = token in (BREAK, QUESTION)
    return result


def word(key: str) -> Token:
    """Return a word of the dictionary."""
    return Token(key, LOWER)


def _cleaned(text: str) -> Iterator[str]:
    # Not NFKC: it would turn ten squared into 102, and two and a half into 21/2.
    for character in unicodedata.normalize("NFC", text).translate(_SAME_CHARACTER):
        if character.isspace():
            yield " "
        elif unicodedata.category(character) not in _INVISIBLE:
            yield character


def _of_any_case(token: Token) -> Token:
    return token if token.key in _TWO_WORDS_IN_ONE else token._replace(case=ANY)


def _of_chunk(chunk: str) -> Iterator[Token]:
    before, core, after = _peeled(chunk)
    yield from before
    if core:
        yield from _of_core(core)
        is_shortened = core.lower() in _SHORTENED or _ACRONYM.fullmatch(core)
        if is_shortened and after[:1] == [BREAK]:
            after = after[1:]
    yield from after


def _peeled(chunk: str) -> tuple[list[Token], str, list[Token]]:
    before: list[Token] = []
    after: list[Token] = []
    while chunk and (chunk[0] in _QUOTES or chunk[0] in _OPENING_MARKS) and not _opens_a_pair(chunk):
        if chunk[0] in _OPENING_MARKS:
            before.append(_OPENING_MARKS[chunk[0]])
        chunk = chunk[1:]
    while chunk and (chunk[-1] in _QUOTES or chunk[-1] in _CLOSING_MARKS):
        last = chunk[-1]
        if last == "'" and chunk[-2:-1] == "s":
            break  # the users' data
        if last in _PAIRS and _PAIRS[last] in chunk:
            break  # main()
        if last in _CLOSING_MARKS:
            after.insert(0, _CLOSING_MARKS[last])
        chunk = chunk[:-1]
    return before, chunk, after


def _opens_a_pair(chunk: str) -> bool:
    """Tell whether the bracket that a chunk begins with belongs to its inside, as in `[a-z]+`."""
    closing = {"(": ")", "[": "]"}.get(chunk[0])
    return closing is not None and closing in chunk and chunk.rstrip(".,;:!?")[-1] != closing


def _of_core(core: str) -> Iterator[Token]:
    if core in _LONE_MARKS:
        yield _LONE_MARKS[core]
    elif _ACRONYM.fullmatch(core):
        yield _worded(core.replace(".", ""))
    elif rate := _RATE.fullmatch(core):
        yield from (_worded(rate[1]), word("per"), word(_SPANS.get(rate[2], rate[2])))
    elif _WORD.fullmatch(core):
        yield _worded(core)
    else:
        yield Token(core)


def _worded(core: str) -> Token:
    if core.islower():
        return Token(core, LOWER)
    if core.isupper():
        return Token(core.lower(), CAPITALS)
    if core[0].isupper() and (core[1:].islower() or core.istitle()):
        return Token(core.lower(), CAPITAL)
    return Token(core)
