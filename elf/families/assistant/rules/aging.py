"""When memories age, and when they go."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from elf.families.assistant.model import Memory

AGED_AFTER: Final = timedelta(days=60)
"""How long nobody reads, repeats, edits or imports a memory before it ages."""

LASTING_IMPORTANCE: Final = 3
"""What matters at least so much does not age. The index of what ages has the same number."""


def has_aged(memory: Memory, now: datetime) -> bool:
    """Tell whether a memory is to be taken out of sight."""
    return (
        memory.state == "active"
        and not memory.pinned
        and memory.importance < LASTING_IMPORTANCE
        and _last_needed(memory) < now - AGED_AFTER
    )


def _last_needed(memory: Memory) -> datetime:
    """Return when a memory was read, repeated, edited or imported last."""
    given = (memory.created_at, memory.updated_at, memory.last_accessed, memory.imported_at)
    return max(one for one in given if one is not None)


def is_due_to_go(memory: Memory, now: datetime) -> bool:
    """Tell whether a memory that was deleted softly can be restored no more."""
    return memory.state == "soft_deleted" and memory.purge_at is not None and memory.purge_at <= now
