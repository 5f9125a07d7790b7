"""The fields of requests: their names are those of the wire, which existing clients know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Final, get_args
from uuid import UUID

import msgspec
from annotated_types import Le, MaxLen
from pydantic import AfterValidator, Field, JsonValue

from elf.api.bodies import WHOLE, FreeJson, Request, Response
from elf.api.bound import Bound
from elf.api.json_bounds import USUAL, JsonBounds
from elf.config.tables.conversations import Bounds
from elf.core.blank_text import NOT_BLANK
from elf.families.conversations import model as m

STANDARD: Final = Bounds()
"""Those of a config that raises none."""

MAX_CURSOR_CHARS: Final = 512
CONTENT_VALUES: Final = 1_000_000
"""Of a body of the standard size; a larger one may hold more."""

EPOCH_DIGITS: Final = 9


def _in_any_case(*words: str) -> str:
    """Return what a text has to match, in every engine of regular expressions, that is one of these words."""
    return "|".join("".join(f"[{letter.upper()}{letter}]" for letter in word) for word in words)


def _channel(text: str) -> str:
    if text.lower() not in get_args(m.Channel):
        raise ValueError("should be history or memory")
    return text.lower()


def _json_bytes(most: int) -> AfterValidator:
    """Return what refuses an object that is larger as JSON."""

    def judged(value: dict[str, Any]) -> dict[str, Any]:
        if len(msgspec.json.encode(value)) > most:
            raise ValueError(f"must be at most {most:,} bytes of JSON")
        return value

    return AfterValidator(judged)


def metadata_of(bounds: Bounds) -> JsonBounds:
    """Return the bounds of metadata: a larger body may hold more values. How long one may be, its own size decides."""
    values = USUAL.values * bounds.body_bytes // STANDARD.body_bytes
    return replace(USUAL, values=values, string_chars=bounds.body_bytes)


def content_of(bounds: Bounds) -> JsonBounds:
    """Return the bounds of content: beyond its items and levels, what it may hold is bounded by its body."""
    size = bounds.entry_body_bytes
    values = CONTENT_VALUES * size // STANDARD.entry_body_bytes
    return JsonBounds(values=values, long_digits=size, depth=bounds.content_levels, string_chars=size)


def bound(key: str, holds: Callable[[int], Any] = MaxLen) -> Bound:
    """Return a bound that [conversations.bounds] may raise."""
    return Bound(key, getattr(STANDARD, key), holds)


def _epoch(text: str) -> str:
    is_number = text.isascii() and text.isdigit() and len(text) <= EPOCH_DIGITS
    if not is_number and text.lower() not in ("latest", "all"):
        raise ValueError(f"should be latest, all or a number from 0 on, of at most {EPOCH_DIGITS} digits")
    return text.lower()


Title = Annotated[str, bound("title_chars"), Field(description="What it is called.")]
UserId = Annotated[str, bound("user_id_chars"), Field(min_length=1, pattern=NOT_BLANK, description="A user.")]
ContentType = Annotated[
    str,
    bound("content_type_chars"),
    Field(min_length=1, pattern=NOT_BLANK, description="What the content is, such as history."),
]
Content = Annotated[
    list[JsonValue],
    bound("content_items"),
    Field(description="Any JSON values, kept as they are."),
    FreeJson(),
]
Metadata = Annotated[
    dict[str, JsonValue], Field(description="Any JSON object."), bound("metadata_bytes", _json_bytes)
]
IndexedContent = Annotated[
    str, bound("indexed_content_chars"), Field(description="The text by which the entry is found.")
]
Channel = Annotated[
    str,
    AfterValidator(_channel),
    Field(
        description="history or memory, in any case.",
        json_schema_extra={"pattern": f"^({_in_any_case(*get_args(m.Channel))})$"},
    ),
]
Epoch = Annotated[
    str,
    AfterValidator(_epoch),
    Field(
        description="latest, all, or the number of one.",
        json_schema_extra={"pattern": f"^({_in_any_case('latest', 'all')}|[0-9]{{1,{EPOCH_DIGITS}}})$"},
    ),
]
SharedLevel = Annotated[m.AccessLevel, Field(description="owner, manager, writer or reader.")]
Limit = Annotated[int, Field(ge=1, description="How many at most."), bound("limit", Le)]
WholeLimit = Annotated[Limit, WHOLE]
"""That of a body: a query string has no numbers that could be written in two ways."""
After = Annotated[UUID, Field(description="The nextCursor of the page before.")]


OpaqueAfter = Annotated[
    str, Field(max_length=MAX_CURSOR_CHARS, description="The nextCursor of the page before.")
]


class OneConversation(Request):
    """Which conversation."""

    conversationId: UUID


class Paged(Request):
    """Behind what a page begins: `afterCursor` is another name for `after`."""

    after: After | None = None
    afterCursor: After | None = None


class Page(Response):
    """A page of a list, with its cursor under both names that clients read."""

    afterCursor: UUID | str | None = Field(description="nextCursor under its other name.")
