"""JSON as the client sends and gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct

from elf.core.errors import InvalidRequest

if TYPE_CHECKING:
    JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
else:
    JsonValue = Any  # msgspec reads no type that holds itself
JsonObject: TypeAlias = dict[str, JsonValue]

DEEPEST_NAMED = 8


def encode(body: object) -> bytes:
    """Return a request's body; a struct goes as an object without what is None, a UUID or a date as its text.

    Raises InvalidRequest, naming the path as the service does, for what JSON cannot hold.
    """
    try:
        return _dumps(body).encode("ascii")
    except (ValueError, TypeError, RecursionError):
        path, why = _fault(body, "$", DEEPEST_NAMED)
        raise InvalidRequest(f"{path}: {why}", fields=[path]) from None


def _dumps(value: object) -> str:
    return json.dumps(value, allow_nan=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Struct):
        return {name: one for name, one in msgspec.structs.asdict(value).items() if one is not None}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, UUID | date):
        return value.isoformat() if isinstance(value, date) else str(value)
    raise TypeError(f"JSON cannot hold a {type(value).__name__}")


def _fault(value: object, path: str, levels: int) -> tuple[str, str]:
    """Return the path of the innermost value that JSON cannot hold, at most so many levels below, and why."""
    for name, inner in _parts(value, path) if levels else ():
        if _why(inner) is not None:
            return _fault(inner, name, levels - 1)
    return path, _why(value) or "JSON cannot hold it"


def _parts(value: object, path: str) -> Iterator[tuple[str, object]]:
    plain = _plain(value) if isinstance(value, Struct | Mapping) else value
    if isinstance(plain, Mapping):
        yield from ((f"{path}.{name}", inner) for name, inner in plain.items())
    elif isinstance(plain, list | tuple):
        yield from ((f"{path}[{index}]", inner) for index, inner in enumerate(plain))


def _why(value: object) -> str | None:
    try:
        _dumps(value)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:
        return "it holds itself" if "Circular" in str(error) else "should be a finite number"
    except TypeError as error:
        return str(error)
    return None
