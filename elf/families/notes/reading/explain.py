"""Explaining searches from their traces: why this note, why at this rank, why not that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest, NotFound
from elf.core.scopes import Readable, is_readable
from elf.core.slices import Slices, in_slices
from elf.core.structs import read_json
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.api.brief import BriefTraceResponse, brief_trace
from elf.families.notes.api.trace_requests import (
    ExplainRequest,
    StageTime,
    Trace,
    TracedItem,
    TraceRequest,
    TracesRequest,
    TracesResponse,
    TraceSummary,
)
from elf.families.notes.model import FAMILY
from elf.families.notes.reading.shown_traces import Explained, ShownDrop, ShownTrace
from elf.search.trace import DroppedCandidate, reason_in_words
from elf.search.trace_store import TraceStore

Row = Mapping[str, Any]

_EXPLAINED = ("retrieval_score", "retrieval_rank", "rerank_score", "tie_breaker_score", "final_score", "boosts",
              "matched_terms", "matched_fields")  # fmt: skip
_OWNER = ("tenant_id", "project_id", "agent_id")


class SearchExplainer:
    """Reads traces. They hold a query and ids, and no text of a note: that is read from the note."""

    def __init__(self, *, traces: TraceStore, database: Database, queries: Queries, clock: Clock) -> None:
        """`queries` are those of the folder sql/notes."""
        self._traces = traces
        self._database = database
        self._sql = queries
        self._clock = clock

    async def explain(self, request: ExplainRequest, readable: Readable = None) -> Explained:
        """Explain one result. Raises InvalidRequest for a handle that is unknown, or not of the context given.

        Unless the whole context is given, no private note is named, and the handle of one is unknown. So is that of a
        search that read more than what is readable.
        """
        found = await self._traces.trace_of_item(FAMILY, request.result_handle, now=self._clock.now())
        if found is None or not _is_of(found[0], request, readable):
            raise _unknown(request.result_handle)
        whole = None not in _owner(request)
        items, dropped = await self._told(*found, but_private=not whole)
        explained = next((item for item in items if item.result_handle == request.result_handle), None)
        if explained is None:
            raise _unknown(request.result_handle)
        return Explained(
            trace=_trace(found[0]),
            item=explained,
            other_items=[item for item in items if item is not explained],
            dropped=dropped,
        )

    async def _told(
        self, trace: Row, rows: Sequence[Row], *, but_private: bool = False
    ) -> tuple[list[TracedItem], list[ShownDrop]]:
        """Return the results and the other candidates; `but_private` leaves out what is, or may have been, private."""
        candidates = read_json(trace["dropped"], list[DroppedCandidate])
        agent_id = None if but_private else trace["agent_id"]
        note_ids = {row["note_id"] for row in rows} | {candidate.subject_id for candidate in candidates}
        async with self._database.connection() as connection:
            notes = await connection.fetch(
                self._sql["texts_of_notes"],
                list(note_ids), trace["tenant_id"], trace["project_id"], agent_id, self._clock.now(),
            )  # fmt: skip
        texts = {note["note_id"]: note["text"] for note in notes}
        items = [_item(row, texts) for row in rows]
        dropped = await in_slices(_dropping(trace, items, candidates, texts))
        if but_private:
            items = [item for item in items if item.note_id in texts]
            dropped = [one for one in dropped if one.note_id in texts]
        return items, dropped

    async def trace(
        self, request: TraceRequest, readable: Readable = None
    ) -> ShownTrace | BriefTraceResponse:
        """Read a whole trace. Raises NotFound when there is none of this id in the context given."""
        found = await self._traces.trace(FAMILY, request.trace_id, now=self._clock.now())
        if found is None or not _is_of(found[0], request, readable):
            raise NotFound(
                f"there is no trace {request.trace_id} in this context; a trace is stored a moment after its search",
                fields=["$.trace_id"],
            )
        items, dropped = await self._told(*found)
        shown = ShownTrace(trace=_trace(found[0]), items=items, dropped=dropped)
        return shown if request.detail == "full" else brief_trace(shown)

    async def page(self, request: TracesRequest, readable: Readable = None) -> TracesResponse:
        """Read a page of an agent's searches, newest first. Raises InvalidRequest for a cursor that is none."""
        agent = (request.tenant_id, request.project_id, request.agent_id)
        listing = ("searches", *agent)
        after = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        rows = await self._traces.page(
            FAMILY,
            agent=agent,
            after=(after.moment, after.id),
            now=self._clock.now(),
            limit=request.limit + 1,
            scopes=readable,
        )
        page = rows[: request.limit]
        more = len(rows) > request.limit
        return TracesResponse(
            items=[TraceSummary(**{**row, "stages": _stages(row)}) for row in page],
            next_cursor=(
                encode_cursor(page[-1]["created_at"], page[-1]["trace_id"], *listing) if more else None
            ),
        )


def _unknown(result_handle: UUID) -> InvalidRequest:
    return InvalidRequest(
        f"nothing is known of the result {result_handle} in this context: there is no such result_handle, its trace "
        "has expired, or it has not been stored yet, which takes a moment",
        fields=["$.result_handle"],
    )


def _owner(request: ExplainRequest | TraceRequest) -> list[str | None]:
    return [getattr(request, name) for name in _OWNER]


def _is_of(trace: Row, request: ExplainRequest | TraceRequest, readable: Readable) -> bool:
    """Tell whether nothing that the request says of the searcher is wrong, and all that was searched is readable."""
    if not all(is_readable(scope, readable) for scope in trace["allowed_scopes"]):
        return False
    return all(given in (None, trace[name]) for name, given in zip(_OWNER, _owner(request), strict=True))


def _trace(row: Row) -> Trace:
    fields = {name: row[name] for name in Trace.model_fields}
    return Trace(**{**fields, "stages": _stages(row)})


def _stages(row: Row) -> list[StageTime]:
    return [StageTime(name=name, ms=ms) for name, ms in row["stages"]]


def _item(row: Row, texts: Mapping[UUID, str | None]) -> TracedItem:
    return TracedItem(
        result_handle=row["item_id"],
        note_id=row["note_id"],
        chunk_id=row["chunk_id"],
        rank=row["rank"],
        relevance=row["relevance"],
        text=texts.get(row["note_id"]),
        explain={name: row[name] for name in _EXPLAINED},  # type: ignore[arg-type]
    )


def _dropping(
    trace: Row,
    items: Sequence[TracedItem],
    candidates: Sequence[DroppedCandidate],
    texts: Mapping[UUID, str | None],
) -> Slices[list[ShownDrop]]:
    ranks = {item.note_id: item.rank for item in items}
    last_score = items[-1].explain.final_score if items else None
    shown = []
    for candidate in candidates:
        yield
        words = reason_in_words(candidate, top_k=trace["top_k"], last_score=last_score, ranks=ranks)
        shown.append(_shown_drop(candidate, words, texts.get(candidate.subject_id)))
    return shown


def _shown_drop(candidate: DroppedCandidate, words: str, text: str | None) -> ShownDrop:
    fields = msgspec.structs.asdict(candidate)
    reason_code = fields.pop("reason")
    fields["note_id"], fields["chunk_id"] = fields.pop("subject_id"), fields.pop("point_id")
    fields["filter"] = candidate.filter or msgspec.UNSET
    return ShownDrop(**fields, text=text, reason_code=reason_code, reason=words)
