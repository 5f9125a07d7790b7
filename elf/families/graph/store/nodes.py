"""Memories in a file: read, written with all that belongs to them, and changed in their status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from elf.families.graph import model as m
from elf.families.graph.errors import NoSuchMemory, NotTheUsersOwn
from elf.families.graph.rules.ids import derived_id
from elf.families.graph.rules.spans import spans_of
from elf.families.graph.rules.subjects import Key
from elf.families.graph.store.rows import VersionedMemory, memory_of, version_of
from elf.families.graph.store.statements import UNKNOWN, Change, Snapshot, stored_moment

NEVER: Final = 2**62
"""Later than every moment that is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be written, what it is about where a rule knows it, and why it is written.

    One that is not indexed is read and not found. `path` is where a request names it.
    """

    memory: m.MemoryNode
    key: Key | None = None
    reason: str | None = None
    is_indexed: bool = True
    path: str = "$.memory_id"


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


def own_id(
    snapshot: Snapshot, id: str, *, is_seen: Literal["memory_is_seen", "edge_is_seen"] = "memory_is_seen"
) -> str:
    """Return the id that the memory of an id, or the edge, has for the viewer; `is_seen` is the statement that asks.

    What is taken by one that the viewer does not see is another one's for the viewer, and stays so: two users may give
    the same id to what is their own.
    """
    if snapshot.viewer is None:
        return id

    def seen(asked: str) -> bool | None:
        row = snapshot.row(is_seen, id=asked)
        return None if row is None else bool(row[0])

    own = derived_id("u", snapshot.viewer.user, id)
    is_hidden = seen(id) is False
    return own_id(snapshot, own, is_seen=is_seen) if is_hidden or seen(own) else id


def read_memory(snapshot: Snapshot, memory_id: str) -> VersionedMemory | None:
    """Return a memory; None where there is no such one. Raises InvalidRow."""
    row = snapshot.row("memory_by_id", memory_id=own_id(snapshot, memory_id))
    return None if row is None else _seen(snapshot, memory_of(row))


def need_memory(snapshot: Snapshot, memory_id: str, *, path: str = "$.memory_id") -> VersionedMemory:
    """Return a memory. Raises NoSuchMemory, naming the path, and InvalidRow."""
    found = read_memory(snapshot, memory_id)
    if found is None:
        raise NoSuchMemory(memory_id, path=path)
    return found


def read_memories(snapshot: Snapshot, memory_ids: Iterable[str]) -> dict[str, VersionedMemory]:
    """Return those memories that there are, by id. Raises InvalidRow."""
    rows = snapshot.rows("memories_by_ids", memory_ids=json.dumps(list(memory_ids)))
    read = (_seen(snapshot, memory_of(row)) for row in rows)
    return {found.memory.memory_id: found for found in read}


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
    return [_seen(snapshot, memory_of(row)).memory for row in rows]


def read_versions(snapshot: Snapshot, memory_id: str, *, behind: int, limit: int) -> list[m.MemoryVersion]:
    """Return a page of what a memory of this id has been, oldest first, behind a version. Raises InvalidRow.

    They are all there, whosever they were.
    """
    rows = snapshot.rows("versions_of_memory", memory_id=memory_id, behind=behind, limit=limit)
    return [version_of(memory_id, row) for row in rows]


def write_memories(
    change: Change, memories: Sequence[NewMemory], *, embedding_version: str
) -> list[tuple[m.MemoryNode, m.Outcome]]:
    """Add memories, or change those of their ids, each of which comes once; return each as it is now.

    Text, spans, words and version go together, and a vector is to be made. When a memory was created stays, and the log
    tells of another status. Where nothing is different, nothing is done. A viewer writes the viewer's own: raises
    NotTheUsersOwn.
    """
    memories = [_owned(change, new) for new in memories]
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
    refuse_others(change, before, path=new.path)
    after = msgspec.structs.replace(
        new.memory,
        created_at=before.memory.created_at,
        user_id=new.memory.user_id or before.memory.user_id,
        shared=before.memory.shared,
    )
    if _same(before.memory, after):
        return before.memory, "NONE"
    if change.viewer is not None or after.user_id != before.memory.user_id:
        after = msgspec.structs.replace(after, shared=False)  # nobody has looked at what it says now
    version = before.version + 1
    changed = NewMemory(memory=after, key=new.key, reason=new.reason)
    stored = _stored(changed, version=version)
    if before.owner == UNKNOWN and after.user_id is None:
        stored["user_id"] = UNKNOWN  # it may still say what it said
    change.run("update_memory", **stored)
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

    One that is shared is so no longer when its user changes it. Raises NoSuchMemory and NotTheUsersOwn, naming the
    path.
    """
    before = need_memory(change, memory_id, path=path)
    refuse_others(change, before, path=path)
    if before.memory.status == status:
        return before.memory
    shared = before.memory.shared and change.viewer is None
    after = msgspec.structs.replace(before.memory, status=status, updated_at=change.now, shared=shared)
    version = before.version + 1
    change.run(
        "change_status",
        memory_id=after.memory_id,
        status=status,
        updated_at=stored_moment(change.now),
        version=version,
        shared=shared,
    )
    _keep_versions(change, [_Version(after, version, operation, reason)])
    _log_status(change, before.memory, after)
    return after


