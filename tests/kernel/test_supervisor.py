"""Starting in order, restarting, taking dependants along, and what a supervisor tells about it."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus

from actors.kernel import ActorState, RestartPolicy, Supervisor
from tests.kernel.steered import AT_ONCE, PATIENCE_S, Boom, Steered, Watch, on_asyncio, running, settle

pytestmark = pytest.mark.anyio


def supervised(*actors: Steered, needs: dict[str, list[str]] | None = None) -> tuple[Supervisor, Watch]:
    watch = Watch()
    supervisor = Supervisor(policy=AT_ONCE, on_event=watch)
    for actor in actors:
        supervisor.add(actor, needs=(needs or {}).get(actor.name, ()))
    return supervisor, watch


def states(supervisor: Supervisor) -> dict[str, str]:
    return {status.name: str(status.state) for status in supervisor.snapshot().actors}


class TestStart:
    async def test_each_actor_starts_when_the_one_before_is_ready(self) -> None:
        gate = anyio.Event()
        a, b = Steered("a", gate=gate), Steered("b")
        supervisor, watch = supervised(a, b)
        async with anyio.create_task_group() as group:
            group.start_soon(supervisor.run)
            await watch.seen("a", ActorState.STARTING)
            await settle()
            assert states(supervisor) == {"a": "starting", "b": "waiting"}
            assert not supervisor.snapshot().ready
            gate.set()
            await watch.seen("b", ActorState.READY)
            assert supervisor.is_ready
            group.cancel_scope.cancel()
        assert watch.order(ActorState.STARTING) == ["a", "b"]

    async def test_the_supervisor_is_ready_when_all_are_and_not_before(self) -> None:
        gate = anyio.Event()
        supervisor, watch = supervised(Steered("a"), Steered("b", gate=gate))
        told = anyio.Event()

        async def start() -> None:
            await group.start(supervisor.run)
            told.set()

        async with anyio.create_task_group() as group, anyio.create_task_group() as starter:
            starter.start_soon(start)
            await watch.seen("b", ActorState.STARTING)
            await settle()
            assert not told.is_set()
            gate.set()
            with anyio.fail_after(PATIENCE_S):
                await told.wait()
            assert supervisor.snapshot().ready
            group.cancel_scope.cancel()

    async def test_a_first_start_that_fails_is_tried_again_and_holds_the_next_one_back(self) -> None:
        log: list[str] = []
        supervisor, watch = supervised(Steered("a", log, failing_starts=2), Steered("b", log))
        async with running(supervisor):
            assert log == ["+a", "-a", "+a", "-a", "+a", "+b"]
            assert supervisor.snapshot()["a"].restarts == 2
            assert watch.last("a", ActorState.BACKOFF).error == "Boom: a cannot start"

    async def test_a_supervisor_of_nobody_is_ready_at_once(self) -> None:
        supervisor = Supervisor()
        async with running(supervisor):
            assert supervisor.is_ready
        assert not supervisor.is_ready

    async def test_saying_ready_twice_is_a_crash(self) -> None:
        class Eager:
            name = "eager"
            runs = 0

            async def run(self, *, task_status: TaskStatus[None]) -> None:
                self.runs += 1
                task_status.started()
                if self.runs == 1:
                    task_status.started()
                await anyio.sleep_forever()

        watch = Watch()
        supervisor = Supervisor(policy=AT_ONCE, on_event=watch)
        supervisor.add(Eager())
        async with running(supervisor):
            await watch.seen("eager", ActorState.READY, times=2)
            error = supervisor.snapshot()["eager"].last_error
            assert error == "RuntimeError: called 'started' twice on the same task status"

    async def test_an_actor_that_crashes_in_the_moment_it_is_ready_makes_nobody_ready(self) -> None:
        class Brief(Steered):
            async def _live(self, task_status: TaskStatus[None]) -> None:
                task_status.started()
                if self.runs == 1:
                    raise Boom("gone already")
                await anyio.sleep_forever()

        supervisor, watch = supervised(Brief("a"))
        async with running(supervisor):
            assert watch.of("a").count(ActorState.READY) == 2


class TestCrash:
    async def test_a_crashed_actor_is_started_again_and_the_others_do_not_notice(self) -> None:
        a, b = Steered("a"), Steered("b")
        supervisor, watch = supervised(a, b)
        async with running(supervisor):
            a.crash()
            await watch.seen("a", ActorState.READY, times=2)
            assert (a.runs, b.runs) == (2, 1)
            assert supervisor.is_ready
            status = supervisor.snapshot()["a"]
            assert (status.restarts, status.last_error) == (1, "Boom: a is down")

    async def test_an_actor_that_returns_has_crashed(self) -> None:
        a = Steered("a")
        supervisor, watch = supervised(a)
        async with running(supervisor):
            a.end()
            await watch.seen("a", ActorState.READY, times=2)
            assert supervisor.snapshot()["a"].last_error == "ActorEnded: ended unexpectedly"

    async def test_a_failure_alone_in_its_groups_is_reported_without_them(self) -> None:
        a = Steered("a")
        supervisor, watch = supervised(a)
        async with running(supervisor):
            a.crash(ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError("x")])]))
            await watch.seen("a", ActorState.BACKOFF)
            event = watch.last("a", ActorState.BACKOFF)
            assert event.error == "KeyError: 'x'"
            assert isinstance(event.exception, KeyError)

    async def test_several_failures_at_once_are_all_reported(self) -> None:
        a = Steered("a")
        supervisor, watch = supervised(a)
        async with running(supervisor):
            a.crash(ExceptionGroup("both", [KeyError("x"), ExceptionGroup("inner", [Boom()])]))
            await watch.seen("a", ActorState.BACKOFF)
            assert supervisor.snapshot()["a"].last_error == "KeyError: 'x'; Boom"

    async def test_a_long_message_is_cut_to_200_characters(self) -> None:
        a = Steered("a")
        supervisor, watch = supervised(a)
        async with running(supervisor):
            a.crash(Boom("x" * 1000))
            await watch.seen("a", ActorState.BACKOFF)
            assert supervisor.snapshot()["a"].last_error == "Boom: " + "x" * 194

    @on_asyncio
    async def test_a_cancellation_from_inside_an_actor_does_not_make_it_vanish(self) -> None:
        """A library's future is cancelled under the actor: asyncio would end the task without a word."""

        class Undermined(Steered):
            async def _live(self, task_status: TaskStatus[None]) -> None:
                task_status.started()
                if self.runs == 1:
                    future = asyncio.get_running_loop().create_future()
                    future.cancel()
                    await future
                await anyio.sleep_forever()

        supervisor, watch = supervised(Undermined("a"))
        async with running(supervisor):
            await watch.seen("a", ActorState.READY, times=2)
            assert supervisor.snapshot()["a"].last_error == "CancelledError"


