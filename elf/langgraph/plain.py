"""Values of subclasses of Python's own types, such as the text of a message of LangChain, as values of those types."""

from __future__ import annotations

from enum import Enum
from typing import Any


def plain(value: object) -> Any:
    """Return a value whose texts, numbers, bytes, lists, dicts and tuples are of no subclass, as deep as these go.

    A member of an enum and a named tuple stay what they are: serializers know both.
    """
    if isinstance(value, bool | Enum):
        return value
    # By the methods of the types themselves, for a subclass may have others of the same names.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes):
        return bytes.__getitem__(value, slice(None))
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple) and not hasattr(value, "_asdict"):
        return tuple(plain(item) for item in value)
    return value


def plain_of_subclass(value: object) -> Any:
    """Return the plain form of a value that msgspec cannot write for its type. Raises TypeError where it has none."""
    made = plain(value)
    if type(made) is type(value):
        raise TypeError(f"JSON cannot hold a {type(value).__name__}")
    return made
