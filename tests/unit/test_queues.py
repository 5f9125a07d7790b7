"""Queues: one at a time for each thing, in the order of asking, and nothing is left behind."""

from __future__ import annotations

import random
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from elf.db.queues import Queues

pytestmark = pytest.mark.anyio

THINGS = st.sets(st.sampled_from("abcd"), min_size=1)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Virtual time."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


async def test_turns_come_in_the_order_of_asking() -> None:
    queues, order = Queues(), []

    async def visit(number: int) -> None:
        async with queues.alone_with({"a"}):
            order.append(number)
            await anyio.sleep(1)

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(visit, number)
            await anyio.sleep(0.1)
        assert len(queues) == 1
    assert order == [*range(5)]
    assert len(queues) == 0


async def test_who_is_about_something_else_does_not_wait() -> None:
    queues = Queues()
    async with queues.alone_with({"a", "b"}), queues.alone_with({"c"}):
        assert len(queues) == 3
    assert len(queues) == 0


async def test_who_gives_up_waiting_leaves_nothing_behind_and_lets_the_next_one_in() -> None:
    queues = Queues()

    async def give_up() -> None:
        with anyio.move_on_after(1) as waiting:
            async with queues.alone_with({"a", "b"}):
                pytest.fail("it is not its turn")
        assert waiting.cancelled_caught

    async with queues.alone_with({"b"}):
        async with anyio.create_task_group() as group:
            group.start_soon(give_up)
        assert len(queues) == 1
        async with queues.alone_with({"a"}):
            assert len(queues) == 2
    assert len(queues) == 0


@given(asked=st.lists(THINGS, max_size=12), seed=st.integers())
def test_no_two_are_at_one_thing_and_everybody_has_a_turn(asked: list[set[str]], seed: int) -> None:
    pauses, at_work, done = random.Random(seed), [], []
    queues = Queues()

    async def visit(things: set[str]) -> None:
        await anyio.sleep(pauses.random())
        async with queues.alone_with(things):
            assert not any(things & others for others in at_work)
            at_work.append(things)
            await anyio.sleep(pauses.random())
            at_work.remove(things)
        done.append(things)

    async def all_of_them() -> None:
        with anyio.fail_after(1000):
            async with anyio.create_task_group() as group:
                for things in asked:
                    group.start_soon(visit, things)

    anyio.run(all_of_them, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})
    assert len(done) == len(asked)
    assert len(queues) == 0