NEEDS = {"b": ["a"], "c": ["b"], "e": ["a"]}


def house_of(log: list[str]) -> dict[str, Steered]:
    """a <- b <- c, a <- e; d stands alone."""
    return {name: Steered(name, log) for name in "abcde"}


class TestDependants:
    async def test_they_go_down_in_reverse_order_and_come_up_in_order(self) -> None:
        log: list[str] = []
        house = house_of(log)
        supervisor, watch = supervised(*house.values(), needs=NEEDS)
        async with running(supervisor):
            log.clear()
            house["a"].crash()
            await watch.seen("e", ActorState.READY, times=2)
            assert log == ["-a", "-e", "-c", "-b", "+a", "+b", "+c", "+e"]
            assert {name: actor.runs for name, actor in house.items()} == {
                "a": 2,
                "b": 2,
                "c": 2,
                "d": 1,
                "e": 2,
            }
            statuses = supervisor.snapshot().actors
            assert [status.restarts for status in statuses] == [1, 0, 0, 0, 0]
            assert [status.last_error for status in statuses] == ["Boom: a is down", None, None, None, None]

    async def test_only_those_above_the_crashed_one_are_taken_along(self) -> None:
        log: list[str] = []
        house = house_of(log)
        supervisor, watch = supervised(*house.values(), needs=NEEDS)
        async with running(supervisor):
            log.clear()
            house["b"].crash()
            await watch.seen("c", ActorState.READY, times=2)
            assert log == ["-b", "-c", "+b", "+c"]

    async def test_they_wait_until_what_they_need_is_ready_again(self) -> None:
        gate = anyio.Event()
        gate.set()
        a, b = Steered("a", gate=gate), Steered("b")
        supervisor, watch = supervised(a, b, needs={"b": ["a"]})
        async with running(supervisor):
            a.gate = anyio.Event()
            a.crash()
            await watch.seen("a", ActorState.STARTING, times=2)
            await settle()
            assert states(supervisor) == {"a": "starting", "b": "waiting"}
            a.gate.set()
            await watch.seen("b", ActorState.READY, times=2)

    async def test_a_dependant_that_keeps_crashing_does_not_hold_the_next_one_back(self) -> None:
        class Fragile(Steered):
            async def _live(self, task_status: TaskStatus[None]) -> None:
                if self.runs > 1:
                    raise Boom("never again")
                await super()._live(task_status)

        a, b, c = Steered("a"), Fragile("b"), Steered("c")
        supervisor, watch = supervised(a, b, c, needs={"b": ["a"], "c": ["a"]})
        async with running(supervisor):
            a.crash()
            await watch.seen("c", ActorState.READY, times=2)
            assert not supervisor.is_ready

    async def test_a_dependant_that_crashed_at_the_same_time_comes_back_after_what_it_needs(self) -> None:
        log: list[str] = []
        a, b = Steered("a", log), Steered("b", log)
        supervisor, watch = supervised(a, b, needs={"b": ["a"]})
        async with running(supervisor):
            log.clear()
            b.crash()
            a.crash()
            await watch.seen("a", ActorState.READY, times=2)
            with anyio.fail_after(PATIENCE_S):
                while not supervisor.is_ready:
                    await anyio.lowlevel.checkpoint()
            assert log.index("+a") < len(log) - 1 - log[::-1].index("+b")

    async def test_one_that_fails_while_it_is_stopped_comes_back_and_the_failure_is_told(self) -> None:
        a, b = Steered("a"), Steered("b", error_when_stopped=Boom("untidy"))
        supervisor, watch = supervised(a, b, needs={"b": ["a"]})
        async with running(supervisor):
            a.crash()
            await watch.seen("b", ActorState.READY, times=2)
            b.error_when_stopped = None
            status = supervisor.snapshot()["b"]
            assert (status.restarts, status.last_error) == (0, "Boom: untidy")

    async def test_readiness_said_while_being_stopped_counts_for_nothing(self) -> None:
        class Late(Steered):
            async def _live(self, task_status: TaskStatus[None]) -> None:
                try:
                    await anyio.sleep_forever()
                finally:
                    task_status.started()

        a, b = Steered("a"), Late("b")
        supervisor, watch = supervised(a, b, needs={"b": ["a"]})
        async with anyio.create_task_group() as group:
            group.start_soon(supervisor.run)
            await watch.seen("b", ActorState.STARTING)
            a.crash()
            await watch.seen("b", ActorState.STARTING, times=2)
            group.cancel_scope.cancel()
        assert ActorState.READY not in watch.of("b")


