"""What can be kept of a damaged memory.db: every row that is sound, in a new file.

The rows are told from each other by their shape, as the tree that says which table a page is of may be what is damaged.
What is derived (spans, words, vectors) is made anew. A memory of which one of its two rows is gone is made of what its
last version says; one of which nobody can say where it is from is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import apsw
import msgspec

from elf.families.graph import model as m
from elf.families.graph.errors import InvalidRow
from elf.families.graph.rules.spans import spans_of
from elf.families.graph.store.connections import transaction
from elf.families.graph.store.pages import FoundRow, Record, rows_of
from elf.families.graph.store.rows import edge_of, memory_of, version_of
from elf.families.graph.store.statements import UNKNOWN, Change, OwnerKey, stored_moment

_FIRST_MEMORY_COLUMNS: Final = 16
"""Those that a row of `memories` had from the first step of the schema on; it may lack the others."""
_LATER: Final = (1, None, 0)
"""What the others are where it lacks them: it is indexed, nobody's, and not shared."""
_KEY_DIGITS: Final = 64


@dataclass(slots=True)
class Salvage:
    """The rows of one orchestrator, as they were found: by their keys, each of them once."""

    key: OwnerKey
    memories: dict[str, Record] = field(default_factory=dict)
    sources: dict[str, Record] = field(default_factory=dict)
    versions: dict[tuple[str, int], Record] = field(default_factory=dict)
    edges: dict[str, Record] = field(default_factory=dict)
    quotes: dict[str, Record] = field(default_factory=dict)
    ingests: dict[str, Record] = field(default_factory=dict)
    audit: dict[int, Record] = field(default_factory=dict)
    changes: dict[int, Record] = field(default_factory=dict)
    embedding_versions: set[str] = field(default_factory=set)
    created_at: int | None = None

    def add(self, row: FoundRow) -> None:
        """Take a row, if it is one of this orchestrator's."""
        own = row.record[0 if row.rowid is None else 1 :]
        if own[:2] != (self.key.tenant_id, self.key.orchestrator_id):
            return
        if row.rowid is None:
            self._add_entry(own[2:])
        else:
            self._add_row(row.rowid, own[2:])

    def _add_row(self, rowid: int, rest: Record) -> None:
        match rest:
            case (str() as memory_id, str() as type, *_) if (
                len(rest) >= _FIRST_MEMORY_COLUMNS - 3 and type in m.NODE_TYPES
            ):
                self.memories[memory_id] = rest
            case (str(), _, str(), int()):
                self.audit[rowid] = rest
            case (str(), None | str(), None | str(), None | str()):
                self.changes[rowid] = rest
            case (str(), str() as version, int(), None | bytes(), *_):
                self.embedding_versions.add(version)

    def _add_entry(self, rest: Record) -> None:
        match rest:
            case (int() as created_at,):
                self.created_at = created_at
            case (str() as memory_id, str() as source_type, *_, str()) if (
                len(rest) == 7 and source_type in m.SOURCE_TYPES
            ):
                self.sources[memory_id] = rest
            case (str() as edge_id, str(), str(), str() as edge_type, *_) if (
                len(rest) == 10 and edge_type in m.EDGE_TYPES
            ):
                self.edges[edge_id] = rest
            case (str() as memory_id, int() as version, str(), str(), _, _, int()):
                self.versions[memory_id, version] = rest
            case (str() as memory_id, str(), int(), int()):
                self.quotes[memory_id] = rest
            case (str() as key, str(), str(), str(), int(), int(), str(), str(), int(), *_) if (
                len(key) == _KEY_DIGITS
            ):
                self.ingests[key] = rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The rows of a salvage that are sound, ready to be written; `lost` says how many of each kind were found and are
    not. All is `sound` where none is lost, and no memory was made of what its last version says.
    """

    memories: Mapping[str, Mapping[str, Any]]
    sources: Sequence[Mapping[str, Any]]
    versions: Sequence[tuple[str, Record]]
    edges: Sequence[Record]
    quotes: Sequence[Record]
    lost: Mapping[str, int]
    is_sound: bool

    @property
    def counts(self) -> dict[str, int]:
        """How much of each kind is kept."""
        return {"memories": len(self.memories), "edges": len(self.edges), "versions": len(self.versions)}


def salvaged(database: bytes, log: bytes, key: OwnerKey) -> Salvage:
    """Return all rows of an orchestrator that are in a file and its write-ahead log. Takes its time."""
    found = Salvage(key)
    for row in rows_of(database, log):
        found.add(row)
    return found


def kept_of(found: Salvage) -> Kept:
    """Return what of the rows is sound. Takes its time."""
    lost: Counter[str] = Counter()
    last = _last_versions(found, lost)
    memories: dict[str, Mapping[str, Any]] = {}
    sources = []
    is_sound = True
    for memory_id in {**found.memories, **found.sources, **last}:
        stored = _memory(found, memory_id)
        if stored is None:
            is_sound, stored = False, _of_last(found, memory_id, last.get(memory_id))
        if stored is None:
            lost["memories"] += 1
            continue
        memories[memory_id], source = stored
        sources.append(source)
    edges = [one for one in found.edges.values() if _is_edge(one, memories)]
    versions = [
        (memory_id, record)
        for (memory_id, _), record in sorted(found.versions.items())
        if memory_id in memories and _version(memory_id, record) is not None
    ]
    quotes = [one for one in found.quotes.values() if one[0] in memories and _is_quote(one, found)]
    lost["edges"] = len(found.edges) - len(edges)
    lost["versions"] += sum(memory_id not in memories for memory_id, _ in found.versions)
    return Kept(
        memories=memories,
        sources=sources,
        versions=versions,
        edges=edges,
        quotes=quotes,
        lost={kind: count for kind, count in lost.items() if count},
        is_sound=is_sound and not any(lost.values()),
    )


def write_kept(connection: apsw.Connection, change: Change, found: Salvage, kept: Kept) -> None:
    """Write what is kept into a new file, within a change of it. A row that its rules do not allow is left out."""
    for memory, source in zip(kept.memories.values(), kept.sources, strict=True):
        with _if_allowed(connection):
            change.run_all("insert_memories", [memory])
            change.run_all("put_sources", [source])
            if memory["is_indexed"]:
                spans = spans_of(memory["content"])
                change.run_all("insert_spans", (_span(memory["memory_id"], one) for one in spans))
    for memory_id, (_, version, operation, memory_json, reason, actor, created_at) in kept.versions:
        with _if_allowed(connection):
            change.run(
                "keep_version", memory_id=memory_id, version=version, operation=operation, memory=memory_json,
                reason=reason, actor=actor, created_at=created_at,
            )  # fmt: skip
    for edge in kept.edges:
        names = (
            "edge_id", "from_memory_id", "to_memory_id", "edge_type", "weight", "reason", "created_at", "resolution",
            "resolution_reason", "resolved_at",
        )  # fmt: skip
        with _if_allowed(connection):
            change.run("keep_edge", **dict(zip(names, edge, strict=True)))
    for memory_id, quote, start, end in kept.quotes:
        with _if_allowed(connection):
            change.run("put_quote", memory_id=memory_id, quote=quote, start=start, end=end)
    _write_history(connection, change, found)


def _write_history(connection: apsw.Connection, change: Change, found: Salvage) -> None:
    """Write which files and write-backs were seen, what was done, and what is still to be told."""
    names = (
        "ingest_key", "dropped_name", "final_name", "memory_ids", "memories_written", "edges_written", "extractor",
        "skipped", "taken_at", "finished_at", "indexed_chars", "is_erased",
    )  # fmt: skip
    for ingest in found.ingests.values():
        values = dict(zip(names, [*ingest, None, None, None], strict=False))
        with _if_allowed(connection):
            change.run("keep_ingest", **values | {"is_erased": values["is_erased"] or 0})
    for _, (event, actor, detail, created_at) in sorted(found.audit.items()):
        with _if_allowed(connection):
            change.run("keep_audit", event=event, actor=actor, detail=detail, created_at=created_at)
    for _, (change_id, event, memory_id, by) in sorted(found.changes.items()):
        with _if_allowed(connection):
            change.run("keep_change", change_id=change_id, event=event, memory_id=memory_id, by_memory_id=by)


@contextmanager
def _if_allowed(connection: apsw.Connection) -> Iterator[None]:
    """Make the block a part of a transaction that is undone alone where a rule of the file does not allow it."""
    with suppress(apsw.ConstraintError, apsw.MismatchError), transaction(connection):
        yield


def _last_versions(found: Salvage, lost: Counter[str]) -> dict[str, m.MemoryVersion]:
    last: dict[str, m.MemoryVersion] = {}
    for (memory_id, _), record in sorted(found.versions.items()):
        version = _version(memory_id, record)
        if version is None:
            lost["versions"] += 1
        else:
            last[memory_id] = version
    return last


def _version(memory_id: str, record: Record) -> m.MemoryVersion | None:
    try:
        found = version_of(memory_id, record[1:])
    except InvalidRow:
        return None
    return found if found.memory.memory_id == memory_id else None


def _memory(found: Salvage, memory_id: str) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return the two rows of a memory as statements take them; None where they are not both there and sound."""
    row, source = found.memories.get(memory_id), found.sources.get(memory_id)
    return None if row is None or source is None else _stored(found.key, row, source[1:])


