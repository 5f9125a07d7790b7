"""What is exported, as JSON objects: each says by `kind` what it is, and has the names of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from elf.families.notes.api.fields import MAX_TTL_DAYS
from elf.families.notes.model import Note, Status

Name = Annotated[str, Meta(min_length=1, max_length=128)]
Moment = Annotated[datetime, Meta(tz=True)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Days = Annotated[float, Meta(ge=-MAX_TTL_DAYS, le=MAX_TTL_DAYS)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
LargeCount = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Type = Literal["preference", "constraint", "decision", "profile", "fact", "plan"]


class _Fields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a note is, now or once, but for the model that its vectors are of."""

    note_id: UUID
    tenant_id: Name
    project_id: Name
    agent_id: Name
    scope: Name
    type: Type
    key: Name | None = None
    text: str
    importance: Share
    confidence: Share
    status: Status
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None = None
    requested_ttl_days: Days | None = None
    source_ref: dict[str, Any]


class Snapshot(_Fields, frozen=True, kw_only=True):
    """What a note was, as its history has it."""

    embedding_version: Name


class ExportedNote(_Fields, frozen=True, kw_only=True, tag_field="kind", tag="note"):
    """A note, of whatever status, and how often it was found."""

    hit_count: LargeCount = 0
    last_hit_at: Moment | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ExportedNote:
        """Build it from a row of memory_notes."""
        note = Note.from_row(row)
        fields = {name: getattr(note, name) for name in _Fields.__struct_fields__}
        return cls(**fields, hit_count=row["hit_count"], last_hit_at=row["last_hit_at"])

    def as_note(self, *, note_id: UUID, embedding_version: str) -> Note:
        """Return the note, under the id that it has here, and to be embedded by this version."""
        fields = {name: getattr(self, name) for name in _Fields.__struct_fields__}
        return Note(**(fields | {"note_id": note_id, "embedding_version": embedding_version}))


class _Piece(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):  # fmt: skip
    """Something of a note's, of the tenant that has the note."""

    tenant_id: Name
    note_id: UUID


class ExportedVersion(_Piece, frozen=True, kw_only=True, tag="version"):
    """One change of a note; the snapshots are as they are stored."""

    version_id: UUID
    op: Literal["ADD", "UPDATE", "DEPRECATE", "DELETE"]
    prev_snapshot: dict[str, Any] | None = None
    new_snapshot: dict[str, Any] | None = None
    reason: str
    actor: str
    ts: Moment

    @property
    def snapshots(self) -> Mapping[str, dict[str, Any]]:
        """Those that are there, by name."""
        named = {"prev_snapshot": self.prev_snapshot, "new_snapshot": self.new_snapshot}
        return {name: snapshot for name, snapshot in named.items() if snapshot is not None}


class ExportedDecision(_Piece, frozen=True, kw_only=True, tag="decision"):
    """What became of something that was written, in the end of which the note was; the nth of this moment."""

    ts: Moment
    nth: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    op: Literal["ADD", "UPDATE", "NONE"]
    scope: Name | None = None
    type: Type | None = None
    keyed: bool
    text_chars: Count
    reason_code: str | None = None
    reason: str
    similarity: Annotated[float, Meta(ge=-2.0, le=2.0)] | None = None
    matched_note_id: UUID | None = None
    policy: dict[str, Any]
    actor: str
    dropped_text: str | None = None


class ExportedSource(_Piece, frozen=True, kw_only=True, tag="source"):
    """Where else a note was said: the reference that a note of its own would have."""

    source_ref: dict[str, Any]
    created_at: Moment


Exported = ExportedNote | ExportedVersion | ExportedDecision | ExportedSource
