"""What a note's reference says of where the note comes from: names of things, and when it was said.

A reference is any JSON object. Looked at are its own fields and those of each quote in its `evidence`, as add_event
keeps them; what else there is means something to its writer alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from elf.core.blank_text import is_blank

MOST: Final = 64  # quotes, and names: who gives more gives a list, not the place that a note is from
MOST_CHARS: Final = 256
NAMES: Final[Mapping[str, str]] = {
    "msg_id": "message", "message_id": "message", "event": "event", "event_id": "event", "thread": "thread",
    "thread_id": "thread", "conversation": "conversation", "conversation_id": "conversation", "entry": "entry",
    "entry_id": "entry", "episode": "episode", "episode_id": "episode", "file": "file", "path": "file", "url": "url",
    "ref": "ref", "id": "id",
}  # fmt: skip
"""The fields that name something, and the kind of what they name."""
MOMENT: Final = "ts"
THREAD: Final = "thread"
METADATA: Final = "metadata"
"""The field that holds what whoever stored a note keeps with it."""


class Source(NamedTuple):
    """Names as "kind:id", each once in the order of the reference, and the latest moment at which it was said, in UTC,
    if one is told; the words that it quotes; and the name of the conversation.
    """

    names: list[str]
    said_at: datetime | None
    quotes: Sequence[str] = ()
    thread: str | None = None

    def at(self, changed_at: datetime) -> datetime:
        """Return when it was said; or when it last changed, where that is not known, or told to be later."""
        return changed_at if self.said_at is None else min(self.said_at, changed_at)


def source_of(reference: Mapping[str, Any]) -> Source:
    """Read a reference."""
    names: dict[str, None] = {}
    moments = []
    quotes = []
    for piece in _pieces(reference):
        if isinstance(quote := piece.get("quote"), str) and not is_blank(quote):
            quotes.append(quote)
        names |= dict.fromkeys(_names(piece))
        if (moment := _moment(piece.get(MOMENT))) is not None:
            moments.append(moment)
    return Source(list(names)[:MOST], max(moments, default=None), tuple(quotes), thread_of(reference) or None)


def thread_of(reference: Mapping[str, Any]) -> str:
    """Return the conversation in which a note was said, by the user's name for it; '' where none is told."""
    thread = reference.get(THREAD)
    return thread if isinstance(thread, str) else ""


def metadata_of(reference: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what whoever stored a note keeps with it."""
    metadata = reference.get(METADATA)
    return metadata if isinstance(metadata, dict) else {}


def _pieces(reference: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield reference
    evidence = reference.get("evidence")
    if isinstance(evidence, list):
        yield from (quote for quote in evidence[:MOST] if isinstance(quote, dict))


def _names(piece: Mapping[str, Any]) -> Iterator[str]:
    for field, value in piece.items():
        kind = NAMES.get(field)
        # A number may be an id, but what is true or false is none.
        if kind is None or not isinstance(value, str | int) or isinstance(value, bool):
            continue
        if 0 < len(str(value)) <= MOST_CHARS:
            yield f"{kind}:{value}"


def _moment(told: object) -> datetime | None:
    """Read a moment as ISO 8601 writes it; one without an offset is in UTC."""
    if not isinstance(told, str):
        return None
    try:
        moment = datetime.fromisoformat(told)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
