"""Answers in brief, for readers to whom each word is a cost: what a language model needs to go on.

What is left out of an answer is none or empty; the full answer of the same request, or of one note, has the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import msgspec
from pydantic import Field

from elf.api.bodies import Response
from elf.core.slices import Slices
from elf.core.structs import read_json
from elf.families.notes.api import fields as f
from elf.families.notes.api.trace_requests import TracedItem
from elf.families.notes.reading.shown import ShownNotes
from elf.families.notes.reading.shown_traces import ShownDrop, ShownTrace

MAX_SOURCE_CHARS: Final = 80
MAX_DROPPED: Final = 8
_SOURCE_FIELDS: Final = 4
_MOST_EVIDENCE: Final = 16_384
_LAST: Final = float("-inf")

T = TypeVar("T")
Optional = Annotated[T | None, Field(default=None, exclude_if=lambda value: value is None)]
ListOf = Annotated[list[T], Field(default_factory=list, exclude_if=lambda value: not value)]


class BriefNote(Response):
    """A note in a few words."""

    note_id: f.NoteId
    text: str = Field(
        description="What it says; of a long note that a search found, the part that was found."
    )
    type: f.TypeName
    key: Optional[str] = Field(description="Its key, if it has one.")
    updated: date = Field(description="The day on which it last changed, in UTC.")
    source: Optional[str] = Field(
        description=f"Its source_ref in at most {MAX_SOURCE_CHARS} characters: the quotations of its evidence, or the "
        "first fields."
    )

    @classmethod
    def of(
        cls,
        *,
        note_id: UUID,
        text: str,
        type: str,
        key: str | None,
        updated_at: datetime,
        source_ref: msgspec.Raw,
    ) -> BriefNote:
        """Build it from the fields of a whole one."""
        source = source_in_short(source_ref)
        return cls(note_id=note_id, text=text, type=type, key=key, updated=updated_at.date(), source=source)


class BriefSearchResponse(Response):
    """The results of a search in brief."""

    trace_id: f.TraceId
    weak_match: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="Whether no result is relevant enough to count on: most likely there is nothing on this.",
    )
    items: list[BriefNote] = Field(description="The results, best first, one a note.")
    degraded: ListOf[str] = Field(description="The parts that could not help with this answer.")


class BriefListResponse(Response):
    """A page of notes in brief."""

    items: list[BriefNote] = Field(description="The notes, the one changed last first.")
    next_cursor: Optional[str] = Field(description="Send it as `cursor` for the next page.")


class BriefTracedItem(Response):
    """Why a result stands where it stands."""

    rank: int = Field(description="The place among the results, from 1.")
    note_id: f.NoteId
    score: float = Field(description="The final score, the sum of its terms.")
    terms: dict[str, float] = Field(description="Each term of the score, by name.")
    relevance: Optional[float] = Field(description="How relevant it is, if known.")
    matched: ListOf[str] = Field(description="Words of the query that the note holds.")


class BriefDrop(Response):
    """Why a note is no result."""

    note_id: f.NoteId
    reason: str = Field(description="Why, in words.")


class BriefTraceResponse(Response):
    """A trace in brief: the results with the terms of their scores, and what came closest to being one."""

    query: str = Field(description="The query, with secrets blanked.")
    expanded_queries: ListOf[str] = Field(
        description="The queries that were searched for, if not only this one."
    )
    scopes: list[str] = Field(description="The scopes that were read.")
    filters: Annotated[dict[str, Any], Field(default_factory=dict, exclude_if=lambda value: not value)] = (
        Field(description="The filters of the search, with secrets blanked.")
    )
    degraded: ListOf[str] = Field(description="The parts that could not help with the answer.")
    items: list[BriefTracedItem] = Field(description="The results, by rank.")
    dropped: list[BriefDrop] = Field(
        description=f"Notes that are no results: the {MAX_DROPPED} that came closest, best first."
    )
    dropped_count: int = Field(description="How many candidates are no results.")


def brief_search(
    *, trace_id: UUID, items: Iterable[Mapping[str, Any]], weak_match: bool | None, degraded: Iterable[str]
) -> Slices[BriefSearchResponse]:
    """Return the answer to a search in brief; `items` are the fields of SearchItems, each reference as raw JSON."""
    notes = yield from _brief_notes((item, item["snippet"]) for item in items)
    return BriefSearchResponse(
        trace_id=trace_id, items=notes, weak_match=bool(weak_match), degraded=list(degraded)
    )


def brief_page(page: ShownNotes) -> Slices[BriefListResponse]:
    """Return a page of notes in brief."""
    whole = ((msgspec.structs.asdict(note), note.text) for note in page.items)
    items = yield from _brief_notes(whole)
    return BriefListResponse(items=items, next_cursor=page.next_cursor)


def _brief_notes(notes: Iterable[tuple[Mapping[str, Any], str]]) -> Slices[list[BriefNote]]:
    brief = []
    for note, text in notes:
        fields = {name: note[name] for name in ("note_id", "type", "key", "updated_at", "source_ref")}
        brief.append(BriefNote.of(text=text, **fields))
        yield
    return brief


def brief_trace(shown: ShownTrace) -> BriefTraceResponse:
    """Return a trace in brief."""
    trace = shown.trace
    expanded = [] if trace.expanded_queries == [trace.query] else trace.expanded_queries
    return BriefTraceResponse(
        query=trace.query,
        expanded_queries=expanded,
        scopes=trace.allowed_scopes,
        filters=trace.filters,
        degraded=trace.degraded,
        items=[_brief_item(item) for item in shown.items],
        dropped=_closest(shown.dropped, {item.note_id for item in shown.items}),
        dropped_count=len(shown.dropped),
    )


def _brief_item(item: TracedItem) -> BriefTracedItem:
    why = item.explain
    return BriefTracedItem(
        rank=item.rank,
        note_id=item.note_id,
        score=round(why.final_score, 4),
        terms={boost.name: round(boost.score, 4) for boost in why.boosts},
        relevance=None if item.relevance is None else round(item.relevance, 2),
        matched=why.matched_terms,
    )


def _closest(dropped: Sequence[ShownDrop], results: set[UUID]) -> list[BriefDrop]:
    best: dict[UUID, ShownDrop] = {}
    for drop in heapq.nlargest(len(dropped), dropped, key=_closeness):
        if drop.note_id not in results:
            best.setdefault(drop.note_id, drop)
    return [
        BriefDrop(note_id=drop.note_id, reason=drop.reason) for drop in islice(best.values(), MAX_DROPPED)
    ]


def _closeness(drop: ShownDrop) -> tuple[float, float]:
    score = _LAST if drop.final_score is None else drop.final_score
    rank = _LAST if drop.retrieval_rank is None else -drop.retrieval_rank
    return score, rank


def source_in_short(reference: msgspec.Raw) -> str | None:
    """Return what a source_ref, as JSON, says in at most MAX_SOURCE_CHARS characters; None for an empty one."""
    # It may be large, so that only what is shown of it becomes objects.
    fields = read_json(reference, dict[str, msgspec.Raw])
    if quotes := _quotes(fields.get("evidence")):
        parts = [f'"{quote}"' for quote in quotes]
    else:
        parts = [f"{name}: {_plain(value)}" for name, value in islice(fields.items(), _SOURCE_FIELDS)]
    text = " ".join(", ".join(part[: MAX_SOURCE_CHARS + 1] for part in parts).split())
    if len(text) > MAX_SOURCE_CHARS:
        return f"{text[: MAX_SOURCE_CHARS - 1]}…"
    return text or None


class _Evidence(msgspec.Struct, gc=False):
    quote: str


def _quotes(evidence: msgspec.Raw | None) -> list[str]:
    if evidence is None or len(bytes(evidence)) > _MOST_EVIDENCE:
        return []
    try:
        return [one.quote for one in read_json(evidence, list[_Evidence])]
    except msgspec.ValidationError:  # not the evidence of an extractor
        return []


def _plain(value: msgspec.Raw) -> str:
    match bytes(value)[:1]:
        case b"{":
            return "{…}"
        case b"[":
            return "[…]"
        case b'"':
            return read_json(value, str)
        case _:
            return bytes(value).decode()
