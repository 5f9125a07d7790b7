"""Which field of what a user is known by a memory is about, and what it says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from elf.families.assistant.rules.attributes import valued
from elf.families.assistant.rules.tone import tone_of
from elf.families.assistant.rules.values import ValueType, is_city

ContextField: TypeAlias = Literal["preferred_name", "pronouns", "city", "language", "tone", "goals"]

SENSITIVE: Final[frozenset[ContextField]] = frozenset({"preferred_name", "pronouns", "city", "language"})
"""Fields that change only where the user agrees."""


class Signal(NamedTuple):
    """A field, and the value that somebody's words give it, in passing where `is_implied`."""

    field: ContextField
    value: str
    is_implied: bool = False


_FIELDS: Final[Mapping[tuple[str, ValueType], ContextField]] = MappingProxyType(
    {
        ("name", "name"): "preferred_name",
        ("pronouns", "pronouns"): "pronouns",
        ("home", "place"): "city",
        ("origin", "place"): "city",
        ("preferred language", "language"): "language",
        ("native language", "language"): "language",
        ("spoken language", "language"): "language",
    }
)
_GOAL: Final = re.compile(
    r"^User's (?:\w+ ){0,3}(?:goal|aim|objective|ambition|dream|target)(?: for .+?)? is (?:to )?.+",
    re.IGNORECASE,
)


def signal_of(text: str, category: str) -> Signal | None:
    """Return what a memory in the third person says of a field; None where it gives none a value of its type."""
    plain = text.rstrip(".! ")
    known = valued(plain)
    if known is not None and known.attribute.subject == "user":
        field = _FIELDS.get((known.attribute.name, known.type))
        if field is not None and (field != "city" or is_city(known.value)):
            return Signal(field, known.value, known.is_implied)
    if (tone := tone_of(plain)) is not None:
        return Signal("tone", tone)
    return Signal("goals", text) if category == "goals" or _GOAL.match(plain) else None
