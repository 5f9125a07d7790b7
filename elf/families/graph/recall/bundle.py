"""What a recall answers: memories, the edges that touch them, and where they are from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from elf.families.graph import model as m
from elf.families.graph.recall.finding import Found
from elf.families.graph.recall.recaller import Mode, Recalled
from elf.families.graph.rules.ranking import Ranked


class Told(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What stands within an envelope, in the wire's names."""


class Explained(Told, frozen=True, kw_only=True):
    """The terms of a score. `fused` is textTerm + vectorTerm; `finalScore` is fused times the four factors."""

    text_rank: int | None
    vector_rank: int | None
    text_term: float
    vector_term: float
    fused: float
    importance_factor: float
    confidence_factor: float
    recency_factor: float
    contradiction_factor: float
    final_score: float


class RecalledMemory(Told, frozen=True, kw_only=True):
    """A memory, and the span of it that the words of the query found, None where its vector alone did."""

    memory: m.MemoryNode
    snippet: str | None
    final_score: float
    unresolved_contradiction: bool
    explain: Explained | None = None


class Citation(Told, frozen=True, kw_only=True):
    """Where a memory is from."""

    memory_id: str
    source_type: m.SourceType
    source_path: str | None
    conversation_id: str | None
    workflow_run_id: str | None
    step_id: str | None


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a recall. `degraded` names what was away, or left out."""

    nodes: Sequence[RecalledMemory]
    edges: Sequence[m.MemoryEdge]
    citations: Sequence[Citation]
    mode: Mode
    degraded: Sequence[str]


def bundle_of(recalled: Recalled[list[m.MemoryEdge]], *, explain: bool) -> Bundle:
    """Return what was recalled, with the edges that were looked at beside it, as it is answered."""
    return Bundle(
        nodes=[_node(found, explain=explain) for found in recalled.found],
        edges=recalled.beside,
        citations=[citation_of(found.memory) for found in recalled.found],
        mode=recalled.mode,
        degraded=recalled.degraded,
    )


def _node(found: Found, *, explain: bool) -> RecalledMemory:
    return RecalledMemory(
        memory=found.memory,
        snippet=found.snippet,
        final_score=found.ranked.terms.final,
        unresolved_contradiction=found.contradicted,
        explain=_explained(found.ranked) if explain else None,
    )


def _explained(ranked: Ranked) -> Explained:
    """Return the terms of a score as they are told."""
    terms = ranked.terms
    return Explained(
        text_rank=ranked.text_rank,
        vector_rank=ranked.vector_rank,
        text_term=terms.text,
        vector_term=terms.vector,
        fused=terms.fused,
        importance_factor=terms.importance,
        confidence_factor=terms.confidence,
        recency_factor=terms.recency,
        contradiction_factor=terms.contradiction,
        final_score=terms.final,
    )


def citation_of(memory: m.MemoryNode) -> Citation:
    """Return where a memory is from."""
    source = memory.source
    return Citation(
        memory_id=memory.memory_id,
        source_type=source.source_type,
        source_path=source.source_path,
        conversation_id=source.conversation_id,
        workflow_run_id=source.workflow_run_id,
        step_id=source.step_id,
    )
