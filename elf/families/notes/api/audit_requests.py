"""The bodies of history, restoring and the decisions audit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.families.notes.api import fields as f
from elf.families.notes.api.requests import GetNoteRequest, InContext


class HistoryRequest(GetNoteRequest):
    """The context is as in reading the note."""

    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class NoteVersion(Response):
    """One change: the note before it and after it."""

    version_id: f.VersionId
    op: str = Field(description="ADD, UPDATE, DEPRECATE, DELETE or PURGE.")
    reason: str = Field(description="Why it was made.")
    actor: str = Field(description="Which operation or worker made it.")
    ts: datetime = Field(description="When it was made.")
    prev_snapshot: dict[str, Any] | None = Field(description="The note before it; null for a new note.")
    new_snapshot: dict[str, Any] | None = Field(description="The note after it; null when nothing was left.")


class Repetition(Response):
    """What was written again in other words: answered NONE, because the note says it already."""

    text: str = Field(description="The other words.")
    similarity: float = Field(description="How like the note they were, by cosine.")
    actor: str = Field(description="Which operation brought them.")
    ts: datetime = Field(description="When.")


class HistoryResponse(Response):
    """The versions of a note, newest first. Those of a purged note are blank where the writer's words were."""

    items: list[NoteVersion] = Field(description="The versions.")
    repetitions: list[Repetition] = Field(
        default=[],
        exclude_if=lambda value: not value,
        description="What was written again in other words, newest first: the latest, as many as a page may hold, with "
        "the first page. Left out when there are none.",
    )
    next_cursor: f.NextCursor
    dropped_before: datetime | None = Field(
        description="When the oldest version that is left was made, if there were older ones, which are kept for "
        "as long as the config says; null: the history is whole."
    )


class RestoreRequest(InContext):
    """Without a version, the last one after which the note was active."""

    note_id: f.NoteId
    version_id: (
        Annotated[f.VersionId, Field(description="The version whose state the note gets again.")] | None
    ) = None


class RestoreResponse(Response):
    note_id: f.NoteId
    version_id: UUID | None = Field(
        description="The version whose text the note has now; null when rejected."
    )
    op: Literal["UPDATE", "NONE", "REJECTED"] = Field(
        description="UPDATE: restored. NONE: it was like that already. REJECTED: the old text may not be stored now."
    )
    reason_code: f.ReasonCode = None
    reason: f.Reason = None


class DecisionsRequest(Request):
    """What to look for in the decisions of a tenant."""

    tenant_id: f.TenantIdGiven
    project_id: f.ProjectIdGiven | None = None
    agent_id: f.AgentIdGiven | None = None
    note_id: Annotated[f.NoteId, Field(description="Only decisions that ended in this note.")] | None = None
    op: (
        Annotated[
            Literal["ADD", "UPDATE", "NONE", "REJECTED"], Field(description="Only decisions of this kind.")
        ]
        | None
    ) = None
    limit: f.PageSize = 50
    cursor: f.CursorGiven | None = None


class DecisionItem(Response):
    """One row of memory_ingest_decisions. A rejected note has its numbers here, and none of its words."""

    decision_id: int = Field(description="Counts up with each decision.")
    tenant_id: f.TenantId
    project_id: f.ProjectId
    agent_id: f.AgentId
    scope: str | None = Field(description="The scope asked for; null when it is not one of the config's.")
    type: str | None = Field(description="The type asked for; null when it is not one of the six.")
    keyed: bool = Field(description="Whether the note had a key.")
    text_chars: int = Field(description="How long its text was, in code points.")
    note_id: UUID | None = Field(description="The note it ended in; null when it was rejected.")
    op: str = Field(description="ADD, UPDATE, NONE or REJECTED.")
    reason_code: f.ReasonCode
    reason: str = Field(description="Why, for people.")
    similarity: float | None = Field(
        description="How like the nearest stored note it was, by cosine; null: not asked."
    )
    matched_note_id: UUID | None = Field(description="That nearest note.")
    dropped_text: str | None = Field(
        description="Of a NONE: what the note said, when the stored one says it in other words; else null."
    )
    policy: dict[str, Any] = Field(description="The rules of the config that were in force.")
    actor: str = Field(description="The operation that brought the note.")
    ts: datetime = Field(description="When it was decided.")


class DecisionsResponse(Response):
    """Decisions, newest first."""

    items: list[DecisionItem] = Field(description="The decisions.")
    next_cursor: f.NextCursor
