"""Tickers: the grid, missed ticks, jitter and asking for a tick now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat

import anyio
import pytest

from actors.kernel import ActorState, Supervisor, Ticker
from tests.kernel.steered import AT_ONCE, PATIENCE_S, Boom, Watch, on_virtual_time, running, settle

pytestmark = pytest.mark.anyio


class Ticks:
    """Notes when each tick begins; each lasts as long as `lengths` says, and until `release`."""

    def __init__(self, lengths: Iterator[float] | None = None, release: anyio.Event | None = None) -> None:
        self.at: list[float] = []
        self.running = 0
        self.most_at_once = 0
        self._lengths = repeat(0.0) if lengths is None else lengths
        self._release = release
        self._ticked = anyio.Event()

    async def __call__(self) -> None:
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.at.append(anyio.current_time())
        self._ticked.set()
        self._ticked = anyio.Event()
        await anyio.sleep(next(self._lengths))
        if self._release is not None:
            await self._release.wait()
        self.running -= 1

    async def reached(self, count: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            while len(self.at) < count:
                await self._ticked.wait()


async def times_of(ticker: Ticker, ticks: Ticks, *, within_s: float) -> list[float]:
    """When the ticker ticked, in seconds after its start."""
    begin = anyio.current_time()
    with anyio.move_on_after(within_s):
        await ticker.run(task_status=anyio.TASK_STATUS_IGNORED)
    assert ticks.most_at_once <= 1
    return [round(at - begin, 6) for at in ticks.at]


@on_virtual_time
async def test_the_first_tick_comes_at_once_and_the_others_at_intervals() -> None:
    ticks = Ticks()
    assert await times_of(Ticker("t", 10, ticks), ticks, within_s=35) == [0, 10, 20, 30]


@on_virtual_time
async def test_the_first_tick_comes_after_an_interval_when_told_so() -> None:
    ticks = Ticks()
    assert await times_of(Ticker("t", 10, ticks, at_once=False), ticks, within_s=35) == [10, 20, 30]


@on_virtual_time
async def test_ticks_that_fall_into_a_long_one_are_skipped_and_the_grid_is_kept() -> None:
    ticks = Ticks(iter([25.0, 5.0, 0.0, 0.0]))
    assert await times_of(Ticker("t", 10, ticks), ticks, within_s=55) == [0, 30, 40, 50]


@on_virtual_time
async def test_a_tick_that_ends_on_the_grid_is_followed_at_once() -> None:
    ticks = Ticks(iter([20.0, 0.0, 0.0]))
    assert await times_of(Ticker("t", 10, ticks), ticks, within_s=35) == [0, 20, 30]


@on_virtual_time
async def test_jitter_makes_a_tick_late_by_a_share_of_the_interval_and_never_adds_up() -> None:
    numbers = iter([0.9, 0.5, 0.0, 0.999, 0.0, 0.0])  # the tick at once uses none of the first
    ticks = Ticks()
    ticker = Ticker("t", 10, ticks, jitter=0.4, rng=lambda: next(numbers))
    assert await times_of(ticker, ticks, within_s=45) == [0, 12, 20, 33.996, 40]


@on_virtual_time
async def test_asking_for_a_tick_leaves_the_grid_as_it_is() -> None:
    ticks = Ticks()
    ticker = Ticker("t", 10, ticks, at_once=False)
    async with anyio.create_task_group() as group:
        group.start_soon(ask_after, ticker, 14.0)
        assert await times_of(ticker, ticks, within_s=35) == [10, 14, 20, 30]


async def ask_after(ticker: Ticker, delay_s: float) -> None:
    await anyio.sleep(delay_s)
    ticker.run_now()


@on_virtual_time
async def test_a_ticker_started_again_begins_a_new_grid() -> None:
    ticks = Ticks()
    ticker = Ticker("t", 10, ticks, at_once=False)
    assert await times_of(ticker, ticks, within_s=25) == [10, 20]
    ticks.at.clear()
    assert await times_of(ticker, ticks, within_s=25) == [10, 20]


async def test_short_intervals_tick_again_and_again() -> None:
    ticks = Ticks()
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: Ticker("t", 0.002, ticks).run(task_status=task_status))
        await ticks.reached(5)
        group.cancel_scope.cancel()
    assert ticks.most_at_once == 1
    assert min(later - earlier for earlier, later in zip(ticks.at[1:], ticks.at[2:], strict=False)) > 0


async def test_asking_many_times_during_a_tick_gives_one_more_after_it() -> None:
    release = anyio.Event()
    ticks = Ticks(release=release)
    ticker = Ticker("t", 3600, ticks)
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: ticker.run(task_status=task_status))
        await settle()
        for _ in range(3):
            ticker.run_now()
        await settle()
        assert len(ticks.at) == 1
        release.set()
        await settle()
        assert len(ticks.at) == 2
        group.cancel_scope.cancel()
    assert ticks.most_at_once == 1


async def test_a_tick_asked_for_while_the_actor_is_down_comes_when_it_is_up() -> None:
    ticks = Ticks()
    ticker = Ticker("t", 3600, ticks, at_once=False)
    ticker.run_now()
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: ticker.run(task_status=task_status))
        await settle()
        assert len(ticks.at) == 1
        group.cancel_scope.cancel()


async def test_a_tick_that_raises_is_a_crash_and_the_ticker_is_started_again() -> None:
    watch = Watch()
    supervisor = Supervisor(policy=AT_ONCE, on_event=watch)
    failures = iter([Boom("tick 1")])

    async def tick() -> None:
        for failure in failures:
            raise failure

    supervisor.add(Ticker("t", 3600, tick))
    async with running(supervisor):
        await watch.seen("t", ActorState.READY, times=2)
        assert supervisor.snapshot()["t"].last_error == "Boom: tick 1"


async def test_cancelling_in_the_middle_of_a_tick_ends_both() -> None:
    ticks = Ticks(release=anyio.Event())
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: Ticker("t", 3600, ticks).run(task_status=task_status))
        await ticks.reached(1)
        group.cancel_scope.cancel()
    assert len(ticks.at) == 1


@pytest.mark.parametrize("interval_s", [0, -1, math.inf, math.nan])
def test_an_interval_that_is_no_positive_time_is_refused(interval_s: float) -> None:
    with pytest.raises(ValueError, match="interval_s of ticker t"):
        Ticker("t", interval_s, Ticks())


@pytest.mark.parametrize("jitter", [-0.1, 1, math.nan])
def test_a_jitter_that_could_reach_the_next_tick_is_refused(jitter: float) -> None:
    with pytest.raises(ValueError, match="jitter of ticker t"):
        Ticker("t", 1, Ticks(), jitter=jitter)
