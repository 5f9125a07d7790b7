"""A text as the tokens that make up what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from elf.core.text_cache import text_cache
from elf.core.wording.contractions import taken_apart
from elf.core.wording.moments import with_moments
from elf.core.wording.openings import without_openings
from elf.core.wording.phrases import with_one_wording
from elf.core.wording.quantities import with_quantities
from elf.core.wording.tokens import (
    BREAK,
    CAPITAL,
    COLON,
    COMMA,
    FIRST,
    MARKS,
    QUESTION,
    Token,
    beginning_sentences,
    tokens,
    word,
)

_ARTICLES: Final = {"the": "the", "a": "a", "an": "a"}

# Before these an article changes the meaning: few friends and a few friends, the only child and an only child.
_ARTICLE_COUNTS: Final = frozenset(
    "few little lot bit only most other couple number charge same hundred".split()
)

_JOINING: Final = frozenset({"and", "or", "but"})
_BEFORE_COLON: Final = frozenset("is are was were likes includes".split())
PREFERRING: Final = frozenset({"prefer", "prefers", "preferred"})
_INSTEAD: Final = (("over",), ("rather", "than"), ("instead", "of"))


@dataclass(frozen=True, slots=True)
class Statement:
    """What a text says: its tokens, articles on the words they belong to, and the label it begins with, if any."""

    label: str | None
    tokens: tuple[Token, ...]


# A text is compared with each of its neighbors. A statement takes 2 KB for a short text and 22 KB for the longest.
@text_cache(max_texts=1024, max_chars=1000)
def read_statement(text: str) -> Statement:
    """Return what a text says. Takes time in proportion to its length."""
    label, said = without_openings(beginning_sentences(tokens(text)))
    apart = taken_apart(beginning_sentences(said))
    worded = with_quantities(with_one_wording(with_moments(apart)))
    return Statement(label, tuple(_with_articles(_punctuated(list(_with_preferences(worded))))))


def is_same(first: Sequence[Token], second: Sequence[Token]) -> bool:
    """Tell whether two rows of tokens are the same, token by token."""
    return len(first) == len(second) and all(map(_is_same_token, first, second))


def _is_same_token(first: Token, second: Token) -> bool:
    if first.key != second.key or not first.case & second.case:
        return False
    if first.key in _ARTICLE_COUNTS:
        return first.article == second.article
    return first.article == second.article or not (first.article and second.article)


def _with_preferences(found: Sequence[Token]) -> Iterator[Token]:
    """Write "prefers tea over coffee" as "prefers tea to coffee"."""
    prefers = next((place for place, token in enumerate(found) if token.key in PREFERRING), len(found))
    yield from found[: prefers + 1]
    place = prefers + 1
    while place < len(found):
        keys = tuple(token.key for token in found[place : place + 2])
        instead = next((one for one in _INSTEAD if keys[: len(one)] == one), ())
        if instead and place > prefers + 1:
            yield word("to")
            yield from found[place + len(instead) :]
            return
        yield found[place]
        place += 1


def _punctuated(found: Sequence[Token]) -> list[Token]:
    """Leave only the marks that may tell something."""
    kept: list[Token] = []
    for place, token in enumerate(found):
        following = found[place + 1].key if place + 1 < len(found) else ""
        if token not in MARKS:
            kept.append(token)
        elif kept and not _tells_nothing(token, kept[-1], following):
            while kept[-1] == COMMA or (kept[-1] == BREAK and token == QUESTION):
                kept.pop()
            kept.append(token)
    while kept and kept[-1] in (BREAK, COMMA, COLON):
        kept.pop()
    return kept


def _tells_nothing(mark: Token, before: Token, following: str) -> bool:
    if mark == COMMA:
        return following in _JOINING or before in MARKS
    if mark == COLON:
        return before.key in _BEFORE_COLON
    return mark == BREAK and before in (BREAK, QUESTION)


def _with_articles(found: Sequence[Token]) -> Iterator[Token]:
    article = ""
    for place, token in enumerate(found):
        is_article = token.key in _ARTICLES and (token.is_common or (token.key == "a" and place == 0))
        if is_article and not article and place + 1 < len(found) and found[place + 1] not in MARKS:
            article = _ARTICLES[token.key]
            continue
        first = FIRST if article and token.case == CAPITAL and place == 1 else token.case
        yield token._replace(article=article, case=first)
        article = ""
