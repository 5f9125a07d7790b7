"""What the family offers to whoever stands above all families: memories of a user as candidates for an answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pgvector import Vector

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.assistant.api import querying as q
from elf.families.assistant.query.service import MemoryQuerying
from elf.families.assistant.rules.ranking import Ranked
from elf.offers import Item, Question

MEMORY: Final = "memory"
MOST: Final = 50
MOST_CHARS: Final = 2048
MOST_TOKENS: Final = 8192


class AssistantRecall:
    """Finds memories that the agent of a subject may read, or the one that the caller is bound to."""

    def __init__(self, querying: MemoryQuerying, agents: Collection[str]) -> None:
        self._querying = querying
        self._agents = agents

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best memories; none of what the caller may not see."""
        agent = caller.bound.get("agent_id") or question.subject.agent_id
        text = question.text.replace("\x00", "").strip()[:MOST_CHARS]
        if agent not in self._agents or not text:
            return []
        request = q.MemoryQuery(
            tenant_id=question.subject.tenant_id, agent=agent, query=text, top_k=min(question.limit, MOST),
            budget_tokens=MOST_TOKENS, filters=q.QueryFilters(user_id=question.subject.user),
        )  # fmt: skip
        vector = None if question.vector is None else Vector(question.vector)
        try:
            found = await self._querying.find(request, caller, vector)
        except (ScopeDenied, InvalidRequest):  # another user's, or nobody's
            return []
        return [_item(one) for one in found]


def _item(one: Ranked) -> Item:
    memory = one.memory
    turns = [f"turn:{quote.turn_id}" for quote in memory.evidence if quote.turn_id is not None]
    return Item(
        kind=MEMORY, id=str(memory.memory_id), text=memory.text, terms=dict(one.terms), provenance=turns
    )
