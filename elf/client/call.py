"""One request as data: what is sent, how its answer is read, and when it may be sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from elf.client.json_value import encode
from elf.client.results import Page
from elf.core.errors import InvalidRequest

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
    `only_note` is the path of a note whose fields are arguments of the call.
    """

    method: Literal["GET", "POST"]
    target: str
    content: bytes | None
    read: Callable[[bytes], T] = field(repr=False)
    repeat: Repeat = "safe"
    also_read: frozenset[int] = frozenset()
    timeout_s: float | None = None
    only_note: str = ""

    def renamed(self, text: str) -> str:
        """Return a text of the service with the paths in it, such as $.notes[0].text, as the arguments they are."""
        return renamed(text, self.only_note)


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
    path: str,
    body: Mapping[str, object],
    read: Callable[[bytes], T],
    *,
    repeat: Repeat = "safe",
    only_note: str = "",
) -> Call[T]:
    """Make a POST; fields that are None are left out. Raises InvalidRequest for what JSON cannot hold."""
    try:
        content = encode({name: value for name, value in body.items() if value is not None})
    except InvalidRequest as error:
        fields = [renamed(field, only_note) for field in error.fields]
        raise InvalidRequest(renamed(error.message, only_note), fields=fields) from None
    return Call("POST", path, content, read, repeat, only_note=only_note)


def renamed(text: str, only_note: str = "") -> str:
    """Return a text with its paths as arguments; `only_note` is that of a note whose fields are arguments."""
    for prefix in (f"{only_note}." if only_note else "$.", "$.", "$: "):
        text = text.replace(prefix, "")
    return text


def reader(kind: type[T]) -> Callable[[bytes], T]:
    """Return the function that reads a JSON body as a struct."""
    return msgspec.json.Decoder(kind).decode
