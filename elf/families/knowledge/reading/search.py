"""Search, recall and context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import anyio
import msgspec
import structlog
from pgvector import Vector

from elf.api.caller import Caller
from elf.core.errors import ServiceError, Unavailable
from elf.db.errors import retrying
from elf.families.knowledge import model as m
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.reading.legs import Legs, Question
from elf.families.knowledge.reading.ranking import Ranked, confidence_of, recalled, searched
from elf.families.knowledge.rules.composite import Weights
from elf.families.knowledge.rules.context_text import HEADER, assemble, fact_line, rule_line
from elf.families.knowledge.rules.searchable_text import search_query
from elf.memory_embedding import MemoryEmbedder
from elf.search.stages import Stages
from elf.search.trace import DroppedCandidate, SearchTrace, TraceItem, TraceSink

EMBEDDED_CHARS: Final = 4096
"""How much of a query is embedded: a prompt may be long, and who asks waits for it."""

CONTEXT_PATIENCE_S: Final = 1.0
"""How long a prompt waits for Postgres before it does without its context."""

RECALLED: Final[tuple[m.MemoryType, ...]] = ("fact", "rule")
MAX_DROPPED: Final = 200

log = structlog.get_logger()


class FoundMemories(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a search or a recall: its JSON is that of a SearchAnswer or a RecallAnswer."""

    trace_id: UUID
    items: Sequence[Mapping[str, Any]]
    degraded: Sequence[str]


class _StorageFailed(Exception):
    """Postgres failed, in whatever way, or took too long."""


class _Asked(NamedTuple):
    """What is kept of a request with its trace."""

    kind: str
    query: str
    scope: str | None
    limit: int
    settings: Mapping[str, Any]


