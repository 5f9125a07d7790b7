"""Stored notes and their versions on their way out: what is JSON in Postgres stays JSON.

The JSON of these is that of NoteResponse, ListResponse, NoteVersion and HistoryResponse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from elf.families.notes.model import as_real


class ShownNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note with everything a reader may know of it."""

    note_id: UUID
    tenant_id: str
    project_id: str
    agent_id: str
    scope: str
    type: str
    key: str | None
    text: str
    importance: float
    confidence: float
    status: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    source_ref: msgspec.Raw

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ShownNote:
        """Build it from a row that has these columns, the reference as JSON text."""
        fields = {name: row[name] for name in cls.__struct_fields__}
        fields["importance"] = as_real(row["importance"])
        fields["confidence"] = as_real(row["confidence"])
        fields["source_ref"] = msgspec.Raw(row["source_ref"])
        return cls(**fields)


class ShownNotes(msgspec.Struct, frozen=True, kw_only=True):
    """A page of notes."""

    items: Sequence[ShownNote]
    next_cursor: str | None


class ShownVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a note."""

    version_id: UUID
    op: str
    reason: str
    actor: str
    ts: datetime
    prev_snapshot: msgspec.Raw | None
    new_snapshot: msgspec.Raw | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ShownVersion:
        """Build it from a row that has these columns, the snapshots as JSON text."""
        fields = {name: row[name] for name in cls.__struct_fields__}
        for name in ("prev_snapshot", "new_snapshot"):
            fields[name] = None if row[name] is None else msgspec.Raw(row[name])
        return cls(**fields)


class ShownRepetition(msgspec.Struct, frozen=True, kw_only=True):
    """What was written again in other words."""

    text: str
    similarity: float
    actor: str
    ts: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ShownRepetition:
        """Build it from a row that has these columns."""
        return cls(**{name: row[name] for name in cls.__struct_fields__})


class ShownVersions(msgspec.Struct, frozen=True, kw_only=True):
    """A page of versions; repetitions are left out where there are none."""

    items: Sequence[ShownVersion]
    repetitions: Sequence[ShownRepetition] | msgspec.UnsetType
    next_cursor: str | None
    dropped_before: datetime | None
