"""What a plain clause states: a subject, a predicate, and the words that say it.

A clause is one subject and one verb that a rule names, such as "Ana works at Initech". What is said of it stands word
for word in the clause. One subject has one fact of each predicate, so where somebody may like, have or use several
things, the predicate names which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from elf.families.knowledge.consolidation.guards import (
    CLAUSES,
    DANGLING,
    FRONTED,
    LEAD_IN,
    NEGATED,
    PASSING,
    SAME_SUBJECT,
    TRAILING,
    UNSAID,
)
from elf.families.knowledge.consolidation.people import PERSONAL, RELATIVES
from elf.families.knowledge.consolidation.things import ATTRIBUTES, OF_THINGS, is_attribute, is_vague
from elf.families.knowledge.consolidation.turns import Sentence
from elf.families.knowledge.model import Permanence

TEAM: Final = "team"

_SELF: Final = re.compile(r"I(?='m |'ve | )")
_WE: Final = re.compile(r"(?:we(?='re |'ve | )|the team(?= ))", re.IGNORECASE)
_THE_USER: Final = re.compile(r"the user(?='s | )", re.IGNORECASE)
_RELATIVE: Final = re.compile(
    rf"(?:(?P<own>my)|(?P<owner>(?:the user|[A-Z][\w-]+(?: [A-Z][\w-]+)?)'s)) (?P<kin>{RELATIVES}) ",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"(?P<name>(?:(?:Dr|Mr|Mrs|Ms|Prof)\. |Professor )?[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}) "
)
_NO_NAMES: Final = frozenset(
    [
        "a",
        "all",
        "an",
        "any",
        "as",
        "both",
        "each",
        "every",
        "everybody",
        "everyone",
        "few",
        "half",
        "her",
        "his",
        "i",
        "it",
        "its",
        "many",
        "more",
        "most",
        "much",
        "my",
        "neither",
        "nobody",
        "none",
        "i",
        "one",
        "our",
        "she",
        "some",
        "somebody",
        "someone",
        "that",
        "the",
        "their",
        "there",
        "these",
        "they",
        "this",
        "those",
        "we",
        "what",
        "you",
        "your",
        "always",
        "drawing",
        "last",
        "looks",
        "never",
        "next",
        "only",
        "please",
        "session",
        "sounds",
        "today",
        "tomorrow",
        "tonight",
        "yesterday",
    ]
)
_OF_OTHERS: Final = re.compile(
    r"(?:adore|am|are|detest|dislike|do|don't|enjoy|go|hate|have|hold|intend|like|live|love|major|plan|prefer"
    r"|speak|study|use|work)\b"
)  # not what one person does
_CALL_ME: Final = re.compile(
    r"(?:(?:please|just|everybody|everyone|people|you can|they|friends) )*(?:[Cc]all|[Cc]alls) me"
    r" (?P<name>[A-Z][\w-]+)(?: please)?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A fact as a clause states it."""

    subject: str
    predicate: str
    content: str
    permanence: Permanence
    importance: float


def statements_of(sentence: Sentence) -> Iterator[Statement]:
    """Yield what a sentence states plainly; nothing of a question, a guess, or what somebody is said to have said."""
    text = plain(sentence.text)
    if any(guard.search(text) for guard in UNSAID):
        return
    subject = ""
    for clause in clauses(text):
        found = f"{subject} {clause}" if subject and SAME_SUBJECT.match(clause) else clause
        subject, statement = _stated(found, sentence.speaker)
        if statement is None or DANGLING.search(f"{statement.subject} {statement.content}"):
            subject = ""
        else:
            yield statement


def plain(text: str) -> str:
    """Return a sentence without what it begins with and says nothing, and without its end mark."""
    lead = LEAD_IN.match(text)
    text = text if lead is None else text[lead.end() :]
    return text.rstrip(" .!,;")


def clauses(text: str) -> Iterator[str]:
    """Yield the clauses of a sentence."""
    start = 0
    for mark in CLAUSES.finditer(text):
        yield text[start : mark.start()]
        start = mark.end()
    yield text[start:]


