"""The update resolver: whether an incoming note is new, changes a stored one, or says nothing new.

It is pure: the caller has locked and read what is stored, and writes what comes out. All notes of one request are
resolved in order against the same workspace, so a request may add a note and change it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from elf.core.ids import NoteId, new_note_id
from elf.core.same_fact import contains_fact, difference, same_fact
from elf.core.same_json import comparing_json
from elf.core.slices import Slices
from elf.core.ttl import expiry
from elf.families.notes.model import Context, Note, as_real

Vector = npt.NDArray[np.float32]
ChangeOp = Literal["ADD", "UPDATE", "DELETE"]

SIMILARITY_UNCHECKED = "SIMILARITY_UNCHECKED"
SAYS_LESS: Final = "says less of the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A note that passed the gate. `pooled` is its unit vector, None when it has a key or none could be computed.

    Without `merge_similar`, a note without a key is only ever the one with exactly the same text. One that `is_said` is
    from a conversation: where it is known, the known note is said there, too, and stays as it is.
    """

    scope: str
    type: str
    key: str | None
    text: str
    importance: float
    confidence: float
    ttl_days: float | None
    source_ref: dict[str, Any]
    merge_similar: bool = True
    is_said: bool = False
    pooled: Vector | None = None

    @property
    def group(self) -> tuple[str, str]:
        return (self.scope, self.type)


@dataclass(frozen=True, slots=True)
class Near:
    """A stored note close to an incoming one, as it was when they were compared; `similarity` is their cosine."""

    note_id: NoteId
    updated_at: datetime
    text: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Match:
    """A note and its cosine similarity to an incoming one."""

    note: Note
    similarity: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is stored near an incoming note: the nearest of all, and the nearest that it may be merged with, locked."""

    nearest: Near | None = None
    match: Match | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a note's history: what it was, what it became, and why."""

    op: ChangeOp
    before: Note | None
    after: Note
    reason: str


@dataclass(frozen=True, slots=True)
class Basis:
    """What an outcome rests on: why, the note that was found, and its cosine similarity where there is one.

    `dropped_text` is what came in and was not stored, because the note that was found says it in other words.
    """

    reason: str
    matched_note_id: NoteId | None = None
    similarity: float | None = None
    dropped_text: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one incoming note. The basis is for the audit; equal outcomes may differ in it.

    `similar_to` is the note that a new one looks like, so much that likeness alone would have merged them.
    """

    note_id: NoteId
    op: Literal["ADD", "UPDATE", "NONE"]
    reason_code: str | None = None
    similar_to: NoteId | None = None
    basis: Basis = field(default=Basis(""), compare=False)


@dataclass(frozen=True, slots=True)
class ResolverRules:
    """The thresholds of section 10 and the default life of each type in days (0 is for ever).

    With `same_fact_only`, likeness only finds: of the `neighbours` nearest notes the first that states the same fact
    is the one. Without, the nearest is.
    """

    dup_sim_threshold: float
    update_sim_threshold: float
    default_ttl_days: dict[str, int]
    same_fact_only: bool
    neighbours: int

    def may_merge(self, incoming: Incoming, text: str, similarity: float) -> bool:
        """Tell whether an incoming note may become one with a note of this text and likeness."""
        if text == incoming.text:
            return True
        if not incoming.merge_similar:
            return False
        if contains_fact(incoming.text, text) or says_less(incoming, text):  # far longer ones are less alike
            return True
        if not similarity >= self.update_sim_threshold:  # so says NaN, too
            return False
        return not self.same_fact_only or same_fact(text, incoming.text)


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

    def resolving_keyed(self, incoming: Incoming) -> Slices[Outcome]:
        """Resolve a note with a key, in slices: it is the note that holds the key, or new."""
        assert incoming.key is not None
        stored = self.by_key.get((*incoming.group, incoming.key))
        if stored is not None and not stored.is_live(self.now):
            self._retire(stored)
            stored = None
        if stored is None:
            return self._add(incoming, Basis("new note"))
        if says_less(incoming, stored.text):
            basis = Basis(SAYS_LESS, stored.note_id, dropped_text=incoming.text)
            return Outcome(stored.note_id, "NONE", basis=basis)
        return (yield from self._updating(stored, incoming, Basis("same key", stored.note_id)))

    def resolving_similar(self, incoming: Incoming, stored: Surroundings) -> Slices[Outcome]:
        """Resolve a note without a key, in slices, by the notes most like it, stored or made by this very request."""
        nearest, match = self._beside_new_ones(incoming, stored)
        if match is None:
            return self._add_beside(incoming, nearest)
        if says_less(incoming, match.note.text):
            basis = replace(_found(SAYS_LESS, match), dropped_text=incoming.text)
            return Outcome(match.note.note_id, "NONE", basis=basis)
        says_more = contains_fact(incoming.text, match.note.text)
        if match.similarity >= self.rules.dup_sim_threshold and not says_more:
            dropped = None if match.note.text == incoming.text else incoming.text
            basis = replace(_found("duplicate", match), dropped_text=dropped)
            return Outcome(match.note.note_id, "NONE", basis=basis)
        reason = "says more of the same" if says_more else f"similarity {match.similarity:.4f}"
        basis = _found(reason, match)
        return (yield from self._updating(match.note, incoming, basis))

    def touched(self) -> set[NoteId]:
        """The notes this request changed so far: what Postgres says of them is out of date."""
        return set(self.current)

    def _beside_new_ones(self, incoming: Incoming, stored: Surroundings) -> tuple[Near | None, Match | None]:
        """Return what is nearest, and what the note may be merged with, among stored notes and this request's."""
        new = sorted(self._new_matches(incoming), key=lambda match: match.similarity, reverse=True)
        allowed = (
            match
            for match in new[: self.rules.neighbours]
            if self.rules.may_merge(incoming, match.note.text, match.similarity)
        )
        near = [*([stored.nearest] if stored.nearest else []), *map(_near, new[:1])]
        matches = [*([stored.match] if stored.match else []), *allowed]
        return (
            max(near, key=lambda one: one.similarity, default=None),
            max(matches, key=lambda one: one.similarity, default=None),
        )

    def _new_matches(self, incoming: Incoming) -> Iterator[Match]:
        for note in self.current.values():
            if (note.scope, note.type) == incoming.group and note.is_live(self.now):
                similarity = self._similarity(note, incoming)
                if similarity is not None:
                    yield Match(note, similarity)

    def _similarity(self, note: Note, incoming: Incoming) -> float | None:
        if note.text == incoming.text:
            return 1.0
        other = self.pooled.get(note.note_id)
        return None if other is None or incoming.pooled is None else float(np.dot(other, incoming.pooled))

    def _add_beside(self, incoming: Incoming, nearest: Near | None) -> Outcome:
        unchecked = SIMILARITY_UNCHECKED if incoming.pooled is None else None
        if nearest is None:
            return self._add(incoming, Basis("new note"), reason_code=unchecked)
        looks_alike = nearest.similarity >= self.rules.update_sim_threshold
        reason = _apart(incoming, nearest.text) if looks_alike else "new note"
        outcome = self._add(
            incoming, Basis(reason, nearest.note_id, nearest.similarity), reason_code=unchecked
        )
        return replace(outcome, similar_to=nearest.note_id) if looks_alike else outcome

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
        return Outcome(note.note_id, "ADD", reason_code, basis=basis)

    def _updating(self, stored: Note, incoming: Incoming, basis: Basis) -> Slices[Outcome]:
        if (yield from comparing_with(stored, incoming)):
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
            source_ref=evidence_for(incoming, stored),
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


