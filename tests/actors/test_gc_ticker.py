"""The GC ticker: at the start, at intervals, and again soon when Postgres was away."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import cast

import anyio
import pytest

from actors.workers.gc_ticker import JITTER, RETRY_S, GcTicker
from elf.core.errors import DatabaseUnavailable
from elf.db.garbage import Collected, GarbageCollector
from tests.kernel.steered import on_virtual_time

pytestmark = pytest.mark.anyio

DAY_S = 86_400.0


class Collector:
    """Notes when it is asked; is away as long as `away` says so."""

    def __init__(self, away: Iterator[bool] | None = None) -> None:
        self.at: list[float] = []
        self._away = repeat(False) if away is None else away

    async def collect(self) -> Collected:
        self.at.append(anyio.current_time())
        if next(self._away):
            raise DatabaseUnavailable("Postgres is away")
        return Collected(ran=True, counts={})


async def run(collector: Collector, *, within_s: float) -> list[float]:
    """When it was asked, in seconds after the start."""
    begin = anyio.current_time()
    with anyio.move_on_after(within_s):
        await GcTicker(cast("GarbageCollector", collector), interval_s=DAY_S).run()
    return [at - begin for at in collector.at]


@on_virtual_time
async def test_it_collects_at_the_start_and_then_daily() -> None:
    at = await run(Collector(), within_s=7.5 * DAY_S)
    assert len(at) == 8
    assert at[0] == 0
    assert all(0 <= moment - day * DAY_S <= JITTER * DAY_S for day, moment in enumerate(at))


@on_virtual_time
async def test_it_comes_again_after_a_minute_while_postgres_is_away() -> None:
    away = chain([True, True], repeat(False))
    at = await run(Collector(away), within_s=DAY_S / 2)
    assert at == [0, RETRY_S, 2 * RETRY_S]


@on_virtual_time
async def test_after_a_step_failed_it_comes_again_sooner_and_then_less_and_less_often() -> None:
    class Lame(Collector):
        async def collect(self) -> Collected:
            await super().collect()
            return Collected(ran=True, failed={"step": "fails"} if len(self.at) < 5 else {})

    at = await run(Lame(), within_s=DAY_S / 2)
    assert at == [0, RETRY_S, 3 * RETRY_S, 7 * RETRY_S, 15 * RETRY_S]


@on_virtual_time
async def test_a_fault_of_its_own_is_not_hidden() -> None:
    class Broken(Collector):
        async def collect(self) -> Collected:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run(Broken(), within_s=DAY_S)
