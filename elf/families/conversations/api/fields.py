"""The fields of requests: their names are those of the wire, which existing clients know."""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from elf.api.bodies import FreeJson, Request
from elf.api.json_bounds import JsonBounds
from elf.core.blank_text import NOT_BLANK
from elf.families.conversations.model import AccessLevel

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
MAX_METADATA_BYTES: Final = 64 * 1024
MAX_INDEXED_CHARS: Final = 100_000
MAX_CURSOR_CHARS: Final = 512
CONTENT: Final = JsonBounds(
    values=1_000_000, long_digits=MAX_BODY_BYTES, depth=64, string_chars=MAX_BODY_BYTES
)
"""The bounds of content: what it may hold is bounded by its body."""

LAST_EPOCH: Final = 2**31 - 1


def _lowered(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    if len(msgspec.json.encode(metadata)) > MAX_METADATA_BYTES:
        raise ValueError(f"must be at most {MAX_METADATA_BYTES:,} bytes of JSON")
    return metadata


def _epoch(text: str) -> str:
    if text in ("latest", "all") or (text.isascii() and text.isdigit() and int(text) <= LAST_EPOCH):
        return text
    raise ValueError("should be latest, all or a number from 0 on")


Title = Annotated[str, Field(max_length=500, description="What it is called.")]
UserId = Annotated[str, Field(min_length=1, max_length=255, pattern=NOT_BLANK, description="A user.")]
ContentType = Annotated[
    str,
    Field(
        min_length=1, max_length=127, pattern=NOT_BLANK, description="What the content is, such as history."
    ),
]
Content = Annotated[
    list[JsonValue], Field(max_length=10_000, description="Any JSON values, kept as they are."), FreeJson()
]
Metadata = Annotated[dict[str, JsonValue], Field(description="Any JSON object."), AfterValidator(_metadata)]
IndexedContent = Annotated[
    str, Field(max_length=MAX_INDEXED_CHARS, description="The text by which the entry is found.")
]
Channel = Annotated[
    str, BeforeValidator(_lowered), Field(pattern="^(history|memory)$", description="history or memory.")
]
Epoch = Annotated[
    str,
    BeforeValidator(_lowered),
    AfterValidator(_epoch),
    Field(max_length=10, description="latest, all, or the number of one."),
]
SharedLevel = Annotated[AccessLevel, Field(description="owner, manager, writer or reader.")]
Limit = Annotated[int, Field(ge=1, le=200, description="How many at most.")]
After = Annotated[UUID, Field(description="The nextCursor of the page before.")]


class OneConversation(Request):
    """Which conversation."""

    conversationId: UUID


class Paged(Request):
    """Behind what a page begins: `afterCursor` is another name for `after`."""

    after: After | None = None
    afterCursor: After | None = None
