"""The update resolver: whether an incoming note is new, changes a stored one, or says nothing new.

It is pure: the caller has locked and read what is stored, and writes what comes out. All notes of one request are
resolved in order against the same workspace, so a request may add a note and change it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from elf.core.ids import NoteId, new_note_id
from elf.core.ttl import expiry
from elf.families.notes.model import Context, Note, as_real

Vector = npt.NDArray[np.float32]
ChangeOp = Literal["ADD", "UPDATE", "DELETE"]

SIMILARITY_UNCHECKED = "SIMILARITY_UNCHECKED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A note that passed the gate. `pooled` is its unit vector, None when it has a key or none could be computed."""

    scope: str
    type: str
    key: str | None
    text: str
    importance: float
    confidence: float
    ttl_days: float | None
    source_ref: dict[str, Any]
    pooled: Vector | None = None

    @property
    def group(self) -> tuple[str, str]:
        return (self.scope, self.type)


@dataclass(frozen=True, slots=True)
class Match:
    """A stored note and its cosine similarity to an incoming one."""

    note: Note
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a note's history: what it was, what it became, and why."""

    op: ChangeOp
    before: Note | None
    after: Note
    reason: str


@dataclass(frozen=True, slots=True)
class Basis:
    """What an outcome rests on: why, the note that was found, and its cosine similarity where there is one."""

    reason: str
    matched_note_id: NoteId | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one incoming note. The basis is for the audit; equal outcomes may differ in it."""

    note_id: NoteId
    op: Literal["ADD", "UPDATE", "NONE"]
    reason_code: str | None = None
    basis: Basis = field(default=Basis(""), compare=False)


@dataclass(frozen=True, slots=True)
class ResolverRules:
    """The thresholds of section 10 and the default life of each type in days (0 is for ever)."""

    dup_sim_threshold: float
    update_sim_threshold: float
    default_ttl_days: dict[str, int]


@dataclass(slots=True)
class Workspace:
    """The stored notes a request touches, as they become while it is resolved, and the history that makes."""

    context: Context
    now: datetime
    embedding_version: str
    rules: ResolverRules
    by_key: dict[tuple[str, str, str], Note] = field(default_factory=dict)
    current: dict[NoteId, Note] = field(default_factory=dict)
    pooled: dict[NoteId, Vector] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    def know_keyed(self, notes: Sequence[Note]) -> None:
        """Take in the stored, locked notes that hold the keys of this request."""
        for note in notes:
            if note.key is not None:
                self.by_key[(note.scope, note.type, note.key)] = note

    def resolve_keyed(self, incoming: Incoming) -> Outcome:
        """Resolve a note with a key: it is the note that holds the key, or new."""
        assert incoming.key is not None
        stored = self.by_key.get((*incoming.group, incoming.key))
        if stored is not None and not stored.is_live(self.now):
            self._retire(stored)
            stored = None
        if stored is None:
            return self._add(incoming, Basis("new note"))
        return self._update(stored, incoming, Basis("same key", stored.note_id))

    def resolve_similar(self, incoming: Incoming, match: Match | None) -> Outcome:
        """Resolve a note without a key by the most similar note, stored or made by this very request."""
        best = self._best(incoming, match)
        if best is None or not best.similarity >= self.rules.update_sim_threshold:  # NaN is like nothing
            unchecked = SIMILARITY_UNCHECKED if incoming.pooled is None else None
            return self._add(incoming, _found("new note", best), reason_code=unchecked)
        if best.similarity >= self.rules.dup_sim_threshold:
            return Outcome(best.note.note_id, "NONE", basis=_found("duplicate", best))
        return self._update(best.note, incoming, _found(f"similarity {best.similarity:.4f}", best))

    def touched(self) -> set[NoteId]:
        """The notes this request changed so far: what Postgres says of them is out of date."""
        return set(self.current)

    def _best(self, incoming: Incoming, match: Match | None) -> Match | None:
        candidates = [] if match is None else [match]
        for note in self.current.values():
            if (note.scope, note.type) == incoming.group and note.is_live(self.now):
                similarity = self._similarity(note, incoming)
                if similarity is not None:
                    candidates.append(Match(note, similarity))
        return max(candidates, key=lambda candidate: candidate.similarity, default=None)

    def _similarity(self, note: Note, incoming: Incoming) -> float | None:
        if note.text == incoming.text:
            return 1.0
        other = self.pooled.get(note.note_id)
        return None if other is None or incoming.pooled is None else float(np.dot(other, incoming.pooled))

    def _add(self, incoming: Incoming, basis: Basis, reason_code: str | None = None) -> Outcome:
        note = Note(
            note_id=new_note_id(),
            tenant_id=self.context.tenant_id,
            project_id=self.context.project_id,
            agent_id=self.context.agent_id,
            scope=incoming.scope,
            type=incoming.type,
            key=incoming.key,
            text=incoming.text,
            importance=as_real(incoming.importance),
            confidence=as_real(incoming.confidence),
            status="active",
            created_at=self.now,
            updated_at=self.now,
            expires_at=self._expiry(incoming),
            requested_ttl_days=incoming.ttl_days,
            embedding_version=self.embedding_version,
            source_ref=incoming.source_ref,
        )
        self._record(Change(op="ADD", before=None, after=note, reason=basis.reason), incoming.pooled)
        return Outcome(note.note_id, "ADD", reason_code, basis)

    def _update(self, stored: Note, incoming: Incoming, basis: Basis) -> Outcome:
        if is_unchanged(stored, incoming):
            return Outcome(stored.note_id, "NONE", basis=replace(basis, reason="unchanged"))
        note = replace(
            stored,
            text=incoming.text,
            importance=as_real(incoming.importance),
            confidence=as_real(incoming.confidence),
            updated_at=next_moment(stored, self.now),
            expires_at=self._expiry(incoming),
            requested_ttl_days=incoming.ttl_days,
            embedding_version=self.embedding_version,
            source_ref=incoming.source_ref,
        )
        self._record(Change(op="UPDATE", before=stored, after=note, reason=basis.reason), incoming.pooled)
        return Outcome(note.note_id, "UPDATE", basis=basis)

    def _retire(self, stored: Note) -> None:
        # Expiry is noticed here before the collector did: the key is free again, the old note stays in the history.
        self._record(deletion(stored, now=self.now, reason="expired"), None)

    def _record(self, change: Change, pooled: Vector | None) -> None:
        note = change.after
        self.changes.append(change)
        self.current[note.note_id] = note
        if pooled is not None:
            self.pooled[note.note_id] = pooled
        elif change.before is None or change.before.text != note.text:
            self.pooled.pop(note.note_id, None)
        if note.key is not None:
            self.by_key[(note.scope, note.type, note.key)] = note

    def _expiry(self, incoming: Incoming) -> datetime | None:
        default_days = self.rules.default_ttl_days[incoming.type]
        return expiry(now=self.now, ttl_days=incoming.ttl_days, default_days=default_days)


def _found(reason: str, best: Match | None) -> Basis:
    return Basis(reason) if best is None else Basis(reason, best.note.note_id, best.similarity)


def deletion(stored: Note, *, now: datetime, reason: str) -> Change:
    """Return the step that marks a note deleted."""
    after = replace(stored, status="deleted", updated_at=next_moment(stored, now))
    return Change(op="DELETE", before=stored, after=after, reason=reason)


def is_unchanged(stored: Note, incoming: Incoming) -> bool:
    """Tell whether writing `incoming` over `stored` would change nothing but the clock."""
    return (
        stored.text == incoming.text
        and stored.importance == as_real(incoming.importance)
        and stored.confidence == as_real(incoming.confidence)
        and stored.source_ref == incoming.source_ref
        and stored.requested_ttl_days == incoming.ttl_days
    )


def next_moment(stored: Note, now: datetime) -> datetime:
    """Return the moment of a change: now, but always later than the last one, whatever the clock does."""
    return max(now, stored.updated_at + timedelta(microseconds=1))
