"""Which field of what a user is known by a memory is about, and what it says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

ContextField: TypeAlias = Literal["preferred_name", "pronouns", "city", "language", "tone", "goals"]

SENSITIVE: Final[frozenset[ContextField]] = frozenset({"preferred_name", "pronouns", "city", "language"})
"""Fields that change only where the user agrees."""


class Signal(NamedTuple):
    """A field, and the value that somebody's words give it."""

    field: ContextField
    value: str


_TONE: Final = (
    r"(?:prefers|likes|wants) (?P<value>brief|casual|concise|detailed|direct|formal|friendly|informal|long|plain|polite"
    r"|short|terse) (?:answers|explanations|messages|replies|responses)"
)
_PATTERNS: Final[Sequence[tuple[ContextField, str]]] = (
    ("preferred_name", r"(?:preferred )?name is (?P<value>.+)"),
    ("pronouns", r"pronouns are (?P<value>.+)"),
    ("language", r"preferred language is (?P<value>.+)"),
    (
        "city",
        r"(?:(?:now |currently )?lives|is (?:now |currently )?(?:living|based|located)) in (?P<value>.+)",
    ),
    ("city", r"(?:moved|relocated) (?:from .+? )?to (?P<value>.+)"),
    ("tone", _TONE),
)
_SAID: Final = tuple(
    (field, re.compile(rf"^User(?:'s)? {pattern}$", re.IGNORECASE)) for field, pattern in _PATTERNS
)


def signal_of(text: str, category: str) -> Signal | None:
    """Return what a memory in the third person says of a field; None where it is about none."""
    plain = text.rstrip(".! ")
    for field, pattern in _SAID:
        if (found := pattern.match(plain)) is not None:
            return Signal(field, found["value"])
    return Signal("goals", text) if category == "goals" else None
