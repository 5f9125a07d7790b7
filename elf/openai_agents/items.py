"""Items of a session as entries of a history, and back: no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from elf.client.families.conversations import Entry
from elf.core.unstorable_text import cleaned, escaped, is_storable, unescaped

CONTENT_TYPE: Final = "history/openai-agents"
INDEXED_CHARS: Final = 100_000
SPEAKERS: Final = ("user", "assistant")
TEXTS: Final = ("text", "input_text", "output_text")
"""Types of parts that are text: a refusal, an image or a file is kept with its item, and not found by words."""
ESCAPED: Final = "escaped"
"""What a block says of events whose text no database could hold."""


def entry_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as it is written: whole, and beside it what it says, by which it is found."""
    role = "USER" if item.get("role") == "user" else "AI"
    text = cleaned(text_of(item)).strip()
    block: dict[str, Any] = {"role": role, "events": [item]}
    if not is_storable(item):  # sessions of the SDK keep it, so that the chat goes on
        block |= {"events": [escaped(item)], ESCAPED: True}
    if not text:
        return {"contentType": CONTENT_TYPE, "content": [block]}
    said = {"contentType": CONTENT_TYPE, "content": [block | {"text": text}]}
    return said | {"indexedContent": text[:INDEXED_CHARS]}


def text_of(item: Mapping[str, Any]) -> str:
    """Return what a user or the agent says; nothing of what is no message, such as the call of a tool, or instructs."""
    if item.get("role") not in SPEAKERS:
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [
        part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type", "text") in TEXTS
    ]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def item_of(entry: Entry) -> dict[str, Any] | None:
    """Return the item that an entry holds; None where it was erased."""
    block = entry.content[0] if entry.content else None
    if not isinstance(block, dict):
        return None
    events = block.get("events")
    if not isinstance(events, list) or not events:
        return None
    item = unescaped(events[0]) if block.get(ESCAPED) is True else events[0]
    return cast("dict[str, Any]", item)
