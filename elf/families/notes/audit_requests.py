"""The bodies of history, restoring and the decisions audit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from elf.families.notes.requests import GetNoteRequest, Identifier, InContext, Request, Response

MAX_PAGE = 200


class HistoryRequest(GetNoteRequest):
    """The context is optional, as in reading the note."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: str | None = None


class NoteVersion(Response):
    """One change: the note before it and after it. `ts` is the moment of the change."""

    version_id: UUID
    op: str
    reason: str
    actor: str
    ts: datetime
    prev_snapshot: dict[str, Any] | None
    new_snapshot: dict[str, Any] | None


class HistoryResponse(Response):
    """The versions of a note, newest first. Those of a purged note are blank where the writer's words were."""

    items: list[NoteVersion]
    next_cursor: str | None


class RestoreRequest(InContext):
    """Without a version, the last one after which the note was active."""

    note_id: UUID
    version_id: UUID | None = None


class RestoreResponse(Response):
    """`version_id` is the version whose text the note has now; null when it was rejected."""

    note_id: UUID
    version_id: UUID | None
    op: Literal["UPDATE", "NONE", "REJECTED"]
    reason_code: str | None = None
    reason: str | None = None


class DecisionsRequest(Request):
    """What to look for in the decisions of a tenant."""

    tenant_id: Identifier
    project_id: Identifier | None = None
    agent_id: Identifier | None = None
    note_id: UUID | None = None
    op: Literal["ADD", "UPDATE", "NONE", "REJECTED"] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: str | None = None


class DecisionItem(Response):
    """One row of memory_ingest_decisions. A rejected note has its numbers here, and none of its words."""

    decision_id: int
    tenant_id: str
    project_id: str
    agent_id: str
    scope: str | None
    type: str | None
    keyed: bool
    text_chars: int
    note_id: UUID | None
    op: str
    reason_code: str | None
    reason: str
    similarity: float | None
    matched_note_id: UUID | None
    policy: dict[str, Any]
    actor: str
    ts: datetime


class DecisionsResponse(Response):
    """Decisions, newest first."""

    items: list[DecisionItem]
    next_cursor: str | None
