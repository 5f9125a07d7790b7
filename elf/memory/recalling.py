"""Recalling over all families: candidates of each, compared by one reranker, in one order, each with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import structlog

from elf.api.caller import Caller
from elf.core.chunking import TokenCounter
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest, NotFound, Unavailable
from elf.core.measures import Measures
from elf.core.slices import in_slices
from elf.core.words import Stems
from elf.memory.api import recalling as r
from elf.memory.asking import Asker, Asking
from elf.memory.choosing import Bounds, Chosen, chosen
from elf.memory.comparing import Comparing
from elf.memory.conversations import ReadableConversations
from elf.memory.gathering import Gathered, gather
from elf.memory.model import FAMILY
from elf.memory.ranking import Compared, LeftOut, Ranked, Sameness, ranked
from elf.memory.traces import Traces, told
from elf.offers import Question, Recall
from elf.providers.port import Embedder
from elf.providers.vectors import have_direction
from elf.search.stages import Stages

COMPARED: Final = 100
"""How many candidates are compared at most, over all families."""
OFFERED: Final = 200
"""How many candidates are asked for, over all families: where one has few, others may fill in."""
LEAST_OFFERED: Final = 20
EMBEDDING: Final = "embedding"
RERANK: Final = "rerank"
EMBED_SHARE: Final = 0.4
FAMILIES_SHARE: Final = 0.6
RERANK_SHARE: Final = 0.8

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found on the way to an answer, and what had to be done without."""

    gathered: Gathered
    candidates: Sequence[Ranked]
    left_out: Sequence[LeftOut]
    degraded: Sequence[str]


class MemoryRecall:
    """Answers recalls. `embedder` is that of queries, `budget_s` how long an answer may take, None without limit."""

    def __init__(
        self,
        families: Mapping[str, Recall],
        *,
        asker: Asker,
        embedder: Embedder,
        comparing: Comparing,
        conversations: ReadableConversations,
        counter: TokenCounter,
        traces: Traces,
        clock: Clock,
        measures: Measures,
        budget_s: float | None,
    ) -> None:
        self._families = families
        self._asker = asker
        self._embedder = embedder
        self._comparing = comparing
        self._conversations = conversations
        self._counter = counter
        self._traces = traces
        self._clock = clock
        self._measures = measures
        self._budget_s = budget_s
        self._stems = Stems()

    async def recall(self, request: r.RecallMemory, caller: Caller) -> r.RecallAnswer:
        """Return what is known that answers a query.

        Raises ScopeDenied for another user, InvalidRequest for a family that is not on, and Unavailable when no family
        answers.
        """
        asking, families = self._asker.of(request, caller), self._asked(request)
        stages = Stages(self._budget_s)
        found = await self._find(request, asking, families, stages)
        bounds = Bounds(
            top_k=request.top_k, budget_tokens=request.budget_tokens, min_relevance=request.min_relevance
        )
        choice = await in_slices(chosen(found.candidates, bounds, self._counter, Sameness(self._stems)))
        self._measures.search(family=FAMILY, stages=stages.timings, degraded=found.degraded)
        return await self._answered(request, asking, families, found, choice, stages)

    async def explain(self, request: r.ExplainRecall, caller: Caller) -> r.RecallTrace:
        """Tell what an answer was made of. Raises NotFound for one of somebody else, or of long ago."""
        asking = self._asker.of(request, caller)
        row = await self._traces.read(request.trace_id, asking, self._clock.now())
        if row is None:
            raise NotFound(f"$.trace_id: there is no trace {request.trace_id}", fields=["$.trace_id"])
        return r.RecallTrace(
            trace_id=request.trace_id, query=row["query"], at=row["created_at"], **row["content"]
        )

    def _asked(self, request: r.RecallMemory) -> Mapping[str, Recall]:
        if request.families is None:
            return self._families
        unknown = [place for place, name in enumerate(request.families) if name not in self._families]
        if unknown:
            raise InvalidRequest(
                f"only these families are on: {', '.join(self._families)}",
                fields=[f"$.families[{place}]" for place in unknown],
            )
        return {name: self._families[name] for name in dict.fromkeys(request.families)}

    async def _find(
        self, request: r.RecallMemory, asking: Asking, families: Mapping[str, Recall], stages: Stages
    ) -> _Found:
        degraded: list[str] = []
        vector = None
        try:
            with stages.stage("embed", share=EMBED_SHARE):
                matrix = await self._embedder.embed([request.query])
                vector = matrix[0] if have_direction(matrix)[0] else None
        except (Unavailable, TimeoutError) as error:
            log.warning("memory.query_not_embedded", error=type(error).__name__)
        if vector is None:
            degraded.append(EMBEDDING)
        question = Question(
            text=request.query, vector=vector, subject=asking.subject,
            limit=max(LEAST_OFFERED, OFFERED // len(families)),
            kinds=None if request.kinds is None else frozenset(request.kinds),
            since=request.since, until=request.until,
        )  # fmt: skip
        with stages.stage("families"):
            patience_s = stages.left(FAMILIES_SHARE)
            gathered = await gather(families, question, asking.caller, patience_s=patience_s)
        if len(gathered.degraded) == len(families):
            raise Unavailable("no family of memory answers at the moment")
        offers, beyond = gathered.in_turn(COMPARED)
        offers, hidden = await self._conversations.readable(offers, asking)
        scores: list[Compared | None] | None = None
        try:
            with stages.stage(RERANK, share=RERANK_SHARE):
                scores = await self._comparing.scores(request.query, asking.subject.tenant_id, offers)
        except (Unavailable, TimeoutError) as error:
            log.warning("memory.not_compared", documents=len(offers), error=type(error).__name__)
        if scores is None:
            degraded.append(RERANK)
        return _Found(
            gathered,
            ranked(offers, [None] * len(offers) if scores is None else scores),
            [
                *(LeftOut(one, "NOT_READABLE") for one in hidden),
                *(LeftOut(one, "NOT_COMPARED") for one in beyond),
            ],
            [*gathered.degraded, *degraded],
        )

    async def _answered(
        self,
        request: r.RecallMemory,
        asking: Asking,
        families: Mapping[str, Recall],
        found: _Found,
        choice: Chosen,
        stages: Stages,
    ) -> r.RecallAnswer:
        trace_id = uuid4()
        content = {
            "families": list(families),
            "degraded": list(found.degraded),
            "skipped": found.gathered.skipped,
            "milliseconds": {**dict(stages.timings), **found.gathered.milliseconds},
            **told(choice.best, [*choice.left_out, *found.left_out]),
        }
        await self._traces.write(trace_id, asking, request.query, content, self._clock.now())
        return r.RecallAnswer(
            trace_id=trace_id,
            items=[
                r.RecalledItem(
                    **item,
                    text=one.offered.item.text,
                    provenance=list(one.offered.item.provenance),
                    at=one.offered.item.at,
                    states=list(one.offered.item.states),
                )
                for item, one in zip(content["items"], choice.best, strict=True)
            ],
            tokens=choice.tokens,
            degraded=content["degraded"],
            skipped=content["skipped"],
            left_out=content["left_out"] if request.explain else None,
        )