def says_less(incoming: Incoming, text: str) -> bool:
    """Tell whether what is said in a conversation is a part of what a note says: that takes nothing back."""
    return incoming.is_said and contains_fact(text, incoming.text)


def _found(reason: str, match: Match) -> Basis:
    return Basis(reason, match.note.note_id, match.similarity)


def _near(match: Match) -> Near:
    return Near(match.note.note_id, match.note.updated_at, match.note.text, match.similarity)


def _apart(incoming: Incoming, text: str) -> str:
    """Say why a note was added beside one that it looks like, without a word of either."""
    if not incoming.merge_similar:
        return "new note: it looks like another, and was not to be merged by likeness"
    return f"new note: it looks like another, but differs in {difference(text, incoming.text)}"


def evidence_for(incoming: Incoming, stored: Note) -> dict[str, Any]:
    """Return the source_ref of a stored note once an incoming one is written over it.

    An empty one says nothing, so what is known of the fact stays. But it is no evidence of another fact: under a
    changed text it would prove what it does not, so there it ends, and the history of the note keeps it.
    """
    if incoming.source_ref or not same_fact(stored.text, incoming.text):
        return incoming.source_ref
    return stored.source_ref


def deletion(stored: Note, *, now: datetime, reason: str) -> Change:
    """Return the step that marks a note deleted."""
    after = replace(stored, status="deleted", updated_at=next_moment(stored, now))
    return Change(op="DELETE", before=stored, after=after, reason=reason)


def comparing_with(stored: Note, incoming: Incoming) -> Slices[bool]:
    """Tell, in slices, whether writing `incoming` over `stored` would change nothing but the clock."""
    return (
        stored.text == incoming.text
        and stored.importance == as_real(incoming.importance)
        and stored.confidence == as_real(incoming.confidence)
        and stored.requested_ttl_days == incoming.ttl_days
        and (
            incoming.is_said or (yield from comparing_json(stored.source_ref, evidence_for(incoming, stored)))
        )
    )


def next_moment(stored: Note, now: datetime) -> datetime:
    """Return the moment of a change: now, but always later than the last one, whatever the clock does."""
    return max(now, stored.updated_at + timedelta(microseconds=1))
