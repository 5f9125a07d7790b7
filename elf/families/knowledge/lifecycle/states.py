"""Confirming and forgetting memories on request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import lifecycle as lc
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import MemoryType
from elf.families.knowledge.writing.events import Event

Change: TypeAlias = Callable[[Connection, Reach, lc.OneMemory, datetime], Awaitable[Event | None]]
Row: TypeAlias = Mapping[str, Any]

PATH: Final = "$.memory_id"
KIND_PATH: Final = "$.memory_type"


class MemoryStates:
    """Carries out the operations that change the state of one memory, each by one transaction with its event."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._forgetting: dict[MemoryType, Change] = {
            "episode": self._forget_episode, "fact": self._forget_fact, "rule": self._forget_rule,
        }  # fmt: skip

    async def confirm(self, request: lc.OneMemory, caller: Caller) -> lc.Confirmed:
        """Begin the decay of a fact or rule anew. Raises NotFound, and InvalidRequest, naming the path, for what cannot
        be confirmed: an episode, a fact that is not active, a rule that is forgotten.
        """
        if request.memory_type == "episode":
            raise InvalidRequest(f"{KIND_PATH}: an episode is not confirmed", fields=[KIND_PATH])
        await self._change(
            self._confirm_fact if request.memory_type == "fact" else self._confirm_rule, request, caller
        )
        return lc.Confirmed(confirmed=True)

    async def forget(self, request: lc.OneMemory, caller: Caller) -> lc.Forgotten:
        """Retract a fact, forget a rule, let an episode expire: whatever its state, and once. Raises NotFound."""
        await self._change(self._forgetting[request.memory_type], request, caller)
        return lc.Forgotten(forgotten=True)

    async def _change(self, change: Change, request: lc.OneMemory, caller: Caller) -> None:
        await retrying(lambda: self._change_once(change, request, reach_of(request.tenant_id, caller)))

    async def _change_once(self, change: Change, request: lc.OneMemory, reach: Reach) -> None:
        now = self._kit.now()
        rivals = [f"{request.memory_type} {request.memory_id}"]
        async with self._kit.database.transaction(competing_for=rivals) as connection:
            event = await change(connection, reach, request, now)
            if event is not None:
                await self._kit.record(connection, reach, [event], now=now)

    async def _lock(self, connection: Connection, reach: Reach, request: lc.OneMemory) -> Row:
        row = await connection.fetchrow(
            self._sql[f"lock_{request.memory_type}"], reach.tenant_id, reach.seen, request.memory_id
        )
        if row is None:
            raise NotFound(f"there is no {request.memory_type} {request.memory_id}", fields=[PATH])
        return row

    async def _confirm_fact(
        self, connection: Connection, reach: Reach, request: lc.OneMemory, now: datetime
    ) -> Event:
        fact = await self._lock(connection, reach, request)
        if fact["validity"] != "active":
            raise InvalidRequest(f"{PATH}: the fact is {fact['validity']}", fields=[PATH])
        await connection.execute(self._sql["confirm_fact"], reach.tenant_id, request.memory_id, now)
        return Event("fact_confirmed", "fact", request.memory_id, {"was_fading": fact["is_fading"]})

    async def _confirm_rule(
        self, connection: Connection, reach: Reach, request: lc.OneMemory, now: datetime
    ) -> Event:
        rule = await self._lock(connection, reach, request)
        if rule["is_forgotten"]:
            raise InvalidRequest(f"{PATH}: the rule is forgotten", fields=[PATH])
        await connection.execute(self._sql["confirm_rule"], reach.tenant_id, request.memory_id, now)
        return Event("rule_confirmed", "rule", request.memory_id, {"was_fading": rule["is_fading"]})

    async def _forget_fact(
        self, connection: Connection, reach: Reach, request: lc.OneMemory, now: datetime
    ) -> Event | None:
        fact = await self._lock(connection, reach, request)
        if fact["validity"] == "retracted":
            return None
        await connection.execute(self._sql["retract_fact"], reach.tenant_id, request.memory_id)
        states = {"from": fact["validity"], "to": "retracted"}
        return Event("fact_retracted", "fact", request.memory_id, states)

    async def _forget_rule(
        self, connection: Connection, reach: Reach, request: lc.OneMemory, now: datetime
    ) -> Event | None:
        rule = await self._lock(connection, reach, request)
        if rule["is_forgotten"]:
            return None
        await connection.execute(self._sql["forget_rule"], reach.tenant_id, request.memory_id)
        return Event("rule_forgotten", "rule", request.memory_id, {"maturity": rule["maturity"]})

    async def _forget_episode(
        self, connection: Connection, reach: Reach, request: lc.OneMemory, now: datetime
    ) -> Event | None:
        episode = await self._lock(connection, reach, request)
        await connection.execute(self._sql["expire_episode"], reach.tenant_id, request.memory_id, now)
        if episode["expires_at"] is not None and episode["expires_at"] <= now:
            return None
        states = {"consolidation_status": episode["consolidation_status"]}
        return Event("episode_forgotten", "episode", request.memory_id, states)
