"""Actors whose life a test steers, and a watch on the supervisor's events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import TaskGroup, TaskStatus

from actors.kernel import ActorState, RestartPolicy, Supervisor, SupervisorEvent

PATIENCE_S = 20.0  # a bound on hanging, never a measure
on_virtual_time = pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
AT_ONCE = RestartPolicy(initial_s=0.0, max_s=0.0, max_restarts=1000)


class Boom(Exception):
    """What a steered actor crashes with."""


class Steered:
    """An actor that tells a log when it goes up and down, and crashes when the test says so.

    `failing_starts` are the first runs that raise before they are ready. `gate`, when given, holds readiness
    back. `last_words`, when given, is awaited under a shield as clean-up.
    """

    def __init__(
        self,
        name: str,
        log: list[str] | None = None,
        *,
        failing_starts: int = 0,
        gate: anyio.Event | None = None,
        last_words: anyio.Event | None = None,
        error_when_stopped: BaseException | None = None,
    ) -> None:
        self.name = name
        self.log = [] if log is None else log
        self.failing_starts = failing_starts
        self.gate = gate
        self.last_words = last_words
        self.error_when_stopped = error_when_stopped
        self.runs = 0
        self.alive = 0
        self._crash = anyio.Event()
        self._error: BaseException | None = None

    def crash(self, error: BaseException | None = None) -> None:
        self._error = error or Boom(f"{self.name} is down")
        self._crash.set()

    def end(self) -> None:
        self._error = None
        self._crash.set()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        self.runs += 1
        self.alive += 1
        self._crash = anyio.Event()
        self.log.append(f"+{self.name}")
        try:
            await self._live(task_status)
        except anyio.get_cancelled_exc_class():
            if self.last_words is not None:
                with anyio.CancelScope(shield=True):
                    await self.last_words.wait()
            if self.error_when_stopped is not None:
                raise self.error_when_stopped from None
            raise
        finally:
            self.alive -= 1
            self.log.append(f"-{self.name}")

    async def _live(self, task_status: TaskStatus[None]) -> None:
        if self.runs <= self.failing_starts:
            raise Boom(f"{self.name} cannot start")
        if self.gate is not None:
            await self.gate.wait()
        task_status.started()
        await self._crash.wait()
        if self._error is not None:
            raise self._error


class Watch:
    """Collects a supervisor's events; pass it as `on_event`."""

    def __init__(self) -> None:
        self.events: list[SupervisorEvent] = []
        self._changed = anyio.Event()

    def __call__(self, event: SupervisorEvent) -> None:
        self.events.append(event)
        self._changed.set()
        self._changed = anyio.Event()

    def of(self, actor: str) -> list[ActorState]:
        return [event.state for event in self.events if event.actor == actor]

    def order(self, state: ActorState) -> list[str]:
        return [event.actor for event in self.events if event.state is state]

    def last(self, actor: str, state: ActorState) -> SupervisorEvent:
        return [event for event in self.events if (event.actor, event.state) == (actor, state)][-1]

    async def seen(self, actor: str, state: ActorState, *, times: int = 1) -> None:
        with anyio.fail_after(PATIENCE_S):
            while self.of(actor).count(state) < times:
                await self._changed.wait()


@asynccontextmanager
async def running(supervisor: Supervisor) -> AsyncIterator[TaskGroup]:
    """The supervisor, all ready; stopped at the end."""
    async with anyio.create_task_group() as group:
        with anyio.fail_after(PATIENCE_S):
            await group.start(supervisor.run)
        yield group
        group.cancel_scope.cancel()


async def settle() -> None:
    """Let every task that can run do so, several times over."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
