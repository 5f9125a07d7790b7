"""One request as data: what is sent, how its answer is read, and when it may be sent again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from elf.client.results import Page

T = TypeVar("T")

# When a request may be sent again after a failure that may pass:
#   safe      always: asking twice is like asking once
#   undone    when the first one surely did nothing: no connection was made, or the service itself says 503
#   never     the failure is the answer
Repeat = Literal["safe", "undone", "never"]
Given = str | int | UUID | None


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request to the service. `target` is the path and the query string, `content` the JSON of a POST.

    `read` turns the body of a good answer into the result, and raises ValueError when it is none. Statuses in
    `also_read` are read, too. `timeout_s` takes the place of the client's own; math.inf waits as long as it takes.
    """

    method: Literal["GET", "POST"]
    target: str
    content: bytes | None
    read: Callable[[bytes], T] = field(repr=False)
    repeat: Repeat = "safe"
    also_read: frozenset[int] = frozenset()
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A listing that comes in pages: `at` makes the call for the page that a cursor stands for."""

    at: Callable[[str | None], Call[Page[T]]]
    cursor: str | None = None


def get(path: str, params: Mapping[str, Given], read: Callable[[bytes], T]) -> Call[T]:
    """Make a GET; parameters that are None are left out."""
    given = {name: str(value) for name, value in params.items() if value is not None}
    # Text that is no Unicode travels as it is and is the service's to refuse, here and below.
    query = urlencode(given, errors="surrogatepass")
    return Call("GET", f"{path}?{query}" if query else path, None, read)


def post(
    path: str, body: Mapping[str, Any], read: Callable[[bytes], T], *, repeat: Repeat = "safe"
) -> Call[T]:
    """Make a POST; fields that are None are left out. Raises ValueError or TypeError for what JSON cannot hold."""
    given = {name: value for name, value in body.items() if value is not None}
    content = json.dumps(given, allow_nan=False, default=_uuid_text).encode("ascii")
    return Call("POST", path, content, read, repeat)


def reader(kind: type[T]) -> Callable[[bytes], T]:
    """Return the function that reads a JSON body as a struct."""
    return msgspec.json.Decoder(kind).decode


def _uuid_text(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"a request cannot hold a {type(value).__name__}")
