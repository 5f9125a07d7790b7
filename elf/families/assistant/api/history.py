"""What became of memories: requests, answers and operations."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.families.assistant import model as m
from elf.families.assistant.api import fields as f

TAG: Final = "assistant: history"


class AllHistory(f.OfUser):
    """A page of what became of all memories of a user, newest first."""

    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class MemoryHistory(AllHistory):
    """A page of what became of a memory, newest first."""

    memory_id: f.MemoryId


class HistoryRow(Response):
    """A change of a memory. Once the memory is purged, its words are blank here."""

    id: UUID
    memory_id: f.MemoryId
    event: m.HistoryEvent
    old_ref: dict[str, Any] | None = Field(description="The memory as it was before, where it was there.")
    new_ref: dict[str, Any] | None = Field(description="The memory as it was then, where it was there still.")
    actor: str | None = Field(description="Who did it: a user, a program, or worker for the service itself.")
    meta: dict[str, Any]
    ts: f.Moment


class HistoryPage(Response):
    items: list[HistoryRow]
    next_cursor: f.NextCursor


OF_MEMORY: Final = Operation(
    "assistant_memory_history", "GET", "/v1/assistant/memories/{memory_id}/history", "Read what became of a memory",
    MemoryHistory, HistoryPage, tag=TAG, text="any", errors=(NotFound, ScopeDenied),
)  # fmt: skip
OF_USER: Final = Operation(
    "assistant_history", "GET", "/v1/assistant/history", "Read what became of all memories of a user",
    AllHistory, HistoryPage, tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip

HISTORY: Final[tuple[Operation, ...]] = (OF_MEMORY, OF_USER)
