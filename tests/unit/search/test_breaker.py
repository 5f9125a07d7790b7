"""The circuit breaker: what opens it, what it does then, and what closes it again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import structlog
from trio.testing import MockClock

from elf.core.errors import (
    IndexUnavailable,
    InternalError,
    InvalidRequest,
    ProviderBroken,
    ProviderRefused,
    ProviderUnavailable,
    ServiceError,
)
from elf.search.breaker import BreakerState, CircuitBreaker

pytestmark = pytest.mark.anyio

on_virtual_time = pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
NAME = "providers.rerank (acme)"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "asyncio":
        return ("asyncio", {})
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


def a_breaker(**bounds: Any) -> CircuitBreaker:
    return CircuitBreaker(
        NAME, **({"failures_to_open": 2, "open_s": 10.0, "longest_open_s": 60.0, "slow_s": 0.5} | bounds)
    )


class Calls:
    """Makes calls through a breaker and remembers how many got through."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self.breaker = breaker
        self.made = 0

    async def succeed(self) -> str:
        return await self.breaker.call(self._that(None))

    async def fail(self, error: Exception | None = None) -> Exception:
        """Make a call that fails, and return the error that came out."""
        try:
            await self.breaker.call(self._that(error or ProviderUnavailable("no answer")))
        except (ServiceError, TimeoutError) as caught:
            return caught
        raise AssertionError("the call did not fail")

    async def hang(self, seconds: float) -> None:
        """Make a call that never ends, with a deadline."""
        with anyio.move_on_after(seconds):
            await self.breaker.call(self._hanging)

    def _that(self, error: Exception | None) -> Callable[[], Awaitable[str]]:
        async def make() -> str:
            self.made += 1
            if error is not None:
                raise error
            return "answer"

        return make

    async def _hanging(self) -> None:
        self.made += 1
        await anyio.sleep_forever()


@pytest.fixture
def calls() -> Calls:
    return Calls(a_breaker())


async def opened(calls: Calls) -> None:
    await calls.fail()
    await calls.fail()
    assert calls.breaker.state is OPEN


async def test_calls_pass_while_it_is_closed(calls: Calls) -> None:
    assert await calls.succeed() == "answer"
    assert calls.breaker.state is CLOSED


@pytest.mark.parametrize(
    "error",
    [
        ProviderUnavailable("no answer"),
        ProviderBroken("no JSON"),
        *(ProviderRefused("no", provider_status=status) for status in (302, 401, 402, 403, 404)),
        IndexUnavailable("no answer"),
        TimeoutError(),
    ],
)
async def test_failures_in_a_row_open_it(calls: Calls, error: Exception) -> None:
    assert await calls.fail(error) is error
    assert calls.breaker.state is CLOSED
    assert await calls.fail(error) is error
    assert calls.breaker.state is OPEN


async def test_a_success_between_failures_keeps_it_closed(calls: Calls) -> None:
    for _ in range(5):
        await calls.fail()
        await calls.succeed()
    assert calls.breaker.state is CLOSED


@pytest.mark.parametrize(
    "error",
    [
        InternalError("junk"),
        *(ProviderRefused("no", provider_status=status) for status in (400, 413, 422)),
        InvalidRequest("bad"),
    ],
)
async def test_an_error_that_is_about_what_was_asked_is_an_answer(calls: Calls, error: Exception) -> None:
    for _ in range(5):
        assert await calls.fail(error) is error
    await calls.fail()
    await calls.fail(error)
    await calls.fail()
    assert calls.breaker.state is CLOSED


async def test_an_open_one_refuses_at_once_and_says_who_and_until_when(calls: Calls) -> None:
    await opened(calls)
    error = await calls.fail()
    assert calls.made == 2
    assert isinstance(error, ProviderUnavailable)
    assert error.message.startswith(f"{NAME} did not answer and is tried again in ")
    assert error.retry_after_s in (9, 10)
    assert calls.breaker.statistics() == (NAME, OPEN, 1, 1)


async def test_the_error_of_a_refusal_can_be_chosen() -> None:
    calls = Calls(a_breaker(refusal=IndexUnavailable))
    await opened(calls)
    assert isinstance(await calls.fail(), IndexUnavailable)


@on_virtual_time
async def test_a_call_that_succeeds_after_the_pause_closes_it(calls: Calls) -> None:
    assert not calls.breaker.refuses
    await opened(calls)
    await anyio.sleep(9.9)
    assert calls.breaker.state is OPEN
    assert calls.breaker.refuses
    await anyio.sleep(0.1)
    assert calls.breaker.state is HALF_OPEN
    assert not calls.breaker.refuses
    assert await calls.succeed() == "answer"
    assert calls.breaker.state is CLOSED
    await calls.fail()
    assert calls.breaker.state is CLOSED  # the count begins anew


