"""Two memories that are one: what the one says that stands for both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from elf.families.assistant.model import MAX_QUOTES, MAX_TAGS, Memory


def united(old: Memory, new: Memory) -> Memory:
    """Return the new memory of two that are one: it says what the newer says, and matters as the greater does."""
    return replace(new, memory_id=uuid4(), **_of_both(old, new))


def brought_up_to_date(old: Memory, new: Memory) -> Memory:
    """Return the old memory of two that are one, with what the newer says."""
    return replace(old, text=new.text, **_of_both(old, new))


def _of_both(old: Memory, new: Memory) -> dict[str, Any]:
    evidence = [*new.evidence, *(one for one in old.evidence if one not in new.evidence)]
    accessed = [one.last_accessed for one in (old, new) if one.last_accessed is not None]
    return {
        "importance": max(old.importance, new.importance),
        "pinned": old.pinned or new.pinned,
        "tags": list(dict.fromkeys([*old.tags, *new.tags]))[:MAX_TAGS],
        "evidence": evidence[:MAX_QUOTES],
        "created_at": min(old.created_at, new.created_at),
        "last_accessed": max(accessed, default=None),
        "hit_count": old.hit_count + new.hit_count,
    }
