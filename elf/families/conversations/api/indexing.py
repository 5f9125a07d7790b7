"""The texts by which entries are found, for those who make them: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import Forbidden, NotFound
from elf.families.conversations.api import fields as f
from elf.families.conversations.api.conversations import TAG
from elf.families.conversations.api.entries import Entry
from elf.families.conversations.errors import STYLE

INDEXER: Final = "indexer"


class IndexedEntry(Request):
    """An entry of a history, and the text by which it is found. All three are needed."""

    conversationId: UUID | None = None
    entryId: UUID | None = None
    indexedContent: f.IndexedContent | None = None


class IndexEntries(Request):
    """Entries to be found by these texts: all, or none."""

    entries: Annotated[list[IndexedEntry], f.bound("index_batch")]


class ListUnindexed(Request):
    """Behind what a page begins."""

    limit: f.Limit = 100
    cursor: (
        Annotated[str, Field(max_length=f.MAX_CURSOR_CHARS, description="The cursor of the page before.")]
        | None
    ) = None


class Indexed(Response):
    """How many entries have got their text."""

    indexed: int


class UnindexedEntry(Response):
    """An entry that has no text to be found by."""

    conversationId: UUID
    entry: Entry


class UnindexedPage(Response):
    """Such entries, oldest first. `cursor` is null at the end."""

    data: list[UnindexedEntry]
    cursor: str | None


INDEX: Final = Operation(
    "index_entries", "POST", "/v1/conversations/index", "Say by which texts entries are found", IndexEntries, Indexed,
    tag=TAG, errors=(Forbidden, NotFound), text="any", body="entries", role=INDEXER, needs_user=True,
    error_style=STYLE, max_body_bytes=f.STANDARD.entry_body_bytes, json_bounds=f.content_of(f.STANDARD),
)  # fmt: skip
UNINDEXED: Final = Operation(
    "list_unindexed_entries", "GET", "/v1/conversations/unindexed", "List entries without such a text", ListUnindexed,
    UnindexedPage, tag=TAG, errors=(Forbidden,), text="any", role=INDEXER, needs_user=True, error_style=STYLE,
)  # fmt: skip

INDEXING: Final = (INDEX, UNINDEXED)
