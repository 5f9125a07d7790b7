"""Items of a session as entries of a history, and back: no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from elf.client.families.conversations import Entry

CONTENT_TYPE: Final = "history/openai-agents"
INDEXED_CHARS: Final = 100_000


def entry_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as it is written: whole, and beside it what it says, by which it is found."""
    role = "USER" if item.get("role") == "user" else "AI"
    text = text_of(item)
    block: dict[str, Any] = {"role": role, "events": [item]}
    if not text:
        return {"contentType": CONTENT_TYPE, "content": [block]}
    said = {"contentType": CONTENT_TYPE, "content": [block | {"text": text}]}
    return said | {"indexedContent": text[:INDEXED_CHARS]}


def text_of(item: Mapping[str, Any]) -> str:
    """Return what a message says; nothing of what is none, such as the call of a tool."""
    if "role" not in item:
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def item_of(entry: Entry) -> dict[str, Any] | None:
    """Return the item that an entry holds; None where it was erased."""
    block = entry.content[0] if entry.content else None
    events = block.get("events") if isinstance(block, dict) else None
    return cast("dict[str, Any]", events[0]) if isinstance(events, list) and events else None
