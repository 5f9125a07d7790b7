"""Turns of the work in a process: together, or alone, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from elf.outbox.turns import LONGEST_TURN_S, Turn, Turns
from tests.actors.outbox_kit import on_virtual_time

pytestmark = pytest.mark.anyio


class Desk:
    """Takes turns by name, and tells who is at work; each stays until it is sent home."""

    def __init__(self) -> None:
        self.turns = Turns(settle_s=0.0)
        self.at_work: list[str] = []
        self.given: dict[str, Turn] = {}
        self._homes: dict[str, anyio.Event] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as self.group:
            yield
            self.group.cancel_scope.cancel()

    async def come(self, *names: str) -> list[str]:
        """Ask for turns in this order, alone for those in capitals; return who is at work then."""
        for name in names:
            self._homes[name], self._scopes[name] = anyio.Event(), anyio.CancelScope()
            self.group.start_soon(self._work, name)
            await wait_all_tasks_blocked()
        return self.at_work

    async def _work(self, name: str) -> None:
        turn = self.turns.alone() if name.isupper() else self.turns.together()
        with self._scopes[name]:
            async with turn as self.given[name]:
                self.at_work.append(name)
                try:
                    await self._homes[name].wait()
                finally:
                    self.at_work.remove(name)

    async def go(self, *names: str) -> list[str]:
        for name in names:
            self._homes[name].set()
        await wait_all_tasks_blocked()
        return self.at_work

    async def cancel(self, name: str) -> list[str]:
        self._scopes[name].cancel()
        await wait_all_tasks_blocked()
        return self.at_work


async def test_who_is_alone_waits_for_those_before_and_is_waited_for() -> None:
    desk = Desk()
    async with desk.open():
        assert await desk.come("a", "b", "C", "d", "E", "F", "g") == ["a", "b"]
        assert await desk.go("a") == ["b"]
        assert await desk.go("b") == ["C"]
        assert await desk.go("C") == ["d"]
        assert await desk.go("d") == ["E"]
        assert await desk.go("E") == ["F"]
        assert await desk.go("F") == ["g"]


async def test_who_stops_waiting_holds_up_nobody() -> None:
    desk = Desk()
    async with desk.open():
        assert await desk.come("a", "B", "c") == ["a"]
        assert await desk.cancel("B") == ["a", "c"]
        assert await desk.come("D") == ["a", "c"]
        assert await desk.go("a", "c") == ["D"]
        assert await desk.cancel("D") == []
        assert await desk.come("e") == ["e"]


async def test_a_turn_that_is_granted_and_cancelled_at_once_is_given_on() -> None:
    turns = Turns(settle_s=0.0)
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            scope.cancel()
            async with turns.alone():
                pytest.fail("it was cancelled before")
        async with turns.together():
            pass
        group.cancel_scope.cancel()


async def test_others_go_on_beside_work_that_outlasts_its_turn_and_are_told_so() -> None:
    desk = Desk()
    async with desk.open():
        async with desk.turns.alone() as first:
            assert first.is_alone
            assert await desk.come("a") == []
            desk.turns.end(first)
            await wait_all_tasks_blocked()
            assert desk.at_work == ["a"]
            desk.turns.end(first)
            assert await desk.come("B", "c") == ["a"]
            assert await desk.go("a") == ["B"]
            assert not desk.given["B"].is_alone
            assert await desk.come("D") == ["B"]
        assert await desk.go("B") == ["c"]
        assert await desk.go("c") == ["D"]
        assert desk.given["D"].is_alone


@on_virtual_time
async def test_nobody_waits_for_work_that_is_together_and_outlasts_its_turn() -> None:
    desk = Desk()
    async with desk.open():
        assert await desk.come("chore") == ["chore"]
        await anyio.sleep(LONGEST_TURN_S / 2)
        assert await desk.come("a", "B", "c", "D") == ["chore", "a"]
        await anyio.sleep(LONGEST_TURN_S / 2 - 1)
        assert await desk.go("a") == ["chore"]
        await anyio.sleep(2)
        assert desk.at_work == ["chore", "B"]
        assert not desk.given["B"].is_alone
        assert await desk.go("B") == ["chore", "c"]
        await anyio.sleep(LONGEST_TURN_S + 1)
        assert desk.at_work == ["chore", "c", "D"]
        assert await desk.go("c", "D") == ["chore"]
        assert await desk.come("E") == ["chore", "E"]
        assert await desk.cancel("chore") == await desk.come("F") == ["E"]
        assert await desk.go("E") == ["F"]
        assert desk.given["F"].is_alone
