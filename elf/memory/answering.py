"""What every answer is made by: finding, choosing what fits, and keeping why it was so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from elf.api.caller import Caller
from elf.core.clock import Clock
from elf.core.measures import Measures
from elf.core.slices import in_slices
from elf.memory.api.asking import AskMemory
from elf.memory.asking import Asker
from elf.memory.choosing import Bounds, Chosen, Room, chosen
from elf.memory.finding import Finding
from elf.memory.model import FAMILY
from elf.memory.traces import Traces, told

TRACE: Final = "trace"
"""What is degraded where the trace of an answer could not be written."""


class Answered(NamedTuple):
    """What was chosen for an answer, and `content`, what its trace tells of it."""

    trace_id: UUID
    choice: Chosen
    content: Mapping[str, Any]


class Answering:
    """Makes answers that can be explained afterwards."""

    def __init__(
        self, finding: Finding, *, asker: Asker, traces: Traces, clock: Clock, measures: Measures
    ) -> None:
        self._finding = finding
        self._asker = asker
        self._traces = traces
        self._clock = clock
        self._measures = measures

    async def answer(
        self, request: AskMemory, caller: Caller, room: Room, *, is_explained: bool = False
    ) -> Answered:
        """Return the best of what is known that fits into a room; one that `is_explained` has a trace in any case.

        Raises ScopeDenied for another user, InvalidRequest for a family that is not on, and Unavailable when no family
        answers.
        """
        began_at = self._clock.now()
        asking = self._asker.of(request, caller)
        found = await self._finding.find(request, asking)
        bounds = Bounds(top_k=request.top_k, min_relevance=request.min_relevance)
        choice = await in_slices(chosen(found.candidates, bounds, room, found.sameness))
        timings, gathered = found.stages.timings, found.gathered
        self._measures.search(family=FAMILY, stages=timings, degraded=found.degraded)
        content: dict[str, Any] = {
            "families": list(found.families),
            "degraded": found.degraded,
            "skipped": gathered.skipped,
            "milliseconds": {**dict(timings), **gathered.milliseconds},
            **told(choice.best, [*choice.left_out, *found.left_out]),
        }
        trace_id = uuid4()
        is_kept = await self._traces.write(
            trace_id, asking, request.query, content, began_at, is_wanted=is_explained
        )
        if not is_kept:
            content["degraded"] = [*found.degraded, TRACE]
        return Answered(trace_id, choice, content)
