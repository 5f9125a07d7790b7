"""Memories in a file: read, written with all that belongs to them, and changed in their status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from elf.families.graph import model as m
from elf.families.graph.errors import NoSuchMemory
from elf.families.graph.rules.spans import spans_of
from elf.families.graph.rules.subjects import Key
from elf.families.graph.store.rows import VersionedMemory, memory_of, version_of
from elf.families.graph.store.statements import Change, Snapshot, stored_moment

NEVER: Final = 2**62
"""Later than every moment that is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be written, what it is about where a rule knows it, and why it is written.

    One that is not indexed is read and not found.
    """

    memory: m.MemoryNode
    key: Key | None = None
    reason: str | None = None
    is_indexed: bool = True


class _Version(msgspec.Struct, frozen=True):
    """What a memory is after a change, as the statement that keeps it reads it."""

    memory: m.MemoryNode
    version: int
    operation: m.VersionOperation
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories; what is None takes all."""

    types: Sequence[m.NodeType] | None = None
    statuses: Sequence[m.Status] | None = None
    source_types: Sequence[m.SourceType] | None = None
    conversation_id: str | None = None
    source_path: str | None = None
    min_importance: int | None = None


def read_memory(snapshot: Snapshot, memory_id: str) -> VersionedMemory | None:
    """Return a memory; None where there is no such one. Raises InvalidRow."""
    row = snapshot.row("memory_by_id", memory_id=memory_id)
    return None if row is None else memory_of(row)


def need_memory(snapshot: Snapshot, memory_id: str, *, path: str = "$.memory_id") -> VersionedMemory:
    """Return a memory. Raises NoSuchMemory, naming the path, and InvalidRow."""
    found = read_memory(snapshot, memory_id)
    if found is None:
        raise NoSuchMemory(memory_id, path=path)
    return found


def read_memories(snapshot: Snapshot, memory_ids: Iterable[str]) -> dict[str, VersionedMemory]:
    """Return those memories that there are, by id. Raises InvalidRow."""
    rows = snapshot.rows("memories_by_ids", memory_ids=json.dumps(list(memory_ids)))
    return {found.memory.memory_id: found for found in map(memory_of, rows)}


def page_of_memories(
    snapshot: Snapshot, where: MemoryFilter, *, limit: int, behind: tuple[datetime, str] | None = None
) -> list[m.MemoryNode]:
    """Return a page of memories, those changed last first, behind the moment and id of one. Raises InvalidRow."""
    moment, memory_id = (NEVER, "") if behind is None else (stored_moment(behind[0]), behind[1])
    rows = snapshot.rows(
        "page_of_memories", types=_list(where.types), statuses=_list(where.statuses),
        source_types=_list(where.source_types), conversation_id=where.conversation_id, source_path=where.source_path,
        min_importance=where.min_importance, before=moment, behind=memory_id, limit=limit,
    )  # fmt: skip
    return [memory_of(row).memory for row in rows]


def read_versions(snapshot: Snapshot, memory_id: str, *, behind: int, limit: int) -> list[m.MemoryVersion]:
    """Return a page of what a memory has been, oldest first, behind a version. Raises InvalidRow."""
    rows = snapshot.rows("versions_of_memory", memory_id=memory_id, behind=behind, limit=limit)
    return [version_of(memory_id, row) for row in rows]


def write_memories(
    change: Change, memories: Sequence[NewMemory], *, embedding_version: str
) -> list[tuple[m.MemoryNode, m.Outcome]]:
    """Add memories, or change those of their ids, each of which comes once; return each as it is now.

    Text, spans, words and version go together, and a vector is to be made. When a memory was created stays, and the log
    tells of another status. Where nothing is different, nothing is done.
    """
    before = read_memories(change, [new.memory.memory_id for new in memories])
    _add(change, [new for new in memories if new.memory.memory_id not in before], embedding_version)
    return [
        _updated(change, before[new.memory.memory_id], new, embedding_version)
        if new.memory.memory_id in before
        else (new.memory, "ADD")
        for new in memories
    ]


def write_memory(change: Change, new: NewMemory, *, embedding_version: str) -> m.Outcome:
    """Add a memory, or change the one of its id, as `write_memories` does."""
    ((_, outcome),) = write_memories(change, [new], embedding_version=embedding_version)
    return outcome


def _add(change: Change, added: Sequence[NewMemory], embedding_version: str) -> None:
    memories = [new.memory for new in added]
    change.run_all("insert_memories", (_stored(new, version=1) for new in added))
    change.run_all("put_sources", map(_source, memories))
    _add_texts(change, [new.memory for new in added if new.is_indexed], embedding_version)
    _keep_versions(change, (_Version(new.memory, 1, "ADD", new.reason) for new in added))


