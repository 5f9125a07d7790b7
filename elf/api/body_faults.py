"""The faults that pydantic finds in JSON, told as whoever wrote it sees it: a path, and what is wrong there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from elf.core.blank_text import NOT_BLANK
from elf.core.json_strings import shortened

_NAME: Final = re.compile(
    r"\^(?:\[(?P<first>[^]]+)])?\[(?P<rest>[^]]+)](?:\{\d+,(?P<most>\d+)\}|[+*])(?:\$|\\z)\Z"
)
"""A pattern of a name: characters of one kind, and perhaps a first one of another."""
_RANGES: Final = (
    ("A-Za-z", "letters"),
    ("a-z", "small letters"),
    ("A-Z", "capital letters"),
    ("0-9", "digits"),
)
_NAMES: Final = frozenset(name for _, name in _RANGES)


def faults_told(error: ValidationError) -> list[tuple[str, str]]:
    """Return the path of each fault and what is wrong there, in the order of the fields."""
    faults = error.errors(include_url=False)
    return [(_path(fault["loc"]), _problem(fault)) for fault in faults]


def in_words(told: Sequence[tuple[str, str]], *, most: int) -> str:
    """Return what is wrong as one text, which says of how many more faults it does not tell."""
    shown = [f"{path}: {problem}" for path, problem in told[:most]]
    if len(told) > len(shown):
        shown.append(f"and {len(told) - len(shown)} more")
    return "; ".join(shown)


def _path(location: Sequence[int | str]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{shortened(part)}" for part in location)


def _pattern_problem(pattern: str, value: str) -> str:
    """Return what is wrong with a text that a pattern does not match; no character of it is told."""
    if pattern == NOT_BLANK:
        return "should not be blank"
    shape = _NAME.match(pattern)
    if shape is None:
        return f"should match {pattern}"
    first, rest, most = shape["first"], shape["rest"], shape["most"]
    if not value:
        return "should not be empty"
    if most is not None and len(value) > int(most) + (first is not None):
        return f"should have at most {int(most) + (first is not None)} characters, and has {len(value)}"
    if first is not None and not re.match(f"[{first}]", value):
        return f"should begin with a {_characters(first, 'or a').replace('rs', 'r').replace('ts', 't')}"
    return f"may hold only {_characters(rest, 'and')}"


def _characters(told: str, last: str) -> str:
    """Return the characters of a class in words, the last one after some."""
    for signs, name in _RANGES:
        told = told.replace(signs, f"\0{name}\0")
    parts = [part for piece in told.split("\0") for part in ([piece] if piece in _NAMES else list(piece))]
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts[1:] else parts[0]


def _problem(fault: Any) -> str:
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "extra_forbidden":
        return "is not a known field"
    if fault["type"] == "string_pattern_mismatch":
        return _pattern_problem(fault["ctx"]["pattern"], fault["input"])
    if fault["type"] == "uuid_parsing":
        return "should be a valid UUID"  # pydantic's message quotes a character of the value
    message = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]
