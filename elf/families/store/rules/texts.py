"""The texts in a value that paths lead to, as LangGraph reads such paths.

title            a field, and a.b one within it          $    the whole value, as JSON
tags[0]          an item of a list, [-1] the last one    *    all fields or items
tags[*].name     of each item                            {a,b.c}   these fields

A text is made when it is asked for, and only as much of it as is kept: many paths to a value of many megabytes cost no
more than the texts that come of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

WHOLE: Final = ("", "$")
_NESTS: Final = {"[": "]", "{": "}"}
_NUMBER: Final = re.compile(r"\s*[+-]?\d{1,9}\s*")

_PIECE: Final = 1000
_MIN_ENTRY_CHARS: Final = 6  # of an object as JSON: `"": 1,` and a space, but for the last one


class TooManyVisits(Exception):
    """Paths lead through more fields and items than they may."""


@dataclass(slots=True)
class TextBounds:
    """How much of values is read, which may be several: what was read is taken off.

    `visits` are the fields and items that paths lead through; `chars` those of all texts, and `text_chars` those of
    each, which is cut off behind them. `is_cut` tells that not all was read.
    """

    visits: int
    chars: int
    text_chars: int
    is_cut: bool = False

    def visit(self, count: int = 1) -> None:
        """Take fields or items off. Raises TooManyVisits."""
        self.visits -= count
        if self.visits < 0:
            raise TooManyVisits


def texts_at(value: Any, paths: Iterable[str], bounds: TextBounds) -> Iterator[str | None]:
    """Yield the texts that paths lead to, in their order, up to the bounds; a repeated path leads nowhere.

    None is yielded now and then in between, for the way to the next text may be long. Raises TooManyVisits.
    """
    for path in dict.fromkeys(paths):
        steps = None if path in WHOLE else [_step(token) for token in tokens_of(path)]
        found = _as_json(value, bounds) if steps is None else _within(value, steps, 0, bounds)
        for text in found:
            if bounds.chars <= 0:
                bounds.is_cut = True
                return
            yield text if text is None else _taken(text, bounds)


def _taken(text: str, bounds: TextBounds) -> str:
    cut = text[: min(bounds.text_chars, bounds.chars)]
    bounds.chars -= len(cut)
    bounds.is_cut = bounds.is_cut or len(cut) < len(text)
    return cut


@dataclass(frozen=True, slots=True)
class _Items:
    """The step that `[2]` is, `[*]`, or what leads nowhere."""

    which: str


@dataclass(frozen=True, slots=True)
class _Fields:
    """The step that `{a,b.c}` is: each of them the names of fields within one another."""

    names: Sequence[Sequence[str]]


_Step: TypeAlias = str | _Items | _Fields


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


def _step(token: str) -> _Step:
    if token[0] == "[" and token[-1] == "]":
        return _Items(token[1:-1])
    if token[0] == "{" and token[-1] == "}":
        return _Fields([tokens_of(field.strip()) for field in token[1:-1].split(",")])
    return token


def _within(value: Any, steps: Sequence[_Step], at: int, bounds: TextBounds) -> Iterator[str | None]:
    if at == len(steps):
        yield from _said(value, bounds)
        return
    step = steps[at]
    if isinstance(step, _Fields):
        # What stands behind these fields is not read, as LangGraph does not read it.
        for names in step.names:
            yield from _field(value, names, bounds)
        return
    for number, one in enumerate(_inner(value, step), 1):
        bounds.visit()
        if number % _PIECE == 0:
            yield None
        yield from _within(one, steps, at + 1, bounds)


def _inner(value: Any, step: str | _Items) -> Iterable[Any]:
    if isinstance(step, _Items):
        return _items(value, step.which) if isinstance(value, list) else ()
    if isinstance(value, dict):
        return value.values() if step == "*" else [value[step]] if step in value else ()
    return value if step == "*" and isinstance(value, list) else ()


def _items(value: list[Any], which: str) -> Iterable[Any]:
    if which == "*":
        return value
    place = int(which) if _NUMBER.fullmatch(which) else len(value)
    return [value[place]] if -len(value) <= place < len(value) else ()


def _field(value: Any, names: Sequence[str], bounds: TextBounds) -> Iterator[str | None]:
    """Yield the text of the field that names lead to, which are those of objects within one another."""
    bounds.visit(1 + len(names))
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if names:
        yield from _said(value, bounds)


def _said(value: Any, bounds: TextBounds) -> Iterator[str | None]:
    if isinstance(value, list | dict):
        yield from _as_json(value, bounds)
    elif value is not None:
        yield str(value)


def _as_json(value: Any, bounds: TextBounds) -> Iterator[str | None]:
    most = max(0, min(bounds.text_chars, bounds.chars))
    if _is_small(value, most):
        yield json.dumps(value, sort_keys=True, ensure_ascii=False)
        return
    pieces: list[str] = []
    room = most
    for number, piece in enumerate(_json_pieces(value, most), 1):
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            break
        if not piece or number % _PIECE == 0:
            yield None
    yield "".join(pieces)


def _is_small(value: Any, most: int) -> bool:
    """Tell whether a value surely is as JSON no more than some times `most` characters."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            most -= len(item)
        elif isinstance(item, list | dict):
            most -= len(item)
            if most < 0:
                return False
            waiting += item.values() if isinstance(item, dict) else item
            most -= sum(map(len, item)) if isinstance(item, dict) else 0
        if most < 0:
            return False
    return True


def _json_pieces(value: Any, most: int) -> Iterator[str]:
    """Yield a value as JSON in pieces, whole up to `most` characters in all; some of them are empty."""
    waiting: list[Iterator[str | _Inner]] = [iter([_Inner(value)])]
    while waiting:
        piece = next(waiting[-1], None)
        if piece is None:
            waiting.pop()
        elif isinstance(piece, str):
            yield piece
        elif isinstance(piece.value, dict):
            waiting.append(_object_pieces(piece.value, most))
        elif isinstance(piece.value, list):
            waiting.append(_array_pieces(piece.value))
        else:
            yield _scalar(piece.value, most)


@dataclass(frozen=True, slots=True)
class _Inner:
    """A value that stands within another one."""

    value: Any


def _object_pieces(value: dict[str, Any], most: int) -> Iterator[str | _Inner]:
    first: list[str] = []
    keys = iter(value)
    while piece := list(islice(keys, _PIECE + most // _MIN_ENTRY_CHARS)):
        # No more of them are told, so no more of very many need be sorted.
        first = sorted(first + piece)[: 1 + most // _MIN_ENTRY_CHARS]
        yield ""
    yield "{"
    for number, key in enumerate(first):
        yield f"{', ' if number else ''}{_scalar(key, most)}: "
        yield _Inner(value[key])
    yield "}"


def _array_pieces(value: list[Any]) -> Iterator[str | _Inner]:
    yield "["
    for number, item in enumerate(value):
        if number:
            yield ", "
        yield _Inner(item)
    yield "]"


def _scalar(value: Any, most: int) -> str:
    return json.dumps(value[:most] if isinstance(value, str) else value, ensure_ascii=False)
