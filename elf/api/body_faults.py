"""The faults that pydantic finds in JSON, told as whoever wrote it sees it: a path, and what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from elf.core.json_strings import shortened


def faults_told(error: ValidationError) -> list[tuple[str, str]]:
    """Return the path of each fault and what is wrong there, in the order of the fields."""
    faults = error.errors(include_url=False, include_input=False)
    return [(_path(fault["loc"]), _problem(fault)) for fault in faults]


def in_words(told: Sequence[tuple[str, str]], *, most: int) -> str:
    """Return what is wrong as one text, which says of how many more faults it does not tell."""
    shown = [f"{path}: {problem}" for path, problem in told[:most]]
    if len(told) > len(shown):
        shown.append(f"and {len(told) - len(shown)} more")
    return "; ".join(shown)


def _path(location: Sequence[int | str]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{shortened(part)}" for part in location)


def _problem(fault: Any) -> str:
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "extra_forbidden":
        return "is not a known field"
    if fault["type"] == "string_pattern_mismatch":
        return "should not be blank"  # requests have no other pattern, and this one is a list of characters
    if fault["type"] == "uuid_parsing":
        return "should be a valid UUID"  # pydantic's message quotes a character of the value
    message = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]
