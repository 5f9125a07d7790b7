"""Backoff, healthy stretches, windows and deadlines, on virtual time."""

from __future__ import annotations

import anyio
import pytest
from anyio.abc import TaskStatus

from actors.kernel import ActorGaveUp, ActorState, RestartPolicy, Supervisor
from tests.kernel.steered import Boom, Steered, Watch, on_virtual_time, running

pytestmark = [pytest.mark.anyio, on_virtual_time]

HOUR_S = 3600.0
WEEK_S = 7 * 24 * HOUR_S


class Mortal:
    """Lives as long as `lives` says, run by run, and then crashes; notes when it was born."""

    name = "mortal"

    def __init__(self, *lives: float) -> None:
        self.lives = lives
        self.born_at: list[float] = []

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        self.born_at.append(anyio.current_time())
        task_status.started()
        await anyio.sleep(self.lives[min(len(self.born_at), len(self.lives)) - 1])
        raise Boom

    def waits(self) -> list[float]:
        """Seconds between each death and the next birth."""
        deaths = [born + life for born, life in zip(self.born_at, self.lives, strict=False)]
        return [round(born - died, 6) for died, born in zip(deaths, self.born_at[1:], strict=False)]


def only(actor: Mortal, policy: RestartPolicy) -> Supervisor:
    supervisor = Supervisor(policy=policy, rng=lambda: 0.0)
    supervisor.add(actor)
    return supervisor


async def test_each_restart_waits_longer_up_to_the_maximum() -> None:
    actor = Mortal(*[1] * 6)
    with anyio.move_on_after(100):
        await only(actor, RestartPolicy(initial_s=1, factor=2, max_s=10)).run()
    assert actor.waits()[:5] == [1, 2, 4, 8, 10]


async def test_a_week_of_backoff_goes_by_without_giving_up() -> None:
    actor = Mortal(0)
    begin = anyio.current_time()
    policy = RestartPolicy(initial_s=1, factor=2, max_s=HOUR_S, max_restarts=12, window_s=HOUR_S)
    with anyio.move_on_after(WEEK_S):
        await only(actor, policy).run()
    assert anyio.current_time() - begin == pytest.approx(WEEK_S)
    # Twelve waits of 1 to 2048 s come to 4095 s; from then on one birth an hour.
    assert len(actor.born_at) == 1 + 12 + int((WEEK_S - 4095) / HOUR_S)


async def test_the_random_source_given_makes_the_jitter() -> None:
    actor = Mortal(1, 1, 1)
    numbers = iter([0.0, 0.5, 0.25])
    supervisor = Supervisor(
        policy=RestartPolicy(initial_s=10, factor=1, max_s=10, jitter=0.2), rng=lambda: next(numbers)
    )
    supervisor.add(actor)
    with anyio.move_on_after(30):
        await supervisor.run()
    assert actor.waits() == [10, 9]


async def test_a_healthy_stretch_makes_the_next_wait_short_again() -> None:
    actor = Mortal(1, 1, 1, 60, 1, 1)
    with anyio.move_on_after(100):
        await only(actor, RestartPolicy(initial_s=1, factor=3, max_s=100, healthy_after_s=60)).run()
    assert actor.waits()[:5] == [1, 3, 9, 1, 3]


async def test_the_time_until_an_actor_is_ready_is_no_part_of_a_healthy_stretch() -> None:
    class Slow(Mortal):
        async def run(self, *, task_status: TaskStatus[None]) -> None:
            self.born_at.append(anyio.current_time())
            await anyio.sleep(self.lives[0])
            raise Boom

    actor = Slow(100, 100, 100)
    with anyio.move_on_after(400):
        await only(actor, RestartPolicy(initial_s=1, factor=2, max_s=9, healthy_after_s=60)).run()
    assert actor.waits() == [1, 2, 4]


async def test_as_many_crashes_spread_over_more_than_the_window_do_not_go_up() -> None:
    actor = Mortal(10)
    policy = RestartPolicy(initial_s=0, max_s=0, max_restarts=3, window_s=30)
    with anyio.move_on_after(1005) as scope:
        await only(actor, policy).run()
    assert scope.cancelled_caught
    assert len(actor.born_at) == 101


async def test_crashes_within_the_window_go_up() -> None:
    actor = Mortal(9)
    policy = RestartPolicy(initial_s=0, max_s=0, max_restarts=3, window_s=30)
    begin = anyio.current_time()
    with pytest.raises(ActorGaveUp):
        await only(actor, policy).run()
    assert anyio.current_time() - begin == pytest.approx(36)


async def test_the_event_of_a_crash_tells_the_wait() -> None:
    watch = Watch()
    supervisor = Supervisor(policy=RestartPolicy(initial_s=5, jitter=0), on_event=watch)
    supervisor.add(Steered("a", failing_starts=1))
    async with running(supervisor):
        event = watch.last("a", ActorState.BACKOFF)
        assert (event.delay_s, event.restarts, event.error) == (5, 1, "Boom: a cannot start")


async def test_every_actor_has_a_deadline_of_its_own() -> None:
    watch = Watch()
    supervisor = Supervisor(on_event=watch)
    forever = [anyio.Event() for _ in range(3)]
    for name, words, timeout_s in zip("abc", forever, (2, 4, 8), strict=True):
        supervisor.add(Steered(name, last_words=words), stop_timeout_s=timeout_s)
    stuck_at: list[float] = []
    async with anyio.create_task_group() as group:
        await group.start(supervisor.run)
        begin = anyio.current_time()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            for name in "cba":
                await watch.seen(name, ActorState.STUCK)
                stuck_at.append(anyio.current_time() - begin)
            for words in forever:
                words.set()
    assert stuck_at == pytest.approx([8, 12, 14])
    assert watch.order(ActorState.STUCK) == ["c", "b", "a"]


async def test_a_deadline_counts_from_the_first_time_an_actor_is_told_to_stop() -> None:
    """It is being taken down with what it needs for 6 of its 10 seconds when the supervisor is cancelled."""
    watch = Watch()
    supervisor = Supervisor(policy=RestartPolicy(initial_s=0), on_event=watch)
    a, words = Steered("a"), anyio.Event()
    supervisor.add(a)
    supervisor.add(Steered("b", last_words=words), needs=["a"], stop_timeout_s=10)
    async with anyio.create_task_group() as group:
        await group.start(supervisor.run)
        begin = anyio.current_time()
        a.crash()
        await anyio.sleep(6)
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await watch.seen("b", ActorState.STUCK)
            assert anyio.current_time() - begin == pytest.approx(10)
            words.set()
    assert a.runs == 1
    assert watch.of("b").count(ActorState.STUCK) == 1


async def test_a_snapshot_tells_how_long_an_actor_has_been_in_its_state() -> None:
    supervisor = Supervisor()
    supervisor.add(Steered("a"))
    async with running(supervisor):
        await anyio.sleep(90)
        assert supervisor.snapshot()["a"].since_s == pytest.approx(90)


async def test_a_wait_ends_early_when_the_supervisor_is_cancelled() -> None:
    actor = Mortal(1)
    begin = anyio.current_time()
    with anyio.move_on_after(50):
        await only(actor, RestartPolicy(initial_s=HOUR_S, max_s=HOUR_S)).run()
    assert anyio.current_time() - begin == pytest.approx(50)
    assert len(actor.born_at) == 1
