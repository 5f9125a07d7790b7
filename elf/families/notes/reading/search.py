"""Searching notes: the stages of section 13 in order, each of which may fail alone and be done without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import blake3
import msgspec
import structlog

from elf.core.clock import Clock
from elf.core.errors import InvalidRequest, ScopeDenied, ServiceError, Unavailable
from elf.core.scopes import ScopeRules
from elf.core.slices import in_slices
from elf.core.words import Stems, TermMatcher
from elf.db.database import Database
from elf.db.ids import random_ids
from elf.families.notes.api.brief import BriefSearchResponse, brief_search
from elf.families.notes.api.requests import SearchFilters, SearchRequest
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import FAMILY, as_real
from elf.families.notes.reading.ask import NoteAsk
from elf.families.notes.reading.finding import NoteFinding
from elf.families.notes.reading.note_filter import NoteFilter
from elf.families.notes.reading.ranking import (
    RECENCY_IMPORTANCE,
    FoundChunk,
    NoteRanking,
    Ranked,
    Scored,
)
from elf.families.notes.writing.service import context_of
from elf.search.reranking import Reranking, scores_in_time
from elf.search.retrieve import Retrieved
from elf.search.stages import Stages
from elf.search.trace import DroppedCandidate, SearchTrace, TraceItem, TraceSink, dropped

log = structlog.get_logger()

HITS = "hits"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRules:
    """Sizes when the request does not say, the time a search may take, and what its trace keeps.

    `budget_s` is in seconds, None for no limit but the providers' own. `snapshot` is the part of the config that the
    answers depend on. A search whose best relevance is below `weak_below` is a weak match.
    """

    candidate_k: int
    top_k: int
    budget_s: float | None
    expansion_mode: Literal["off", "always", "dynamic"]
    trace_days: int
    snapshot: Mapping[str, Any]
    weak_below: float | None = None
    min_relevance: float | None = None


class FoundNotes(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a search: its JSON is that of a SearchResponse, an item's fields those of a SearchItem."""

    trace_id: UUID
    items: Sequence[Mapping[str, Any]]
    weak_match: bool | None
    degraded: Sequence[str]


