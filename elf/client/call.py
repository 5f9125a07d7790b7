"""One request as data: what is sent, how its answer is read, and when it may be sent again."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar
from urllib.parse import urlencode

from elf.client.context import Given
from elf.client.errors import ErrorBody, read_error
from elf.client.json_value import encode
from elf.client.results import Page
from elf.core.errors import InvalidRequest
from elf.core.ids import text_in_path
from elf.core.structs import json_decoder

T = TypeVar("T")

# When a request may be sent again after a failure that may pass:
#   safe      always: asking twice is like asking once
#   undone    when the first one surely did nothing: no connection was made, or the service itself says 503
#   never     the failure is the answer
Repeat = Literal["safe", "undone", "never"]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Body = Mapping[str, object] | Sequence[object]
ReadError = Callable[[int, bytes], ErrorBody | None]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request to the service. `target` is the path and the query string, `content` the JSON of a body.

    `read` turns the body of a good answer into the result, and raises ValueError when it is none. Statuses in
    `also_read` are read, too. `timeout_s` takes the place of the client's own; math.inf waits as long as it takes.
    `only_note` is the path of a note whose fields are arguments of the call, `whole` the argument that is the whole
    body. `read_error` reads the status and the body of an error, and returns None when it is none of the service's.
    What is `for_operators` is served at the admin address alone.
    """

    method: Method
    target: str
    content: bytes | None
    read: Callable[[bytes], T] = field(repr=False)
    repeat: Repeat = "safe"
    also_read: frozenset[int] = frozenset()
    timeout_s: float | None = None
    only_note: str = ""
    whole: str = ""
    read_error: ReadError = field(default=read_error, repr=False)
    for_operators: bool = False

    def renamed(self, text: str) -> str:
        """Return a text of the service with the paths in it, such as $.notes[0].text, as the arguments they are."""
        return renamed(text, self.only_note, self.whole)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A listing that comes in pages: `at` makes the call for the page that a cursor stands for."""

    at: Callable[[str | None], Call[Page[T]]]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """A request whose answer is a stream of server-sent events, each of which `call` reads.

    The call's `timeout_s` is the longest wait for the next event. A stream that has begun is not begun again.
    """

    call: Call[T]


def get(path: str, params: Mapping[str, Given], read: Callable[[bytes], T]) -> Call[T]:
    """Make a GET; parameters that are None are left out."""
    return Call("GET", _with_query(path, params), None, read)


def delete(path: str, params: Mapping[str, Given], read: Callable[[bytes], T]) -> Call[T]:
    """Make a DELETE, which may be sent again only when the first one surely did nothing; otherwise as `get`."""
    return Call("DELETE", _with_query(path, params), None, read, "undone")


def post(
    path: str,
    body: Body,
    read: Callable[[bytes], T],
    *,
    method: Literal["POST", "PUT", "PATCH"] = "POST",
    repeat: Repeat = "safe",
    only_note: str = "",
    whole: str = "",
) -> Call[T]:
    """Make a request with a body, from which fields that are None are left out; see Call for the rest.

    Raises InvalidRequest for what JSON cannot hold.
    """
    try:
        content = encode(_given(body) if isinstance(body, Mapping) else body)
    except InvalidRequest as error:
        fields = [renamed(field, only_note, whole) for field in error.fields]
        raise InvalidRequest(renamed(error.message, only_note, whole), fields=fields) from None
    return Call(method, path, content, read, repeat, only_note=only_note, whole=whole)


def operators(call: Call[T]) -> Call[T]:
    """Return a call for the admin address, which may take as long as it takes."""
    return replace(call, for_operators=True, timeout_s=math.inf)


def listing(
    path: str, params: Mapping[str, Given], page: type[Page[T]], cursor: str | None = None
) -> Listing[T]:
    """Make a listing whose pages are GETs that differ in `cursor`."""
    read = reader(page)
    return Listing(lambda cursor: get(path, {**params, "cursor": cursor}, read), cursor)


def filled(path: str, values: Mapping[str, Given], *, slashed: str | None = None) -> str:
    """Return a path with its parameters, such as {tenant_id}, filled in; the one named `slashed` may have slashes.

    Raises InvalidRequest for one that has no value, or a value with which the path would lead elsewhere.
    """
    names = [name for _, name, _, _ in string.Formatter().parse(path) if name]
    try:
        return path.format_map(
            {name: text_in_path(values.get(name), name=name, slashed=name == slashed) for name in names}
        )
    except InvalidRequest as error:
        raise InvalidRequest(renamed(error.message), fields=[renamed(one) for one in error.fields]) from None


def renamed(text: str, only_note: str = "", whole: str = "") -> str:
    """Return a text with its paths as arguments; see Call for the two that are special."""
    if whole:
        text = text.replace("$[", f"{whole}[").replace("$: ", f"{whole}: ")
    for prefix in (f"{only_note}." if only_note else "$.", "$.", "$: "):
        text = text.replace(prefix, "")
    return text


def reader(kind: type[T]) -> Callable[[bytes], T]:
    """Return the function that reads a JSON body as a struct."""
    return json_decoder(kind).decode


def nothing(content: bytes) -> None:
    """Read the answer that has no body. Raises ValueError when it has one."""
    if content:
        raise ValueError("an answer without a body was expected")


def _with_query(path: str, params: Mapping[str, Given]) -> str:
    # Text that is no Unicode travels as it is and is the service's to refuse, here and below.
    query = urlencode({name: str(value) for name, value in _given(params).items()}, errors="surrogatepass")
    return f"{path}?{query}" if query else path


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
