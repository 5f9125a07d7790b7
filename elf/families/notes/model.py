"""A note as it is stored, and the small numbers that go with it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal
from uuid import UUID

from elf.core.ids import NoteId

Status = Literal["active", "deleted", "deprecated"]
Op = Literal["ADD", "UPDATE", "NONE", "REJECTED", "DELETE"]

FAMILY: Final = "notes"
_MOMENTS: Final = ("created_at", "updated_at", "expires_at")


@dataclass(frozen=True, slots=True)
class Context:
    """Who speaks: every read and write happens inside one tenant, project and agent."""

    tenant_id: str
    project_id: str
    agent_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One row of memory_notes. Moments are aware and in UTC; importance and confidence are within 0..1."""

    note_id: NoteId
    tenant_id: str
    project_id: str
    agent_id: str
    scope: str
    type: str
    key: str | None
    text: str
    importance: float
    confidence: float
    status: Status
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    requested_ttl_days: float | None
    embedding_version: str
    source_ref: dict[str, Any]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Note:
        """Build a note from a row that has at least the columns of memory_notes."""
        return cls(
            note_id=NoteId(row["note_id"]),
            tenant_id=row["tenant_id"],
            project_id=row["project_id"],
            agent_id=row["agent_id"],
            scope=row["scope"],
            type=row["type"],
            key=row["key"],
            text=row["text"],
            importance=as_real(row["importance"]),
            confidence=as_real(row["confidence"]),
            status=row["status"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
            expires_at=row["expires_at"],
            requested_ttl_days=row["requested_ttl_days"],
            embedding_version=row["embedding_version"],
            source_ref=row["source_ref"],
        )

    @classmethod
    def from_snapshot(cls, snapshot: Mapping[str, Any]) -> Note:
        """Build a note from what `snapshot` returned, as it comes back from the audit trail."""
        fields = dict(snapshot)
        fields["note_id"] = NoteId(UUID(fields["note_id"]))
        for moment in _MOMENTS:
            fields[moment] = None if fields[moment] is None else datetime.fromisoformat(fields[moment])
        return cls(**fields)

    def is_live(self, now: datetime) -> bool:
        """Tell whether the note may be read and indexed: active and not expired."""
        return self.status == "active" and (self.expires_at is None or self.expires_at > now)

    def snapshot(self) -> dict[str, Any]:
        """Return the note as plain JSON values, for the audit trail."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        fields["note_id"] = str(self.note_id)
        for moment in _MOMENTS:
            value = fields[moment]
            fields[moment] = None if value is None else value.isoformat()
        return fields


_FIELDS: Final = tuple(field.name for field in fields_of(Note))


@lru_cache(maxsize=1024)  # the same few numbers again and again
def as_real(value: float) -> float:
    """Return a number as it reads back from a Postgres `real` column: six significant digits survive.

    Postgres keeps 0.8 as 0.800000011920929; without this, an unchanged note would look changed. Raises OverflowError
    for a number that `real` cannot hold.
    """
    # Below 1e-38 a real has fewer digits than six, so the number is narrowed before it is cut.
    (narrowed,) = struct.unpack("<f", struct.pack("<f", value))
    return float(f"{narrowed:.6g}")
