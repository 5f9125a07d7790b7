"""What the family offers to whoever stands above all families: memories as candidates for an answer, and as items.

The agent of a subject is the butler. For a user there is what is in the user's own scope, what is global, and episodes
that name the user as theirs; for nobody in particular there is what the caller reaches. Nothing counts as a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from pgvector import Vector

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound, ScopeDenied
from elf.core.nobody import agent_of
from elf.families.knowledge import model as m
from elf.families.knowledge.access import USER_SCOPE, Reach, reach_of
from elf.families.knowledge.api.lifecycle import OneMemory
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.lifecycle.states import MemoryStates
from elf.families.knowledge.reading import legs
from elf.families.knowledge.reading.ranking import confidence_of, searched
from elf.families.knowledge.rules.composite import relevance
from elf.families.knowledge.rules.decay import EXPIRED_BELOW, FADING_BELOW
from elf.families.knowledge.rules.quoting import quotes_of, quotes_of_episode
from elf.families.knowledge.rules.searchable_text import fact_sentence, search_query
from elf.offers import Item, Question, Subject, user_named

MOST: Final = 100
NAMED_BY: Final[Mapping[str, str]] = {
    "message_id": "message", "message_ids": "message", "entry_id": "entry", "entry_ids": "entry", "turn_id": "turn",
    "turn_ids": "turn", "conversation_id": "conversation",
}  # fmt: skip
"""The keys by which the metadata of an episode names what it is of, a string or a list of them, and their kinds."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Whose:
    """Whose memories are offered: of what is reached, those of a scope, which is None where that is not bounded, and
    episodes that name a user as theirs, to one agent or to any.
    """

    reach: Reach
    scope: str | None
    user: str | None
    agent: str | None


class KnowledgeRecall:
    """Finds episodes, facts and rules by meaning and by words; `version` is that of the configured model."""

    def __init__(self, kit: Kit, *, version: str) -> None:
        self._kit = kit
        self._version = version
        self._legs = legs.Legs(kit.database, kit.queries)
        self._telling = _Telling(kit)

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best memories, each with its share of the best place on either list; none of what is hidden."""
        whose = _whose(question.subject, caller)
        kinds = [kind for kind in m.MEMORY_TYPES if question.kinds is None or kind in question.kinds]
        words = search_query(question.text)[: m.MAX_QUERY_CHARS]
        if whose is None or not kinds or not words:
            return []
        now, limit, vector = self._kit.now(), min(question.limit, MOST), await question.embedded()
        asked = legs.Question(
            reach=whose.reach, scope=whose.scope, words=words,
            vector=None if vector is None else Vector(vector), version=self._version, limit=limit,
            min_confidence=EXPIRED_BELOW, now=now, since=question.since, until=question.until, named=whose.user,
            agent=whose.agent,
        )  # fmt: skip
        best = searched(await self._legs.find(asked, kinds), "hybrid", limit=limit)[:limit]
        terms = [{name: relevance(part) for name, part in one.terms.items()} for one in best]
        return await self._telling.items([(one.kind, one.row) for one in best], terms, whose, now)


class KnowledgeItems:
    """Reads memories, and forgets them as their family does. What the caller may not see, and what is forgotten, is not
    there: NotFound.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._states = MemoryStates(kit)
        self._telling = _Telling(kit)

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a memory. Raises NotFound, and InvalidRequest for another kind."""
        whose, now = _whose(subject, caller), self._kit.now()
        memory_type, id = _kind(kind), _id(kind, item_id)
        row = None if whose is None else await self._row(memory_type, id, whose, now)
        if row is None or whose is None:
            raise _missing(kind, item_id)
        (item,) = await self._telling.items([(memory_type, row)], [{}], whose, now)
        return msgspec.structs.replace(item, quotes=await self._quotes(memory_type, row, item, whose))

    async def forget(
        self, kind: str, item_id: str, subject: Subject, caller: Caller, conversation: str | None = None
    ) -> None:
        """Forget a memory, which is never told again. Raises as `read` does."""
        item = await self.read(kind, item_id, subject, caller)
        request = OneMemory(tenant_id=subject.tenant_id, memory_type=_kind(kind), memory_id=UUID(item.id))
        await self._states.forget(request, caller)

    async def _quotes(self, kind: m.MemoryType, row: Row, item: Item, whose: _Whose) -> list[str]:
        """Return the words that a memory rests on, as the episodes have them that it names."""
        if kind == "episode":
            return quotes_of_episode(row["content"])
        named = (name.partition(":") for name in item.provenance)
        episodes = [UUID(id) for kind, _, id in named if kind == "episode"]
        if not episodes:
            return []
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._kit.queries["texts_of_episodes"], whose.reach.tenant_id, whose.reach.seen, episodes,
                whose.user,
            )  # fmt: skip
        return quotes_of(row["content"], [one["content"] for one in rows])

    async def _row(self, kind: m.MemoryType, id: UUID, whose: _Whose, now: datetime) -> Row | None:
        reach = whose.reach
        bounds = (now, whose.scope, whose.user, whose.agent) if kind == "episode" else (whose.scope,)
        async with self._kit.database.connection() as connection:
            return await connection.fetchrow(
                self._kit.queries[f"offered_{kind}"], reach.tenant_id, reach.seen, id, *bounds
            )


class _Telling:
    """Makes items of rows."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def items(
        self,
        memories: Sequence[tuple[m.MemoryType, Row]],
        terms: Sequence[Mapping[str, float]],
        whose: _Whose,
        now: datetime,
    ) -> list[Item]:
        """Return memories as items, in their order, with what they rest on and what makes them less than they seem."""
        if not memories:
            return []
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._kit.queries["standing_of_memories"], whose.reach.tenant_id, whose.reach.seen,
                [kind for kind, _ in memories], [row["id"] for _, row in memories],
                [row["id"] if kind == "episode" else row["source_episode_id"] for kind, row in memories],
                list(NAMED_BY), list(NAMED_BY.values()), whose.user, now,
            )  # fmt: skip
        standing = {row["id"]: row for row in rows}
        return [
            Item(
                kind=kind,
                id=str(row["id"]),
                text=_text(kind, row),
                terms=parts,
                provenance=list(dict.fromkeys(standing[row["id"]]["names"] or ())),
                at=row["created_at"],
                states=_states(kind, row, standing[row["id"]], now),
                agent_id=agent_of(row["butler" if kind == "episode" else "source_butler"]),
            )
            for (kind, row), parts in zip(memories, terms, strict=True)
        ]


