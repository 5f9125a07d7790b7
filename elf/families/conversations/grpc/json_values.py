"""JSON values in messages.

A Value knows doubles only, so that a number may come back with less digits than it had. It is nested in itself by two
messages for a list and three for an object, and readers take a hundred of them, so that deep values do not fit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf.struct_pb2 import NULL_VALUE, Struct, Value

from elf.core.errors import InvalidRequest, PayloadTooLarge
from elf.core.slices import Slices

MAX_LEVELS: Final = 100
"""How many messages within one another those who read them take."""
OUTER_LEVELS: Final = 4
"""A page, an item of it, an entry, a value."""
EXACT: Final = 2**53
"""Up to here a double that is whole is that very integer."""


class _NotFinite(Exception):
    """A number that JSON does not have; `path` leads to it from the value that is read."""

    path = ""


def reading_list(name: str, values: Iterable[Value]) -> Slices[list[Any]]:
    """Read the values of a field. Raises InvalidRequest naming the place of a number that JSON does not have."""
    try:
        return (yield from _list(values))
    except _NotFinite as fault:
        raise _refusal(name, fault) from None


def reading_object(name: str, value: Struct) -> Slices[dict[str, Any]]:
    """Read the object in a field, with the same failure."""
    try:
        return (yield from _object(value))
    except _NotFinite as fault:
        raise _refusal(name, fault) from None


def _refusal(name: str, fault: _NotFinite) -> InvalidRequest:
    path = f"$.{name}{fault.path}"
    return InvalidRequest(f"{path}: should be a finite number", fields=[path])


def _read(value: Value) -> Slices[Any]:
    yield
    match value.WhichOneof("kind"):
        case "struct_value":
            return (yield from _object(value.struct_value))
        case "list_value":
            return (yield from _list(value.list_value.values))
        case "number_value":
            return _number(value.number_value)
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
    return None


def _list(values: Iterable[Value]) -> Slices[list[Any]]:
    made: list[Any] = []
    try:
        for value in values:
            made.append((yield from _read(value)))  # noqa: PERF401 - a comprehension cannot yield
    except _NotFinite as fault:
        fault.path = f"[{len(made)}]{fault.path}"
        raise
    return made


def _object(value: Struct) -> Slices[dict[str, Any]]:
    made: dict[str, Any] = {}
    for name, one in value.fields.items():
        try:
            made[name] = yield from _read(one)
        except _NotFinite as fault:
            fault.path = f".{name}{fault.path}"
            raise
    return made


def _number(number: float) -> float:
    if not math.isfinite(number):
        raise _NotFinite
    return int(number) if number.is_integer() and abs(number) <= EXACT else number


def writing_list(values: Iterable[Any], add: Any, levels: int = OUTER_LEVELS) -> Slices[None]:
    """Write JSON values; `add` makes the next Value of a field. Raises PayloadTooLarge for what is nested too deeply.

    `levels` counts the messages within one another, these values included.
    """
    for value in values:
        yield from _write(value, add(), levels)


def _write(json: Any, value: Value, levels: int) -> Slices[None]:
    yield
    if levels > MAX_LEVELS:
        raise PayloadTooLarge("the answer is nested too deeply for gRPC; HTTP has it")
    if json is None:
        value.null_value = NULL_VALUE
    elif isinstance(json, bool):
        value.bool_value = json
    elif isinstance(json, str):
        value.string_value = json
    elif isinstance(json, Mapping):
        value.struct_value.SetInParent()
        for name, one in json.items():
            yield from _write(one, value.struct_value.fields[name], levels + 3)
    elif isinstance(json, list):
        value.list_value.SetInParent()
        yield from writing_list(json, value.list_value.values.add, levels + 2)
    else:
        value.number_value = _double(json)


def _double(number: float) -> float:
    """Return the nearest number that a double has."""
    try:
        return float(number)
    except OverflowError:
        return -sys.float_info.max if number < 0 else sys.float_info.max
