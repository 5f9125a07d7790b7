"""How this family is told things: pages, listings whole, and failures have other names on its wire than elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from msgspec import Struct

from elf.client.call import Call, Listing, delete, filled, get, reader
from elf.client.context import Given
from elf.client.errors import ErrorBody, Forbidden, code_of
from elf.client.errors import read_error as read_usual_error
from elf.client.families.conversations import results as r
from elf.client.results import Page
from elf.core.structs import read_json

ROOT = "/v1/conversations"
TRANSFERS = "/v1/ownership-transfers"
SESSIONS = "/v1/sessions"

Id = UUID | str
PageSize = Annotated[int | None, "how many a page, up to 200, or what the service is set to"]
T = TypeVar("T")


class _Data(Struct, Generic[T], frozen=True, kw_only=True, rename="camel"):
    data: list[T]
    next_cursor: str | None = None
    cursor: str | None = None
    degraded: tuple[str, ...] = ()


class _Violation(Struct, frozen=True):
    field: str
    message: str = ""


class _Details(Struct, frozen=True):
    message: str | None = None
    violations: list[_Violation] = []
    resource: str = ""
    id: str = ""


class _Error(Struct, frozen=True):
    error: str
    details: _Details | None = None
    message: str | None = None


def told(call: Call[T]) -> Call[T]:
    """Return a call whose errors are those of this family."""
    return replace(call, read_error=read_error)


def read_error(status: int, content: bytes) -> ErrorBody | None:
    """Return the error that the service tells of, with arguments by their names here; None when it is none of its."""
    try:
        body = read_json(content, _Error)
    except ValueError:
        return read_usual_error(status, content)
    details = body.details or _Details()
    message = details.message or body.message or body.error
    if details.resource:
        message = f"there is no {details.resource} {details.id}"
    fields = [_argument(one.field) for one in details.violations]
    for one, field in zip(details.violations, fields, strict=True):
        message = message.replace(f"$.{one.field}", field)
    code = Forbidden.error_code if status == Forbidden.status else code_of(status)
    return ErrorBody(code, message, fields)


def data_of(kind: type[T]) -> Callable[[bytes], list[T]]:
    """Return the function that reads a listing that comes whole."""
    read = reader(_Data[kind])  # type: ignore[valid-type]
    return lambda content: read(content).data


def page_of(kind: type[T]) -> Callable[[bytes], Page[T]]:
    """Return the function that reads a page."""
    read = reader(_Data[kind])  # type: ignore[valid-type]

    def page(content: bytes) -> Page[T]:
        body = read(content)
        return Page(body.data, body.next_cursor or body.cursor)

    return page


def found_page(content: bytes) -> Page[r.SearchResult]:
    """Read a page of results."""
    body = read_json(content, _Data[r.SearchResult])
    return r.SearchPage(body.data, body.next_cursor, body.degraded)


def listed(path: str, params: Mapping[str, Given], kind: type[T], cursor: str | None) -> Listing[T]:
    """Make a listing whose pages are GETs that differ in `after`."""
    read = page_of(kind)
    return Listing(lambda cursor: told(get(path, {**params, "after": cursor}, read)), cursor)


def conversation(conversation_id: Id) -> str:
    """Return the path of a conversation."""
    return filled(f"{ROOT}/{{conversation_id}}", {"conversation_id": conversation_id})


def deleted(path: str, params: Mapping[str, Given] = MappingProxyType({})) -> Call[None]:
    """Make a DELETE that is sent again whenever its answer may be lost: what is gone stays gone."""
    return told(replace(delete(path, params, nothing), repeat="safe"))


def nothing(content: bytes) -> None:
    """Read an answer that has no body, or an empty one."""
    if content:
        raise ValueError("an answer without a body was expected")


def said(flag: bool) -> str | None:
    """Return how a query string says yes; no is left out."""
    return "true" if flag else None


def _argument(field: str) -> str:
    name = re.sub(r"(?<=[a-z])[A-Z]", lambda letter: f"_{letter[0].lower()}", field)
    return "cursor" if name in ("after", "after_cursor") else name
