"""Channels: order, the two answers to fullness, and nothing lost when a task is cancelled."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import anyio
import pytest

from actors.kernel import Channel
from tests.kernel.steered import PATIENCE_S, settle

pytestmark = pytest.mark.anyio


def drained(channel: Channel[int]) -> list[int]:
    return [channel.receive_nowait() for _ in range(channel.statistics().fill)]


async def test_items_come_out_in_the_order_they_went_in() -> None:
    channel = Channel[int]("c", 3)
    for item in range(3):
        assert await channel.send(item)
    assert [await channel.receive() for _ in range(3)] == [0, 1, 2]


async def test_a_full_channel_that_blocks_makes_senders_wait_and_keeps_their_order() -> None:
    channel = Channel[int]("c", 1)
    async with anyio.create_task_group() as group:
        for item in range(4):
            group.start_soon(channel.send, item)
            await settle()
        assert channel.statistics().waiting_senders == 3
        assert [await channel.receive() for _ in range(4)] == [0, 1, 2, 3]


async def test_a_full_channel_that_blocks_refuses_to_send_without_waiting() -> None:
    channel = Channel[int]("c", 1)
    assert channel.send_nowait(1)
    with pytest.raises(anyio.WouldBlock):
        channel.send_nowait(2)
    assert channel.statistics().dropped == 0
    assert drained(channel) == [1]


async def test_a_full_channel_that_drops_keeps_what_is_there_and_counts_the_new_item() -> None:
    channel = Channel[int]("c", 2, "drop")
    answers = [channel.send_nowait(0), await channel.send(1), channel.send_nowait(2), await channel.send(3)]
    assert answers == [True, True, False, False]
    assert channel.statistics().dropped == 2
    assert drained(channel) == [0, 1]


async def test_an_empty_channel_refuses_to_receive_without_waiting() -> None:
    with pytest.raises(anyio.WouldBlock):
        Channel[int]("c", 1).receive_nowait()


async def test_receiving_many_waits_for_one_item_and_takes_what_is_there_up_to_the_limit() -> None:
    channel = Channel[int]("c", 10)
    batches: list[list[int]] = []

    async def collect() -> None:
        batches.append(await channel.receive_many(3))

    async with anyio.create_task_group() as group:
        group.start_soon(collect)
        await settle()
        assert batches == []
        for item in range(5):
            channel.send_nowait(item)
    assert batches == [[0, 1, 2]]
    assert await channel.receive_many(3) == [3, 4]


async def test_receiving_many_makes_room_for_as_many_waiting_senders() -> None:
    channel = Channel[int]("c", 2)
    async with anyio.create_task_group() as group:
        for item in range(4):
            group.start_soon(channel.send, item)
            await settle()
        assert await channel.receive_many(9) == [0, 1]
        await settle()
        assert channel.statistics()[2:7:4] == (2, 0)
    assert sorted(drained(channel)) == [2, 3]


async def test_statistics_count_every_item_and_every_waiting_task() -> None:
    channel = Channel[int]("wakes", 2, "drop")
    for item in range(3):
        channel.send_nowait(item)
    channel.receive_nowait()
    assert channel.statistics() == ("wakes", 2, 1, 2, 1, 1, 0, 0)
    with pytest.raises(AttributeError):
        channel.statistics().fill = 0  # type: ignore[misc]
    drained(channel)
    async with anyio.create_task_group() as group:
        group.start_soon(channel.receive)
        await settle()
        assert channel.statistics().waiting_receivers == 1
        group.cancel_scope.cancel()
    assert channel.statistics().waiting_receivers == 0


async def test_a_task_woken_for_an_item_that_another_took_waits_on_at_the_head_of_the_line() -> None:
    channel = Channel[int]("c", 2)
    got: list[tuple[str, int]] = []

    async def receive(name: str) -> None:
        got.append((name, await channel.receive()))

    async with anyio.create_task_group() as group:
        for name in ("first", "second"):
            group.start_soon(receive, name)
            await settle()
        channel.send_nowait(1)
        assert channel.receive_nowait() == 1
        await settle()
        assert got == []
        channel.send_nowait(2)
        await settle()
        channel.send_nowait(3)
    assert got == [("first", 2), ("second", 3)]


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_an_item_is_not_lost_when_its_receiver_is_cancelled_in_the_moment_it_is_woken(
    cancelled_first: bool,
) -> None:
    channel = Channel[int]("c", 1)
    got: list[int] = []

    async def receive(scope: anyio.CancelScope) -> None:
        with scope:
            got.append(await channel.receive())

    doomed, patient = anyio.CancelScope(), anyio.CancelScope()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for scope in (doomed, patient):
                group.start_soon(receive, scope)
                await settle()
            if cancelled_first:
                doomed.cancel()
            channel.send_nowait(7)
            doomed.cancel()
            await settle()
            assert got == [7]
            patient.cancel()


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_room_is_not_lost_when_its_sender_is_cancelled_in_the_moment_it_is_woken(
    cancelled_first: bool,
) -> None:
    channel = Channel[int]("c", 1)
    sent: list[int] = [0]

    async def send(item: int, scope: anyio.CancelScope) -> None:
        with scope:
            await channel.send(item)
            sent.append(item)

    channel.send_nowait(0)
    doomed, patient = anyio.CancelScope(), anyio.CancelScope()
    received: list[int] = []
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for item, scope in enumerate((doomed, patient), start=1):
                group.start_soon(send, item, scope)
                await settle()
            if cancelled_first:
                doomed.cancel()
            received.append(channel.receive_nowait())
            doomed.cancel()
            await settle()
            received += drained(channel)
            await settle()
            received += drained(channel)
    assert received == sent
    assert 2 in sent


async def passes(count: int) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


async def cancelled_after(count: int, victim: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `victim` and cancel it after `count` turns of the scheduler."""
    async with anyio.create_task_group() as group:
        group.start_soon(victim)
        await passes(count)
        group.cancel_scope.cancel()


