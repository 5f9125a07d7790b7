"""Saying what is wrong with a config file: pydantic's findings become dotted keys and what is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from elf.config.breach import KeyPath
from elf.config.table import PLACE_KEYS, SECRET_KEYS, Table
from elf.core.errors import ConfigFault

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_SHOWN = 60


def describe(detail: Mapping[str, Any], config: type[Table]) -> ConfigFault:
    """Turn one error detail of `ValidationError.errors()` into a fault that names no internal thing.

    `config` is the model that found it.
    """
    path: KeyPath = tuple(detail["loc"])
    match detail["type"]:
        case "missing":
            problem = _missing(path, config)
        case "extra_forbidden":
            problem = _unknown(path, config)
        case "value_error":
            problem = str(detail["ctx"]["error"])
        case _:
            problem = f"must be {_allowed(_expected_at(path, config))}{_not_this(path, detail['input'])}"
    return ConfigFault(dotted(path), problem)


def dotted(path: KeyPath) -> str:
    """Write a path as TOML writes it, with list positions in brackets counted from 0."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE_KEY.fullmatch(part) else json.dumps(part))
    return text


def _missing(path: KeyPath, config: type[Table]) -> str:
    expected = _expected_at(path, config)
    if table := _table(expected):
        return f"this table is missing; its keys are {_keys(table)}"
    return f"is missing; it must be {_allowed(expected)}"


def _unknown(path: KeyPath, config: type[Table]) -> str:
    parent = _table(_expected_at(path[:-1], config))
    known = parent.model_fields if parent else {}
    name = str(path[-1])
    if elsewhere := [dotted(other) for other in _all_paths(config, ()) if other[-1] == name]:
        return f"is not a known key here; did you mean {' or '.join(elsewhere)}?"
    if near := get_close_matches(name, known, n=1):
        table = _table(known[near[0]])
        return f"is not a known key; did you mean {near[0]}{f', {_one(table)}' if table else ''}?"
    return f"is not a known key; known here are {', '.join(known)}"


def _all_paths(table: type[Table], above: KeyPath) -> Iterator[KeyPath]:
    for name, field in table.model_fields.items():
        yield (*above, name)
        if inner := _table(field):
            yield from _all_paths(inner, (*above, name))


def _expected_at(path: KeyPath, config: type[Table]) -> FieldInfo:
    """Return what the models say about the value at a path, which may lead into lists and plain tables."""
    expected = FieldInfo.from_annotation(config)
    for part in path:
        if table := _table(expected):
            # An unknown key has no entry; nothing is asked of it but its parent.
            expected = table.model_fields.get(str(part), FieldInfo.from_annotation(object))
        else:
            expected = FieldInfo.from_annotation(get_args(_given(expected.annotation))[-1])
    return expected


def _given(annotation: Any) -> Any:
    """Return what a value is where there is one: some may be left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    (choice,) = (choice for choice in get_args(annotation) if choice is not NoneType)
    return FieldInfo.from_annotation(choice).annotation


def _table(expected: FieldInfo) -> type[Table] | None:
    """Return the model of a table, which may be one that has no value when it is left out."""
    annotation = _given(expected.annotation)
    return annotation if isinstance(annotation, type) and issubclass(annotation, Table) else None


def _allowed(expected: FieldInfo) -> str:
    """Say in words what a value may be."""
    annotation: Any = expected.annotation
    if expected.description:
        return expected.description
    if get_origin(annotation) in (Union, UnionType):
        (inner,) = (choice for choice in get_args(annotation) if choice is not NoneType)
        return _allowed(FieldInfo.from_annotation(inner))
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(get_args(annotation))}"
    if annotation is int:
        return f"a whole number{_bounds(expected)}"
    if annotation is float:
        return f"a number{_bounds(expected)}"
    if table := _table(expected):
        return _one(table)
    return {bool: "true or false", str: "a string"}[annotation]


def _one(table: type[Table]) -> str:
    return f"one table with the keys {_keys(table)}"


def _keys(table: type[Table]) -> str:
    return ", ".join(table.model_fields)


def _bounds(expected: FieldInfo) -> str:
    low = high = ""
    for bound in expected.metadata:
        match bound:
            case Ge():
                low = f" from {bound.ge:g}" if isinstance(bound.ge, float) else f" from {bound.ge}"
            case Gt():
                low = f" above {bound.gt:g}" if isinstance(bound.gt, float) else f" above {bound.gt}"
            case Le():
                high = f" to {bound.le:g}" if isinstance(bound.le, float) else f" to {bound.le}"
            case _:
                continue
    return f"{low}{high}"


def _not_this(path: KeyPath, value: object) -> str:
    """Show the value at fault when it is short and cannot hold a secret."""
    if any(part in SECRET_KEYS or part in PLACE_KEYS for part in path):
        return ""
    match value:
        case bool():
            return f", not {str(value).lower()}"
        case int() if value.bit_length() > 64:
            return ", not a number of that size"
        case int() | float():
            return f", not {value}"
        case str() if len(value) <= _LONGEST_SHOWN:
            return f", not {json.dumps(value)}"
        case _:
            return ""