def _whose(subject: Subject, caller: Caller) -> _Whose | None:
    """Return whose memories a subject means, as far as the caller reaches; None where the caller may have none."""
    if caller.bound.get("tenant_id", subject.tenant_id) != subject.tenant_id:
        return None
    agent = caller.bound.get("butler") or caller.bound.get("agent_id") or subject.agent_id
    reach = replace(reach_of(subject.tenant_id, caller), user=user_named(subject, caller), agent=agent)
    if subject.user is not None:
        user = None if caller.user not in (None, subject.user) else subject.user
        return _Whose(reach, f"{USER_SCOPE}{subject.user}", user, agent)
    try:
        reach.allow(agent, "$.agent_id")
    except ScopeDenied:
        return None
    return _Whose(reach, agent, None, None)


def _text(kind: m.MemoryType, row: Row) -> str:
    content: str = row["content"]
    return fact_sentence(row["subject"], row["predicate"], content) if kind == "fact" else content


def _states(kind: m.MemoryType, row: Row, standing: Row, now: datetime) -> list[str]:
    states = []
    if kind != "episode" and confidence_of(row, now) < FADING_BELOW:
        states.append("fading")
    if standing["is_contradicted"]:
        states.append("contradicted")
    if standing["superseded_by"] is not None:
        states.append(f"superseded_by:{standing['superseded_by']}")
    return states


def _kind(kind: str) -> m.MemoryType:
    if kind not in m.MEMORY_TYPES:
        raise InvalidRequest(f"$.kind: should be {', '.join(m.MEMORY_TYPES)}", fields=["$.kind"])
    return kind


def _id(kind: str, item_id: str) -> UUID:
    try:
        return UUID(item_id)
    except ValueError:
        raise _missing(kind, item_id) from None


def _missing(kind: str, item_id: str) -> NotFound:
    return NotFound(f"$.id: there is no {kind} {item_id}", fields=["$.id"])