class NoteSearch:
    """Finds the notes that answer a query; hits are counted in `database`."""

    def __init__(
        self,
        *,
        database: Database,
        store: NoteStore,
        finding: NoteFinding,
        reranking: Reranking,
        ranking: NoteRanking,
        scopes: ScopeRules,
        rules: SearchRules,
        trace: TraceSink,
        clock: Clock,
    ) -> None:
        self._database = database
        self._store = store
        self._finding = finding
        self._reranking = reranking
        self._ranking = ranking
        self._scopes = scopes
        self._rules = rules
        self._trace = trace
        self._clock = clock
        self._stems = Stems()

    async def search(self, request: SearchRequest) -> FoundNotes | BriefSearchResponse:
        """Answer a search.

        Raises InvalidRequest for an unknown profile, a filter that is none or a relevance that is not told here,
        ScopeDenied for a filter that names a scope beyond the profile, Unavailable when it cannot be answered.
        """
        min_relevance = self._min_relevance(request)
        ask = self._ask(request)
        stages = Stages(self._rules.budget_s)
        finding = self._finding
        candidates = finding.candidates(ask)
        try:
            retrieved = await finding.retrieval.retrieve(candidates, stages)
            found, unmet = await finding.vouched(retrieved, ask, stages)
            # The places of notes that the filter drops may have been others': Postgres knows whose.
            if (
                unmet
                and not retrieved.is_all
                and await finding.retrieval.retrieve_exactly(candidates, retrieved, stages)
            ):
                found, unmet_now = await finding.vouched(retrieved, ask, stages)
                unmet |= unmet_now
        except TimeoutError as error:
            raise _out_of_time() from error
        passages = [chunk.passage for chunk in found]
        scores = await scores_in_time(self._reranking, ask.query, passages, retrieved, stages)
        ranked = self._ranking.rank(
            found, scores, now=ask.now, top_k=self._top_k(request, ask), min_relevance=min_relevance
        )
        if request.record_hits:
            await self._record_hits(ask, ranked.best, retrieved, stages)
        terms = TermMatcher(ask.query, self._stems)
        trace_id, *handles = random_ids(1 + len(ranked.best))
        try:
            references = await finding.references([entry.found.row for entry in ranked.best], stages)
        except TimeoutError as error:
            raise _out_of_time() from error
        items = [
            _item(entry, handle, terms, reference)
            for entry, handle in zip(ranked.best, handles, strict=True)
            if (reference := references.get(entry.found.row["note_id"])) is not None
        ]
        self._trace(self._traced(trace_id, request, ask, retrieved, found, unmet, ranked, items, stages))
        answer: dict[str, Any] = {
            "trace_id": trace_id,
            "items": items,
            "weak_match": self._is_weak(ranked, has_scores=scores is not None),
            "degraded": retrieved.degraded,
        }
        return FoundNotes(**answer) if request.detail == "full" else await in_slices(brief_search(**answer))

    def _ask(self, request: SearchRequest) -> NoteAsk:
        return NoteAsk(
            query=request.query,
            context=context_of(request),
            scopes=self._readable(request),
            now=self._clock.now(),
            candidate_k=request.candidate_k or max(self._rules.candidate_k, request.top_k or 0),
            filter=NoteFilter.of(request.filters),
        )

    def _readable(self, request: SearchRequest) -> Sequence[str]:
        """Return the scopes to look in: those of the profile, or the ones of them that the filter names."""
        readable = self._scopes.readable(request.read_profile)
        wanted = None if request.filters is None else request.filters.scope
        if wanted is None:
            return readable
        if closed := [place for place, scope in enumerate(wanted) if scope not in readable]:
            raise ScopeDenied(
                f"the read profile {request.read_profile} reads {', '.join(readable) or 'nothing'}, and so a filter"
                " can name no other scope",
                fields=[f"$.filters.scope[{place}]" for place in closed],
            )
        return [scope for scope in readable if scope in wanted]

    def _top_k(self, request: SearchRequest, ask: NoteAsk) -> int:
        return request.top_k or min(self._rules.top_k, ask.candidate_k)

    def _min_relevance(self, request: SearchRequest) -> float | None:
        if request.min_relevance is None:
            return self._rules.min_relevance
        if not self._reranking.tells_relevance:
            raise InvalidRequest(
                "$.min_relevance: this service does not know how relevant results are: its config has no "
                "[search.rerank], or no weak_below there for a reranker behind a URL",
                fields=["$.min_relevance"],
            )
        return request.min_relevance

    def _is_weak(self, ranked: Ranked, *, has_scores: bool) -> bool | None:
        weak_below = self._rules.weak_below
        if weak_below is None or not has_scores:
            return None
        return ranked.relevance is None or ranked.relevance < weak_below

    async def _record_hits(
        self, ask: NoteAsk, best: Sequence[Scored], retrieved: Retrieved, stages: Stages
    ) -> None:
        if not best:
            return
        hits = [
            (entry.found.row["note_id"], entry.found.candidate.point_id, rank, entry.final)
            for rank, entry in enumerate(best, start=1)
        ]
        query_hash = blake3.blake3(ask.query.encode()).hexdigest()
        try:
            with stages.stage("hits"):
                async with self._database.connection() as connection:
                    await self._store.record_hits(connection, hits, query_hash=query_hash, now=ask.now)
        except (ServiceError, TimeoutError) as error:
            # Hits are a statistic; the answer is already there.
            log.warning("hits_not_recorded", hits=len(hits), error=type(error).__name__)
            retrieved.without(HITS)

    def _traced(
        self,
        trace_id: UUID,
        request: SearchRequest,
        ask: NoteAsk,
        retrieved: Retrieved,
        found: Sequence[FoundChunk],
        unmet: Mapping[UUID, DroppedCandidate],
        ranked: Ranked,
        items: Sequence[Mapping[str, Any]],
        stages: Stages,
    ) -> SearchTrace:
        return SearchTrace(
            trace_id=trace_id,
            family=FAMILY,
            tenant_id=ask.context.tenant_id,
            project_id=ask.context.project_id,
            agent_id=ask.context.agent_id,
            read_profile=request.read_profile,
            query=ask.query,
            expansion_mode=self._rules.expansion_mode,
            expanded_queries=retrieved.queries,
            allowed_scopes=ask.scopes,
            filters=_shown(request.filters),
            candidate_count=len(retrieved.candidates),
            top_k=self._top_k(request, ask),
            config_snapshot=self._rules.snapshot,
            created_at=ask.now,
            expires_at=ask.now + timedelta(days=self._rules.trace_days),
            items=[
                TraceItem.of(item, rank, subject_id=item["note_id"], point_id=item["chunk_id"])
                for rank, item in enumerate(items, start=1)
            ],
            dropped=_dropped(retrieved, found, unmet, ranked),
            degraded=retrieved.degraded,
            stages=stages.timings,
        )


