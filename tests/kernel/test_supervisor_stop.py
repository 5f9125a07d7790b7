"""What ends a supervisor: cancellation, giving up, fatal failures; and how it stops its actors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import anyio
import pytest

from actors.kernel import ActorGaveUp, ActorState, RestartPolicy, Supervisor, SupervisorEvent
from tests.kernel.steered import AT_ONCE, PATIENCE_S, Boom, Steered, Watch, on_asyncio, running, settle

pytestmark = pytest.mark.anyio


class PortTaken(Exception):
    """Stands for a failure that no restart can mend."""


def supervised(
    actors: Sequence[Steered], *, policy: RestartPolicy = AT_ONCE, needs: dict[str, list[str]] | None = None
) -> tuple[Supervisor, Watch]:
    watch = Watch()
    supervisor = Supervisor(policy=policy, on_event=watch, fatal=(PortTaken,))
    for actor in actors:
        supervisor.add(actor, needs=(needs or {}).get(actor.name, ()), stop_timeout_s=0.05)
    return supervisor, watch


class WhenReady:
    """A task status that does something in the moment all are ready."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action

    def started(self, value: None = None) -> None:
        self._action()


async def outcome(supervisor: Supervisor, actor: Steered, error: BaseException) -> BaseException:
    """What `run` raises when the actor crashes with `error` as soon as all are ready."""
    with anyio.fail_after(PATIENCE_S), pytest.raises(BaseException) as raised:  # noqa: PT011
        await supervisor.run(task_status=WhenReady(lambda: actor.crash(error)))
    return raised.value


class TestCancellation:
    async def test_all_are_stopped_in_reverse_each_after_the_other_has_ended(self) -> None:
        log: list[str] = []
        supervisor, watch = supervised([Steered(name, log) for name in "abc"])
        async with running(supervisor):
            log.clear()
        assert log == ["-c", "-b", "-a"]
        trail = [(event.actor, str(event.state)) for event in watch.events[-6:]]
        assert trail == [
            ("c", "stopping"),
            ("c", "stopped"),
            ("b", "stopping"),
            ("b", "stopped"),
            ("a", "stopping"),
            ("a", "stopped"),
        ]

    async def test_one_that_is_slow_to_end_is_waited_for(self) -> None:
        log: list[str] = []
        words = anyio.Event()
        a, b = Steered("a", log), Steered("b", log, last_words=words)
        watch = Watch()
        supervisor = Supervisor(on_event=watch)
        for actor in (a, b):
            supervisor.add(actor, stop_timeout_s=PATIENCE_S)
        async with anyio.create_task_group() as group:
            await group.start(supervisor.run)
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await watch.seen("b", ActorState.STOPPING)
                await settle()
                assert a.alive
                words.set()
        assert log[-2:] == ["-b", "-a"]
        assert ActorState.STUCK not in watch.of("b")

    async def test_one_that_does_not_end_is_told_as_stuck_and_the_next_one_is_stopped(self) -> None:
        log: list[str] = []
        words = anyio.Event()
        supervisor, watch = supervised([Steered("a", log), Steered("b", log, last_words=words)])
        async with anyio.create_task_group() as group:
            await group.start(supervisor.run)
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await watch.seen("a", ActorState.STOPPED)
                assert supervisor.snapshot()["b"].state is ActorState.STUCK
                words.set()
        assert log[-2:] == ["-a", "-b"]
        assert supervisor.snapshot()["b"].state is ActorState.STOPPED

    async def test_a_stuck_dependant_starts_again_only_after_its_old_run_has_ended(self) -> None:
        words = anyio.Event()
        a, b = Steered("a"), Steered("b", last_words=words)
        supervisor, watch = supervised([a, b], needs={"b": ["a"]})
        async with running(supervisor):
            a.crash()
            await watch.seen("a", ActorState.READY, times=2)
            await settle()
            assert supervisor.snapshot()["b"].state is ActorState.STUCK
            assert b.runs == 1
            words.set()
            await watch.seen("b", ActorState.READY, times=2)

    async def test_one_stuck_already_is_not_waited_for_again(self) -> None:
        words = anyio.Event()
        a, b = Steered("a"), Steered("b", last_words=words)
        supervisor, watch = supervised([a, b], needs={"b": ["a"]})
        async with anyio.create_task_group() as group:
            await group.start(supervisor.run)
            a.crash()
            await watch.seen("a", ActorState.READY, times=2)
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await watch.seen("a", ActorState.STOPPED)
                words.set()
        assert watch.of("b").count(ActorState.STUCK) == 1

    async def test_a_failure_of_one_being_stopped_is_told_and_the_others_are_stopped(self) -> None:
        a, b = Steered("a"), Steered("b", error_when_stopped=Boom("untidy"))
        supervisor, watch = supervised([a, b])
        async with running(supervisor):
            pass
        assert watch.last("b", ActorState.STOPPED).error == "Boom: untidy"
        assert watch.of("a")[-1] is ActorState.STOPPED

    async def test_one_in_backoff_and_those_that_wait_for_it_do_not_start_any_more(self) -> None:
        a, b = Steered("a", failing_starts=1), Steered("b")
        supervisor, watch = supervised([a, b], policy=RestartPolicy(initial_s=3600, max_s=3600))
        async with anyio.create_task_group() as group:
            group.start_soon(supervisor.run)
            await watch.seen("a", ActorState.BACKOFF)
            group.cancel_scope.cancel()
        assert (a.runs, b.runs) == (1, 0)
        assert watch.order(ActorState.STOPPED) == ["b", "a"]

    async def test_a_run_cancelled_before_it_began_starts_nobody(self) -> None:
        a = Steered("a")
        supervisor, _ = supervised([a])
        with anyio.CancelScope() as scope:
            scope.cancel()
            await supervisor.run()
        assert a.runs == 0

    @on_asyncio
    async def test_a_cancellation_by_asyncio_itself_stops_in_reverse_too(self) -> None:
        log: list[str] = []
        supervisor, watch = supervised([Steered(name, log) for name in "abc"])
        task = asyncio.create_task(supervisor.run())
        await watch.seen("c", ActorState.READY)
        log.clear()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log == ["-c", "-b", "-a"]


