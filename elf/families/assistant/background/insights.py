"""Looks for insights into a user after turns: seldom, within bounds, and never while somebody waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

import structlog
from pgvector import Vector

from elf.core.errors import ProviderUnavailable
from elf.db.errors import retrying
from elf.families.assistant.background.insight_prompt import (
    MOST_EPISODES,
    MOST_FACTS,
    Insight,
    insight_prompt,
    read_insights,
)
from elf.families.assistant.background.recent import INSIGHT_JOB, INSIGHTS_EVERY, THREAD, Heard, RecentWords
from elf.families.assistant.consent.proposing import LOCK, Consents
from elf.families.assistant.jobs import Work, job_of
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import (
    DEFAULT_IMPORTANCE,
    WORKER,
    Evidence,
    Memory,
    MemoryType,
    Place,
    Status,
    Tracked,
)
from elf.families.assistant.rules.insights import Words, stated
from elf.families.assistant.rules.user_context import signal_of
from elf.families.assistant.store.changes import Changes
from elf.families.assistant.store.rows import memory_of
from elf.outbox.each import each
from elf.providers.port import Chat

CATEGORY: Final = "relationship_dynamic"
SOURCE: Final = "insight"
SURE: Final = 0.8
"""From this confidence on an insight alone has the user known by what needs no agreement."""
DRAWN_FROM: Final = "drawn_from"
"""In the meta of the history: the ids of the memories that a model had before it when it wrote this one."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Found:
    """An insight that may be kept."""

    text: str
    tags: Sequence[str]
    importance: int = DEFAULT_IMPORTANCE
    evidence: Sequence[Evidence] = ()
    drawn_from: Sequence[UUID] = ()
    is_sure: bool = False


@dataclass(slots=True)
class _Looked:
    """What came of looking: insights, and what is to be counted."""

    insights: list[_Found] = field(default_factory=list)
    events: list[Tracked] = field(default_factory=list)


class InsightJobs:
    """Does the jobs of insights. Without a language model only what a user states several times counts.

    A user's run is taken before the model is asked, so that it is asked once in a day, whatever comes of it.
    """

    def __init__(self, kit: Kit, recent: RecentWords) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._recent = recent
        self._writer = kit.writer
        self._embedder = kit.embedder
        self._consents = Consents(kit.queries, version=self._embedder.version)

    async def __call__(self, work: Sequence[Work]) -> None:
        """Look for insights and end the jobs. Raises JobsFailed."""
        await each(work, self._do, job_of=job_of)

    async def _do(self, work: Work) -> None:
        said = await self._recent.read(work.place, work.payload[THREAD])
        looked = await self._look(work.place, said)
        texts = [one.text for one in looked.insights]
        vectors = (await self._embedder.embed_if_there(texts)).vectors if texts else []

        async def once() -> None:
            async with self._writer.changing(
                work.place, {LOCK, CATEGORY}, actor=WORKER, thread_id=work.payload[THREAD]
            ) as changes:
                for event in looked.events:
                    changes.track(event)
                for insight, vector in zip(looked.insights, vectors, strict=True):
                    await self._keep(changes, insight, vector, work.payload[THREAD])
                await self._kit.outbox.finish([work.job], changes.connection)

        await retrying(once)

    async def _look(self, place: Place, said: Sequence[Heard]) -> _Looked:
        if self._kit.chat is None:
            return await self._look_by_rules(place)
        episodes = await self._newest(place, "episodic", MOST_EPISODES)
        facts = await self._newest(place, "semantic", MOST_FACTS)
        if not (episodes or facts or said) or not await self._begin(place):
            return _Looked()
        return await self._ask(self._kit.chat, episodes, facts, said)

    async def _look_by_rules(self, place: Place) -> _Looked:
        """Count what the user said of late in all threads."""
        said = await self._recent.read_all(place)
        words = [Words(one.content, one.turn_id, thread) for thread, one in said if one.role == "user"]
        found = stated(words)
        if not found or not await self._begin(place):
            return _Looked()
        insights = [
            _Found(
                one.text, [one.tag],
                evidence=[Evidence(quote=q.content, role="user", turn_id=q.turn_id) for q in one.quotes],
            )
            for one in found
        ]  # fmt: skip
        return _Looked(insights, [self._classified("ok", "STATED") for _ in insights])

    async def _ask(
        self, chat: Chat, episodes: Sequence[Memory], facts: Sequence[Memory], said: Sequence[Heard]
    ) -> _Looked:
        ids = [memory.memory_id for memory in (*episodes, *facts)]
        try:
            answer = await chat.text(insight_prompt(episodes, facts, said))
        except ProviderUnavailable as error:
            log.warning("assistant.no_insights", error=type(error).__name__)
            return _Looked(events=[self._classified("error", "UNAVAILABLE")])
        looked = _Looked()
        for one in read_insights(answer):
            if isinstance(one, Insight):
                found = _Found(
                    one.summary, one.tags, one.importance, drawn_from=ids, is_sure=one.confidence >= SURE
                )
                looked.insights.append(found)
                looked.events.append(self._classified("ok", "FIRST_PASS"))
            else:
                looked.events.append(self._classified("skipped", one))
        return looked

    async def _begin(self, place: Place) -> bool:
        return await self._recent.take_run(place, INSIGHT_JOB, every=INSIGHTS_EVERY)

    async def _newest(self, place: Place, type: MemoryType, most: int) -> list[Memory]:
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["newest_of_type"], *place, type, most)
        return [memory_of(row) for row in rows]

    async def _keep(self, changes: Changes, found: _Found, vector: Vector | None, thread_id: str) -> None:
        """Add an insight, unless the same is known."""
        memory = Memory(
            tenant_id=changes.place.tenant_id, user_id=changes.place.user_id, memory_id=uuid4(), type="insight",
            category=CATEGORY, text=found.text, importance=found.importance, pinned=False, state="active",
            source=SOURCE, tags=found.tags, evidence=found.evidence, thread_id=thread_id, created_at=changes.now,
            updated_at=changes.now,
        )  # fmt: skip
        known = await changes.equal_to(memory)
        if known is None and not await changes.is_known(memory.text, but_of="insight"):
            meta = {DRAWN_FROM: [str(one) for one in found.drawn_from]}
            known = await changes.add(memory, vector, node="worker", meta=meta)
        if known is not None and found.is_sure and (signal := signal_of(found.text, CATEGORY)) is not None:
            await self._consents.apply_insight(changes, signal, known)

    def _classified(self, status: Status, reason: str) -> Tracked:
        reason = f"{self._kit.engine}:{reason}"
        return Tracked(node="worker", op="classify", status=status, category=CATEGORY, reason=reason)