def _out_of_time() -> Unavailable:
    return Unavailable("the search could not be answered within its time")


def _shown(filters: SearchFilters | None) -> dict[str, Any]:
    return {} if filters is None else filters.model_dump(mode="json", exclude_none=True)


def _dropped(
    retrieved: Retrieved, found: Sequence[FoundChunk], unmet: Mapping[UUID, DroppedCandidate], ranked: Ranked
) -> list[DroppedCandidate]:
    live = {chunk.candidate.point_id for chunk in found} | unmet.keys()
    gone = [candidate for candidate in retrieved.candidates if candidate.point_id not in live]
    return [
        *(dropped(candidate, reason) for candidate, reason in retrieved.cut),
        *(dropped(candidate, "NOT_LIVE") for candidate in gone),
        *unmet.values(),
        *(_outdone(entry, "BETTER_CHUNK") for entry in ranked.other_chunks),
        *(_outdone(entry, "BELOW_MIN_RELEVANCE") for entry in ranked.irrelevant),
        *(_outdone(entry, "BELOW_TOP_K") for entry in ranked.below),
    ]


def _outdone(
    entry: Scored, reason: Literal["BETTER_CHUNK", "BELOW_MIN_RELEVANCE", "BELOW_TOP_K"]
) -> DroppedCandidate:
    return dropped(entry.found.candidate, reason, rerank_score=entry.rerank_score, final_score=entry.final)


def _item(entry: Scored, handle: UUID, terms: TermMatcher, reference: str) -> dict[str, Any]:
    """Return the fields of a SearchItem; `reference` is the note's, as JSON text."""
    found, row = entry.found, entry.found.row
    return {
        "result_handle": handle,
        "note_id": row["note_id"],
        "chunk_id": found.candidate.point_id,
        "chunk_index": row["chunk_index"],
        "start_offset": row["start_offset"],
        "end_offset": row["end_offset"],
        "snippet": found.snippet,
        "type": row["type"],
        "key": row["key"],
        "scope": row["scope"],
        "importance": as_real(row["importance"]),
        "confidence": as_real(row["confidence"]),
        "updated_at": row["updated_at"],
        "expires_at": row["expires_at"],
        "final_score": entry.final,
        "relevance": entry.relevance,
        "source_ref": msgspec.Raw(reference),
        "explain": _explanation(entry, terms),
    }


def _explanation(entry: Scored, terms: TermMatcher) -> dict[str, Any]:
    """Return the fields of an Explanation."""
    found = entry.found
    match = terms.match(found.snippet, found.row["key"])
    boosts = entry.boosts
    return {
        "retrieval_score": found.candidate.score,
        "retrieval_rank": found.candidate.rank,
        "rerank_score": entry.rerank_score,
        "tie_breaker_score": boosts[RECENCY_IMPORTANCE],
        "final_score": entry.final,
        "boosts": [{"name": name, "score": score} for name, score in boosts.items()],
        "matched_terms": match.terms,
        "matched_fields": match.fields,
    }
