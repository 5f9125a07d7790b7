"""One actor in a supervisor's care."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from actors.kernel.policy import RestartHistory, RestartPolicy
from actors.kernel.status import ActorState, ActorStatus

if TYPE_CHECKING:
    from actors.kernel.actor import Actor


class Run:
    """One call of an actor's `run`, from its start to its end; it is the `task_status` the actor gets."""

    def __init__(self, on_ready: Callable[[], None]) -> None:
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.ready_at: float | None = None
        self.stopping = False
        self._stop_by = math.inf
        self._on_ready = on_ready

    def started(self, value: None = None) -> None:
        """The actor is ready; counts unless it is being stopped. Raises RuntimeError the second time."""
        if self.ready_at is not None:
            raise RuntimeError("called 'started' twice on the same task status")
        self.ready_at = anyio.current_time()
        if not self.stopping and not self.ended.is_set():
            self._on_ready()

    def stop(self, timeout_s: float) -> None:
        """Cancel the run, which then has `timeout_s` seconds to end."""
        self.stopping = True
        self._stop_by = anyio.current_time() + timeout_s
        self.scope.cancel()

    async def wait_ended(self) -> bool:
        """Wait for the end of a run told to stop, until its deadline; false when it runs on."""
        with anyio.CancelScope(deadline=self._stop_by):
            await self.ended.wait()
        return self.ended.is_set()

    def ready_for_s(self, now: float) -> float:
        return 0.0 if self.ready_at is None else now - self.ready_at


class Member:
    """An actor with its place among the others, its policy and its present state."""

    def __init__(
        self,
        actor: Actor,
        *,
        needs: tuple[Member, ...],
        policy: RestartPolicy,
        stop_timeout_s: float,
        rng: Callable[[], float],
    ) -> None:
        self.actor = actor
        self.name = actor.name
        self.needs = needs
        self.all_needs: frozenset[Member] = frozenset(needs).union(*(need.all_needs for need in needs))
        self.stop_timeout_s = stop_timeout_s
        self._policy = policy
        self._rng = rng
        self.reset(0.0)

    def reset(self, now: float) -> None:
        """Forget earlier runs of the supervisor."""
        self.history = RestartHistory(self._policy, self._rng)
        self.state = ActorState.WAITING
        self.since = now
        self.restarts = 0
        self.last_error: str | None = None
        self.was_ready = False
        self.run: Run | None = None

    @property
    def ready(self) -> bool:
        return self.state is ActorState.READY

    @property
    def needs_ready(self) -> bool:
        # Also what its needs need: in the middle of taking a tower down, the floor below is still ready for a
        # moment.
        return all(need.ready for need in self.all_needs)

    def goes_before(self, later: Member) -> bool:
        """Whether `later` has to wait until this member, added earlier, is ready.

        Always at the first start. Afterwards only while both come up again with an actor that both need, and
        never for a member that crashes on its way: it would keep the others down with it.
        """
        if not self.was_ready:
            return True
        coming_up = self.state is ActorState.STARTING or (
            self.state is ActorState.WAITING and self.needs_ready
        )
        return coming_up and not self.all_needs.isdisjoint(later.all_needs)

    def status(self, now: float) -> ActorStatus:
        return ActorStatus(
            name=self.name,
            state=self.state,
            restarts=self.restarts,
            last_error=self.last_error,
            ready=self.ready,
            needs=tuple(need.name for need in self.needs),
            since_s=now - self.since,
        )
