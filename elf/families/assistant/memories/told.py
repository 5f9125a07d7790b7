"""Memories as they are told."""

from __future__ import annotations

from elf.families.assistant.api import memories as a
from elf.families.assistant.model import Memory


def told(memory: Memory) -> a.Memory:
    """Return a memory as answers have it."""
    return a.Memory(
        id=memory.memory_id, tenant_id=memory.tenant_id, user_id=memory.user_id, agent_id=memory.agent_id,
        run_id=memory.run_id, actor_id=memory.actor_id, thread_id=memory.thread_id, role=memory.role,
        type=memory.type, category=memory.category, text=memory.text, steps_text=memory.steps_text,
        tags=list(memory.tags), importance=memory.importance, pinned=memory.pinned, state=memory.state,
        source=memory.source, created_at=memory.created_at, updated_at=memory.updated_at,
        last_accessed=memory.last_accessed, hit_count=memory.hit_count, purge_at=memory.purge_at,
        evidence=[a.Quote(quote=one.quote, role=one.role, turn_id=one.turn_id) for one in memory.evidence],
    )  # fmt: skip
