"""When memories age, and when they go."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from elf.families.assistant.model import Memory

AGED_AFTER: Final = timedelta(days=60)
"""How long nobody is given a memory before it ages."""

LASTING_IMPORTANCE: Final = 3
"""What matters at least so much does not age. The index of what ages has the same number."""


def has_aged(memory: Memory, now: datetime) -> bool:
    """Tell whether a memory is to be taken out of sight."""
    return (
        memory.state == "active"
        and not memory.pinned
        and memory.importance < LASTING_IMPORTANCE
        and (memory.last_accessed or memory.created_at) < now - AGED_AFTER
    )


def is_due_to_go(memory: Memory, now: datetime) -> bool:
    """Tell whether a memory that was deleted softly can be restored no more."""
    return memory.state == "soft_deleted" and memory.purge_at is not None and memory.purge_at <= now