class MemorySearch:
    """Finds memories. `embedder` is that of queries; traces are kept for `trace_days`."""

    def __init__(self, kit: Kit, embedder: MemoryEmbedder, trace: TraceSink, *, trace_days: int) -> None:
        self._kit = kit
        self._rules = kit.config.retrieval
        self._weights = Weights(**self._rules.score_weights.model_dump())
        self._embedder = embedder
        self._trace = trace
        self._kept = timedelta(days=trace_days)
        self._legs = Legs(kit.database, kit.queries)

    async def search(self, request: s.Search, caller: Caller) -> FoundMemories:
        """Find memories of some kinds, in one of three ways. Raises ScopeDenied for another user's scope."""
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        reach.allow(request.scope, "$.scope")
        mode = request.mode or self._rules.default_mode
        kinds = m.MEMORY_TYPES if request.types is None else tuple(dict.fromkeys(request.types))
        stages = Stages()
        found, degraded = await self._find(
            reach, request.query, kinds, mode=mode, scope=request.scope, limit=request.limit,
            min_confidence=request.min_confidence, now=now, stages=stages,
        )  # fmt: skip
        ranked = searched(found, mode, limit=request.limit)
        best = ranked[: request.limit]
        handles = [uuid4() for _ in best]
        items = [
            {**one.told(now), "result_handle": handle} for one, handle in zip(best, handles, strict=True)
        ]
        settings = {"mode": mode, "types": list(kinds), "min_confidence": request.min_confidence}
        asked = _Asked("search", request.query, request.scope, request.limit, settings)
        trace_id = self._traced(asked, reach, ranked, handles, degraded, stages, now)
        return FoundMemories(trace_id=trace_id, items=items, degraded=degraded)

    async def recall(self, request: s.Recall, caller: Caller) -> FoundMemories:
        """Find facts and rules by how much they matter; each that is returned is counted as referenced."""
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        reach.allow(request.scope, "$.scope")
        stages = Stages()
        ranked, degraded = await self._recalled(
            reach, request.topic, scope=request.scope, limit=request.limit, min_confidence=request.min_confidence,
            now=now, stages=stages,
        )  # fmt: skip
        best = ranked[: request.limit]
        handles = [uuid4() for _ in best]
        with stages.stage("references"):
            await retrying(lambda: self._bump(reach, best, now))
        items = [
            {
                **one.told(now),
                "result_handle": handle,
                "composite_score": one.score,
                "reference_count": one.row["reference_count"] + 1,
                "last_referenced_at": now,
            }
            for one, handle in zip(best, handles, strict=True)
        ]
        settings = {
            "weights": self._rules.score_weights.model_dump(),
            "min_confidence": request.min_confidence,
        }
        asked = _Asked("recall", request.topic, request.scope, request.limit, settings)
        trace_id = self._traced(asked, reach, ranked, handles, degraded, stages, now)
        return FoundMemories(trace_id=trace_id, items=items, degraded=degraded)

    async def context(self, request: s.Context, caller: Caller) -> s.ContextAnswer:
        """Put the facts and rules that matter for a prompt into words; nothing is counted as referenced.

        When Postgres fails, or takes too long, it is the bare header.
        """
        reach, now = reach_of(request.tenant_id, caller), self._kit.now()
        reach.allow(request.butler, "$.butler")
        try:
            ranked, degraded = await self._recalled(
                reach, request.trigger_prompt, scope=request.butler, limit=self._rules.default_limit,
                min_confidence=0.2, now=now, stages=Stages(), patience_s=CONTEXT_PATIENCE_S,
            )  # fmt: skip
        except _StorageFailed as failed:
            log.warning("knowledge.context_without_storage", error=str(failed))
            return s.ContextAnswer(context=HEADER, facts=[], rules=[], degraded=["storage"])
        best = ranked[: self._rules.default_limit]
        facts = [one for one in best if one.kind == "fact"]
        rules = [one for one in best if one.kind == "rule"]
        block = assemble(
            [_fact_line(one, now) for one in facts],
            [_rule_line(one) for one in rules],
            token_budget=request.token_budget or self._rules.context_token_budget,
            rules_share=self._rules.rules_share,
        )
        return s.ContextAnswer(
            context=block.text,
            facts=[one.id for one in facts[: block.facts]],
            rules=[one.id for one in rules[: block.rules]],
            degraded=degraded,
        )

    async def _recalled(
        self,
        reach: Reach,
        topic: str,
        *,
        scope: str | None,
        limit: int,
        min_confidence: float,
        now: datetime,
        stages: Stages,
        patience_s: float | None = None,
    ) -> tuple[list[Ranked], list[str]]:
        found, degraded = await self._find(
            reach, topic, RECALLED, mode="hybrid", scope=scope, limit=limit, min_confidence=min_confidence, now=now,
            stages=stages, patience_s=patience_s,
        )  # fmt: skip
        return recalled(found, self._weights, limit=limit, now=now), degraded

    async def _find(
        self,
        reach: Reach,
        query: str,
        kinds: Sequence[m.MemoryType],
        *,
        mode: m.SearchMode,
        scope: str | None,
        limit: int,
        min_confidence: float,
        now: datetime,
        stages: Stages,
        patience_s: float | None = None,
    ) -> tuple[Mapping[m.MemoryType, Sequence[Mapping[str, Any]]], list[str]]:
        words = search_query(query)
        if not words:
            return {}, []
        vector = None
        degraded = []
        if mode != "keyword":
            with stages.stage("embed"):
                vector = await self._vector(words)
            degraded = ["embedding"] if vector is None else []
        question = Question(
            reach=reach, scope=scope, words="" if mode == "semantic" else words, vector=vector,
            version=self._embedder.version, limit=limit, min_confidence=min_confidence, now=now,
        )  # fmt: skip
        with stages.stage("find"):
            if patience_s is None:
                return await self._legs.find(question, kinds), degraded
            return await self._found_within(patience_s, question, kinds), degraded

    async def _found_within(
        self, patience_s: float, question: Question, kinds: Sequence[m.MemoryType]
    ) -> Mapping[m.MemoryType, Sequence[Mapping[str, Any]]]:
        """Find memories in this time. Raises _StorageFailed when Postgres fails or takes longer."""
        try:
            with anyio.fail_after(patience_s):
                return await self._legs.find(question, kinds)
        except ServiceError as error:
            raise _StorageFailed(error.message) from error
        except TimeoutError as error:
            raise _StorageFailed("Postgres did not answer in time") from error

    async def _vector(self, words: str) -> Vector | None:
        try:
            (vector,) = await self._embedder.embed([words[:EMBEDDED_CHARS]])
        except Unavailable as error:
            log.warning("knowledge.query_not_embedded", error=type(error).__name__)
            return None
        return vector

    async def _bump(self, reach: Reach, best: Sequence[Ranked], now: datetime) -> None:
        if not best:
            return
        async with self._kit.database.connection() as connection:
            await connection.execute(
                self._kit.queries["bump_references"], reach.tenant_id, now,
                [one.id for one in best if one.kind == "fact"], [one.id for one in best if one.kind == "rule"],
            )  # fmt: skip

    def _traced(
        self,
        asked: _Asked,
        reach: Reach,
        ranked: Sequence[Ranked],
        handles: Sequence[UUID],
        degraded: Sequence[str],
        stages: Stages,
        now: datetime,
    ) -> UUID:
        """Hand over what was done, to be explained later; returns its id."""
        trace_id = uuid4()
        self._trace(
            SearchTrace(
                trace_id=trace_id,
                family=m.FAMILY,
                tenant_id=reach.tenant_id,
                project_id="",
                agent_id=reach.own_scope,
                read_profile=asked.kind,
                query=asked.query,
                expansion_mode="off",
                expanded_queries=[asked.query],
                allowed_scopes=[] if asked.scope is None else [asked.scope],
                filters={},
                candidate_count=len(ranked),
                top_k=asked.limit,
                config_snapshot=asked.settings,
                created_at=now,
                expires_at=now + self._kept,
                items=[
                    _trace_item(one, handle, place)
                    for place, (one, handle) in enumerate(zip(ranked, handles, strict=False), start=1)
                ],
                dropped=[
                    DroppedCandidate(
                        point_id=one.id, subject_id=one.id, stage="top_k", reason="BELOW_TOP_K",
                        retrieval_score=one.rrf_score, final_score=one.score,
                    )
                    for one in ranked[asked.limit : asked.limit + MAX_DROPPED]
                ],
                degraded=degraded,
                stages=stages.timings,
            )
        )  # fmt: skip
        return trace_id


