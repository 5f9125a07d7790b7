"""Searching notes: the stages of section 13 in order, each of which may fail alone and be done without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import blake3
import msgspec
import numpy as np
import numpy.typing as npt
import structlog

from elf.core.clock import Clock
from elf.core.errors import InternalError, ProviderUnavailable, Unavailable
from elf.core.scopes import AGENT_PRIVATE, ScopeRules
from elf.core.words import Stems, TermMatcher
from elf.db.database import Database
from elf.families.notes.freshness import FreshWrites, Project
from elf.families.notes.model import Context, as_real
from elf.families.notes.requests import SearchRequest, SearchResponse
from elf.families.notes.service import context_of
from elf.families.notes.store import NoteStore
from elf.index.port import IndexFilter, IndexQuery, VectorIndex
from elf.providers.port import Embedder, Reranker
from elf.search.boost import recency_importance
from elf.search.fuse import Candidate, FusionRules, fuse
from elf.search.rerank import rerank_scores

log = structlog.get_logger()

RERANK = "rerank"
EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRules:
    """What the config says about ranking; weights multiply scores of 0 to 1."""

    fusion: FusionRules
    rerank_weight: float
    retrieval_weight: float
    tie_breaker_weight: float
    recency_tau_days: float
    candidate_k: int
    top_k: int
    prefilter: int


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A candidate that Postgres vouches for: its row of `read_candidates` and the text around the chunk.

    Few candidates become items, so the row's fields are read when they are needed.
    """

    candidate: Candidate
    row: Mapping[str, Any]
    snippet: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A found chunk with its final score and the terms it is made of."""

    found: FoundChunk
    rerank_score: float
    boosts: Mapping[str, float]

    @property
    def final(self) -> float:
        return sum(self.boosts.values())


class NoteSearch:
    """Finds the notes that answer a query."""

    def __init__(
        self,
        *,
        database: Database,
        store: NoteStore,
        index: VectorIndex,
        embedder: Embedder,
        reranker: Reranker,
        scopes: ScopeRules,
        rules: SearchRules,
        fresh: FreshWrites,
        clock: Clock,
    ) -> None:
        self._database = database
        self._fresh = fresh
        self._store = store
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._scopes = scopes
        self._rules = rules
        self._clock = clock
        self._stems = Stems()

    async def search(self, request: SearchRequest) -> SearchResponse:
        """Answer a search. Raises InvalidRequest for an unknown profile, Unavailable when it cannot be answered."""
        scopes = self._scopes.readable(request.read_profile)
        context = context_of(request)
        now = self._clock.now()
        degraded: list[str] = []
        candidates = await self._retrieve(request, context, scopes, degraded)
        found = await self._revalidate(candidates, context, scopes, now)
        scored = await self._score(request.query, found, now, degraded)
        best = self._best(scored, self._top_k(request))
        if request.record_hits:
            await self._record_hits(request.query, best, now)
        terms = TermMatcher(request.query, self._stems)
        items = [_item(entry, terms) for entry in best]
        # Validated as one value: made one by one, the models of an answer cost as much as its rows.
        return SearchResponse.model_validate({"trace_id": uuid4(), "items": items, "degraded": degraded})

    # Retrieving

    async def _retrieve(
        self, request: SearchRequest, context: Context, scopes: Sequence[str], degraded: list[str]
    ) -> list[Candidate]:
        dense = await self._embed(request.query, degraded)
        query = IndexQuery(
            dense=dense,
            text=request.query,
            where=self._filter(context, scopes),
            limit=self._candidate_k(request),
        )
        await self._fresh.settled(Project(context.tenant_id, context.project_id))
        results = await self._index.query([query])
        limit = self._candidate_k(request)
        if 0 < self._rules.prefilter < limit:
            limit = self._rules.prefilter
        return fuse(results, rules=self._rules.fusion, limit=limit)

    async def _embed(self, query: str, degraded: list[str]) -> npt.NDArray[np.float32] | None:
        try:
            vectors = await self._embedder.embed([query])
        except (ProviderUnavailable, InternalError) as error:
            log.warning("query_not_embedded", error=error.message)
            degraded.append(EMBEDDING)
            return None
        return vectors[0]  # type: ignore[no-any-return]

    def _filter(self, context: Context, scopes: Sequence[str]) -> IndexFilter:
        shared = [scope for scope in scopes if scope != AGENT_PRIVATE]
        any_of: list[Mapping[str, Sequence[str]]] = []
        if shared:
            any_of.append({"scope": shared})
        if AGENT_PRIVATE in scopes:
            any_of.append({"scope": [AGENT_PRIVATE], "agent_id": [context.agent_id]})
        must = {
            "tenant_id": context.tenant_id,
            "project_id": context.project_id,
            "status": "active",
            "embedding_version": self._embedder.version,
        }
        return IndexFilter(must=must, any_of=any_of)

    def _candidate_k(self, request: SearchRequest) -> int:
        return request.candidate_k or max(self._rules.candidate_k, request.top_k or 0)

    def _top_k(self, request: SearchRequest) -> int:
        return request.top_k or min(self._rules.top_k, self._candidate_k(request))

    # Revalidating

    async def _revalidate(
        self, candidates: Sequence[Candidate], context: Context, scopes: Sequence[str], now: datetime
    ) -> list[FoundChunk]:
        if not candidates:
            return []
        by_id = {candidate.point_id: candidate for candidate in candidates}
        async with self._database.connection() as connection:
            rows = await self._store.candidates(
                connection,
                chunk_ids=list(by_id),
                embedding_version=self._embedder.version,
                context=context,
                scopes=scopes,
                now=now,
            )
        if len(rows) < len(candidates):
            log.debug("candidates_dropped", dropped=len(candidates) - len(rows))
        found = [_found(row, by_id[row["chunk_id"]]) for row in rows]
        return sorted(found, key=lambda chunk: chunk.candidate.rank)

    # Ranking

    async def _score(
        self, query: str, found: Sequence[FoundChunk], now: datetime, degraded: list[str]
    ) -> list[Scored]:
        scores = await rerank_scores(self._reranker, query, [chunk.snippet for chunk in found])
        if scores is None:
            degraded.append(RERANK)
            return [self._scored_without_rerank(chunk, now) for chunk in found]
        return [self._scored(chunk, score, now) for chunk, score in zip(found, scores, strict=True)]

    def _scored(self, chunk: FoundChunk, rerank_score: float, now: datetime) -> Scored:
        boosts = {RERANK: self._rules.rerank_weight * rerank_score}
        if self._rules.retrieval_weight > 0.0:
            boosts["retrieval"] = self._rules.retrieval_weight * chunk.candidate.score
        return Scored(chunk, rerank_score, boosts | self._tie_breaker(chunk.row, now))

    def _scored_without_rerank(self, chunk: FoundChunk, now: datetime) -> Scored:
        fused = chunk.candidate.score
        weight = self._rules.rerank_weight + self._rules.retrieval_weight
        return Scored(chunk, fused, {"retrieval": weight * fused} | self._tie_breaker(chunk.row, now))

    def _tie_breaker(self, row: Mapping[str, Any], now: datetime) -> dict[str, float]:
        base = recency_importance(
            importance=row["importance"],
            updated_at=row["updated_at"],
            now=now,
            tau_days=self._rules.recency_tau_days,
        )
        return {"recency_importance": self._rules.tie_breaker_weight * base}

    def _best(self, scored: Sequence[Scored], top_k: int) -> list[Scored]:
        ranked = sorted(scored, key=self._order)
        best: dict[UUID, Scored] = {}
        for entry in ranked:
            best.setdefault(entry.found.row["note_id"], entry)
        return list(best.values())[:top_k]

    def _order(self, entry: Scored) -> tuple[float, int, int, UUID]:
        row = entry.found.row
        return (
            -entry.final,
            -self._scopes.precedence(row["scope"]),
            entry.found.candidate.rank,
            row["note_id"],
        )

    async def _record_hits(self, query: str, best: Sequence[Scored], now: datetime) -> None:
        if not best:
            return
        hits = [
            (entry.found.row["note_id"], entry.found.candidate.point_id, rank, entry.final)
            for rank, entry in enumerate(best, start=1)
        ]
        try:
            async with self._database.connection() as connection:
                await self._store.record_hits(
                    connection, hits, query_hash=blake3.blake3(query.encode()).hexdigest(), now=now
                )
        except Unavailable as error:
            # Hits are a statistic; the answer is already there.
            log.warning("hits_not_recorded", hits=len(hits), error=error.message)


def _found(row: Mapping[str, Any], candidate: Candidate) -> FoundChunk:
    return FoundChunk(candidate, row, row["text"][row["snippet_start"] : row["snippet_end"]])


def _item(entry: Scored, terms: TermMatcher) -> dict[str, Any]:
    """Return the fields of a SearchItem."""
    found, row = entry.found, entry.found.row
    return {
        "result_handle": uuid4(),
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
        "source_ref": msgspec.json.decode(row["source_ref"]),
        "explain": _explanation(entry, terms),
    }


def _explanation(entry: Scored, terms: TermMatcher) -> dict[str, Any]:
    """Return the fields of an Explanation."""
    found = entry.found
    match = terms.match(found.snippet, found.row["key"])
    return {
        "retrieval_score": found.candidate.score,
        "retrieval_rank": found.candidate.rank,
        "rerank_score": entry.rerank_score,
        "tie_breaker_score": entry.boosts["recency_importance"],
        "final_score": entry.final,
        "boosts": [{"name": name, "score": score} for name, score in entry.boosts.items()],
        "matched_terms": match.terms,
        "matched_fields": match.fields,
    }