@pytest.mark.parametrize("turns", range(12))
@pytest.mark.parametrize("limit", [1, 2])
async def test_a_receiver_cancelled_at_any_turn_leaves_what_it_did_not_return(turns: int, limit: int) -> None:
    channel = Channel[int]("c", 2)
    got: list[int] = []

    async def receive() -> None:
        while True:
            got.extend(await channel.receive_many(limit))

    async def send() -> None:
        for item in range(5):
            await channel.send(item)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await cancelled_after(turns, receive)
            while len(got) < 5:
                got.append(await channel.receive())
    assert got == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("turns", range(12))
async def test_a_sender_cancelled_at_any_turn_has_sent_exactly_what_it_knows_of(turns: int) -> None:
    channel = Channel[int]("c", 1)
    sent: list[int] = []
    got: list[int] = []

    async def send() -> None:
        for item in range(5):
            await channel.send(item)
            sent.append(item)

    async def receive() -> None:
        while True:
            got.append(await channel.receive())

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        await cancelled_after(turns, send)
        await settle()
        group.cancel_scope.cancel()
    assert got == sent


@pytest.mark.parametrize("seed", range(20))
async def test_many_tasks_cancelled_at_random_lose_and_repeat_nothing(seed: int) -> None:
    rng = random.Random(seed)
    channel = Channel[int]("c", rng.randint(1, 3))
    sent: list[int] = []
    got: list[int] = []

    async def send(first: int) -> None:
        for item in range(first, first + 10):
            await channel.send(item)
            sent.append(item)

    async def receive() -> None:
        while True:
            got.extend(await channel.receive_many(rng.randint(1, 3)))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as survivor:
            survivor.start_soon(receive)
            async with anyio.create_task_group() as others:
                for n in range(4):
                    others.start_soon(cancelled_after, rng.randint(0, 30), receive)
                    others.start_soon(cancelled_after, rng.randint(0, 30), partial(send, 100 * n))
                    others.start_soon(send, 1000 + 100 * n)
            while channel.statistics().fill:
                await anyio.lowlevel.checkpoint()
            survivor.cancel_scope.cancel()
    assert len(got) >= 40
    assert sorted(got) == sorted(sent)
    assert channel.statistics()[2:] == (0, len(sent), len(got), 0, 0, 0)


@pytest.mark.parametrize(("capacity", "when_full"), [(0, "block"), (1, "burst")])
def test_a_channel_that_cannot_work_is_refused(capacity: int, when_full: Any) -> None:
    with pytest.raises(ValueError, match="channel c"):
        Channel[int]("c", capacity, when_full)


async def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        await Channel[int]("c", 1).receive_many(0)


def test_a_channel_made_outside_an_event_loop_works_within_one() -> None:
    channel = Channel[str]("c", 1)
    channel.send_nowait("early")
    assert anyio.run(channel.receive) == "early"