class TestGivingUp:
    POLICY = RestartPolicy(initial_s=0, max_s=0, max_restarts=3)

    async def test_too_many_restarts_go_up_after_all_others_were_stopped_in_reverse(self) -> None:
        log: list[str] = []
        actors = [Steered("a", log), Steered("b", log), Steered("c", log, failing_starts=99)]
        supervisor, watch = supervised(actors, policy=self.POLICY)
        with anyio.fail_after(PATIENCE_S), pytest.raises(ActorGaveUp, match="c gave up after 3") as raised:
            await supervisor.run()
        assert raised.value.name == "c"
        assert isinstance(raised.value.__cause__, Boom)
        assert log == ["+a", "+b", *["+c", "-c"] * 4, "-b", "-a"]
        snapshot = supervisor.snapshot()
        assert [str(one.state) for one in snapshot.actors] == ["stopped", "stopped", "failed"]
        assert (snapshot["c"].restarts, snapshot["c"].last_error) == (3, "Boom: c cannot start")
        assert watch.last("c", ActorState.FAILED).exception is raised.value.__cause__

    async def test_nobody_is_told_ready_when_a_start_gives_up(self) -> None:
        supervisor, _ = supervised([Steered("a", failing_starts=99)], policy=self.POLICY)
        told: list[str] = []
        with anyio.fail_after(PATIENCE_S), pytest.raises(ActorGaveUp):
            await supervisor.run(task_status=WhenReady(lambda: told.append("ready")))
        assert told == []

    async def test_a_crash_while_all_are_being_stopped_leads_to_no_restart(self) -> None:
        a, b = Steered("a"), Steered("b")
        events: list[SupervisorEvent] = []

        def crash_the_other(event: SupervisorEvent) -> None:
            events.append(event)
            if event.state is ActorState.FAILED:
                a.crash()

        supervisor = Supervisor(policy=AT_ONCE, on_event=crash_the_other, fatal=(PortTaken,))
        for actor in (a, b):
            supervisor.add(actor)
        assert isinstance(await outcome(supervisor, b, PortTaken("busy")), PortTaken)
        assert a.runs == 1
        assert [event.state for event in events if event.actor == "a"][-1] is ActorState.STOPPED
        assert ActorState.BACKOFF not in {event.state for event in events}


