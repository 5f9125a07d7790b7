"""What a language model answered, read with care: any text may come."""

from __future__ import annotations

from typing import Any

import msgspec


def object_in(text: str) -> dict[str, Any]:
    """Return the JSON object of an answer, whatever stands around it; an empty one where there is none."""
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        return {}
    try:
        decoded = msgspec.json.decode(text[start : end + 1])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def items_of(answer: dict[str, Any], name: str) -> list[Any]:
    """Return a list of an answer; an empty one where it has none of this name."""
    found = answer.get(name)
    return found if isinstance(found, list) else []


def as_line(value: object) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()