class TestSnapshot:
    async def test_it_tells_every_actor_in_order_and_cannot_be_changed(self) -> None:
        supervisor, _ = supervised(Steered("a"), Steered("b"), needs={"b": ["a"]})
        before = supervisor.snapshot()
        assert [(one.name, str(one.state), one.needs) for one in before.actors] == [
            ("a", "waiting", ()),
            ("b", "waiting", ("a",)),
        ]
        assert not before.ready
        async with running(supervisor):
            during = supervisor.snapshot()
            assert during.ready
            assert all(one.ready and one.since_s >= 0 for one in during.actors)
            with pytest.raises(dataclasses.FrozenInstanceError):
                during["a"].restarts = 5  # type: ignore[misc]
        assert before["a"].state is ActorState.WAITING
        assert states(supervisor) == {"a": "stopped", "b": "stopped"}

    def test_a_name_that_is_not_there_is_a_key_error(self) -> None:
        with pytest.raises(KeyError, match="nobody"):
            Supervisor().snapshot()["nobody"]


class TestMisuse:
    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"name": "a"}, "named a already"),
            ({"name": "b", "needs": ["a", "x", "y"]}, "b needs x, y"),
            ({"name": "b", "stop_timeout_s": 0}, "stop_timeout_s of actor b"),
        ],
    )
    def test_an_actor_that_does_not_fit_is_refused(self, options: dict[str, Any], told: str) -> None:
        supervisor, _ = supervised(Steered("a"))
        with pytest.raises(ValueError, match=told):
            supervisor.add(Steered(options.pop("name")), **options)

    async def test_nothing_is_added_and_nothing_run_twice_while_it_runs(self) -> None:
        supervisor, _ = supervised(Steered("a"))
        async with running(supervisor):
            with pytest.raises(RuntimeError, match="while the supervisor runs"):
                supervisor.add(Steered("b"))
            with pytest.raises(RuntimeError, match="runs already"):
                await supervisor.run()
            assert supervisor.is_ready

    async def test_it_can_be_run_again_and_remembers_nothing(self) -> None:
        a = Steered("a", failing_starts=1)
        supervisor, _ = supervised(a)
        async with running(supervisor):
            assert supervisor.snapshot()["a"].restarts == 1
        async with running(supervisor):
            assert supervisor.snapshot()["a"].restarts == 0
        assert a.runs == 3

    async def test_a_policy_of_its_own_goes_before_the_common_one(self) -> None:
        watch = Watch()
        supervisor = Supervisor(policy=RestartPolicy(max_restarts=0), on_event=watch)
        supervisor.add(Steered("a", failing_starts=1), policy=AT_ONCE)
        async with running(supervisor):
            assert supervisor.snapshot()["a"].restarts == 1
