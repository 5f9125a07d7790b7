"""Memories and edges of requests as records, and what is refused of them before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from elf.core.errors import InvalidRequest
from elf.core.secrets import find_secret
from elf.families.graph import model as m
from elf.families.graph.api import writing as w
from elf.families.graph.extraction.rules import key_in
from elf.families.graph.rules.ids import new_id
from elf.families.graph.rules.provenance import check_fields
from elf.families.graph.rules.subjects import Key
from elf.families.graph.rules.texts import summary_of
from elf.families.graph.store.nodes import NewMemory

CheckPath = Callable[..., None]
"""Raises for a path, which is told `at`, that may not be named. Blocks."""


def new_memory(told: w.NewMemory, orchestrator_id: str, *, now: datetime, at: str) -> NewMemory:
    """Return a memory of a request, whose path there is `at`. Raises InvalidRequest for one of another orchestrator."""
    if told.orchestratorId not in (None, orchestrator_id):
        field = f"{at}.orchestratorId"
        raise InvalidRequest(f"{field}: must be the orchestrator of the request", fields=[field])
    created = told.createdAt or min(now, told.updatedAt or now)
    memory = m.MemoryNode(
        memory_id=told.memoryId or new_id(), orchestrator_id=orchestrator_id, type=told.type,
        importance=told.importance, content=told.content, summary=summary_of(told.content, told.summary),
        confidence=told.confidence, source=source_of(told.source), status=told.status,
        created_at=created, updated_at=told.updatedAt or now,
    )  # fmt: skip
    return NewMemory(memory=memory, key=key_of(memory), path=f"{at}.memoryId")


def new_edge(told: w.NewEdge, *, now: datetime) -> m.MemoryEdge:
    """Return an edge of a request."""
    return m.MemoryEdge(
        edge_id=told.edgeId or new_id(), from_memory_id=told.fromMemoryId, to_memory_id=told.toMemoryId,
        edge_type=told.edgeType, weight=told.weight, created_at=told.createdAt or now, reason=told.reason or None,
    )  # fmt: skip


def source_of(told: w.NewSource) -> m.Source:
    """Return the source of a request."""
    return m.Source(
        source_type=told.sourceType,
        captured_by=told.capturedBy,
        source_path=told.sourcePath,
        conversation_id=told.conversationId,
        workflow_run_id=told.workflowRunId,
        step_id=told.stepId,
    )


def key_of(memory: m.MemoryNode) -> Key | None:
    """Return what a memory is about, where a rule of the local extractor knows it."""
    return key_in(memory.content, memory.type)


def check_source_path(memory: m.MemoryNode, check_path: CheckPath, *, at: str) -> None:
    """Raise as `check_path` does for the file of a memory, if it is from one. Blocks."""
    if memory.source.source_path is not None:
        check_path(memory.source.source_path, at=f"{at}.source.sourcePath")


def check_memory(memory: m.MemoryNode, *, at: str) -> None:
    """Raise InvalidRequest for a source that lacks something, and for a secret. Takes its time."""
    check_fields(memory.source, at=f"{at}.source")
    own_summary = None if memory.summary in memory.content else memory.summary
    refuse_secrets({f"{at}.content": memory.content, f"{at}.summary": own_summary})


def refuse_secrets(texts: dict[str, str | None]) -> None:
    """Raise InvalidRequest for a text, by its path, that has a secret in it. Takes its time."""
    for path, text in texts.items():
        if text and (finding := find_secret(text)) is not None:
            raise InvalidRequest(
                f"{path}: must not hold a secret, and this holds one of the kind {finding.kind}",
                fields=[path],
            )


def refuse_doubles(ids: Sequence[str], *, at: str, name: str) -> None:
    """Raise InvalidRequest for an id that comes twice in a list, which is `at` a path."""
    seen: set[str] = set()
    for place, id in enumerate(ids):
        if id in seen:
            field = f"{at}[{place}].{name}"
            raise InvalidRequest(f"{field}: {id} is there twice", fields=[field])
        seen.add(id)
