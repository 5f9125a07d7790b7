"""Recalling over all families: the best items, each with its reasons, and why an earlier answer was as it was."""

from __future__ import annotations

from elf.api.caller import Caller
from elf.core.chunking import TokenCounter
from elf.core.clock import Clock
from elf.core.errors import NotFound
from elf.memory.answering import Answering
from elf.memory.api import recalling as r
from elf.memory.asking import Asker
from elf.memory.choosing import TextRoom
from elf.memory.traces import Traces


class MemoryRecall:
    """Carries out the operation `recall_memories`."""

    def __init__(self, answering: Answering, counter: TokenCounter) -> None:
        self._answering = answering
        self._counter = counter

    async def recall(self, request: r.RecallMemory, caller: Caller) -> r.RecallAnswer:
        """Return what is known that answers a query. Raises as `Answering.answer` does."""
        room = TextRoom(self._counter, request.budget_tokens)
        trace_id, choice, content = await self._answering.answer(
            request, caller, room, is_explained=request.explain
        )
        return r.RecallAnswer(
            trace_id=trace_id,
            items=[
                r.RecalledItem(
                    **item,
                    text=one.offered.item.text,
                    provenance=list(one.offered.item.provenance),
                    at=one.offered.item.at,
                    states=list(one.offered.item.states),
                    agent_id=one.offered.item.agent_id,
                    conversation=one.offered.item.thread,
                    metadata=dict(one.offered.item.metadata),
                )
                for item, one in zip(content["items"], choice.best, strict=True)
            ],
            tokens=room.tokens,
            degraded=content["degraded"],
            skipped=content["skipped"],
            left_out=content["left_out"] if request.explain else None,
        )


class Explaining:
    """Carries out the operation `explain_recall`."""

    def __init__(self, asker: Asker, traces: Traces, clock: Clock) -> None:
        self._asker = asker
        self._traces = traces
        self._clock = clock

    async def explain(self, request: r.ExplainRecall, caller: Caller) -> r.RecallTrace:
        """Tell what an answer was made of. Raises NotFound for one of somebody else, or of long ago."""
        asking = self._asker.of(request, caller)
        row = await self._traces.read(request.trace_id, asking, self._clock.now())
        if row is None:
            raise NotFound(
                f"$.trace_id: there is no trace {request.trace_id}, or none was kept", fields=["$.trace_id"]
            )
        return r.RecallTrace(
            trace_id=request.trace_id, query=row["query"], at=row["created_at"], **row["content"]
        )
