"""What the family offers to whoever stands above all families: memories as candidates for an answer, and as items.

The agent of a subject is the orchestrator whose memory it is; a subject without one has none here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from anyio import to_thread

from elf.api.caller import Caller
from elf.config.tables.graph import Recall as RecallRules
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest, NotFound
from elf.families.graph.errors import GraphDisabled, NoSuchMemory
from elf.families.graph.model import MAX_QUERY_CHARS, MemoryNode
from elf.families.graph.places import Places
from elf.families.graph.recall.finding import Found, edges_around
from elf.families.graph.recall.grants import Grants, tell_denied
from elf.families.graph.recall.place import Vector
from elf.families.graph.recall.recaller import Question as Asked
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.scope import actor_of
from elf.families.graph.store.changes import retract
from elf.families.graph.store.nodes import need_memory
from elf.offers import Item, Question, Subject

MEMORY: Final = "memory"
FORGOTTEN: Final = "it was to be forgotten"


class GraphRecall:
    """Finds memories of an orchestrator for an answer, as a recall does."""

    def __init__(self, places: Places, rules: RecallRules, clock: Clock, *, version: str) -> None:
        self._places = places
        self._rules = rules
        self._clock = clock
        self._version = version

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best memories; none where there is no such orchestrator."""
        whose, query = _orchestrator(question.subject, caller), question.text[:MAX_QUERY_CHARS]
        if whose is None:
            return []
        rules = self._rules
        asked = Asked(
            query=query,
            top_n=question.limit,
            rrf_k=rules.rrf_k,
            top_k_text=rules.top_k_text,
            top_k_vector=rules.top_k_vector,
        )
        recaller = Recaller(_GivenVector(self._version, question.vector), self._clock)
        try:
            async with self._places.known(question.subject.tenant_id, whose) as place:
                found = (await recaller.recall(place, asked, edges_around)).found
        except (NotFound, GraphDisabled):
            return []
        return [_candidate(one) for one in found]


class GraphItems:
    """Reads memories, and retracts those that are to be forgotten. What the caller may not see is not there."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a memory. Raises NotFound."""
        whose = _needed(kind, item_id, subject, caller)
        async with self._places.known(subject.tenant_id, whose) as place:
            memory = (await place.read(lambda snapshot: need_memory(snapshot, item_id))).memory
            grants = Grants(place.is_granted)
            if not await to_thread.run_sync(grants.allow, memory):
                await tell_denied(place, grants.denied)
                raise NoSuchMemory(item_id)
        return Item(kind=MEMORY, id=item_id, text=memory.content, provenance=_provenance(memory))

    async def forget(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> None:
        """Retract a memory, which is never recalled again. Raises NotFound."""
        whose = _needed(kind, item_id, subject, caller)
        async with self._places.known(subject.tenant_id, whose) as place:
            await place.write(
                lambda change: retract(change, item_id, reason=FORGOTTEN), actor=actor_of(caller)
            )


class _GivenVector:
    """The vector of a query that was made already: QueryVectors."""

    def __init__(self, version: str, vector: Vector | None) -> None:
        self.version = version
        self._vector = vector

    async def of(self, query: str) -> Vector | None:
        """Return the vector, of length 1."""
        if self._vector is None:
            return None
        unit: Vector = (self._vector / np.linalg.norm(self._vector)).astype(np.float32)
        return unit


def _candidate(found: Found) -> Item:
    return Item(
        kind=MEMORY,
        id=found.memory.memory_id,
        text=found.memory.content,
        terms={"relevance": found.ranked.terms.final},
        provenance=_provenance(found.memory),
    )


def _provenance(memory: MemoryNode) -> list[str]:
    source = memory.source
    named = {
        "file": source.source_path, "conversation": source.conversation_id, "run": source.workflow_run_id,
        "step": source.step_id,
    }  # fmt: skip
    return [f"{kind}:{name}" for kind, name in named.items() if name is not None]


def _orchestrator(subject: Subject, caller: Caller) -> str | None:
    """Return whose memory a subject means; None for nobody's, and for one that the caller may not use."""
    whose = subject.agent_id
    bound = caller.bound.get("agent_id")
    return None if subject.user is not None or bound not in (None, whose) else whose


def _needed(kind: str, item_id: str, subject: Subject, caller: Caller) -> str:
    if kind != MEMORY:
        raise InvalidRequest(f"$.kind: should be {MEMORY}", fields=["$.kind"])
    whose = _orchestrator(subject, caller)
    if whose is None:
        raise NoSuchMemory(item_id)
    return whose