def query_embedder(kit: Kit, search_embedder: Any) -> MemoryEmbedder:
    """Return what embeds queries: as memories are, by the calls that all searches share."""
    assert kit.texts is not None, "who serves has a model"
    return MemoryEmbedder(replace(kit.texts, embedder=search_embedder), family=m.FAMILY)


def _trace_item(one: Ranked, handle: UUID, place: int) -> TraceItem:
    ways = {"semantic": one.row["semantic_rank"], "keyword": one.row["keyword_rank"]}
    return TraceItem(
        item_id=handle,
        subject_id=one.id,
        point_id=one.id,
        rank=place,
        retrieval_score=one.rrf_score,
        retrieval_rank=one.row["semantic_rank"],
        rerank_score=0.0,
        tie_breaker_score=0.0,
        final_score=one.score,
        relevance=None,
        boosts=[{"name": name, "score": score} for name, score in one.terms.items()],
        matched_terms=[],
        matched_fields=[way for way, found in ways.items() if found is not None],
    )


def _fact_line(one: Ranked, now: datetime) -> str:
    row = one.row
    return fact_line(row["subject"], row["predicate"], row["content"], confidence_of(row, now))


def _rule_line(one: Ranked) -> str:
    return rule_line(one.row["content"], one.row["maturity"], one.row["effectiveness_score"])