class TestFatalFailures:
    @pytest.mark.parametrize(
        "error",
        [PortTaken("busy"), KeyboardInterrupt(), SystemExit(3)],
        ids=lambda error: type(error).__name__,
    )
    async def test_they_go_up_as_they_are_without_a_restart(self, error: BaseException) -> None:
        log: list[str] = []
        a, b = Steered("a", log), Steered("b", log)
        supervisor, watch = supervised([a, b])
        assert await outcome(supervisor, b, error) is error
        assert log == ["+a", "+b", "-b", "-a"]
        assert watch.of("b")[-1] is ActorState.FAILED

    async def test_one_within_groups_goes_up_alone(self) -> None:
        a, fatal = Steered("a"), PortTaken("busy")
        supervisor, _ = supervised([a])
        error = ExceptionGroup("outer", [Boom("other"), ExceptionGroup("inner", [fatal])])
        assert await outcome(supervisor, a, error) is fatal

    async def test_an_interrupt_among_other_failures_goes_up_alone(self) -> None:
        a, interrupt = Steered("a"), KeyboardInterrupt()
        supervisor, _ = supervised([a])
        assert (
            await outcome(supervisor, a, BaseExceptionGroup("all", [Boom("other"), interrupt])) is interrupt
        )

    async def test_several_go_up_as_a_group_without_the_others(self) -> None:
        a, first, second = Steered("a"), PortTaken("1"), PortTaken("2")
        supervisor, _ = supervised([a])
        raised = await outcome(supervisor, a, ExceptionGroup("all", [first, Boom("other"), second]))
        assert isinstance(raised, ExceptionGroup)
        assert raised.exceptions == (first, second)

    async def test_a_group_of_others_is_an_ordinary_crash(self) -> None:
        a = Steered("a")
        supervisor, watch = supervised([a])
        async with running(supervisor):
            a.crash(ExceptionGroup("all", [Boom("1"), Boom("2")]))
            await watch.seen("a", ActorState.READY, times=2)

    async def test_the_first_one_goes_up_when_there_are_two(self) -> None:
        a = Steered("a", error_when_stopped=PortTaken("second"))
        b, first = Steered("b"), PortTaken("first")
        supervisor, watch = supervised([a, b])
        assert await outcome(supervisor, b, first) is first
        assert watch.order(ActorState.FAILED) == ["b", "a"]

    async def test_one_that_comes_during_a_cancelled_stop_is_not_lost(self) -> None:
        supervisor, _ = supervised([Steered("a", error_when_stopped=SystemExit(3))])
        with anyio.CancelScope() as scope, pytest.raises(SystemExit):
            await supervisor.run(task_status=WhenReady(scope.cancel))


