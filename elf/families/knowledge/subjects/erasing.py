"""Erasing for good all that there is of a user, an agent or a tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from elf.db.database import Connection
from elf.db.errors import retrying
from elf.erasing import in_passes
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.rules.effectiveness import inverted
from elf.families.knowledge.rules.searchable_text import searchable
from elf.families.knowledge.subjects.whose import Whose
from elf.families.knowledge.upkeep.erasing import Erasing

STEP: Final = 500
KINDS: Final = ("episodes", "facts", "rules", "entities", "traces", "chore_runs")
_FIRST: Final = UUID(int=0)


class Erasure:
    """Removes memories, `step` of them a transaction, and what tells of them elsewhere.

    What is left of a part of a tenant is that there were events.
    """

    def __init__(self, kit: Kit, *, step: int = STEP) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._erasing = Erasing(kit)
        self._step = step

    async def erase(self, whose: Whose) -> Mapping[str, int]:
        """Erase all of it; returns how much of each kind went."""
        once = self._tenant if whose.scope is None else self._part
        return dict(await in_passes(KINDS, partial(once, whose)))

    async def _tenant(self, whose: Whose) -> Counter[str]:
        tenant_id = whose.tenant_id
        traces = await retrying(partial(self._searches, tenant_id))
        gone = Counter(await retrying(partial(self._erasing.tenant, tenant_id, actor=None)))
        async with self._kit.database.transaction() as connection:
            rest = await connection.fetchrow(self._sql["erase_rest_of_tenant"], tenant_id)
            assert rest is not None, "it always tells"
            runs = await connection.fetch(self._sql["erase_knowledge_chore_runs"], tenant_id, None, None)
        gone.update({**rest, "traces": traces, "chore_runs": len(runs)})
        return gone

    async def _searches(self, tenant_id: str) -> int:
        async with self._kit.database.transaction() as connection:
            traces: int = await connection.fetchval(self._sql["erase_searches"], tenant_id, None)
        return traces

    async def _part(self, whose: Whose) -> Counter[str]:
        gone: Counter[str] = Counter()
        while some := await retrying(partial(self._some_memories, whose)):
            gone.update(some)
        gone.update(await retrying(partial(self._mentions, whose)))
        return gone

    async def _some_memories(self, whose: Whose) -> Counter[str]:
        """Erase some facts and rules, or some episodes with the last that rest on them. Nothing when there is none."""
        place = whose.tenant_id, whose.scope, whose.user
        async with self._kit.database.transaction() as connection:
            episodes = await connection.fetch(self._sql["lock_episodes_of_subject"], *place, self._step)
            memories: list[tuple[str, UUID]] = []
            for kind in ("fact", "rule"):
                rows = await connection.fetch(self._sql[f"{kind}s_of_subject"], *place, _FIRST, self._step)
                memories += [(kind, row["id"]) for row in rows]
                if len(rows) == self._step:  # there may be more, which go before their episodes
                    episodes = []
            memories += [("episode", row["id"]) for row in episodes]
            if not memories:
                return Counter()
            ids = [id for _, id in memories]
            rows = await connection.fetch(self._sql["entities_of_facts"], whose.tenant_id, ids)
            gone = Counter(await self._erasing.these(connection, whose.tenant_id, memories, actor=None))
            gone.update(entities=await self._entities(connection, whose, rows))
        return gone

    async def _mentions(self, whose: Whose) -> Counter[str]:
        """Take a name off what stays, and erase what else tells of it."""
        tenant_id, scope, names = whose.tenant_id, whose.scope, whose.names
        async with self._kit.database.transaction() as connection:
            made = await connection.fetch(self._sql["entities_made_by"], tenant_id, names)
            entities = await self._entities(connection, whose, made)
            await connection.execute(self._sql["unsign_memories"], tenant_id, scope)
            for rule in await connection.fetch(self._sql["erase_applications_by"], tenant_id, names):
                await self._reword(connection, tenant_id, rule)
            await connection.execute(self._sql["unsign_events"], tenant_id, scope, names)
            if whose.user is not None:
                await connection.execute(self._sql["unname_entities"], tenant_id, whose.user)
                await connection.execute(self._sql["unname_in_metadata"], tenant_id, names)
            traces = await connection.fetchval(self._sql["erase_searches"], tenant_id, scope)
            runs = await connection.fetch(
                self._sql["erase_knowledge_chore_runs"], tenant_id, scope, whose.user
            )
        return Counter(entities=entities, traces=traces, chore_runs=len(runs))

    async def _entities(self, connection: Connection, whose: Whose, rows: list[Mapping[str, Any]]) -> int:
        """Erase those of entities that no fact is about any more; returns how many went."""
        ids = [row["entity_id"] for row in rows]
        await connection.execute(self._sql["lock_entities_of_subject"], whose.tenant_id, ids)
        gone = await connection.fetch(self._sql["erase_lonely_entities"], whose.tenant_id, ids)
        told = [("entity", row["id"]) for row in gone]
        await self._erasing.blank(connection, whose.tenant_id, told, actor=None)
        return len(told)

    async def _reword(self, connection: Connection, tenant_id: str, rule: Mapping[str, Any]) -> None:
        """Give a rule that was inverted the reasons that are left."""
        if rule["maturity"] != "anti_pattern" or rule["original"] is None:
            return
        content = inverted(rule["original"], rule["reasons"])
        await connection.execute(
            self._sql["reword_rule"], tenant_id, rule["id"], content, searchable(self._kit.indexed(content))
        )
        connection.after_commit(self._kit.ring)
