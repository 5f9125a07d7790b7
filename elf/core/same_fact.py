"""Whether two short texts state the same fact, so that one may stand for both.

No embedding tells "the API limit is 100" from "the API limit is 500", or the staging server from the production one:
likeness finds a neighbour, and only this comparison may merge it. It errs on one side: what it does not surely know to
be the same is different, and then both texts stand.

Both texts are written in one way (`elf.core.wording`): case where it tells nothing, contractions, number words and
digits, units, dates and times, spellings, true synonyms, articles and opening phrases such as "note that". What is left
must agree word for word and in order, so every number, name, identifier, negation, opposite, tense and preposition
does. The order may differ only in the few ways of `elf.core.wording.rearrangements`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from elf.core.wording.rearrangements import says_the_same
from elf.core.wording.statement import PREFERRING, is_same, read_statement
from elf.core.wording.tokens import BREAK, QUESTION, Token

Difference = Literal["numbers", "negation", "names", "order", "words"]

_NEGATIONS: Final = frozenset(
    {
        "no",
        "not",
        "never",
        "nobody",
        "none",
        "nothing",
        "neither",
        "nor",
        "without",
        "hardly",
        "unless",
        "except",
    }
)


def same_fact(first: str, second: str) -> bool:
    """Tell whether two texts surely state the same fact. The order of the two does not matter."""
    return first == second or says_the_same(read_statement(first), read_statement(second))


# What may follow a whole statement and say more of the same thing. A place or a time may be that of a number alone.
_GOING_ON: Final = frozenset({"with", "and", "by", "since", "named", "called", "who", "which", "from"})
_PLACES: Final = frozenset({"in", "at", "on", "near"})
# What makes a narrower statement of the one before it, or takes it back: then both stand.
_LIMITING: Final = frozenset(
    {
        "if",
        "only",
        "but",
        "until",
        "till",
        "when",
        "while",
        "or",
        "than",
        "for",
        "instead",
        "anymore",
        "though",
    }
)
_OF_ALL: Final = frozenset({"all", "every", "each", "always", "any", "everybody", "everyone", "anybody"})
_FEWEST_TOKENS: Final = 3


def contains_fact(longer: str, shorter: str) -> bool:
    """Tell whether a text surely states what another one does, and something more of it.

    It goes on where the other ends: "lives in Porto with two cats" contains "lives in Porto". A condition, an
    exception or a negation makes it another statement, and so does a shorter one about all or none of something.
    """
    ours, theirs = read_statement(longer), read_statement(shorter)
    length = len(theirs.tokens)
    if ours.label != theirs.label or not _FEWEST_TOKENS <= length < len(ours.tokens):
        return False
    if not is_same(ours.tokens[:length], theirs.tokens):
        return False
    said = {token.key for token in theirs.tokens}
    rest = [token.key for token in ours.tokens[length:]]
    has_number = any(character.isdigit() for key in said for character in key)
    goes_on = (
        rest[0] in _GOING_ON
        or (rest[0] in _PLACES and not has_number)
        or (rest[0] == "to" and bool(said & PREFERRING))
    )
    is_limited = bool({*rest} & (_LIMITING | _NEGATIONS)) or bool(said & (_NEGATIONS | _OF_ALL))
    return goes_on and not is_limited and not {BREAK.key, QUESTION.key} & {*rest, *said}


def difference(first: str, second: str) -> Difference | None:
    """Return in what two texts differ, or None when they state the same fact. It quotes neither text.

    Of several differences it is the first of: `numbers` (with units, dates, times and versions), `negation`, `names`
    (whatever is capitalised, and identifiers), `words`; `order` when the same words stand in another order.
    """
    if same_fact(first, second):
        return None
    ours, theirs = (read_statement(text).tokens for text in (first, second))
    only = _on_one_side(ours, theirs) | _on_one_side(theirs, ours)
    if not only:
        return "order"
    if any(any(character.isdigit() for character in key) for key in only):
        return "numbers"
    if only & _NEGATIONS:
        return "negation"
    names = {token.key for token in (*ours, *theirs) if not (token.is_common and token.key.islower())}
    return "names" if only & names else "words"


def _on_one_side(tokens: Sequence[Token], others: Sequence[Token]) -> set[str]:
    left = Counter(token.key for token in tokens)
    left.subtract(token.key for token in others)
    return {key for key, count in left.items() if count > 0}
