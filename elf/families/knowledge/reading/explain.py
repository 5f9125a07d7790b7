"""Explains searches and recalls by their traces: those made for a user to that user, others to their tenant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.core.errors import NotFound
from elf.core.structs import read_json
from elf.families.knowledge import model as m
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.api.listing import Page
from elf.families.knowledge.kit import Kit
from elf.search.trace import DroppedCandidate
from elf.search.trace_store import TraceStore

Row = Mapping[str, Any]


class MemoryExplainer:
    """Reads traces back, with what the memories say now."""

    def __init__(self, kit: Kit, traces: TraceStore) -> None:
        self._kit = kit
        self._traces = traces

    async def explain(self, request: s.Explain, caller: Caller) -> s.Explanation:
        """Explain one result. Raises NotFound for a handle that is unknown, too new or too old, or another's."""
        reach = reach_of(request.tenant_id, caller)
        found = await self._traces.trace_of_item(m.FAMILY, request.result_handle, now=self._kit.now())
        if found is None or not _may_see(found[0], reach):
            raise NotFound(
                f"$.result_handle: nothing is known of the result {request.result_handle}; a trace is stored a moment "
                "after its search, and kept for a while",
                fields=["$.result_handle"],
            )
        trace, rows = found
        dropped = read_json(trace["dropped"], list[DroppedCandidate])
        ids = [*(row["note_id"] for row in rows), *(one.subject_id for one in dropped)]
        async with self._kit.database.connection() as connection:
            contents = await connection.fetch(
                self._kit.queries["contents_of_memories"], reach.tenant_id, reach.seen, ids
            )
        known = {row["id"]: row for row in contents}
        items = [_item(row, known) for row in rows]
        return s.Explanation(
            trace=_trace(trace, len(rows)),
            item=next(item for item in items if item.result_handle == request.result_handle),
            other_items=[item for item in items if item.result_handle != request.result_handle],
            dropped=[_dropped(one, known, items[-1].score) for one in dropped],
        )

    async def page(self, request: Page, caller: Caller) -> s.Traces:
        """Read a page of the caller's own searches and recalls, newest first."""
        reach = reach_of(request.tenant_id, caller)
        owner = (reach.tenant_id, "", reach.own_scope)
        listing = ("knowledge_traces", *owner)
        after = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        rows = await self._traces.page(
            m.FAMILY,
            agent=owner,
            after=(after.moment, after.id),
            now=self._kit.now(),
            limit=request.limit + 1,
        )
        shown = rows[: request.limit]
        more = len(rows) > request.limit
        cursor = encode_cursor(shown[-1]["created_at"], shown[-1]["trace_id"], *listing) if more else None
        return s.Traces(items=[_summary(row) for row in shown], next_cursor=cursor)


def _may_see(trace: Row, reach: Reach) -> bool:
    """Tell whether a trace is the caller's own: a call for a user explains what was asked for that user alone."""
    own = (reach.own_scope,) if reach.user is not None else ("", reach.own_scope)
    return trace["tenant_id"] == reach.tenant_id and trace["agent_id"] in own


def _trace(row: Row, result_count: int) -> s.TracedSearch:
    return s.TracedSearch(
        **_summary({**row, "result_count": result_count}).model_dump(),
        scopes=row["allowed_scopes"],
        settings=row["config_snapshot"],
        expires_at=row["expires_at"],
    )


def _summary(row: Row) -> s.TraceSummary:
    return s.TraceSummary(
        trace_id=row["trace_id"],
        kind=row["read_profile"],
        query=row["query"],
        limit=row["top_k"],
        candidate_count=row["candidate_count"],
        result_count=row["result_count"],
        degraded=row["degraded"],
        stages=dict(row["stages"]),
        created_at=row["created_at"],
    )


def _item(row: Row, known: Mapping[UUID, Row]) -> s.TracedItem:
    memory = known.get(row["note_id"])
    return s.TracedItem(
        result_handle=row["item_id"],
        memory_type=None if memory is None else memory["memory_type"],
        memory_id=row["note_id"],
        rank=row["rank"],
        score=row["final_score"],
        terms={term["name"]: term["score"] for term in row["boosts"]},
        found_by=row["matched_fields"],
        content=None if memory is None else memory["content"],
    )


def _dropped(one: DroppedCandidate, known: Mapping[UUID, Row], last_score: float) -> s.DroppedMemory:
    memory = known.get(one.subject_id)
    return s.DroppedMemory(
        memory_id=one.subject_id,
        content=None if memory is None else memory["content"],
        reason_code=one.reason,
        reason=f"scored {one.final_score:.6f}, the last of the results {last_score:.6f}; of equals the newer is first",
        score=one.final_score,
    )
