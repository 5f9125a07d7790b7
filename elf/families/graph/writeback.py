"""Write-backs of orchestrators: each is written once, however often it comes, and never by an attempt that is late."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from elf.families.graph import model as m
from elf.families.graph.extraction.rules import key_in
from elf.families.graph.memory_writing import WrittenMemory
from elf.families.graph.recall.bundle import Told
from elf.families.graph.rules.captures import RELATED_WEIGHT, Captured, WriteBack, edge_id_of
from elf.families.graph.rules.subjects import Key
from elf.families.graph.rules.texts import summary_of
from elf.families.graph.store.changes import write_all
from elf.families.graph.store.nodes import NewMemory, need_memory, own_id, read_memory
from elf.families.graph.store.statements import Change

WRITTEN: Final = "memory.writeback"

WriteBackStatus: TypeAlias = Literal["written", "duplicate", "outdated"]
"""It is written now; it was before; or a later attempt was, and nothing is changed."""


class Refused(Told, frozen=True, kw_only=True):
    """What was not taken in: where it stands in the request, and why."""

    field: str
    reason: str


class WrittenBack(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a write-back."""

    status: WriteBackStatus
    key: str
    memories: Sequence[WrittenMemory] = ()
    edge_ids: Sequence[str] = ()
    skipped: Sequence[Refused] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is written back, looked at: what is taken of it, each with what it is about, and what is not."""

    asked: WriteBack
    taken: Sequence[tuple[Captured, Key | None]]
    skipped: Sequence[Refused]


def prepare(asked: WriteBack) -> Prepared:
    """Look for secrets in what is written back, and for what it is about. Blocks, and needs no file."""
    refused = [(one, one.refusal) for one in asked.captured]
    return Prepared(
        asked=asked,
        taken=[(one, key_in(one.content, one.type)) for one, reason in refused if reason is None],
        skipped=[Refused(field=one.at, reason=reason) for one, reason in refused if reason is not None],
    )


def write_back(
    change: Change, prepared: Prepared, *, embedding_version: str, owner: str | None = None
) -> WrittenBack:
    """Write what is written back, with a line in the log that tells of it, or nothing of what was there already.

    `owner` is the user whose it is, where no user writes it and somebody knows. Raises NoSuchMemory where something is
    related to what there is not.
    """
    asked = prepared.asked
    known = change.row("writeback", series=asked.series, attempt=asked.attempt)
    if known is not None:
        detail = json.loads(known[0])
        if _is_written(change, prepared, detail):
            return _repeated(prepared, detail)
        change.run("delete_writeback", series=asked.series, attempt=asked.attempt)
    last = change.row("last_attempt", series=asked.series)
    if last is not None and last[0] > asked.attempt:
        return _told(change, WrittenBack(status="outdated", key=asked.key), asked)
    for place, memory_id in enumerate(asked.related):
        need_memory(change, memory_id, path=f"$.related_memory_ids[{place}]")
    memories = [NewMemory(memory=_memory(change, one, asked, owner), key=key) for one, key in prepared.taken]
    edges = [_relation(change, one, new.memory.memory_id) for new in memories for one in asked.related]
    written = write_all(change, memories, edges, embedding_version=embedding_version)
    answer = WrittenBack(
        status="written",
        key=asked.key,
        memories=[
            WrittenMemory(memory_id=one.memory_id, outcome=outcome) for one, outcome in written.memories
        ],
        edge_ids=[
            *(edge.edge_id for edge, _ in written.edges),
            *(edge.edge_id for edge in written.contradictions),
        ],
        skipped=prepared.skipped,
    )
    return _told(change, answer, asked)


def _is_written(change: Change, prepared: Prepared, detail: dict[str, Any]) -> bool:
    """Tell whether all that is taken was written before: what was erased since, or refused then, was not."""
    return detail["status"] == "outdated" or {own_id(change, one.memory_id) for one, _ in prepared.taken} <= {
        *detail["memory_ids"]
    }


def _repeated(prepared: Prepared, detail: dict[str, Any]) -> WrittenBack:
    memories = [WrittenMemory(memory_id=memory_id, outcome="NONE") for memory_id in detail["memory_ids"]]
    return WrittenBack(
        status="duplicate",
        key=prepared.asked.key,
        memories=memories,
        edge_ids=detail["edge_ids"],
        skipped=prepared.skipped,
    )


def _told(change: Change, answer: WrittenBack, asked: WriteBack) -> WrittenBack:
    change.log(
        WRITTEN,
        orchestrator_id=change.key.orchestrator_id,
        key=asked.key,
        series=asked.series,
        attempt=asked.attempt,
        status=answer.status,
        memory_ids=[one.memory_id for one in answer.memories],
        edge_ids=list(answer.edge_ids),
        skipped=[one.reason for one in answer.skipped],
    )
    return answer


def _memory(change: Change, captured: Captured, asked: WriteBack, owner: str | None) -> m.MemoryNode:
    """Return a memory as it is to be; one that was superseded or retracted stays so."""
    before = read_memory(change, captured.memory_id)
    return m.MemoryNode(
        memory_id=captured.memory_id,
        orchestrator_id=change.key.orchestrator_id,
        type=captured.type,
        importance=captured.importance,
        content=captured.content,
        summary=summary_of(captured.content),
        confidence=captured.confidence,
        source=asked.source,
        status="active" if before is None else before.memory.status,
        created_at=change.now,
        updated_at=change.now,
        user_id=owner,
    )


def _relation(change: Change, related: str, memory_id: str) -> m.MemoryEdge:
    return m.MemoryEdge(
        edge_id=edge_id_of(related, memory_id),
        from_memory_id=related,
        to_memory_id=memory_id,
        edge_type="RelatedTo",
        weight=RELATED_WEIGHT,
        created_at=change.now,
    )
