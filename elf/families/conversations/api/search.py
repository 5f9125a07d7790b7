"""Searching conversations: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.blank_text import NOT_BLANK
from elf.core.errors import Unavailable
from elf.families.conversations.api import fields as f
from elf.families.conversations.api.conversations import TAG
from elf.families.conversations.api.entries import Entry
from elf.families.conversations.errors import STYLE

SearchType = Literal["auto", "semantic", "fulltext"]


class SearchConversations(Request):
    """What is looked for, and how."""

    query: Annotated[
        str,
        f.bound("query_chars"),
        Field(pattern=NOT_BLANK, description="What the entries are to speak of."),
    ]
    searchType: SearchType = Field(
        default="auto",
        description="fulltext: all words of the query, or what begins with them. semantic: what means the same. "
        "auto: both, and the best of them compared with the query.",
    )
    after: f.OpaqueAfter | None = None
    afterCursor: f.OpaqueAfter | None = None
    limit: f.WholeLimit = 20
    includeEntry: bool = Field(default=True, description="Whether results come with their entries.")
    groupByConversation: bool = Field(
        default=True, description="Whether of each conversation only its best entry is told."
    )


class SearchResult(Response):
    """An entry that was found. What it does not have is left out."""

    conversationId: UUID
    conversationTitle: str | None = None
    entryId: UUID
    score: float = Field(description="From 0 to 1, to be compared within one answer.")
    highlights: str | None = Field(
        default=None, description="A part of its text, in which words of the query stand between **."
    )
    entry: Entry | None = None


class SearchPage(f.Page):
    """Results, the best first. `nextCursor` is null at the end, and after 1,000 results."""

    data: list[SearchResult]
    nextCursor: str | None
    degraded: list[str] | None = Field(
        default=None, description="What could not help with this answer, such as the index; else left out."
    )


SEARCH: Final = Operation(
    "search_conversations", "POST", "/v1/conversations/search", "Search conversations", SearchConversations,
    SearchPage, tag=TAG, errors=(Unavailable,), text="any", needs_user=True, reads=True, error_style=STYLE,
)  # fmt: skip

SEARCHING: Final = (SEARCH,)
