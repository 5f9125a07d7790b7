"""Micro-batching: concurrent callers share calls of the embedder, and nobody pays for another one's troubles."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import numpy as np
import pytest
from trio.testing import MockClock

from elf.core.errors import InvalidRequest, ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.providers.micro_batch import MicroBatchingEmbedder
from elf.providers.port import Matrix

pytestmark = pytest.mark.anyio

on_virtual_time = pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
HANGING_S = 20.0  # a bound on hanging, never a measure
WINDOW_S = 0.003


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "asyncio":
        return ("asyncio", {})
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


class Model:
    """Gives each text its number as a vector; remembers calls, which wait for `gate` and may fail."""

    version = "fake:number:2"
    dimensions = 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.began_at: list[float] = []
        self.deadlines: list[float] = []
        self.gate = anyio.Event()
        self.fault: Callable[[Sequence[str]], Exception | None] = lambda texts: None
        self.running = 0
        self.most_running = 0
        self.cancelled = 0

    async def embed(self, texts: Sequence[str]) -> Matrix:
        self.calls.append(list(texts))
        self.began_at.append(anyio.current_time())
        self.deadlines.append(anyio.current_effective_deadline())
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self.gate.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if (fault := self.fault(texts)) is not None:
            raise fault
        return np.array([[float(text), -float(text)] for text in texts], np.float32).reshape(-1, 2)

    def answer(self) -> None:
        self.gate.set()


class Caller:
    """One call of the embedder, with what came of it."""

    def __init__(self, *texts: str, within_s: float = HANGING_S) -> None:
        self.texts = texts
        self.within_s = within_s
        self.vectors: list[float] | None = None
        self.error: Exception | None = None
        self.scope = anyio.CancelScope()

    async def run(self, embedder: MicroBatchingEmbedder) -> None:
        with self.scope, anyio.move_on_after(self.within_s):
            try:
                self.vectors = (await embedder.embed(self.texts))[:, 0].tolist()
            except (ProviderUnavailable, InvalidRequest) as error:
                self.error = error

    @property
    def is_right(self) -> bool:
        return self.vectors == [float(text) for text in self.texts]


@asynccontextmanager
async def flying(model: Model, **bounds: Any) -> AsyncIterator[Callable[..., Any]]:
    """A running batcher; yields a function that starts callers one after the other."""
    batcher = MicroBatchingEmbedder(model, **({"window_s": WINDOW_S} | bounds))

    async def call(*callers: Caller) -> None:
        for caller in callers:
            callers_group.start_soon(caller.run, batcher)
            await settle()  # trio starts tasks in any order

    async with anyio.create_task_group() as owner:
        await owner.start(lambda *, task_status: batcher.run(task_status=task_status))
        with anyio.fail_after(HANGING_S):
            async with anyio.create_task_group() as callers_group:
                yield call
        owner.cancel_scope.cancel()


async def settle() -> None:
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


async def reached(model: Model, calls: int) -> None:
    """Wait until the model was called so often."""
    while len(model.calls) < calls:  # noqa: ASYNC110 - on a test's clock this takes no time
        await anyio.sleep(WINDOW_S / 10)


@on_virtual_time
async def test_a_lone_call_goes_out_at_once() -> None:
    model = Model()
    async with flying(model) as call:
        asked_at = anyio.current_time()
        lone = Caller("1")
        await call(lone)
        model.answer()
    assert (model.calls, model.began_at, lone.is_right) == ([["1"]], [asked_at], True)


@on_virtual_time
async def test_calls_that_come_meanwhile_leave_together_after_the_window() -> None:
    model = Model()
    async with flying(model) as call:
        begin = anyio.current_time()
        callers = [Caller("1"), Caller("2", "3"), Caller("4")]
        await call(*callers)
        await anyio.sleep(WINDOW_S / 2)
        late = Caller("5")
        await call(late)
        await anyio.sleep(WINDOW_S)
        model.answer()
    assert model.calls == [["1"], ["2", "3", "4", "5"]]
    assert model.began_at == [begin, pytest.approx(begin + WINDOW_S)]
    assert all(caller.is_right for caller in [*callers, late])


@on_virtual_time
async def test_the_call_ahead_returning_ends_the_wait() -> None:
    model = Model()
    async with flying(model, window_s=1000.0) as call:
        begin = anyio.current_time()
        callers = [Caller("1"), Caller("2"), Caller("3")]
        await call(*callers)
        model.answer()
    assert (model.calls, model.began_at) == ([["1"], ["2", "3"]], [begin, begin])
    assert all(caller.is_right for caller in callers)


async def test_each_caller_gets_its_own_vectors_in_its_own_order() -> None:
    model = Model()
    async with flying(model, window_s=1000.0) as call:
        callers = [Caller("9"), Caller("2", "1"), Caller("3"), Caller("1", "3", "1")]
        await call(*callers)
        model.answer()
    assert all(caller.is_right for caller in callers)
    assert model.calls == [["9"], ["2", "1", "3"]]  # the same text is sent once


@on_virtual_time
async def test_a_shared_call_is_bounded_and_a_full_one_does_not_wait() -> None:
    model = Model()
    async with flying(model, window_s=1000.0, max_texts=3) as call:
        callers = [Caller("1"), Caller("2", "3"), Caller("4", "5"), Caller("6"), Caller("7")]
        await call(*callers)
        # The second call has no room for the third caller, and the fourth fills the third call.
        assert model.calls == [["1"], ["2", "3"], ["4", "5", "6"]]
        model.answer()
    assert model.calls[3:] == [["7"]]
    assert all(caller.is_right for caller in callers)


async def test_a_call_too_large_to_share_goes_out_alone() -> None:
    model = Model()
    async with flying(model, max_texts=2) as call:
        callers = [Caller("1"), Caller("2", "3", "4")]
        await call(*callers)
        assert model.calls == [["1"], ["2", "3", "4"]]
        model.answer()
    assert all(caller.is_right for caller in callers)


@on_virtual_time
async def test_no_more_calls_are_out_than_there_are_places() -> None:
    model = Model()
    async with flying(model, max_in_flight=2) as call:
        callers = []
        for number in range(40):
            callers.append(Caller(str(number)))
            await call(callers[-1])
            await anyio.sleep(WINDOW_S)
        assert len(model.calls) == 2
        model.answer()
    assert model.most_running == 2
    assert len(model.calls) == 3
    assert all(caller.is_right for caller in callers)


# Cancellation


async def test_a_caller_that_goes_before_departure_is_left_behind() -> None:
    model = Model()
    async with flying(model, window_s=1000.0) as call:
        stays, goes = Caller("2"), Caller("3")
        await call(Caller("1"), stays, goes)
        goes.scope.cancel()
        await settle()
        model.answer()
    assert model.calls == [["1"], ["2"]]
    assert stays.is_right
    assert goes.vectors is None


async def test_a_caller_that_goes_during_the_call_hurts_nobody() -> None:
    model = Model()
    async with flying(model, window_s=1000.0, max_texts=2) as call:
        first, stays, goes = Caller("1"), Caller("2"), Caller("3")
        await call(first, goes, stays)
        goes.scope.cancel()
        await settle()
        model.answer()
    assert (model.calls, model.cancelled) == ([["1"], ["3", "2"]], 0)
    assert first.is_right
    assert stays.is_right


async def test_the_first_caller_going_sends_the_others_off() -> None:
    model = Model()
    async with flying(model, window_s=1000.0) as call:
        first, stays = Caller("1"), Caller("2")
        await call(first, stays)
        first.scope.cancel()
        await settle()
        assert model.calls == [["1"], ["2"]]
        model.answer()
    assert stays.is_right


async def test_a_call_that_nobody_waits_for_is_ended_and_gives_its_place_back() -> None:
    model = Model()
    async with flying(model, max_in_flight=1, window_s=0.0) as call:
        first, one, other = Caller("1"), Caller("2"), Caller("3")
        await call(first, one, other)
        first.scope.cancel()
        await reached(model, 2)
        one.scope.cancel()
        other.scope.cancel()
        await settle()
        assert (model.cancelled, model.running) == (2, 0)
        model.answer()
        again = Caller("4")
        await call(again)
    assert again.is_right


@on_virtual_time
async def test_what_is_called_sees_the_latest_deadline_of_its_callers() -> None:
    model = Model()
    async with flying(model) as call:
        begin = anyio.current_time()
        slow = [Caller("1"), Caller("2", within_s=1.0), Caller("3", within_s=5.0)]
        await call(*slow)
        await anyio.sleep(10.0)
        assert model.deadlines[1] == begin + 5.0
        assert (model.cancelled, model.running) == (1, 1)
        model.answer()
    assert [caller.vectors for caller in slow] == [[1.0], None, None]
    assert len(model.calls) == 2  # nobody asks once more when time is up


# Failures


@pytest.mark.parametrize("error", [ProviderUnavailable("asleep"), ProviderRefused("no", provider_status=401)])
async def test_what_any_call_would_meet_is_met_by_all_callers_at_once(error: ProviderUnavailable) -> None:
    model = Model()
    model.fault = lambda texts: error if len(texts) > 1 else None
    async with flying(model, window_s=1000.0, max_texts=2) as call:
        callers = [Caller("1"), Caller("2"), Caller("3")]
        await call(*callers)
        model.answer()
    assert len(model.calls) == 2
    assert [caller.error for caller in callers] == [None, error, error]


@pytest.mark.parametrize(
    "error",
    [
        ProviderRefused("no", provider_status=422),
        ProviderBroken("too few vectors"),
        InvalidRequest("half a character"),
    ],
)
async def test_a_text_that_makes_the_provider_refuse_fails_its_own_caller_only(error: Exception) -> None:
    model = Model()
    model.fault = lambda texts: error if "13" in texts else None
    async with flying(model, window_s=1000.0, max_texts=3, max_in_flight=2) as call:
        good = [Caller("1"), Caller("2"), Caller("3")]
        bad = Caller("13")
        await call(*good, bad)
        model.answer()
    assert model.calls[1] == ["2", "3", "13"]
    assert sorted(model.calls[2:]) == [["13"], ["2"], ["3"]]
    assert all(caller.is_right for caller in good)
    assert bad.error is error
    assert model.most_running == 2


async def test_a_refused_call_of_one_caller_is_not_made_twice() -> None:
    model = Model()
    model.fault = lambda texts: ProviderRefused("no", provider_status=400) if "13" in texts else None
    async with flying(model) as call:
        bad = Caller("13")
        await call(Caller("1"), bad)
        await reached(model, 2)
        model.answer()
    assert isinstance(bad.error, ProviderRefused)
    assert model.calls == [["1"], ["13"]]


# The actor


async def test_calls_pass_through_while_the_actor_is_down() -> None:
    model = Model()
    batcher = MicroBatchingEmbedder(model)
    callers = [Caller("1"), Caller("2"), Caller("3")]
    async with anyio.create_task_group() as group:
        for caller in callers:
            group.start_soon(caller.run, batcher)
        await settle()
        assert sorted(model.calls) == [["1"], ["2"], ["3"]]
        model.answer()
    assert all(caller.is_right for caller in callers)


async def test_callers_of_a_shared_call_that_the_actor_drops_ask_alone() -> None:
    model = Model()
    batcher = MicroBatchingEmbedder(model, window_s=1000.0, max_texts=2)
    callers = [Caller("1"), Caller("2"), Caller("3")]
    with anyio.fail_after(HANGING_S):
        async with anyio.create_task_group() as group:
            async with anyio.create_task_group() as owner:
                await owner.start(lambda *, task_status: batcher.run(task_status=task_status))
                for caller in callers:
                    group.start_soon(caller.run, batcher)
                    await settle()
                assert len(model.calls) == 2
                owner.cancel_scope.cancel()
            model.answer()
    assert model.cancelled == 1
    assert all(caller.is_right for caller in callers)


async def test_the_actor_can_be_run_again() -> None:
    model = Model()
    model.answer()
    batcher = MicroBatchingEmbedder(model)
    for _ in range(2):
        async with anyio.create_task_group() as owner:
            await owner.start(lambda *, task_status: batcher.run(task_status=task_status))
            callers = [Caller("1"), Caller("2"), Caller("3")]
            async with anyio.create_task_group() as group:
                for caller in callers:
                    group.start_soon(caller.run, batcher)
            assert all(caller.is_right for caller in callers)
            owner.cancel_scope.cancel()


async def test_it_speaks_for_the_model_and_takes_no_texts_at_all() -> None:
    model = Model()
    model.answer()
    batcher = MicroBatchingEmbedder(model)
    assert (batcher.version, batcher.dimensions) == (model.version, model.dimensions)
    assert (await batcher.embed([])).shape == (0, 2)