class TestObserver:
    async def test_one_that_raises_stops_all_in_reverse_and_its_failure_goes_up(self) -> None:
        log: list[str] = []

        def observe(event: SupervisorEvent) -> None:
            if event.state is ActorState.BACKOFF:
                raise ZeroDivisionError

        supervisor = Supervisor(policy=AT_ONCE, on_event=observe)
        actors = [Steered(name, log) for name in "abc"]
        for actor in actors:
            supervisor.add(actor)
        assert isinstance(await outcome(supervisor, actors[0], Boom()), ZeroDivisionError)
        assert log == ["+a", "+b", "+c", "-a", "-c", "-b"]

    async def test_one_that_raises_when_the_last_actor_is_ready_leaves_the_supervisor_unready(self) -> None:
        told: list[str] = []

        def observe(event: SupervisorEvent) -> None:
            if event.state is ActorState.READY:
                raise ZeroDivisionError

        supervisor = Supervisor(on_event=observe)
        supervisor.add(Steered("a"))
        with anyio.fail_after(PATIENCE_S), pytest.raises(ZeroDivisionError):
            await supervisor.run(task_status=WhenReady(lambda: told.append("ready")))
        assert told == []

    async def test_a_supervisor_without_one_restarts_all_the_same(self) -> None:
        supervisor, a = Supervisor(policy=AT_ONCE), Steered("a", failing_starts=2)
        supervisor.add(a)
        async with running(supervisor):
            assert a.runs == 3

    async def test_it_sees_the_supervisor_unready_from_the_first_stop_on(self) -> None:
        seen: list[bool] = []
        supervisor = Supervisor(
            on_event=lambda event: (
                seen.append(supervisor.is_ready)
                if event.state in (ActorState.STOPPING, ActorState.STOPPED)
                else None
            )
        )
        for name in "ab":
            supervisor.add(Steered(name))
        async with running(supervisor):
            pass
        assert seen == [False] * 4


class Turbulent:
    """A house where things go wrong: a fails to start once and crashes once, c returns once."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.a = Steered("a", self.log, failing_starts=1)
        self.b = Steered("b", self.log)
        self.c = Steered("c", self.log)
        self.events: list[SupervisorEvent] = []
        self.supervisor = Supervisor(policy=AT_ONCE, on_event=self._observe)
        self.supervisor.add(self.a)
        self.supervisor.add(self.b, needs=["a"])
        self.supervisor.add(self.c, needs=["b"])
        self.cancel_at = -1
        self.scope = anyio.CancelScope()

    def _observe(self, event: SupervisorEvent) -> None:
        self.events.append(event)
        if len(self.events) == self.cancel_at:
            self.scope.cancel()
        if (event.actor, event.state) == ("c", ActorState.READY):
            if self.c.runs == 1:
                self.a.crash()
            elif self.c.runs == 2:
                self.c.end()
            else:
                self.scope.cancel()

    async def live(self) -> None:
        with anyio.fail_after(PATIENCE_S), self.scope:
            await self.supervisor.run()
        assert self.scope.cancel_called

    def check_all_is_down(self) -> None:
        assert [actor.alive for actor in (self.a, self.b, self.c)] == [0, 0, 0]
        assert {str(one.state) for one in self.supervisor.snapshot().actors} == {"stopped"}
        up: list[str] = []
        for entry in self.log:
            if entry[0] == "+":
                assert "".join(up) in "abc"[: "abc".index(entry[1])], "started before what it needs"
                up.append(entry[1])
            else:
                up.remove(entry[1])
        assert up == []


class TestCancellationAtEveryAwait:
    async def test_the_house_goes_through_every_state_when_left_alone(self) -> None:
        house = Turbulent()
        await house.live()
        house.check_all_is_down()
        assert house.c.runs == 3
        assert {event.state for event in house.events} == set(ActorState) - {
            ActorState.STUCK,
            ActorState.FAILED,
        }

    @pytest.mark.parametrize("number", range(1, 40))
    async def test_cancelled_at_any_event_it_stops_all(self, number: int) -> None:
        house = Turbulent()
        house.cancel_at = number
        await house.live()
        house.check_all_is_down()

    @pytest.mark.parametrize("turns", range(0, 90, 2))
    async def test_cancelled_at_any_turn_of_the_scheduler_it_stops_all(self, turns: int) -> None:
        house = Turbulent()

        async def cancel() -> None:
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            house.scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(cancel)
            await house.live()
        house.check_all_is_down()
