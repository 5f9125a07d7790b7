"""Whose turn it is: a bounded number of requests at work, a bounded number that wait, tenants one after the other.

While one tenant asks alone, it may have all places. While others ask, too, each has at most `per_tenant` of them, so
that a newcomer finds a place free although a flood came first. Places that come free go to the waiting tenants in
turn, however many each has waiting; when too many wait, the tenant that has most of them loses its last one. Names that
are new and many count as one tenant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from elf.core.newcomers import Party

MEMORY_S = 2.0
"""How long after its last request, begun or ended, a tenant counts as one that asks."""


class TurnState(StrEnum):
    """Where a request is."""

    WAITING = "waiting"
    AT_WORK = "at work"
    REFUSED = "refused"
    DONE = "done"


class Turn:
    """One request's place. `tell`, when set, is called once when a waiting turn goes to work or is refused."""

    __slots__ = ("state", "tell", "tenant")

    def __init__(self, tenant: Party) -> None:
        self.tenant = tenant
        self.state = TurnState.WAITING
        self.tell: Callable[[], None] | None = None


class TurnStatistics(NamedTuple):
    """Requests now at work and waiting, the tenants that count as asking, and how many were refused ever."""

    at_work: int
    waiting: int
    tenants: int
    refused: int


class AskingTenants:
    """Which tenants have asked lately. Several queues may share it. `clock` returns seconds of any zero."""

    def __init__(self, *, clock: Callable[[], float], memory_s: float = MEMORY_S) -> None:
        self._clock = clock
        self._memory_s = memory_s
        self._seen: dict[Party, float] = {}  # the one seen last stands last

    def see(self, tenant: Party) -> None:
        """Remember that the tenant asks now."""
        self._seen.pop(tenant, None)
        self._seen[tenant] = self._clock()

    def any_but(self, tenant: Party) -> bool:
        """Tell whether any other tenant asks, too."""
        self._forget()
        return len(self._seen) > (tenant in self._seen)

    def count(self) -> int:
        """Return how many tenants ask."""
        self._forget()
        return len(self._seen)

    def _forget(self) -> None:
        long_ago = self._clock() - self._memory_s
        while self._seen and self._seen[first := next(iter(self._seen))] < long_ago:
            del self._seen[first]


class FairTurns:
    """The queue. Nothing here waits: a turn says what became of it, at once or by `tell`."""

    def __init__(self, tenants: AskingTenants, *, at_work: int, per_tenant: int, waiting: int) -> None:
        self._tenants = tenants
        self._most_at_work = at_work
        self._most_of_one = min(per_tenant, at_work)
        self._most_waiting = waiting
        self._at_work: dict[Party, int] = {}
        self._queues: dict[Party, deque[Turn]] = {}  # in the order in which the tenants have their turns
        self._working = 0
        self._waiting = 0
        self._refused = 0

    def ask(self, tenant: Party) -> Turn:
        """Return a turn that is at work, waiting, or refused. Whatever it is, give it back with `end`."""
        self._tenants.see(tenant)
        turn = Turn(tenant)
        if not self._queues and self._may_work(tenant):
            self._begin(turn)
            return turn
        self._queues.setdefault(tenant, deque()).append(turn)
        self._waiting += 1
        self._fill()
        if self._waiting > self._most_waiting:
            self._refuse_one()
        return turn

    def end(self, turn: Turn) -> None:
        """Take a turn back: its work is done, or nobody waits for it any more."""
        if turn.state is TurnState.WAITING:
            self._queues[turn.tenant].remove(turn)
            self._leave_queue(turn.tenant)
        elif turn.state is TurnState.AT_WORK:
            self._working -= 1
            self._at_work[turn.tenant] -= 1
            if not self._at_work[turn.tenant]:
                del self._at_work[turn.tenant]
            self._tenants.see(turn.tenant)
        turn.state = TurnState.DONE
        self._fill()

    def refuse(self, turn: Turn) -> None:
        """Refuse a turn that still waits: it has waited too long."""
        if turn.state is TurnState.WAITING:
            self._queues[turn.tenant].remove(turn)
            self._leave_queue(turn.tenant)
            turn.state = TurnState.REFUSED
            self._refused += 1

    @property
    def waiting(self) -> int:
        """How many turns wait."""
        return self._waiting

    def statistics(self) -> TurnStatistics:
        return TurnStatistics(self._working, self._waiting, self._tenants.count(), self._refused)

    def _may_work(self, tenant: Party) -> bool:
        if self._working >= self._most_at_work:
            return False
        at_work = self._at_work.get(tenant, 0)
        return at_work < self._most_of_one or not self._others_ask(tenant)

    def _others_ask(self, tenant: Party) -> bool:
        others_work = self._working > self._at_work.get(tenant, 0)
        others_wait = self._waiting > len(self._queues.get(tenant, ()))
        return others_work or others_wait or self._tenants.any_but(tenant)

    def _fill(self) -> None:
        while (turn := next(self._ready(), None)) is not None:
            queue = self._queues.pop(turn.tenant)
            self._queues[turn.tenant] = queue  # the next turn of this tenant comes after those of all others
            queue.popleft()
            self._leave_queue(turn.tenant)
            self._begin(turn)
            self._tell(turn)

    def _ready(self) -> Iterator[Turn]:
        return (queue[0] for tenant, queue in self._queues.items() if self._may_work(tenant))

    def _begin(self, turn: Turn) -> None:
        turn.state = TurnState.AT_WORK
        self._working += 1
        self._at_work[turn.tenant] = self._at_work.get(turn.tenant, 0) + 1

    def _refuse_one(self) -> None:
        tenant = max(reversed(self._queues), key=lambda name: len(self._queues[name]))
        turn = self._queues[tenant].pop()
        self._leave_queue(tenant)
        turn.state = TurnState.REFUSED
        self._refused += 1
        self._tell(turn)

    def _leave_queue(self, tenant: Party) -> None:
        self._waiting -= 1
        if not self._queues[tenant]:
            del self._queues[tenant]

    def _tell(self, turn: Turn) -> None:
        if turn.tell is not None:
            turn.tell()
