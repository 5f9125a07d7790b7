"""Reads what a language model answers: facts, updates, rules and confirmations out of any text.

A model writes what it likes, so nothing in its answer raises: what is not as asked for is one of the `parse_errors`,
which name the place and repeat no content, and the other items stand. Takes time in proportion to the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args
from uuid import UUID

from elf.core.blank_text import is_blank
from elf.families.knowledge import model as m
from elf.families.knowledge.api.fields import named
from elf.families.knowledge.rules.searchable_text import without_nul

T = TypeVar("T")

NO_JSON: Final = "No JSON block found in consolidation output"
UNREADABLE: Final = "The JSON block of the consolidation output cannot be decoded"
REPORTED: Final = "The consolidation output reports an error instead of an answer"
MOST_ITEMS: Final = 200  # of one list
LEAST_IMPORTANCE, MOST_IMPORTANCE = 1.0, 10.0

_LISTS: Final = ("new_facts", "updated_facts", "new_rules", "confirmations")
_PERMANENCES: Final = frozenset(get_args(m.Permanence))
_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)

_FENCE: Final = re.compile(r"```[ \t]*json\b", re.IGNORECASE)
_MARKS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MOST_UNCLOSED: Final = 16  # braces without their counterpart, each of which takes a look at all of the text
_MOST_OTHERS: Final = 16  # objects without a list; prose has some
_DEEPEST: Final = 100  # braces in braces; an answer has two
_DEEPEST_ANSWER: Final = 3  # objects around an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact that a model found."""

    subject: str
    predicate: str
    content: str
    permanence: m.Permanence
    importance: float
    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedFact:
    """What a model found to be so now; without a permanence, that of the target stays."""

    target_id: UUID
    subject: str
    predicate: str
    content: str
    permanence: m.Permanence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule that a model found."""

    content: str
    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """What an answer says. `found` tells whether there was an answer to read: without one nothing is known.

    Ids are well-formed; whether they were shown, and to whom they belong, whoever applies the result has to see.
    """

    found: bool
    new_facts: list[NewFact]
    updated_facts: list[UpdatedFact]
    new_rules: list[NewRule]
    confirmations: list[UUID]
    parse_errors: list[str]


def read_answer(text: str) -> ConsolidationResult:
    """Return what the text says: the first object that has one of the four lists, behind the first ```json fence or, if
    there is none, in balanced braces anywhere. Any other object says that there is nothing to tell.
    """
    answer, problem = _object_of(text)
    errors = [] if problem is None else [problem]
    answer = answer or {}
    return ConsolidationResult(
        found=problem is None,
        new_facts=_items(answer, "new_facts", _new_fact, errors),
        updated_facts=_items(answer, "updated_facts", _updated_fact, errors),
        new_rules=_items(answer, "new_rules", _new_rule, errors),
        confirmations=list(dict.fromkeys(_items(answer, "confirmations", _id, errors))),
        parse_errors=errors,
    )


# Where the object is


def _object_of(text: str) -> tuple[Mapping[str, Any] | None, str | None]:
    """Return the object that answers, or None and why there is none."""
    problem: str | None = NO_JSON
    others = 0
    for block in _blocks(text):
        if not any(name in block for name in _LISTS):
            others += 1
            if others > _MOST_OTHERS:
                continue
        value = _decoded(block)
        if (answer := _answer_in(value)) is not None:
            return answer, None
        if isinstance(value, dict) and "error" in value:
            return None, REPORTED
        if isinstance(value, dict):
            problem = None
        elif problem is NO_JSON:
            problem = UNREADABLE
    if problem is None and any(f'"{name}"' in text for name in _LISTS):
        problem = UNREADABLE  # beside the object there is an answer, such as one that was cut off
    return None, problem


def _answer_in(value: object, depth: int = 0) -> Mapping[str, Any] | None:
    """Return the object that has one of the lists: this one, or one in it, as some models wrap what they say."""
    if not isinstance(value, dict) or depth > _DEEPEST_ANSWER:
        return None
    if any(name in value for name in _LISTS):
        return value
    return next(filter(None, (_answer_in(inner, depth + 1) for inner in value.values())), None)


def _blocks(text: str) -> Iterator[str]:
    fence = _FENCE.search(text)
    if fence is not None:
        yield from _balanced(text, fence.end())
    yield from _balanced(text, 0)


def _balanced(text: str, start: int) -> Iterator[str]:
    """Yield what stands in balanced braces, one after the other; braces in strings are none."""
    start = text.find("{", start)
    unclosed = 0
    while start >= 0 and unclosed < _MOST_UNCLOSED:
        end = _closing(text, start)
        if end is None:
            unclosed += 1
        else:
            yield text[start:end]
        start = text.find("{", start + 1 if end is None else end)


def _closing(text: str, start: int) -> int | None:
    """Return where the object that begins at `start` ends; None when it does not, or goes too deep."""
    depth = 0
    for mark in _MARKS.finditer(text, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
        if depth == 0:
            return mark.end()
        if depth > _DEEPEST:
            return None
    return None


def _decoded(block: str) -> object:
    try:
        return json.loads(block, strict=False)  # models leave line ends in strings
    except (ValueError, RecursionError):
        return None


# What its items say


def _items(answer: Mapping[str, Any], name: str, read: Callable[[Any], T], errors: list[str]) -> list[T]:
    """Return the items of a list that can be read; adds to `errors` what cannot."""
    given = answer.get(name)
    if given is None:
        return []
    if not isinstance(given, list):
        errors.append(f"{name}: must be a list")
        return []
    if len(given) > MOST_ITEMS:
        errors.append(f"{name}: has {len(given)} items, of which the first {MOST_ITEMS} are read")
    items: list[T] = []
    for place, item in enumerate(given[:MOST_ITEMS]):
        try:
            items.append(read(item))
        except ValueError as error:
            errors.append(f"{name}[{place}]{error}")
    return items


def _new_fact(item: Any) -> NewFact:
    fields = _fields(item)
    return NewFact(
        subject=_name(fields, "subject"),
        predicate=_name(fields, "predicate"),
        content=_content(fields),
        permanence=_permanence(fields) or "standard",
        importance=_importance(fields.get("importance")),
        tags=_tags(fields),
    )


def _updated_fact(item: Any) -> UpdatedFact:
    fields = _fields(item)
    return UpdatedFact(
        target_id=_id(fields.get("target_id"), name=".target_id"),
        subject=_name(fields, "subject"),
        predicate=_name(fields, "predicate"),
        content=_content(fields),
        permanence=_permanence(fields),
    )


def _new_rule(item: Any) -> NewRule:
    fields = _fields(item)
    return NewRule(content=_content(fields), tags=_tags(fields))


def _fields(item: Any) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise ValueError(": must be an object")
    return item


def _id(value: Any, *, name: str = "") -> UUID:
    if not isinstance(value, str) or _UUID.fullmatch(value.strip()) is None:
        raise ValueError(f"{name}: must be a UUID")
    return UUID(value.strip())


def _name(fields: Mapping[str, Any], name: str) -> str:
    return _named(fields.get(name), name, most=m.MAX_NAME_CHARS)


def _named(value: Any, name: str, *, most: int) -> str:
    text = _text(value, name)
    try:
        text = named(text)
    except ValueError as error:
        raise ValueError(f".{name}: {error}") from None
    return _bounded(text, name, most=most)


def _content(fields: Mapping[str, Any]) -> str:
    text = without_nul(_text(fields.get("content"), "content")).strip()
    if is_blank(text):
        raise ValueError(".content: must not be blank")
    return _bounded(text, "content", most=m.MAX_CONTENT_CHARS)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f".{name}: must be text")
    if _SURROGATE.search(value):
        raise ValueError(f".{name}: holds half of a surrogate pair")
    return value


def _bounded(text: str, name: str, *, most: int) -> str:
    if len(text) > most:
        raise ValueError(f".{name}: must be at most {most:,} characters")
    return text


def _permanence(fields: Mapping[str, Any]) -> m.Permanence | None:
    value = fields.get("permanence")
    return value if isinstance(value, str) and value in _PERMANENCES else None  # type: ignore[return-value]


def _importance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        return m.DEFAULT_IMPORTANCE
    return float(max(LEAST_IMPORTANCE, min(MOST_IMPORTANCE, value)))


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)  # a whole number may be too large for a float


def _tags(fields: Mapping[str, Any]) -> list[str]:
    value = fields.get("tags")
    if not isinstance(value, list):
        return []
    if len(value) > m.MAX_TAGS:
        raise ValueError(f".tags: must be at most {m.MAX_TAGS}")
    return list(dict.fromkeys(_named(tag, "tags", most=m.MAX_TAG_CHARS) for tag in value))
