"""Equal work at the same time is done once, whoever of those who wait for it is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from elf.search.single_flight import SingleFlight
from tests.kernel.steered import settle

pytestmark = pytest.mark.anyio

STEPS = 4


@pytest.fixture
def anyio_backend(both_backends: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return both_backends


class Work:
    """Work of STEPS awaits, each of which ends when the test lets it; counts its runs."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.cut_off = 0
        self.open = False
        self.step = anyio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> str:
        self.begun += 1
        number = self.begun
        try:
            for _ in range(STEPS):
                await self.step.wait()
                await checkpoint()
        except anyio.get_cancelled_exc_class():
            self.cut_off += 1
            raise
        self.ended += 1
        if self.error is not None:
            raise self.error
        return f"result {number}"

    async def go(self, steps: int = 1) -> None:
        """Let every run that waits go on by some awaits."""
        for _ in range(steps):
            self.step.set()
            self.step = anyio.Event()
            await settle()


class Caller:
    """One that asks; it has an `outcome` when it was answered, and a scope by which it is cancelled."""

    def __init__(self, flights: SingleFlight[str, str], work: Callable[[], Any], key: str = "k") -> None:
        self.scope = anyio.CancelScope()
        self.outcome: object = None
        self._ask = lambda: flights.do(key, work)

    async def run(self) -> None:
        with self.scope:
            try:
                self.outcome = await self._ask()
            except ZeroDivisionError as error:
                self.outcome = error


async def test_callers_at_the_same_time_share_one_run() -> None:
    flights, work = SingleFlight[str, str](), Work()
    callers = [Caller(flights, work) for _ in range(5)]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
        await settle()
        assert len(flights) == 1
        await work.go(STEPS)
    assert [caller.outcome for caller in callers] == ["result 1"] * 5
    assert len(flights) == 0


async def test_callers_with_other_keys_and_later_callers_have_runs_of_their_own() -> None:
    flights, work = SingleFlight[str, str](), Work()
    callers = [Caller(flights, work, key) for key in ("a", "b")]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
        await settle()
        await work.go(STEPS)
        late = Caller(flights, work, "a")
        group.start_soon(late.run)
        await settle()
        await work.go(STEPS)
    assert {caller.outcome for caller in callers} == {"result 1", "result 2"}
    assert late.outcome == "result 3"


async def test_a_failure_goes_to_all_who_wait_and_to_nobody_later() -> None:
    flights, work = SingleFlight[str, str](), Work()
    work.error = ZeroDivisionError()
    callers = [Caller(flights, work) for _ in range(3)]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
        await settle()
        await work.go(STEPS)
        assert [caller.outcome for caller in callers] == [work.error] * 3
        work.error = None
        late = Caller(flights, work)
        group.start_soon(late.run)
        await settle()
        await work.go(STEPS)
    assert late.outcome == "result 2"
    assert work.begun == 2


@pytest.mark.parametrize("cancelled_after", range(STEPS))
async def test_when_the_leader_is_cancelled_at_any_await_one_of_the_others_takes_over(
    cancelled_after: int,
) -> None:
    flights, work = SingleFlight[str, str](), Work()
    leader, *others = callers = [Caller(flights, work) for _ in range(4)]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
            await settle()
        await work.go(cancelled_after)
        leader.scope.cancel()
        await settle()
        assert (work.begun, work.cut_off, len(flights)) == (2, 1, 1)
        await work.go(STEPS)
    assert [caller.outcome for caller in others] == ["result 2"] * 3
    assert leader.outcome is None
    assert len(flights) == 0


@pytest.mark.parametrize("cancelled_after", range(STEPS))
async def test_when_one_who_waits_is_cancelled_the_run_goes_on(cancelled_after: int) -> None:
    flights, work = SingleFlight[str, str](), Work()
    leader, waiting, other = callers = [Caller(flights, work) for _ in range(3)]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
            await settle()
        await work.go(cancelled_after)
        waiting.scope.cancel()
        await settle()
        await work.go(STEPS - cancelled_after)
    assert [leader.outcome, waiting.outcome, other.outcome] == ["result 1", None, "result 1"]
    assert work.begun == 1


@pytest.mark.parametrize("survivors", [0, 1, 2])
async def test_whoever_is_cancelled_together_with_the_leader_those_left_are_answered(survivors: int) -> None:
    flights, work = SingleFlight[str, str](), Work()
    callers = [Caller(flights, work) for _ in range(5)]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
            await settle()
        left = callers[len(callers) - survivors :]
        for caller in callers[: len(callers) - survivors]:
            caller.scope.cancel()
        await settle()
        await work.go(STEPS)
    assert [caller.outcome for caller in left] == ["result 2"] * survivors
    assert len(flights) == 0


async def test_one_that_is_woken_to_take_over_and_is_cancelled_just_then_leaves_it_to_the_next() -> None:
    flights, work = SingleFlight[str, str](), Work()
    leader, next_one, last = callers = [Caller(flights, work) for _ in range(3)]

    async def cut_off_with_its_successor() -> str:
        try:
            return await work()
        finally:
            next_one.scope.cancel()  # at the moment at which it is to be woken

    leader._ask = lambda: flights.do("k", cut_off_with_its_successor)
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run)
            await settle()
        leader.scope.cancel()
        await settle()
        await work.go(STEPS)
    assert (leader.outcome, next_one.outcome) == (None, None)
    assert str(last.outcome).startswith("result")


async def test_a_leader_out_of_time_is_followed_by_one_that_has_more(anyio_backend_name: str) -> None:
    flights = SingleFlight[str, str]()
    runs: list[float] = []
    patience = {"asyncio": 0.01, "trio": 10.0}[anyio_backend_name]  # trio's clock is a virtual one

    async def slow_at_first() -> str:
        runs.append(anyio.current_time())
        if len(runs) == 1:
            await anyio.sleep_forever()
        return "in time"

    hurried, patient = Caller(flights, slow_at_first), Caller(flights, slow_at_first)
    hurried.scope = anyio.move_on_after(patience)
    async with anyio.create_task_group() as group:
        for caller in (hurried, patient):
            group.start_soon(caller.run)
            await checkpoint()
    assert (hurried.outcome, patient.outcome) == (None, "in time")


async def test_none_is_a_result_like_any_other() -> None:
    flights = SingleFlight[str, None]()
    runs = 0

    async def nothing() -> None:
        nonlocal runs
        runs += 1
        await checkpoint()

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(flights.do, "k", nothing)
    assert runs == 1
