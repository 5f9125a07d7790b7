"""The texts in a value that paths lead to, as LangGraph reads such paths.

title            a field, and a.b one within it          $    the whole value, as JSON
tags[0]          an item of a list, [-1] the last one    *    all fields or items
tags[*].name     of each item                            {a,b.c}   these fields
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

WHOLE: Final = ("", "$")
_NESTS: Final = {"[": "]", "{": "}"}


def texts_at(value: Any, paths: Sequence[str]) -> list[str]:
    """Return all texts that these paths lead to, in their order."""
    return [text for path in paths for text in _at(value, path)]


def _at(value: Any, path: str) -> Iterator[str]:
    if path in WHOLE:
        yield _as_json(value)
    else:
        yield from _within(value, tokens_of(path))


def tokens_of(path: str) -> list[str]:
    """Return the steps of a path: names of fields, and what stands in brackets with these."""
    tokens: list[str] = []
    name, place = "", 0
    while place < len(path):
        sign = path[place]
        if sign in _NESTS:
            if name:
                tokens.append(name)
                name = ""
            end = _end_of_bracket(path, place)
            tokens.append(path[place:end])
            place = end
            continue
        if sign != ".":
            name += sign
        elif name:
            tokens.append(name)
            name = ""
        place += 1
    return [*tokens, name] if name else tokens


def _end_of_bracket(path: str, place: int) -> int:
    """Return where the bracket that opens at a place is closed; the end, where it never is."""
    opening, open_ones = path[place], 0
    for at in range(place, len(path)):
        open_ones += (path[at] == opening) - (path[at] == _NESTS[opening])
        if not open_ones:
            return at + 1
    return len(path)


def _within(value: Any, tokens: Sequence[str]) -> Iterator[str]:
    if not tokens:
        yield from _said(value)
        return
    token, rest = tokens[0], tokens[1:]
    if token[0] == "[" and token[-1] == "]":
        inner = _items(value, token[1:-1])
    elif token[0] == "{" and token[-1] == "}":
        # What stands behind these fields is not read, as LangGraph does not read it.
        for field in token[1:-1].split(","):
            yield from _field(value, tokens_of(field.strip()))
        return
    elif token == "*":
        inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    else:
        inner = [value[token]] if isinstance(value, dict) and token in value else []
    for one in inner:
        yield from _within(one, rest)


def _items(value: Any, which: str) -> list[Any]:
    if not isinstance(value, list):
        return []
    if which == "*":
        return value
    if not re.fullmatch(r"\s*[+-]?\d{1,9}\s*", which):
        return []
    place = int(which)
    return [value[place]] if -len(value) <= place < len(value) else []


def _field(value: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield the text of the field that names lead to, which are those of objects within one another."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if names:
        yield from _said(value)


def _said(value: Any) -> Iterator[str]:
    if isinstance(value, list | dict):
        yield _as_json(value)
    elif value is not None:
        yield str(value)


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
