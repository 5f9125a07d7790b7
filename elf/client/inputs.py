"""What a caller writes: notes and messages. Any mapping of the same fields does as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from elf.core.note_defaults import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, DEFAULT_TYPE

DEFAULT_SCOPE = "agent_private"


class NewNote(Struct, frozen=True, kw_only=True):
    """One note to write: one short English sentence.

    With a `key`, a later note of the same key replaces it; without one, a note that says the same is found by its text.
    `importance` and `confidence` are 0 to 1. `ttl_days` of 0, less or None: as the service's config says for the type.
    An empty `source_ref` says nothing: it leaves that of a stored note which says the same.
    """

    text: str
    type: str = DEFAULT_TYPE
    key: str | None = None
    importance: float = DEFAULT_IMPORTANCE
    confidence: float = DEFAULT_CONFIDENCE
    ttl_days: float | None = None
    source_ref: dict[str, Any] = {}  # msgspec gives each note a dict of its own


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation; `ts` and `msg_id`, in any form, are kept with the evidence."""

    role: Literal["user", "assistant", "tool"]
    content: str
    ts: str | None = None
    msg_id: str | None = None


def as_json(given: Struct | Mapping[str, Any]) -> Any:
    """Return a struct as the JSON object it stands for; whatever else is given is the service's to judge."""
    return msgspec.to_builtins(given) if isinstance(given, Struct) else given