def _updated(
    change: Change, before: VersionedMemory, new: NewMemory, embedding_version: str
) -> tuple[m.MemoryNode, m.Outcome]:
    after = msgspec.structs.replace(new.memory, created_at=before.memory.created_at)
    if _same(before.memory, after):
        return before.memory, "NONE"
    version = before.version + 1
    changed = NewMemory(memory=after, key=new.key, reason=new.reason)
    change.run("update_memory", **_stored(changed, version=version))
    change.run_all("put_sources", [_source(after)])
    if after.content != before.memory.content:
        change.run("delete_spans", memory_id=after.memory_id)
        change.run("delete_vectors", memory_ids=json.dumps([after.memory_id]))
        _add_texts(change, [after], embedding_version)
    _keep_versions(change, [_Version(after, version, "UPDATE", new.reason)])
    _log_status(change, before.memory, after)
    return after, "UPDATE"


def add_memory(change: Change, new: NewMemory, *, version: int, embedding_version: str) -> bool:
    """Add a memory that was written as often elsewhere, without what it has been; tell whether it is new here.

    One of its id that there is stays as it is.
    """
    if read_memory(change, new.memory.memory_id) is not None:
        return False
    change.run_all("insert_memories", [_stored(new, version=version)])
    change.run_all("put_sources", [_source(new.memory)])
    if new.is_indexed:
        _add_texts(change, [new.memory], embedding_version)
    return True


def change_status(
    change: Change,
    memory_id: str,
    status: m.Status,
    operation: m.VersionOperation,
    *,
    reason: str | None,
    path: str,
) -> m.MemoryNode:
    """Change the status of a memory, with a version and a line in the log; one that has it already stays as it is.

    Raises NoSuchMemory, naming the path.
    """
    before = need_memory(change, memory_id, path=path)
    if before.memory.status == status:
        return before.memory
    after = msgspec.structs.replace(before.memory, status=status, updated_at=change.now)
    version = before.version + 1
    change.run(
        "change_status",
        memory_id=memory_id,
        status=status,
        updated_at=stored_moment(change.now),
        version=version,
    )
    _keep_versions(change, [_Version(after, version, operation, reason)])
    _log_status(change, before.memory, after)
    return after


def contradicted(change: Change, memories: Iterable[NewMemory]) -> list[tuple[str, str]]:
    """Return the ids of memories, each with that of an active one that says another value of the same attribute of the
    same subject.
    """
    keyed = ((new.memory, new.key) for new in memories if new.key is not None)
    told = [{"memory_id": memory.memory_id, "type": memory.type, **_told_key(key)} for memory, key in keyed]
    return change.rows("contradicted_by_keys", rows=json.dumps(told)) if told else []


def _same(before: m.MemoryNode, after: m.MemoryNode) -> bool:
    """Tell whether nothing but the time is different."""
    return before == msgspec.structs.replace(after, updated_at=before.updated_at)


def _log_status(change: Change, before: m.MemoryNode, after: m.MemoryNode) -> None:
    """Say that a memory has another status, where it has."""
    if after.status != before.status:
        change.log(
            "memory.status.changed", memory_id=after.memory_id, status=after.status, before=before.status,
            orchestrator_id=change.key.orchestrator_id,
        )  # fmt: skip


def _add_texts(change: Change, memories: Sequence[m.MemoryNode], embedding_version: str) -> None:
    """Keep the spans of memories, and have their vectors made."""
    change.run_all("insert_spans", (_span(one, span) for one in memories for span in spans_of(one.content)))
    ids = json.dumps([one.memory_id for one in memories])
    change.run("insert_vectors_to_make", memory_ids=ids, embedding_version=embedding_version)


def _keep_versions(change: Change, versions: Iterable[_Version]) -> None:
    change.run_all("insert_versions", versions, actor=change.actor, created_at=stored_moment(change.now))


def _stored(new: NewMemory, *, version: int) -> dict[str, Any]:
    memory = new.memory
    return {
        "memory_id": memory.memory_id, "type": memory.type, "importance": memory.importance, "content": memory.content,
        "summary": memory.summary, "confidence": memory.confidence, "status": memory.status, **_told_key(new.key),
        "created_at": stored_moment(memory.created_at), "updated_at": stored_moment(memory.updated_at),
        "version": version, "is_indexed": int(new.is_indexed),
    }  # fmt: skip


def _told_key(key: Key | None) -> dict[str, str | None]:
    if key is None:
        return {"subject": None, "attribute": None, "value": None}
    return {"subject": key.subject, "attribute": key.attribute, "value": key.value}


def _source(memory: m.MemoryNode) -> dict[str, Any]:
    return {"memory_id": memory.memory_id, **msgspec.structs.asdict(memory.source)}


def _span(memory: m.MemoryNode, span: m.Span) -> dict[str, Any]:
    return {
        "memory_id": memory.memory_id,
        "ordinal": span.ordinal,
        "start": span.start,
        "end": span.end,
        "text": span.text,
    }


def _list(values: Sequence[str] | None) -> str | None:
    return None if values is None else json.dumps(list(values))