def share(change: Change, memory_id: str, *, shared: bool) -> m.MemoryNode:
    """Say whether other users are told of a memory, with a version and a line in the log. Raises NoSuchMemory."""
    before = need_memory(change, memory_id)
    if before.memory.shared == shared:
        return before.memory
    after = msgspec.structs.replace(before.memory, shared=shared)
    version = before.version + 1
    change.run("share_memory", memory_id=memory_id, shared=shared, version=version)
    _keep_versions(change, [_Version(after, version, "UPDATE", None)])
    change.log(
        "memory.shared", memory_id=memory_id, shared=shared, orchestrator_id=change.key.orchestrator_id
    )
    return after


def refuse_others(change: Change, found: VersionedMemory, *, path: str) -> None:
    """Raise NotTheUsersOwn, naming the path, where a viewer is to change what is not the viewer's own."""
    if change.viewer is not None and found.owner not in change.viewer.names:
        raise NotTheUsersOwn(path)


def contradicted(change: Change, memories: Iterable[NewMemory]) -> list[tuple[str, str]]:
    """Return the ids of memories, each with that of an active one that says another value of the same attribute of the
    same subject.
    """
    keyed = ((new.memory, new.key) for new in memories if new.key is not None)
    told = [
        {"memory_id": memory.memory_id, "type": memory.type, "user_id": _owner(memory), **_told_key(key)}
        for memory, key in keyed
    ]
    return change.rows("contradicted_by_keys", rows=json.dumps(told)) if told else []


def key_of(snapshot: Snapshot, memory_id: str) -> Key | None:
    """Return what a memory is about, where a rule knew it when it was written."""
    row = snapshot.row("key_of_memory", memory_id=memory_id)
    return None if row is None else Key(*row)


def _seen(snapshot: Snapshot, found: VersionedMemory) -> VersionedMemory:
    """Return a memory as the viewer is told of it: another user is not named."""
    viewer = snapshot.viewer
    if viewer is None or found.memory.user_id in (None, viewer.user):
        return found
    return VersionedMemory(msgspec.structs.replace(found.memory, user_id=None), found.version, found.owner)


def _owned(change: Change, new: NewMemory) -> NewMemory:
    """Return a memory as it is written: that of a viewer is the viewer's own."""
    if change.viewer is None:
        return new
    memory_id = own_id(change, new.memory.memory_id)
    memory = msgspec.structs.replace(new.memory, memory_id=memory_id, user_id=change.viewer.user)
    return replace(new, memory=memory)


def _owner(memory: m.MemoryNode) -> str | None:
    """Return whose a memory is, as it is stored."""
    return memory.user_id or (None if memory.source.conversation_id is None else UNKNOWN)


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
        "version": version, "is_indexed": int(new.is_indexed), "user_id": _owner(memory), "shared": int(memory.shared),
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
