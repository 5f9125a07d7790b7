"""Files of JSON: memories and edges as somebody wrote them, checked, all or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import ValidationError

from elf.api.body_faults import faults_told, in_words
from elf.core.blank_text import is_blank
from elf.core.secrets import find_secret
from elf.families.graph.drafts import key_of
from elf.families.graph.ingest.json_shape import ToldEdge, ToldFile, ToldMemory, ToldSource
from elf.families.graph.ingest.material import Material, SourceFile
from elf.families.graph.ingest.rejection import ReasonCode, Rejection
from elf.families.graph.ingest.text_files import decoded
from elf.families.graph.model import MemoryEdge, MemoryNode, Source
from elf.families.graph.rules.provenance import is_canonical, missing_fields

EXTRACTOR: Final = "json"
"""What a manifest names where a file tells its memories itself."""

_MOST_FAULTS: Final = 100
_MOST_SHOWN: Final = 5

Fault = tuple[str, str]
"""A path, and what is wrong there."""


def told_in(data: bytes) -> ToldFile:
    """Return what a file of JSON tells. Raises Rejection where it is no JSON, or not of that shape."""
    try:
        return ToldFile.model_validate_json(decoded(data))
    except ValidationError as error:
        told = faults_told(error)
        if any(fault["type"] == "json_invalid" for fault in error.errors(include_url=False)):
            raise Rejection("invalid_json", told[0][1]) from None
        raise _rejection("invalid_shape", told) from None


def material_of(told: ToldFile, file: SourceFile) -> Material:
    """Return the memories and edges of a file. Raises Rejection where one of them may not be, with all that may not."""
    sources = [_source(one.source, file) for one in told.memories]
    for code, faults in _checks(told, sources, file):
        if found := list(faults):
            raise _rejection(code, found)
    memories = [_memory(one, source, file) for one, source in zip(told.memories, sources, strict=True)]
    keys = {one.memory_id: key_of(one) for one in memories}
    return Material(
        memories=memories,
        edges=[_edge(one, file) for one in told.edges],
        extractor=EXTRACTOR,
        keys={memory_id: key for memory_id, key in keys.items() if key is not None},
    )


def _checks(
    told: ToldFile, sources: Sequence[Source], file: SourceFile
) -> Iterator[tuple[ReasonCode, Iterable[Fault]]]:
    memories = [(f"$.memories[{place}]", one) for place, one in enumerate(told.memories)]
    edges = [(f"$.edges[{place}]", one) for place, one in enumerate(told.edges)]
    yield "scope_mismatch", _of_others(memories, file.orchestrator_id)
    yield "empty_content", _empty((f"{at}.content", one.content) for at, one in memories)
    yield "empty_summary", _empty((f"{at}.summary", one.summary) for at, one in memories)
    yield "invalid_source_path", _bad_paths(sources)
    yield "invalid_shape", _missing(sources)
    yield "invalid_shape", _doubled((f"{at}.memoryId", one.memory_id) for at, one in memories)
    yield "invalid_shape", _doubled((f"{at}.edgeId", one.edge_id) for at, one in edges)
    yield "invalid_shape", _loops(edges)
    yield "secret_detected", _secrets(memories, edges)


def _of_others(memories: Iterable[tuple[str, ToldMemory]], orchestrator_id: str) -> Iterator[Fault]:
    for at, one in memories:
        if one.orchestrator_id not in (None, orchestrator_id):
            yield f"{at}.orchestratorId", "is another orchestrator than the one of this folder"


def _empty(texts: Iterable[Fault]) -> Iterator[Fault]:
    return ((path, "should not be blank") for path, text in texts if is_blank(text))


def _bad_paths(sources: Sequence[Source]) -> Iterator[Fault]:
    for place, source in enumerate(sources):
        if source.source_path is not None and not is_canonical(source.source_path):
            yield f"$.memories[{place}].source.sourcePath", "must be an absolute path without detours"


def _missing(sources: Sequence[Source]) -> Iterator[Fault]:
    for place, source in enumerate(sources):
        for name in missing_fields(source):
            yield f"$.memories[{place}].source.{name}", f"is missing of the type {source.source_type}"


def _doubled(ids: Iterable[Fault]) -> Iterator[Fault]:
    listed = list(ids)
    times = Counter(id for _, id in listed)
    seen: set[str] = set()
    for path, id in listed:
        if times[id] > 1 and id in seen:
            yield path, "stands in this file before"
        seen.add(id)


def _loops(edges: Iterable[tuple[str, ToldEdge]]) -> Iterator[Fault]:
    for at, one in edges:
        if one.from_memory_id == one.to_memory_id:
            yield f"{at}.toMemoryId", "leads back to where the edge comes from"


def _secrets(
    memories: Iterable[tuple[str, ToldMemory]], edges: Iterable[tuple[str, ToldEdge]]
) -> Iterator[Fault]:
    for path, text in _texts(memories, edges):
        if text and (finding := find_secret(text)) is not None:
            yield path, f"has a secret of the kind {finding.kind}"


def _texts(
    memories: Iterable[tuple[str, ToldMemory]], edges: Iterable[tuple[str, ToldEdge]]
) -> Iterator[tuple[str, str | None]]:
    for at, memory in memories:
        yield f"{at}.content", memory.content
        yield f"{at}.summary", memory.summary
        yield f"{at}.source.sourcePath", memory.source.source_path
    for at, edge in edges:
        yield f"{at}.reason", edge.reason


def _source(told: ToldSource, file: SourceFile) -> Source:
    """Return a source as it is kept: a file that names itself, by its path or by none, moves to where it ends."""
    path = told.source_path
    if path == file.dropped_path or (path is None and told.source_type == "ingest_file"):
        path = file.path
    return Source(
        source_type=told.source_type,
        captured_by=told.captured_by,
        source_path=path,
        conversation_id=told.conversation_id,
        workflow_run_id=told.workflow_run_id,
        step_id=told.step_id,
    )


def _memory(told: ToldMemory, source: Source, file: SourceFile) -> MemoryNode:
    created = told.created_at or min(file.taken_at, told.updated_at or file.taken_at)
    return MemoryNode(
        memory_id=told.memory_id,
        orchestrator_id=file.orchestrator_id,
        type=told.type,
        importance=told.importance,
        content=told.content,
        summary=told.summary,
        confidence=told.confidence,
        source=source,
        status=told.status,
        created_at=created,
        updated_at=max(created, told.updated_at or created),
    )


def _edge(told: ToldEdge, file: SourceFile) -> MemoryEdge:
    return MemoryEdge(
        edge_id=told.edge_id,
        from_memory_id=told.from_memory_id,
        to_memory_id=told.to_memory_id,
        edge_type=told.edge_type,
        weight=told.weight,
        created_at=told.created_at or file.taken_at,
        reason=told.reason or None,
    )


def _rejection(code: ReasonCode, faults: Sequence[Fault]) -> Rejection:
    paths = list(dict.fromkeys(path for path, _ in faults))
    return Rejection(code, in_words(faults, most=_MOST_SHOWN), fields=paths[:_MOST_FAULTS])
