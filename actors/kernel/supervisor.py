"""Starts actors in order, keeps them running, and stops them in reverse order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import anyio
from anyio.abc import TaskStatus

from actors.kernel.actor import Actor
from actors.kernel.failure import ActorEnded, ActorGaveUp, described, part_of, unwrapped
from actors.kernel.member import Member, Run
from actors.kernel.policy import RestartPolicy
from actors.kernel.status import ActorState, SupervisorEvent, SupervisorSnapshot


class Supervisor:
    """Runs a set of actors as one.

    At first each actor starts when all those added before it have reported ready. One that crashes (raises,
    or returns without being cancelled, before or after it is ready) is started again as its policy says; the
    actors that need it, directly or through others, are taken down at once, the last added first, and come up
    again in order when it is ready. A failure goes up when the policy refuses a restart (as ActorGaveUp, from
    the failure), when it is one of the `fatal` classes, KeyboardInterrupt or SystemExit (as it is): then all
    others are stopped in reverse order before `run` raises it. Cancelling `run` stops all in reverse order
    too.

    To stop an actor is to cancel its scope and wait for its end, at most its `stop_timeout_s`. One that runs
    on is reported as stuck and the next one is stopped; a stuck actor starts again only after its old run has
    ended. No task can be left behind, so `run` returns after the last actor has ended: an actor's shielded
    cleanup must be finite. The owner of the process sees the `stuck` event and may end the process.

    `on_event` is called in the event loop at each change of state; it must not block. If it raises, all
    actors are stopped and `run` raises that. `rng` returns numbers in [0, 1) and feeds the jitter.
    """

    def __init__(
        self,
        *,
        policy: RestartPolicy | None = None,
        on_event: Callable[[SupervisorEvent], object] | None = None,
        fatal: tuple[type[BaseException], ...] = (),
        rng: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy or RestartPolicy()
        self._on_event = on_event
        self._fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, *fatal)
        self._rng = rng
        self._members: dict[str, Member] = {}
        self._running = False
        self._ended_at = 0.0
        self._failure: BaseException | None = None
        self._closing = anyio.Event()
        self._changed = anyio.Event()

    def add(
        self,
        actor: Actor,
        *,
        needs: Sequence[str] = (),
        policy: RestartPolicy | None = None,
        stop_timeout_s: float = 5.0,
    ) -> None:
        """Take an actor into care. `needs` are names of actors added before, so there can be no circle.

        Raises ValueError for a name that is taken, a need that is not there and a timeout that is not above
        0, and RuntimeError while the supervisor runs.
        """
        if self._running:
            raise RuntimeError("an actor cannot be added while the supervisor runs")
        if actor.name in self._members:
            raise ValueError(f"there is an actor named {actor.name} already")
        missing = [need for need in needs if need not in self._members]
        if missing:
            raise ValueError(f"actor {actor.name} needs {', '.join(missing)}, not added before it")
        if not stop_timeout_s > 0:
            raise ValueError(f"stop_timeout_s of actor {actor.name} must be above 0")
        self._members[actor.name] = Member(
            actor,
            needs=tuple(self._members[need] for need in needs),
            policy=policy or self._policy,
            stop_timeout_s=stop_timeout_s,
            rng=self._rng,
        )

    @property
    def is_ready(self) -> bool:
        """True while every actor is ready; false from the moment the supervisor stops."""
        open_for_work = self._running and not self._closing.is_set()
        return open_for_work and all(member.ready for member in self._members.values())

    def snapshot(self) -> SupervisorSnapshot:
        """All actors as they are now. While the supervisor runs, call it in its event loop."""
        now = anyio.current_time() if self._running else self._ended_at
        return SupervisorSnapshot(
            actors=tuple(member.status(now) for member in self._members.values()), ready=self.is_ready
        )

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run all actors until cancelled; `task_status.started()` tells when all of them are ready at once.

        Raises ActorGaveUp or a fatal failure, never within a group, and RuntimeError when it runs already. It
        may be run again after it ended.
        """
        self._begin()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._supervise)
                # This task only watches for cancellation, also one that asyncio delivers past every shield.
                try:
                    await self._announce(task_status)
                    await self._closing.wait()
                finally:
                    self._close()
        finally:
            self._running, self._ended_at = False, anyio.current_time()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure

    def _begin(self) -> None:
        if self._running:
            raise RuntimeError("the supervisor runs already")
        self._running = True
        self._closing = anyio.Event()
        self._changed = anyio.Event()
        for member in self._members.values():
            member.reset(anyio.current_time())

    async def _announce(self, task_status: TaskStatus[None]) -> None:
        while not self.is_ready:
            if self._closing.is_set():
                return
            await self._changed.wait()
        task_status.started()

    async def _supervise(self) -> None:
        # Shielded, or a cancellation would reach all actors at once instead of one after the other.
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for member in self._members.values():
                    group.start_soon(self._keep, member, name=member.name)
                await self._closing.wait()
                for member in reversed(self._members.values()):
                    await self._stop(member)

    async def _keep(self, member: Member) -> None:
        while await self._turn_comes(member):
            run = Run(lambda: self._became_ready(member))
            error = await self._run_to_end(member, run)
            delay_s = self._settle(member, run, error)
            if delay_s is not None:
                await self._stop_dependants(member)
                with anyio.move_on_after(delay_s):
                    await self._closing.wait()

    async def _turn_comes(self, member: Member) -> bool:
        """Wait until the actor may start; false when the supervisor stops instead."""
        while not self._closing.is_set():
            if self._may_start(member):
                return True
            if member.state is not ActorState.WAITING:
                self._enter(member, ActorState.WAITING)
            await self._changed.wait()
        return False

    def _may_start(self, member: Member) -> bool:
        for earlier in self._members.values():
            if earlier is member:
                break
            if earlier.goes_before(member):
                return False
        return member.needs_ready

    async def _run_to_end(self, member: Member, run: Run) -> BaseException | None:
        """Run the actor once; returns its failure, or None when it was stopped and ended well."""
        member.run = run
        self._enter(member, ActorState.STARTING)
        # A cancellation that comes out of here is not the scope's own: a future or task that the actor waited
        # for was cancelled (asyncio only). The actor is gone all the same, and let through it would go
        # unseen.
        known: tuple[type[BaseException], ...] = (
            Exception,
            BaseExceptionGroup,
            anyio.get_cancelled_exc_class(),
            *self._fatal,
        )
        try:
            with run.scope:
                await member.actor.run(task_status=run)
        except known as error:
            return unwrapped(error)
        finally:
            member.run = None
            run.ended.set()
        return None if run.stopping else ActorEnded()

    def _settle(self, member: Member, run: Run, error: BaseException | None) -> float | None:
        """Bring the actor into the state that follows from its end; returns the wait before a restart."""
        fatal = None if error is None else part_of(error, self._fatal)
        if fatal is not None:
            self._fail(member, error=fatal, goes_up=fatal)
        elif self._closing.is_set():
            self._enter(member, ActorState.STOPPED, error)
        elif error is None or run.stopping:
            self._enter(member, ActorState.WAITING, error)
        else:
            return self._schedule_restart(member, run, error)
        return None

    def _schedule_restart(self, member: Member, run: Run, error: BaseException) -> float | None:
        now = anyio.current_time()
        delay_s = member.history.delay_s(now=now, ready_for_s=run.ready_for_s(now))
        if delay_s is None:
            gave_up = ActorGaveUp(member.name, member.restarts)
            gave_up.__cause__ = error
            self._fail(member, error=error, goes_up=gave_up)
        else:
            member.restarts += 1
            self._enter(member, ActorState.BACKOFF, error, delay_s=delay_s)
        return delay_s

    async def _stop_dependants(self, member: Member) -> None:
        for other in reversed(self._members.values()):
            if member in other.all_needs:
                await self._stop(other)

    async def _stop(self, member: Member) -> None:
        run = member.run
        if run is None:
            if self._closing.is_set() and member.state not in (ActorState.STOPPED, ActorState.FAILED):
                self._enter(member, ActorState.STOPPED)
            return
        if not run.stopping:
            run.stop(member.stop_timeout_s)
            self._enter(member, ActorState.STOPPING)
        if not await run.wait_ended() and member.state is not ActorState.STUCK:
            self._enter(member, ActorState.STUCK)

    def _became_ready(self, member: Member) -> None:
        member.was_ready = True
        self._enter(member, ActorState.READY)

    def _fail(self, member: Member, *, error: BaseException, goes_up: BaseException) -> None:
        self._enter(member, ActorState.FAILED, error)
        self._close_with(goes_up)

    def _close_with(self, failure: BaseException) -> None:
        if self._failure is None:
            self._failure = failure
        self._close()

    def _close(self) -> None:
        self._closing.set()
        self._tell_changed()

    def _enter(
        self,
        member: Member,
        state: ActorState,
        error: BaseException | None = None,
        *,
        delay_s: float | None = None,
    ) -> None:
        member.state, member.since = state, anyio.current_time()
        if error is not None:
            member.last_error = described(error)
        self._tell_changed()
        if self._on_event is None:
            return
        text = None if error is None else member.last_error
        event = SupervisorEvent(member.name, state, member.restarts, text, error, delay_s)
        try:
            self._on_event(event)
        except Exception as fault:  # noqa: BLE001 - raised by `run` after an orderly stop
            self._close_with(fault)

    def _tell_changed(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
