"""Rows of the database as records, and records as arguments of statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import msgspec

from elf.families.assistant.model import Evidence, Memory

_NAMES: Final = tuple(field.name for field in fields(Memory))

COLUMNS: Final = ", ".join(f"m.{name}" for name in _NAMES)
"""The columns of a memory, which stand for <columns> in statements."""

BLANK: Final[Mapping[str, Any]] = {"text": "", "steps_text": None, "tags": [], "evidence": []}
"""What is left of a snapshot's words when its memory is purged."""


def memory_of(row: Mapping[str, Any]) -> Memory:
    """Return a row with all columns of a memory as one."""
    said = {name: row[name] for name in _NAMES}
    said["evidence"] = [Evidence(**one) for one in said["evidence"]]
    return Memory(**said)


def evidence_json(memory: Memory) -> list[dict[str, Any]]:
    """Return the evidence of a memory as it is kept."""
    return [{"quote": one.quote, "role": one.role, "turn_id": one.turn_id} for one in memory.evidence]


def snapshot(memory: Memory) -> str:
    """Return the JSON of a memory as the history keeps it."""
    told = {
        "id": memory.memory_id, "type": memory.type, "category": memory.category, "text": memory.text,
        "steps_text": memory.steps_text, "tags": list(memory.tags), "importance": memory.importance,
        "pinned": memory.pinned, "state": memory.state, "evidence": evidence_json(memory),
        "created_at": memory.created_at, "updated_at": memory.updated_at,
    }  # fmt: skip
    return msgspec.json.encode(told).decode()


def inserted(memory: Memory) -> tuple[Any, ...]:
    """Return the arguments of insert_memory."""
    return (
        memory.tenant_id, memory.user_id, memory.memory_id, memory.agent_id, memory.run_id, memory.actor_id,
        memory.thread_id, memory.role, memory.type, memory.category, memory.text, memory.steps_text,
        list(memory.tags), memory.importance, memory.pinned, memory.state, memory.source, evidence_json(memory),
        memory.unchecked, memory.created_at, memory.updated_at, memory.last_accessed, memory.hit_count,
        memory.purge_at, memory.imported_at,
    )  # fmt: skip


def updated(memory: Memory) -> tuple[Any, ...]:
    """Return the arguments of update_memory."""
    return (
        memory.tenant_id, memory.user_id, memory.memory_id, memory.category, memory.text, memory.steps_text,
        list(memory.tags), memory.importance, memory.pinned, memory.state, evidence_json(memory),
        memory.unchecked, memory.updated_at, memory.last_accessed, memory.purge_at,
    )  # fmt: skip
