"""Turns: never too many at work or waiting, no place idle while somebody may have it, tenants one after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from elf.core.fair_queue import AskingTenants, FairTurns, Turn, TurnState

WORK, WAIT, REFUSED = TurnState.AT_WORK, TurnState.WAITING, TurnState.REFUSED


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(clock: Clock) -> Callable[..., FairTurns]:
    def turns(*, at_work: int = 4, per_tenant: int = 1, waiting: int = 8) -> FairTurns:
        tenants = AskingTenants(clock=clock, memory_s=2.0)
        return FairTurns(tenants, at_work=at_work, per_tenant=per_tenant, waiting=waiting)

    return turns


def states(turns: list[Turn]) -> list[TurnState]:
    return [turn.state for turn in turns]


def test_a_tenant_alone_may_have_all_places(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=2, waiting=1)
    asked = [turns.ask("a") for _ in range(4)]
    assert states(asked) == [WORK, WORK, WAIT, REFUSED]
    turns.end(asked[0])
    assert states(asked[1:]) == [WORK, WORK, REFUSED]


def test_a_newcomer_finds_a_place_although_a_flood_came_first(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=3, per_tenant=1)
    first = turns.ask("calm")
    flood = [turns.ask("flood") for _ in range(5)]
    assert states([first, *flood]) == [WORK, WORK, WAIT, WAIT, WAIT, WAIT]
    turns.end(first)
    assert turns.ask("calm").state is WORK
    turns.end(flood[0])
    assert states(flood[1:]) == [WORK, WAIT, WAIT, WAIT]


def test_places_taken_before_others_asked_come_free_for_them(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=3, per_tenant=1)
    flood = [turns.ask("flood") for _ in range(6)]
    calm = turns.ask("calm")
    assert calm.state is WAIT
    turns.end(flood[0])
    assert calm.state is WORK
    turns.end(flood[1])
    turns.end(flood[2])
    assert states(flood[3:]) == [WORK, WAIT, WAIT]


def test_a_tenant_that_asked_lately_keeps_a_place_free(clock: Clock, make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=2, per_tenant=1)
    turns.end(turns.ask("calm"))
    clock.now += 1.9
    one, two = turns.ask("flood"), turns.ask("flood")
    assert states([one, two]) == [WORK, WAIT]
    clock.now += 0.2  # now the calm one is forgotten
    assert turns.ask("flood").state is WAIT
    assert two.state is WORK


def test_a_tenant_counts_as_asking_for_a_while_after_its_work_is_done(
    clock: Clock, make: Callable[..., FairTurns]
) -> None:
    turns = make(at_work=2, per_tenant=1)
    long_one = turns.ask("calm")
    clock.now += 60.0
    turns.end(long_one)
    assert [turns.ask("flood").state for _ in range(2)] == [WORK, WAIT]


def test_waiting_tenants_take_turns_however_many_each_has_waiting(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=1, waiting=20)
    working = turns.ask("x")
    order: list[str] = []
    asked = [turns.ask(tenant) for tenant in "aaaaabbc"]
    for turn in asked:
        turn.tell = lambda tenant=turn.tenant: order.append(tenant)  # type: ignore[misc]
    for _ in asked:
        turns.end(working)
        (working,) = [turn for turn in asked if turn.state is WORK]
    assert "".join(order) == "abcabaaa"


def test_the_longest_queue_loses_its_last_turn_to_a_newcomer(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=1, waiting=4)
    turns.ask("x")
    flood = [turns.ask("flood") for _ in range(4)]
    told: list[int] = []
    flood[3].tell = lambda: told.append(3)
    calm = turns.ask("calm")
    assert states(flood) == [WAIT, WAIT, WAIT, REFUSED]
    assert (calm.state, told) == (WAIT, [3])
    assert turns.ask("flood").state is REFUSED
    assert turns.statistics().refused == 2


def test_who_goes_away_while_waiting_leaves_the_queue(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=1)
    working, gone, next_one = turns.ask("a"), turns.ask("a"), turns.ask("b")
    turns.end(gone)
    turns.end(working)
    assert next_one.state is WORK
    assert turns.statistics()[:2] == (1, 0)


def test_who_has_waited_too_long_is_refused_and_who_works_goes_on(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=1)
    working, waiting = turns.ask("a"), turns.ask("b")
    turns.refuse(working)
    turns.refuse(waiting)
    assert states([working, waiting]) == [WORK, REFUSED]
    turns.end(waiting)
    assert turns.statistics()[:2] == (1, 0)
    assert turns.statistics().refused == 1


def test_no_queue_means_refusing_at_once(make: Callable[..., FairTurns]) -> None:
    turns = make(at_work=1, waiting=0)
    working = turns.ask("a")
    assert turns.ask("b").state is REFUSED
    turns.end(working)
    assert turns.ask("b").state is WORK


def test_tenants_that_asked_long_ago_are_forgotten(clock: Clock) -> None:
    tenants = AskingTenants(clock=clock, memory_s=2.0)
    for name in "abc":
        tenants.see(name)
        clock.now += 1.0
    assert tenants.count() == 2
    assert tenants.any_but("c")
    clock.now += 1.5
    assert tenants.count() == 0
    assert not tenants.any_but("c")


class Crowd(RuleBasedStateMachine):
    """Tenants ask, end and go away in any order while time passes."""

    AT_WORK, PER_TENANT, WAITING = 3, 1, 4

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.tenants = AskingTenants(clock=self.clock, memory_s=2.0)
        self.turns = FairTurns(
            self.tenants, at_work=self.AT_WORK, per_tenant=self.PER_TENANT, waiting=self.WAITING
        )
        self.asked: list[Turn] = []
        self.told: list[Turn] = []
        self.is_settled = True

    def of(self, state: TurnState) -> list[Turn]:
        return [turn for turn in self.asked if turn.state is state]

    @rule(tenant=st.sampled_from("abcd"))
    def ask(self, tenant: str) -> None:
        before = {turn: turn.state for turn in self.asked}
        turn = self.turns.ask(tenant)
        turn.tell = lambda: self.told.append(turn)
        self.asked.append(turn)
        for refused in (one for one in self.asked if before.get(one, WAIT) is WAIT and one.state is REFUSED):
            queue = [one for one in self.of(WAIT) if one.tenant == refused.tenant]
            longest = max(sum(one.tenant == name for one in self.of(WAIT)) for name in "abcd")
            assert len(queue) + 1 >= longest
            assert len(self.of(WAIT)) == self.WAITING
        self.is_settled = True

    @precondition(lambda self: self.of(WORK))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.turns.end(data.draw(st.sampled_from(self.of(WORK))))
        self.is_settled = True

    @precondition(lambda self: self.of(WAIT))
    @rule(data=st.data())
    def go_away(self, data: st.DataObject) -> None:
        self.turns.end(data.draw(st.sampled_from(self.of(WAIT))))
        self.is_settled = True

    @precondition(lambda self: self.of(REFUSED))
    @rule(data=st.data())
    def take_the_refusal(self, data: st.DataObject) -> None:
        self.turns.end(data.draw(st.sampled_from(self.of(REFUSED))))
        self.is_settled = True

    @rule(seconds=st.sampled_from([0.1, 1.5, 3.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.is_settled = False  # who may begin now is seen at the next event

    @invariant()
    def nothing_exceeds_its_bound(self) -> None:
        statistics = self.turns.statistics()
        assert statistics.at_work == len(self.of(WORK)) <= self.AT_WORK
        assert statistics.waiting == len(self.of(WAIT)) <= self.WAITING

    @invariant()
    def no_place_is_idle_while_somebody_may_have_it(self) -> None:
        if self.is_settled and len(self.of(WORK)) < self.AT_WORK:
            for tenant in {turn.tenant for turn in self.of(WAIT)}:
                assert [turn.tenant for turn in self.of(WORK)].count(tenant) >= self.PER_TENANT

    @invariant()
    def turns_of_one_tenant_begin_in_the_order_they_asked_in(self) -> None:
        for tenant in "abcd":
            own = [turn.state for turn in self.asked if turn.tenant == tenant]
            waiting = [place for place, state in enumerate(own) if state is WAIT]
            working = [place for place, state in enumerate(own) if state is WORK]
            assert not waiting or not working or max(working) < min(waiting)

    @invariant()
    def each_is_told_once_at_most(self) -> None:
        assert len(self.told) == len(set(self.told))


TestCrowd = Crowd.TestCase
TestCrowd.settings = settings(max_examples=30, stateful_step_count=30)
