"""What finds memories, around a knowledge family that a test has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.reading.search import FoundMemories, MemorySearch
from elf.families.knowledge.reading.stats import MemoryStats
from elf.families.knowledge.rules.searchable_text import fact_text
from elf.memory_embedding import MemoryEmbedder
from elf.search.trace import SearchTrace
from tests.db.knowledge.conftest import ANA, TENANT, KnowledgeHouse
from tests.notes_kit import at_cosine, unit

QUERY: Final = "which seat"


class Finder:
    """Searches, recalls, puts into words and counts. What was done is in `traces`."""

    def __init__(self, house: KnowledgeHouse) -> None:
        assert house.kit.texts is not None
        self.house = house
        self.clock = house.clock
        self.traces: list[SearchTrace] = []
        self.finding = MemorySearch(
            house.kit, MemoryEmbedder(house.kit.texts, family="knowledge"), self.traces.append, trace_days=7
        )
        self.stats = MemoryStats(house.kit)
        house.model.known[QUERY] = unit(1.0)

    def near(self, text: str, cosine: float) -> None:
        """Give a text a vector of this cosine to that of the query."""
        self.house.model.known[text] = at_cosine(cosine)

    async def fact(self, content: str, cosine: float = 0.0, **fields: Any) -> UUID:
        """Store a fact whose subject is its content, at a cosine to the query."""
        said = {"subject": content, "predicate": "p", "content": content} | fields
        self.near(fact_text(said["subject"], said["predicate"], said["content"]), cosine)
        return (await self.house.fact(**said)).id

    async def rule(self, content: str, cosine: float = 0.0, **fields: Any) -> UUID:
        self.near(content, cosine)
        return await self.house.rule(content, **fields)

    async def episode(self, content: str, cosine: float = 0.0, **fields: Any) -> UUID:
        self.near(content, cosine)
        return await self.house.episode(content, **fields)

    async def answer(self, query: str = QUERY, caller: Caller = ANA, **fields: Any) -> FoundMemories:
        request = s.Search(**({"tenant_id": TENANT, "query": query} | fields))
        return await self.finding.search(request, caller)

    async def search(self, query: str = QUERY, caller: Caller = ANA, **fields: Any) -> list[dict[str, Any]]:
        return [dict(item) for item in (await self.answer(query, caller, **fields)).items]

    async def ids(self, query: str = QUERY, caller: Caller = ANA, **fields: Any) -> list[UUID]:
        return [item["id"] for item in await self.search(query, caller, **fields)]

    async def recall(self, topic: str = QUERY, caller: Caller = ANA, **fields: Any) -> list[dict[str, Any]]:
        request = s.Recall(**({"tenant_id": TENANT, "topic": topic} | fields))
        return [dict(item) for item in (await self.finding.recall(request, caller)).items]

    async def context(
        self, prompt: str = QUERY, butler: str = "travel", caller: Caller = ANA, **fields: Any
    ) -> s.ContextAnswer:
        request = s.Context(**({"tenant_id": TENANT, "trigger_prompt": prompt, "butler": butler} | fields))
        return await self.finding.context(request, caller)

    async def counted(self, scope: str | None = None, caller: Caller = ANA) -> s.StatsAnswer:
        return await self.stats.read(s.Stats(tenant_id=TENANT, scope=scope), caller)

    async def set(self, kind: str, ids: UUID | Sequence[UUID], **values: Any) -> None:
        """Write columns of rows that no operation writes so."""
        names = ", ".join(f"{name} = ${place}" for place, name in enumerate(values, start=2))
        which = [ids] if isinstance(ids, UUID) else list(ids)
        await self.house.rows(
            f"UPDATE knowledge_{kind}s SET {names} WHERE id = ANY ($1)", which, *values.values()
        )