def _stated(clause: str, speaker: str) -> tuple[str, Statement | None]:
    """Return the words for the subject of a clause, and what it states, if anything."""
    if PASSING.search(clause):
        return "", None
    fronted = FRONTED.match(clause)
    clause = TRAILING.sub("", plain(clause if fronted is None else clause[fronted.end() :]))
    if any(guard.search(clause) for guard in UNSAID):
        return "", None
    attribute = _called(clause, speaker) or _attribute(clause, speaker)
    if attribute is not None:
        return "", attribute
    person = _person(clause, speaker)
    if person is not None:
        subject, rest = person
        told = _of_person(subject, rest)
        if told is not None or subject == speaker:
            return clause[: len(clause) - len(rest)].strip(" '"), told
    return _of_thing(clause)


def _person(clause: str, speaker: str) -> tuple[str, str] | None:
    """Return whom a clause is about, and what it says."""
    for pattern, subject in ((_SELF, speaker), (_WE, TEAM), (_THE_USER, "user")):
        match = pattern.match(clause)
        if match is not None:
            return subject, clause[match.end() :].lstrip()
    relative = _RELATIVE.match(clause)
    if relative is not None:
        owner = speaker if relative["own"] else _owner(relative["owner"])
        return f"{owner}'s {relative['kin'].lower()}", clause[relative.end() :]
    name = _NAME.match(clause)
    if (
        name is None
        or _NO_NAMES & set(name["name"].lower().split())
        or name["name"].split()[0].endswith("ing")
    ):
        return None
    said = clause[name.end() :]
    return None if _OF_OTHERS.match(said) else (name["name"], said)


def _owner(words: str) -> str:
    owner = words.removesuffix("'s")
    return "user" if owner.lower() == "the user" else owner


def _of_person(subject: str, said: str) -> Statement | None:
    for rule in PERSONAL:
        match = rule.pattern.match(said)
        if match is None or (NEGATED.search(said) and not rule.takes_negation):
            continue
        content = trimmed(match["content"])
        if not content:
            return None
        return Statement(
            subject=subject,
            predicate=rule.named(match),
            content=content,
            permanence=rule.permanence,
            importance=rule.importance,
        )
    return None


def _called(clause: str, speaker: str) -> Statement | None:
    """Read "call me Bea"."""
    match = _CALL_ME.match(clause)
    if match is None:
        return None
    return Statement(
        subject=speaker,
        predicate="preferred name",
        content=match["name"],
        permanence="stable",
        importance=8.0,
    )


def _attribute(clause: str, speaker: str) -> Statement | None:
    """Read "my time zone is CET", "Ana's manager is Ben", "the port of the server is 80"."""
    if NEGATED.search(clause):
        return None
    for pattern in ATTRIBUTES:
        match = pattern.match(clause)
        if match is not None and is_attribute(match["attribute"], match["content"]):
            return Statement(
                subject=_whose(match["whose"], speaker),
                predicate=match["attribute"].lower() if match["attribute"].istitle() else match["attribute"],
                content=trimmed(match["content"]),
                permanence="standard",
                importance=6.0,
            )
    return None


def _whose(words: str, speaker: str) -> str:
    lowered = words.lower()
    if lowered == "my":
        return speaker
    if lowered == "our":
        return TEAM
    owner = _owner(words)
    if lowered.startswith("my "):
        return f"{speaker}'s {owner[3:].lower()}"
    return _without_article(owner)


def _of_thing(clause: str) -> tuple[str, Statement | None]:
    if NEGATED.search(clause):
        return "", None
    for rule in OF_THINGS:
        match = rule.pattern.match(clause)
        if match is None or not _may_be_thing(match["subject"]):
            continue
        subject, content = _without_article(match["subject"]), trimmed(match["content"])
        if content and subject:
            return match["subject"], Statement(
                subject=subject,
                predicate=rule.named(match),
                content=content,
                permanence="standard",
                importance=5.0,
            )
    return "", None


def _may_be_thing(subject: str) -> bool:
    words = subject.lower().split()
    first = words[0]
    if {"my", "your", "his", "her", "their", "i"} & set(words) or is_vague(words[-1]):
        return False
    return first in ("the", "our", "a", "an") or (first not in _NO_NAMES and not first.endswith("ing"))


def trimmed(content: str) -> str:
    """Return what is said without the words that it says as much without."""
    content = TRAILING.sub("", content.strip(" .!,;"))
    article = re.match(r"(?:the|an?) (?=\S)", content)
    return content if article is None else content[article.end() :]


def _without_article(subject: str) -> str:
    subject = re.sub(r"^(?:the|our|my|an?) ", "", subject.strip(), flags=re.IGNORECASE)
    return "user" if subject.lower() == "user" else subject
