"""Who is served now: requests beyond what can be done at once wait a little, in turn by tenant, or are refused."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec

from elf.api.operation import Operation
from elf.config.limits import Limits
from elf.core.errors import Unavailable
from elf.core.fair_queue import AskingTenants, FairTurns, Turn, TurnState, TurnStatistics
from elf.core.newcomers import Newcomers, Party
from elf.core.rate_limit import Pace
from elf.core.structs import read_json

# A refusal costs a millisecond, so those of one tenant are spread: Retry-After sends each back at a time of its own.
REFUSALS_A_SECOND = 20.0
# Who comes back so early that this is not enough does not keep to Retry-After, and is refused at that pace, too.
LONGEST_RETRY_AFTER_S = 10
# One of so many places to wait may go to names that are new and each count for themselves; more of them count as one.
NEWCOMERS_SHARE = 8
LEAST_FEW = 4
MAX_NAME_CHARS = 128  # names are kept, and longer ones are refused later
# Of a crowd there may be nobody waiting for an instant, all of it being on its way to here or back.
CROWD_LASTS_S = 0.1


class Admission:
    """Lets requests in by the limits of the config. What waits for a language model has places of its own."""

    def __init__(self, limits: Limits) -> None:
        tenants = AskingTenants(clock=anyio.current_time)
        self._max_wait_s = limits.max_wait_ms / 1000
        few = max(LEAST_FEW, limits.max_waiting // NEWCOMERS_SHARE)
        self._newcomers = Newcomers(few=few, clock=anyio.current_time)
        self._last_waited = -math.inf
        self._pace = Pace(rate=REFUSALS_A_SECOND, clock=anyio.current_time)
        self._quick, self._slow = (
            FairTurns(tenants, at_work=at_work, per_tenant=limits.max_per_tenant, waiting=limits.max_waiting)
            for at_work in (limits.max_concurrent, limits.max_concurrent_events)
        )

    @asynccontextmanager
    async def turn(self, operation: Operation, tenant: str) -> AsyncIterator[None]:
        """Wait for a turn and have it. Raises Unavailable at once when too many wait, later when it takes too long."""
        turns = self._slow if operation.is_slow else self._quick
        turn = turns.ask(self._newcomers.party(tenant[:MAX_NAME_CHARS]))
        try:
            if turn.state is TurnState.WAITING:
                await self._told(turn)
                turns.refuse(turn)
                if turns is self._quick:
                    self._last_waited = anyio.current_time()
            if is_served := turn.state is TurnState.AT_WORK:
                yield
        finally:
            turns.end(turn)
        if not is_served:
            raise await self._refusal(turn.tenant)

    async def _refusal(self, tenant: Party) -> Unavailable:
        ahead_s = self._pace.ahead_s(tenant)
        if ahead_s > LONGEST_RETRY_AFTER_S:
            await anyio.sleep(min(ahead_s - LONGEST_RETRY_AFTER_S, self._max_wait_s))
        retry_after_s = min(math.ceil(round(ahead_s, 3)), LONGEST_RETRY_AFTER_S)
        return Unavailable("more requests than can be served; try again later", retry_after_s=retry_after_s)

    async def _told(self, turn: Turn) -> None:
        told = anyio.Event()
        turn.tell = told.set
        with anyio.move_on_after(self._max_wait_s):
            await told.wait()

    @property
    def is_crowded(self) -> bool:
        """Whether requests wait for their turn, or did a moment ago."""
        return self._quick.waiting > 0 or anyio.current_time() - self._last_waited < CROWD_LASTS_S

    def statistics(self) -> dict[str, TurnStatistics]:
        """Return what the places are used for, by their kind."""
        return {"quick": self._quick.statistics(), "slow": self._slow.statistics()}


class _Asker(msgspec.Struct):
    tenant_id: str = ""


def tenant_of(body: bytes) -> str:
    """Return the tenant that a JSON body names, and "" for one that names none, without reading the rest of it."""
    try:
        return read_json(body, _Asker).tenant_id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""  # it goes to work, and is told there what is wrong with it
