"""Stored traces on their way out: what may be thousands of rows, without a model for each.

The JSON of these is that of DroppedItem, ExplainResponse and TraceResponse.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec

from elf.families.notes.api.trace_requests import Trace, TracedItem


class ShownDrop(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A candidate that is not among the results. Its JSON is that of a DroppedItem; there may be thousands."""

    note_id: UUID
    chunk_id: UUID
    text: str | None
    stage: str
    reason_code: str
    reason: str
    retrieval_score: float | None
    retrieval_rank: int | None
    dense_score: float | None
    bm25_score: float | None
    rerank_score: float | None
    final_score: float | None
    filter: str | msgspec.UnsetType


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One result among the others. Its JSON is that of an ExplainResponse."""

    trace: Trace
    item: TracedItem
    other_items: Sequence[TracedItem]
    dropped: Sequence[ShownDrop]


class ShownTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A whole trace. Its JSON is that of a TraceResponse."""

    trace: Trace
    items: Sequence[TracedItem]
    dropped: Sequence[ShownDrop]
