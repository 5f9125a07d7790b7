"""What a caller writes: notes and messages. Any mapping of the same fields does as well, with the same defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from elf.core.errors import InvalidRequest
from elf.core.note_defaults import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, DEFAULT_TYPE

NoteType = Literal["preference", "constraint", "decision", "profile", "fact", "plan"]
NoteStatus = Literal["active", "deleted", "deprecated", "expired"]

DEFAULT_SCOPE = "agent_private"


class NewNote(Struct, frozen=True, kw_only=True):
    """One note to write: one short English sentence.

    With a `key`, a later note of the same key replaces it; without one, a note that says the same is found by its text.
    `importance` and `confidence` are 0 to 1. `ttl_days` of 0, less or None: as the service's config says for the type.
    An empty `source_ref` says nothing: it leaves that of a stored note which says the same.
    """

    text: str
    type: NoteType = DEFAULT_TYPE
    key: str | None = None
    importance: float = DEFAULT_IMPORTANCE
    confidence: float = DEFAULT_CONFIDENCE
    ttl_days: float | None = None
    source_ref: Mapping[str, object] = {}  # msgspec gives each note a dict of its own


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation; `ts` and `msg_id`, in any form, are kept with the evidence."""

    role: Literal["user", "assistant", "tool"]
    content: str
    ts: str | None = None
    msg_id: str | None = None


def notes_of(notes: Iterable[NewNote | Mapping[str, object]]) -> list[object]:
    """Return notes as they are sent. Raises InvalidRequest when they are no list."""
    return [_with_defaults(note) for note in listed("notes", notes)]


def messages_of(messages: Iterable[Message | Mapping[str, object]]) -> list[object]:
    """Return messages as they are sent. Raises InvalidRequest when they are no list."""
    return listed("messages", messages)


def _with_defaults(note: object) -> object:
    if not isinstance(note, Mapping):
        return note  # a struct has them, and anything else is the service's to refuse
    return {
        "type": DEFAULT_TYPE, "importance": DEFAULT_IMPORTANCE, "confidence": DEFAULT_CONFIDENCE, **note,
    }  # fmt: skip


def listed(name: str, given: object) -> list[object]:
    """Return what is given as a list. Raises InvalidRequest, by its name, when it is none."""
    # A text and a mapping can be gone through, too, and give letters and names.
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return list(given)
    raise InvalidRequest(f"{name}: should be a list", fields=[name])