@on_virtual_time
async def test_each_failed_try_doubles_the_pause_up_to_a_bound(calls: Calls) -> None:
    await opened(calls)
    for pause in (10.0, 20.0, 40.0, 60.0, 60.0):
        await anyio.sleep(pause - 0.1)
        assert calls.breaker.state is OPEN
        await anyio.sleep(0.1)
        assert calls.breaker.state is HALF_OPEN
        await calls.fail()
    await anyio.sleep(60.0)
    await calls.succeed()
    await opened(calls)
    await anyio.sleep(10.0)
    assert calls.breaker.state is HALF_OPEN  # after a recovery pauses are short again


@on_virtual_time
async def test_only_one_call_tries_and_the_others_are_refused_meanwhile(calls: Calls) -> None:
    await opened(calls)
    await anyio.sleep(10.0)
    answer = anyio.Event()

    async def slow() -> str:
        await answer.wait()
        return "answer"

    async def probe() -> None:
        assert await calls.breaker.call(slow) == "answer"

    async with anyio.create_task_group() as group:
        group.start_soon(probe)
        await anyio.sleep(1.0)
        assert calls.breaker.state is HALF_OPEN
        assert calls.breaker.refuses
        error = await calls.fail()
        assert "is being tried again now" in str(error)
        answer.set()
    assert calls.made == 2
    assert calls.breaker.state is CLOSED


# Deadlines


@on_virtual_time
async def test_callers_that_run_out_of_time_open_it(calls: Calls) -> None:
    await calls.hang(0.5)
    await calls.hang(2.0)
    assert calls.breaker.state is OPEN


@on_virtual_time
async def test_a_deadline_that_left_it_no_time_tells_nothing(calls: Calls) -> None:
    for _ in range(5):
        await calls.hang(0.49)
    assert (calls.made, calls.breaker.state) == (5, CLOSED)


@on_virtual_time
async def test_a_caller_that_goes_away_tells_nothing(calls: Calls) -> None:
    for _ in range(5):
        async with anyio.create_task_group() as group:
            group.start_soon(calls.hang, 1000.0)
            await anyio.sleep(100.0)
            group.cancel_scope.cancel()
    assert calls.breaker.state is CLOSED


@on_virtual_time
async def test_a_try_that_tells_nothing_leaves_the_next_call_to_try(calls: Calls) -> None:
    await opened(calls)
    await anyio.sleep(10.0)
    await calls.hang(0.1)
    assert calls.breaker.state is HALF_OPEN
    await calls.succeed()
    assert calls.breaker.state is CLOSED


@on_virtual_time
async def test_a_try_that_runs_out_of_time_opens_it_again(calls: Calls) -> None:
    await opened(calls)
    await anyio.sleep(10.0)
    await calls.hang(1.0)
    await anyio.sleep(19.9)
    assert calls.breaker.state is OPEN


# Calls that end late


@on_virtual_time
@pytest.mark.parametrize("outcome", ["succeed", "fail"])
async def test_a_call_of_before_the_opening_has_no_say_any_more(calls: Calls, outcome: str) -> None:
    async def late() -> None:
        async def make() -> None:
            await anyio.sleep(15.0)
            if outcome == "fail":
                raise ProviderUnavailable("no answer")

        try:
            await calls.breaker.call(make)
        except ProviderUnavailable:
            assert outcome == "fail"

    async with anyio.create_task_group() as group:
        group.start_soon(late)
        await anyio.sleep(1.0)
        await opened(calls)
        await anyio.sleep(13.0)
    assert calls.breaker.state is HALF_OPEN
    assert calls.breaker.statistics().openings == 1


@on_virtual_time
async def test_each_change_of_state_is_logged_with_the_provider() -> None:
    with structlog.testing.capture_logs() as lines:
        calls = Calls(a_breaker())
        await opened(calls)
        await calls.fail()
        await anyio.sleep(10.0)
        await calls.succeed()
    assert [line["event"] for line in lines] == ["circuit_open", "circuit_half_open", "circuit_closed"]
    assert {line["provider"] for line in lines} == {NAME}
    assert (lines[0]["retry_in_s"], lines[0]["failures"], lines[0]["error"]) == (10.0, 2, "no answer")
