"""Rows of a memory.db as records: something else may have written them, so nothing is taken for granted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from elf.core.structs import read_json, read_value
from elf.families.graph import model as m
from elf.families.graph.errors import InvalidRow
from elf.families.graph.store.statements import Row, moment_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VersionedMemory:
    """A memory, and how often it was written. `owner` says whose it is, as it is stored: the memory itself does not say
    so to everybody.
    """

    memory: m.MemoryNode
    version: int
    owner: str | None = None

    @property
    def said_at(self) -> datetime:
        """When what it says was said: when it was created, or else last changed."""
        return self.memory.created_at if self.version == 1 else self.memory.updated_at


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """An edge, and how it was resolved where it is a contradiction that was."""

    edge: m.MemoryEdge
    resolution: m.Resolution | None


def memory_of(row: Row) -> VersionedMemory:
    """Return the memory of a row. Raises InvalidRow, which names it, for one that breaks the rules."""
    memory_id, orchestrator_id, type, importance, content, summary, confidence, *rest = row
    source_type, captured_by, source_path, conversation_id, workflow_run_id, step_id, *rest = rest
    status, created_at, updated_at, version, user_id, shared = rest
    where = f"memories {memory_id!r}"
    source = {
        "sourceType": source_type, "capturedBy": captured_by, "sourcePath": source_path,
        "conversationId": conversation_id, "workflowRunId": workflow_run_id, "stepId": step_id,
    }  # fmt: skip
    if source_type is None:
        raise InvalidRow(f"{where}: it has no row in memory_sources")
    values = {
        "memoryId": memory_id, "orchestratorId": orchestrator_id, "type": type, "importance": importance,
        "content": content, "summary": summary, "confidence": confidence, "source": source, "status": status,
        "createdAt": _moment(created_at, where), "updatedAt": _moment(updated_at, where),
        "userId": user_id or None, "shared": bool(shared),
    }  # fmt: skip
    return VersionedMemory(_record(values, m.MemoryNode, where), version, user_id)


def edge_of(row: Row) -> StoredEdge:
    """Return the edge of a row. Raises InvalidRow, which names it, for one that breaks the rules."""
    edge_id, start, end, type, weight, created_at, reason, resolution, resolution_reason, resolved_at = row
    where = f"memory_edges {edge_id!r}"
    values = {
        "edgeId": edge_id, "fromMemoryId": start, "toMemoryId": end, "edgeType": type, "weight": weight,
        "createdAt": _moment(created_at, where), "reason": reason,
    }  # fmt: skip
    edge = _record(values, m.MemoryEdge, where)
    if resolution is None:
        return StoredEdge(edge, None)
    resolved = {"outcome": resolution, "reason": resolution_reason, "resolvedAt": _moment(resolved_at, where)}
    return StoredEdge(edge, _record(resolved, m.Resolution, where))


def version_of(memory_id: str, row: Row) -> m.MemoryVersion:
    """Return what a memory was. Raises InvalidRow, which names it, for one that breaks the rules."""
    version, operation, memory, reason, actor, created_at = row
    where = f"memory_versions {memory_id!r} {version}"
    try:
        known = read_json(memory, m.MemoryNode)
    except msgspec.DecodeError as error:
        raise InvalidRow(f"{where}: {error}") from error
    values = {
        "version": version, "operation": operation, "memory": known, "reason": reason, "actor": actor,
        "createdAt": _moment(created_at, where),
    }  # fmt: skip
    return _record(values, m.MemoryVersion, where)


def _record(values: dict[str, Any], type: type[T], where: str) -> T:
    try:
        return read_value(values, type)
    except msgspec.ValidationError as error:
        raise InvalidRow(f"{where}: {error}") from error


def _moment(stored: Any, where: str) -> Any:
    try:
        return moment_of(stored)
    except (OverflowError, TypeError) as error:
        raise InvalidRow(f"{where}: {stored!r} is no time") from error
