"""Who is new: a client that takes a new name for each request is one client, whatever it calls itself.

Nobody proves who it is, so a name is worth what it costs to keep. While new names are few, each counts for itself, and
from then on. When they become many they share what one has; a name among them counts for itself once it comes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

Party: TypeAlias = str | None
"""Whom a request counts for: a tenant, or None, all newcomers together."""

LATELY_S: Final = 2.0
"""How long new names count when it is asked whether they are many, in seconds."""
COMES_BACK_S: Final = 0.5
"""How long after its first request in a crowd, in seconds, another one shows that a name is kept."""

MAX_KNOWN: Final = 10_000
MAX_NEW: Final = 50_000


class Newcomers:
    """Tells tenants that were there before from names that are new.

    So many as `few` that come within LATELY_S are no crowd. `clock` returns seconds of any zero.

    The known ones that asked longest ago are forgotten beyond MAX_KNOWN, which no flood of new names can bring about.
    """

    def __init__(self, *, few: int, clock: Callable[[], float]) -> None:
        self._few = few
        self._clock = clock
        self._known: dict[str, None] = {}  # the one that asked last stands last
        self._first_asked: dict[int, float] = {}  # by hash, for the names may be many; the newest stands last
        self._latest: deque[float] = deque(maxlen=few + 1)  # when the latest new names came

    def party(self, tenant: str) -> Party:
        """Note that a tenant asks now, and return whom its request counts for."""
        if tenant not in self._known and not self._comes_back(tenant) and self._are_many():
            return None
        self._first_asked.pop(hash(tenant), None)
        self._known.pop(tenant, None)
        self._known[tenant] = None
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return tenant

    def _comes_back(self, tenant: str) -> bool:
        name, now = hash(tenant), self._clock()
        if name not in self._first_asked:
            self._first_asked[name] = now
            self._latest.append(now)
            if len(self._first_asked) > MAX_NEW:
                del self._first_asked[next(iter(self._first_asked))]
        return now - self._first_asked[name] >= COMES_BACK_S

    def _are_many(self) -> bool:
        return len(self._latest) > self._few and self._latest[0] > self._clock() - LATELY_S
