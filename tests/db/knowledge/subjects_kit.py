"""Everything that knowledge keeps of a user, around a knowledge family that a test has."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.entities.merging import EntityMerging
from elf.families.knowledge.entities.registry import EntityRegistry
from elf.families.knowledge.subjects.offer import KnowledgeSubjects
from elf.offers import Subject
from elf.search.trace_store import Payload, TraceStore, search_queries
from tests.db.knowledge.conftest import TENANT, KnowledgeHouse
from tests.db.knowledge.finding_kit import Finder
from tests.db.knowledge.lifecycle_kit import Life

COLUMNS: Final = """
SELECT c.table_name, c.column_name FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
"""

Piece = Mapping[str, Any]


@dataclass
class World:
    """A knowledge family with all that is done to memories, and all of a subject."""

    house: KnowledgeHouse

    def __post_init__(self) -> None:
        self.life = Life(self.house)
        self.finder = Finder(self.house)
        self.entities = EntityRegistry(self.house.kit)
        self.merging = EntityMerging(self.house.kit)
        self.subjects = KnowledgeSubjects(self.house.kit)

    async def entity(self, name: str, caller: Caller, **more: Any) -> UUID:
        request = e.CreateEntity(tenant_id=TENANT, canonical_name=name, entity_type="person", **more)
        return (await self.entities.create(request, caller)).entity_id

    async def remember(self, user: str, word: str) -> dict[str, UUID]:
        """Keep something of a user, with a word in every text, in every way there is; returns some ids."""
        caller, scope, house = Caller(user=user), f"user:{user}", self.house
        about = await self.entity(f"Sister {word}", caller, aliases=[word], metadata={"user": user})
        merged = await self.entity(f"Sibling {word}", caller)
        request = e.MergeEntities(tenant_id=TENANT, source_entity_id=merged, target_entity_id=about)
        await self.merging.merge(request, caller)
        own = await house.episode(f"Sails to {word}.", caller, butler=scope, metadata={"to": word})
        named = await house.episode(f"Flies to {word}.", caller, metadata={"user_id": user})
        said = {"subject": word, "caller": caller, "metadata": {"why": word}}
        first = await house.fact(
            **said, predicate="trip", content=f"to {word}", scope=scope, tags=[word], entity_id=about,
            source_episode_id=own, idempotency_key=f"key {user}", source_butler=scope,
        )  # fmt: skip
        second = await house.fact(
            **said, predicate="trip", content=f"back from {word}", scope=scope, entity_id=about
        )
        resting = await house.fact(
            **said, predicate="plan", content=f"by plane to {word}", scope="travel", source_episode_id=named
        )
        rule = await house.rule(f"Never mention {word}", caller, scope=scope, source_episode_id=own)
        await self.life.harmful(rule, caller, times=3, reason=f"{word} is a secret", context=f"in {word}")
        await house.link(("fact", resting.id), ("episode", own), "derived_from", caller)
        await house.link(("rule", rule), ("fact", second.id), "supports", caller)
        house.model.away = True
        waiting = await house.rule(f"Call {word} first", caller, scope=scope)
        house.model.away = False
        await self.finder.search(word, caller)
        await self.finder.recall(word, caller, scope=scope)
        return {
            "entity": about, "own": own, "named": named, "first": first.id, "second": second.id,
            "resting": resting.id, "rule": rule, "waiting": waiting,
        }  # fmt: skip

    async def keep_traces(self) -> None:
        """Store all traces but the last, which is still on its way."""
        store = TraceStore(self.house.database, search_queries(), lease_seconds=10)
        *written, last = map(Payload.of, self.finder.traces)
        await store.write(await store.enqueue(written))
        await store.enqueue([last])
        self.finder.traces.clear()

    async def exported(self, **whose: str) -> list[Piece]:
        """All of a subject, as it is after it was JSON in a file."""
        subject = Subject(**{"tenant_id": TENANT} | whose)
        return [json.loads(json.dumps(one)) async for one in self.subjects.export(subject)]

    async def erase(self, **whose: str) -> Mapping[str, int]:
        return await self.subjects.erase(Subject(tenant_id=TENANT, **whose))

    async def where(self, word: str) -> set[str]:
        """The columns of the whole database that hold a word in any form that can be read."""
        b64 = b64encode(word.encode()).decode().rstrip("=")[:-1]
        forms = [f"%{one}%" for one in (word, b64, word.encode().hex())]
        held = set()
        for row in await self.house.rows(COLUMNS):
            table, name = row["table_name"], row["column_name"]
            query = f'SELECT 1 FROM "{table}" WHERE "{name}"::text ILIKE ANY ($1::text[]) LIMIT 1'
            if await self.house.rows(query, forms):
                held.add(f"{table}.{name}")
        return held
