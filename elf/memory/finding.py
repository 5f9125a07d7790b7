"""Finding what may answer a question: candidates of each family, compared by one reranker, in one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
import anyio.lowlevel
import structlog

from elf.core.errors import Unavailable
from elf.core.slices import in_slices
from elf.core.words import Stems
from elf.memory.api.asking import AskMemory
from elf.memory.asking import Asking
from elf.memory.comparing import Comparing
from elf.memory.conversations import HiddenConversations
from elf.memory.families_on import refuse_unknown
from elf.memory.gathering import Gathered, Offered, gather
from elf.memory.ranking import Compared, LeftOut, Ranked, Sameness, ranked
from elf.offers import Item, Question, Recall, Vector
from elf.providers.port import Embedder
from elf.providers.vectors import have_direction
from elf.search.stages import Stages

COMPARED: Final = 100
"""How many texts are compared at most, over all families."""
OFFERED: Final = 300
"""How many candidates are asked for, over all families: where one has few, or several the same, others fill in."""
LEAST_OFFERED: Final = 20
WIDER: Final = 5
"""So many times as many are asked for where some of those offered hang on conversations of others."""
EMBEDDING: Final = "embedding"
RERANK: Final = "rerank"
EMBED_SHARE: Final = 0.4
FAMILIES_SHARE: Final = 0.6
RERANK_SHARE: Final = 0.8

log = structlog.get_logger()


class _Coming:
    """The vector of a query, which is waited for until it is put there; None where there is none."""

    def __init__(self) -> None:
        self._is_there = anyio.Event()
        self._vector: Vector | None = None

    def put(self, vector: Vector | None) -> None:
        self._vector = vector
        self._is_there.set()

    async def get(self) -> Vector | None:
        await self._is_there.wait()
        return self._vector


@dataclass(slots=True)
class Found:
    """What was found, best first, who was asked, how long it took, and what had to be done without.

    `sameness` has read the texts of the candidates.
    """

    families: Mapping[str, Recall]
    stages: Stages
    sameness: Sameness
    vector: _Coming = field(default_factory=_Coming)
    gathered: Gathered = field(default_factory=Gathered)
    candidates: Sequence[Ranked] = ()
    left_out: Sequence[LeftOut] = ()
    away: list[str] = field(default_factory=list)

    @property
    def degraded(self) -> list[str]:
        return [*self.gathered.degraded, *self.away]


class Finding:
    """Finds candidates. `embedder` is that of queries, `budget_s` how long an answer may take, None without limit."""

    def __init__(
        self,
        families: Mapping[str, Recall],
        *,
        embedder: Embedder,
        comparing: Comparing,
        hidden: HiddenConversations,
        budget_s: float | None,
    ) -> None:
        self._families = families
        self._embedder = embedder
        self._comparing = comparing
        self._hidden = hidden
        self._budget_s = budget_s
        self._stems = Stems()

    async def find(self, request: AskMemory, asking: Asking) -> Found:
        """Return what is known.

        Raises InvalidRequest for a family that is not on, and Unavailable when no family answers.
        """
        found = Found(self._asked(request), Stages(self._budget_s), Sameness(self._stems))
        await self._gather(request, asking, found)
        offers, beyond = found.gathered.in_turn(COMPARED)
        found.left_out = [LeftOut(one, "NOT_COMPARED") for one in beyond]
        async with anyio.create_task_group() as group:
            # Comparing is mostly waiting, for the database and for the model.
            group.start_soon(_read, found.sameness, offers)
            scores = await self._compared(request.query, asking, offers, found)
        found.candidates = ranked(offers, scores)
        return found

    def _asked(self, request: AskMemory) -> Mapping[str, Recall]:
        if request.families is None:
            return self._families
        refuse_unknown(request.families, self._families, path="$.families[{}]")
        return {name: self._families[name] for name in dict.fromkeys(request.families)}

    async def _embed(self, query: str, found: Found) -> None:
        """Make the vector of a query; families are asked by words alone where there is none."""
        try:
            with found.stages.stage("embed", share=EMBED_SHARE):
                matrix = await self._embedder.embed([query])
            if have_direction(matrix)[0]:
                found.vector.put(matrix[0])
                return
        except (Unavailable, TimeoutError) as error:
            log.warning("memory.query_not_embedded", error=type(error).__name__)
        found.away.append(EMBEDDING)
        found.vector.put(None)

    async def _gather(self, request: AskMemory, asking: Asking, found: Found) -> None:
        question = Question(
            text=request.query, vector=found.vector.get, subject=asking.subject,
            limit=max(LEAST_OFFERED, OFFERED // len(found.families)),
            kinds=None if request.kinds is None else frozenset(request.kinds),
            since=request.since, until=request.until,
            only_agent=request.only_agent and asking.subject.agent_id is not None,
        )  # fmt: skip
        with found.stages.stage("families"):
            found.gathered = await self._told(question, asking, found)

    async def _told(self, question: Question, asking: Asking, found: Found) -> Gathered:
        """Return what may be told. Where conversations of others took the places of a family, it is asked for more."""
        caller, left = asking.caller, found.stages.left
        async with anyio.create_task_group() as group:
            # Families look up meanwhile what they need no vector for.
            group.start_soon(self._embed, question.text, found)
            gathered = await gather(found.families, question, caller, patience_s=left(FAMILIES_SHARE))
        if len(gathered.degraded) == len(found.families):
            raise Unavailable("no family of memory answers at the moment")
        if crowded := await self._hide(gathered, question, asking, found):
            families = {name: found.families[name] for name in crowded}
            wider = replace(question, limit=WIDER * question.limit)
            more = await gather(families, wider, caller, patience_s=left(FAMILIES_SHARE))
            await self._hide(more, question, asking, found)
            gathered.add(more)
        return gathered

    async def _hide(self, gathered: Gathered, question: Question, asking: Asking, found: Found) -> list[str]:
        """Leave out what hangs on conversations of others, and what is of another agent where only one is meant.

        Returns the families that may have had more to offer.
        """

        def is_of_another_agent(one: Item) -> bool:
            return question.only_agent and one.agent_id not in (None, question.subject.agent_id)

        items = [one for offered in gathered.offers.values() for one in offered]
        hidden = await self._hidden.among(items, asking, patience_s=found.stages.left(FAMILIES_SHARE))
        crowded = []
        for name, offered in gathered.offers.items() if hidden or question.only_agent else ():
            told = [one for one in offered if one.conversation not in hidden and not is_of_another_agent(one)]
            if len(told) < len(offered) == question.limit:
                crowded.append(name)
            gathered.offers[name] = told[: question.limit]
        return crowded

    async def _compared(
        self, query: str, asking: Asking, offers: Sequence[Offered], found: Found
    ) -> Sequence[Compared | None]:
        """Return how well each candidate answers a query; where none can be compared, families take turns."""
        scores: Sequence[Compared | None] | None = None
        try:
            with found.stages.stage(RERANK, share=RERANK_SHARE):
                scores = await self._comparing.scores(query, asking.subject.tenant_id, offers)
        except (Unavailable, TimeoutError) as error:
            log.warning("memory.not_compared", documents=len(offers), error=type(error).__name__)
        if scores is None:
            found.away.append(RERANK)
            return [None] * len(offers)
        return scores


async def _read(sameness: Sameness, offers: Sequence[Offered]) -> None:
    """Read the texts of candidates, once those who compare them have asked for what they wait for."""
    await anyio.lowlevel.checkpoint()
    await in_slices(sameness.reading([one.said for one in offers]))
