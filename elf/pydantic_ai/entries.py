"""Entries and records of Pydantic AI as ELF keeps them, and back: no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    TextContent,
    TextPart,
    UserPromptPart,
)

from elf.client.families.conversations import Entry, Session
from elf.core.unstorable_text import cleaned, escaped, is_storable, unescaped

CONTENT_TYPE: Final = "history/pydantic-ai"
INDEXED_CHARS: Final = 100_000
RECORD: Final = "pydantic_ai"
"""Under which name the data of a session has a record."""
ESCAPED: Final = "escaped"
"""What is said of a record, or of events, whose text no database could hold."""

_RECORDS: Final = TypeAdapter(ConversationRecord)


def data_of(record: ConversationRecord) -> dict[str, Any]:
    """Return a record as the data of a session."""
    dumped = _RECORDS.dump_python(record, mode="json")
    return {RECORD: dumped} if is_storable(dumped) else {RECORD: escaped(dumped), ESCAPED: True}


def record_of(session: Session) -> ConversationRecord | None:
    """Return the record that a session keeps; None for a session of another program."""
    kept = session.data.get(RECORD)
    if kept is None:
        return None
    return _RECORDS.validate_python(unescaped(kept) if session.data.get(ESCAPED) is True else kept)


def entry_of(one: ConversationEntry) -> dict[str, Any]:
    """Return an entry as it is written: whole, and beside it what its message says, by which it is found."""
    (message,) = ModelMessagesTypeAdapter.dump_python([one.message], mode="json")
    event = {"id": one.id, "parent_id": one.parent_id, "kind": one.kind, "message": message}
    block: dict[str, Any] = {"role": _role(one.message), "events": [event]}
    if not is_storable(event):
        block |= {"events": [escaped(event)], ESCAPED: True}
    text = cleaned("\n".join(_texts(one.message))).strip()
    written = {
        "key": one.id,
        "contentType": CONTENT_TYPE,
        "content": [block | ({"text": text} if text else {})],
    }
    return written | ({"indexedContent": text[:INDEXED_CHARS]} if text else {})


def conversation_entry(entry: Entry) -> ConversationEntry | None:
    """Return the entry that an entry of ELF holds; None where it was erased, or another program wrote it."""
    block = entry.content[0] if entry.content else None
    if not isinstance(block, dict):
        return None
    events = block.get("events")
    event = events[0] if isinstance(events, list) and events else None
    if entry.content_type != CONTENT_TYPE or not isinstance(event, Mapping):
        return None
    if block.get(ESCAPED) is True:
        event = unescaped(event)
    (message,) = ModelMessagesTypeAdapter.validate_python([event["message"]])
    parent = event["parent_id"]
    return ConversationEntry(
        id=str(event["id"]), parent_id=None if parent is None else str(parent), message=message
    )


def _role(message: ModelMessage) -> str:
    """Return who speaks: a request without words of the user, such as one with results of tools, is the agent's."""
    is_users = isinstance(message, ModelRequest) and any(
        isinstance(part, UserPromptPart) for part in message.parts
    )
    return "USER" if is_users else "AI"


def _texts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            said = [part.content] if isinstance(part.content, str) else part.content
            for one in said:
                if isinstance(one, str | TextContent):
                    yield one if isinstance(one, str) else one.content
        elif isinstance(part, TextPart):
            yield part.content