def _of_last(
    found: Salvage, memory_id: str, last: m.MemoryVersion | None
) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return the rows of a memory of which one is gone, made of its last version; None without a sound one."""
    if last is None:
        return None
    row = found.memories.get(memory_id)
    of_row = None if row is None else _stored(found.key, row, _told_source(last))
    return of_row or _of_version(last)


def _stored(key: OwnerKey, row: Record, source: Record) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    memory_id, type, importance, content, summary, confidence, status, subject, attribute, value, *rest = row
    later: list[Any] = [*rest, *_LATER[len(rest) - 3 :]]
    created_at, updated_at, version, is_indexed, user_id, shared = later
    source_type, source_path, conversation_id, run_id, step_id, captured_by = source
    confidence = float(confidence) if isinstance(confidence, int) else confidence
    told = (
        memory_id, key.orchestrator_id, type, importance, content, summary, confidence, source_type, captured_by,
        source_path, conversation_id, run_id, step_id, status, created_at, updated_at, version, user_id, shared,
    )  # fmt: skip
    try:
        memory_of(told)
    except InvalidRow:
        return None
    stored = {
        "memory_id": memory_id, "type": type, "importance": importance, "content": content, "summary": summary,
        "confidence": confidence, "status": status, "subject": subject, "attribute": attribute, "value": value,
        "created_at": created_at, "updated_at": updated_at, "version": version, "is_indexed": is_indexed,
        "user_id": user_id, "shared": shared,
    }  # fmt: skip
    return stored, {
        "memory_id": memory_id, "source_type": source_type, "captured_by": captured_by, "source_path": source_path,
        "conversation_id": conversation_id, "workflow_run_id": run_id, "step_id": step_id,
    }  # fmt: skip


def _told_source(last: m.MemoryVersion) -> Record:
    source = last.memory.source
    return (
        source.source_type, source.source_path, source.conversation_id, source.workflow_run_id, source.step_id,
        source.captured_by,
    )  # fmt: skip


def _of_version(last: m.MemoryVersion) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    memory = last.memory
    owner = memory.user_id or (None if memory.source.conversation_id is None else UNKNOWN)
    stored = {
        "memory_id": memory.memory_id, "type": memory.type, "importance": memory.importance,
        "content": memory.content, "summary": memory.summary, "confidence": memory.confidence,
        "status": memory.status, "subject": None, "attribute": None, "value": None,
        "created_at": stored_moment(memory.created_at), "updated_at": stored_moment(memory.updated_at),
        "version": last.version, "is_indexed": 1, "user_id": owner, "shared": int(memory.shared),
    }  # fmt: skip
    return stored, {"memory_id": memory.memory_id, **msgspec.structs.asdict(memory.source)}


def _is_edge(record: Record, memories: Mapping[str, Any]) -> bool:
    edge_id, start, end, type, weight, reason, created_at, *resolution = record
    weight = float(weight) if isinstance(weight, int) else weight
    try:
        edge_of((edge_id, start, end, type, weight, created_at, reason, *resolution))
    except InvalidRow:
        return False
    return start in memories and end in memories and start != end


def _is_quote(record: Record, found: Salvage) -> bool:
    """Tell whether an entry is a quote, and not one of the index of vectors, which has the same shape."""
    _, quote, start, end = record
    return quote not in found.embedding_versions and 0 <= start < end


def _span(memory_id: str, span: m.Span) -> Mapping[str, Any]:
    return {"memory_id": memory_id, **msgspec.structs.asdict(span)}
