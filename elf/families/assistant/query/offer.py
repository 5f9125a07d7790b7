"""What the family offers to whoever stands above all families: memories of a user as candidates for an answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final

from pgvector import Vector

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied
from elf.db.database import Connection
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.offered import MEMORY, item_of, standing_of
from elf.families.assistant.model import MEMORY_TYPES, Place
from elf.families.assistant.query.candidates import CandidateReads
from elf.families.assistant.query.candidates import Question as Sought
from elf.families.assistant.rules.categories import PROCEDURAL, Readable
from elf.families.assistant.rules.filters import Filters
from elf.families.assistant.rules.query_words import query_words
from elf.families.assistant.rules.ranking import Ranked, ranked
from elf.offers import Item, Question
from elf.offers import Vector as QueryVector

MOST_CHARS: Final = 2048
TYPES: Final = [name for name in MEMORY_TYPES if name != PROCEDURAL]
_ALL_RANKED: Final = Readable(whole=(), ranked={}, has_steps=False)


class AssistantRecall:
    """Finds memories that an agent may read, or without one those of the user; none of how things are done.

    They are candidates: that they were found counts as no use of them, until somebody is told.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._reads = CandidateReads(kit.queries)

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best memories; none of what the caller may not see."""
        text = question.text.replace("\x00", "").strip()[:MOST_CHARS]
        place, agents = self._place(question, caller), self._agents(question, caller)
        if not text or place is None or agents is None:
            return []
        if question.kinds is not None and MEMORY not in question.kinds:
            return []
        vector = await question.embedded()
        async with self._kit.database.connection() as connection:
            categories = await self._categories(connection, place, agents)
            best = await self._best(connection, question, text, vector, place, categories)
            ids = [one.memory.memory_id for one in best]
            standing = await standing_of(connection, self._kit.queries, place, ids, categories)
        now = self._kit.now()
        return [item_of(one.memory, standing[one.memory.memory_id], now, one.terms) for one in best]

    def _place(self, question: Question, caller: Caller) -> Place | None:
        """Return whose memory is asked for; None for another user's, another tenant's and nobody's."""
        subject = question.subject
        if caller.bound.get("tenant_id") not in (None, subject.tenant_id):
            return None
        try:
            return self._kit.access.place(subject.tenant_id, subject.user, caller)
        except (ScopeDenied, InvalidRequest):
            return None

    def _agents(self, question: Question, caller: Caller) -> Collection[str] | None:
        """Return the agent that asks, if one does; None where it is another than the caller's, or has no list."""
        agents = {caller.bound.get("agent_id"), question.subject.agent_id} - {None}
        is_one = len(agents) < 2 and all(agent in self._kit.config.allowlists for agent in agents)
        return [agent for agent in agents if agent is not None] if is_one else None

    async def _categories(self, connection: Connection, place: Place, agents: Collection[str]) -> list[str]:
        """Return the categories of the agent, or without one all of the user's; procedural is none of them."""
        names = [name for agent in agents for name in self._kit.config.allowlists[agent]]
        if not agents:
            names = await connection.fetchval(self._kit.queries["categories_of"], *place)
        return [name for name in dict.fromkeys(names) if name != PROCEDURAL]

    async def _best(
        self,
        connection: Connection,
        question: Question,
        text: str,
        vector: QueryVector | None,
        place: Place,
        categories: Sequence[str],
    ) -> Sequence[Ranked]:
        sought = Sought(
            filters=Filters(
                place=place, categories=categories, types=TYPES, updated_after=_before(question.since),
                updated_before=question.until,
            ),
            readable=_ALL_RANKED, vector=None if vector is None else Vector(vector),
            version=self._kit.embedder.version, words=query_words(text), threshold=None,
        )  # fmt: skip
        candidates = await self._reads.candidates(connection, sought, without=())
        has_vector = sought.vector is not None
        weights = self._kit.config.ranking
        return ranked(candidates, weights, has_vector=has_vector, now=self._kit.now())[: question.limit]


def _before(moment: datetime | None) -> datetime | None:
    """Return the last moment that the database tells from a later one."""
    if moment is None or moment <= datetime.min.replace(tzinfo=UTC):
        return None
    return moment - datetime.resolution
