"""The audit of what was let in: one decision for every note that add_note and add_event were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from elf.config.model import NOTE_TYPES
from elf.core.ids import NoteId
from elf.families.notes.model import Context
from elf.families.notes.writing.resolver import Incoming, Outcome


@dataclass(frozen=True, slots=True)
class Refused:
    """A note that was refused before it was compared with anything. It keeps nothing of what the note said.

    `type` and `scope` are None unless they are known ones: a refused note may say anything there, too.
    """

    type: str | None
    scope: str | None
    keyed: bool
    text_chars: int
    reason_code: str
    reason: str

    @classmethod
    def of(
        cls,
        *,
        type: str,
        scope: str | None,
        known_scopes: Sequence[str],
        key: str | None,
        text: str,
        reason_code: str,
        reason: str,
    ) -> Refused:
        """Reduce a note to what may be kept of it. `reason` must not quote the note."""
        return cls(
            type if type in NOTE_TYPES else None,
            scope if scope in known_scopes else None,
            key is not None,
            len(text),
            reason_code,
            reason,
        )


Attempt = Incoming | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one attempt; `similarity` is the cosine to the matched note.

    `dropped_text` is what a NONE did not store because the matched note says it in other words.
    """

    type: str | None
    scope: str | None
    keyed: bool
    text_chars: int
    op: Literal["ADD", "UPDATE", "NONE", "REJECTED"]
    reason_code: str | None
    reason: str
    note_id: NoteId | None = None
    matched_note_id: NoteId | None = None
    similarity: float | None = None
    dropped_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLog:
    """The decisions of one request, in its order, with what they have in common.

    `policy` is what the config said at that moment: limits and thresholds.
    """

    context: Context
    now: datetime
    policy: Mapping[str, Any]
    decisions: Sequence[Decision]


def decide(attempts: Sequence[Attempt], outcomes: Sequence[Outcome]) -> list[Decision]:
    """Return a decision for each attempt; `outcomes` are those of the attempts that were not refused, in order."""
    resolved = iter(outcomes)
    return [
        _refusal(attempt) if isinstance(attempt, Refused) else _decision(attempt, next(resolved))
        for attempt in attempts
    ]


def _refusal(refused: Refused) -> Decision:
    return Decision(
        type=refused.type,
        scope=refused.scope,
        keyed=refused.keyed,
        text_chars=refused.text_chars,
        op="REJECTED",
        reason_code=refused.reason_code,
        reason=refused.reason,
    )


def _decision(incoming: Incoming, outcome: Outcome) -> Decision:
    return Decision(
        type=incoming.type,
        scope=incoming.scope,
        keyed=incoming.key is not None,
        text_chars=len(incoming.text),
        op=outcome.op,
        reason_code=outcome.reason_code,
        reason=outcome.basis.reason,
        note_id=outcome.note_id,
        matched_note_id=outcome.basis.matched_note_id,
        similarity=outcome.basis.similarity,
        dropped_text=outcome.basis.dropped_text,
    )
