"""Long work in slices: its result is the same, and others go on in between."""

from __future__ import annotations

import threading

import anyio
import pytest

from elf.core.slices import Slices, at_once, elsewhere, in_slices

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def counting(most: int) -> Slices[int]:
    total = 0
    for number in range(most):
        total += number
        yield
    return total


def failing() -> Slices[None]:
    yield
    raise KeyError("no")


async def test_the_result_is_that_of_the_work() -> None:
    assert await in_slices(counting(1000)) == at_once(counting(1000)) == sum(range(1000))


async def test_others_go_on_while_work_lasts() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    def until_others_had_turns() -> Slices[str]:
        while turns < 5:
            yield
        return "done"

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        assert await in_slices(until_others_had_turns()) == "done"
        group.cancel_scope.cancel()


async def test_work_that_is_cancelled_ends() -> None:
    ended = []

    def endless() -> Slices[None]:
        try:
            while True:
                yield
        finally:
            ended.append(True)

    with anyio.move_on_after(0.01):
        await in_slices(endless())
    assert ended == [True]


async def test_a_failure_of_the_work_comes_out() -> None:
    with pytest.raises(KeyError):
        await in_slices(failing())
    with pytest.raises(KeyError):
        at_once(failing())


async def test_a_long_call_is_made_in_another_thread_and_its_result_comes_back() -> None:
    def work() -> Slices[tuple[int, int]]:
        thread = yield from elsewhere(threading.get_ident)
        yield
        return thread, (yield from elsewhere(lambda: 7))

    thread, seven = await in_slices(work())
    assert (thread == threading.get_ident(), seven) == (False, 7)
    thread, seven = at_once(work())
    assert (thread == threading.get_ident(), seven) == (True, 7)


async def test_a_long_call_that_fails_ends_the_work() -> None:
    def work() -> Slices[None]:
        yield from elsewhere(lambda: {}["no"])

    with pytest.raises(KeyError):
        await in_slices(work())
    with pytest.raises(KeyError):
        at_once(work())
