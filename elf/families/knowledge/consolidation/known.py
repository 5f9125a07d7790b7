"""What is known already, and what a statement says to it: the same again, otherwise than it was, or something new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from elf.core.same_fact import same_fact
from elf.families.knowledge.consolidation.prompt import ShownFact, ShownRule
from elf.families.knowledge.consolidation.statements import Statement

# Predicates that say one thing in other words, as people and models name them.
_NAMES: Final = {
    name: names[0]
    for names in (
        (
            "home",
            "lives in",
            "lives",
            "live in",
            "residence",
            "city",
            "home city",
            "home location",
            "location",
            "based in",
        ),
        ("employer", "works at", "works for", "company", "workplace"),
        ("job", "occupation", "profession", "works as", "job title"),
        ("origin", "comes from", "is from", "from", "grew up in", "birthplace"),
        ("birthday", "birth date", "date of birth"),
        ("diet", "dietary preference", "dietary restriction"),
        ("studies", "field of study", "major"),
    )
    for name in names
}
_ARTICLES: Final = re.compile(r"\b(?:the|an?)\b ?", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+")
_LEAST_OVERLAP: Final = 0.5


class Known:
    """The facts and rules that a prompt shows."""

    def __init__(self, facts: Sequence[ShownFact], rules: Sequence[ShownRule]) -> None:
        self._facts = {_key(fact.subject, fact.predicate): fact for fact in reversed(facts)}
        self._told = [(fact.id, f"{fact.subject} {fact.predicate} {fact.content}") for fact in facts]
        self._told += [(rule.id, rule.content) for rule in rules]
        self._words = [set(_words(text)) for _, text in self._told]

    def fact_of(self, statement: Statement) -> ShownFact | None:
        """Return the known fact about the same, which a statement bears out or replaces."""
        return self._facts.get(_key(statement.subject, statement.predicate))

    def saying(self, sentence: str) -> list[UUID]:
        """Return the ids of what says the same as a sentence."""
        words = set(_words(sentence))
        return [
            id
            for (id, text), own in zip(self._told, self._words, strict=True)
            if len(words & own) >= _LEAST_OVERLAP * max(len(words), len(own)) and same_fact(text, sentence)
        ]


def says_no_more(statement: Statement, known: str) -> bool:
    """Tell whether a statement says of its subject what is known; it may say less."""
    ours, theirs = _words(statement.content), _words(known)
    if ours and f" {' '.join(ours)} " in f" {' '.join(theirs)} ":
        return True
    return same_fact(_sentence(statement.content), _sentence(known))


def is_of_one_kind(statement: Statement, known: ShownFact) -> bool:
    """Tell whether two values may replace each other: what a thing "is" may be a price and a colour at once."""
    return statement.predicate != "is" or _is_number(statement.content) == _is_number(known.content)


def key_of(statement: Statement) -> tuple[str, str]:
    """Return what a statement is about, the same however it is written."""
    return _key(statement.subject, statement.predicate)


def _key(subject: str, predicate: str) -> tuple[str, str]:
    named = " ".join(predicate.lower().replace("_", " ").replace("favourite", "favorite").split())
    about = " ".join(_ARTICLES.sub("", subject.lower()).split())
    return about, _NAMES.get(named, named)


def _sentence(content: str) -> str:
    return f"The value is {content}."


def _words(text: str) -> list[str]:
    return _WORD.findall(_ARTICLES.sub("", text.lower()))


def _is_number(content: str) -> bool:
    return re.match(r"[$\u20ac\u00a3]?\d", content) is not None
