"""How many of something may be open at a time: in total, and of each owner, so that none takes the places of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class ShareExceeded(Exception):
    """A limit is reached: `share` is its name, `limit` its value."""

    def __init__(self, share: str, limit: int) -> None:
        super().__init__(f"the limit of {share} is {limit}")
        self.share = share
        self.limit = limit


class Shares:
    """Counts units, such as calls or bytes, against a limit in `total` and others for each owner.

    Every take names one owner for each of the other limits, such as the user for the limit of a user.
    """

    def __init__(self, total: int, **limits: int) -> None:
        self._total = total
        self._limits = limits
        self._taken = 0
        self._of_owners: dict[str, Counter[Hashable]] = {share: Counter() for share in limits}

    @property
    def taken(self) -> int:
        """How many units are taken now."""
        return self._taken

    @contextmanager
    def one(self, **owners: Hashable) -> Iterator[None]:
        """Hold one unit meanwhile. Raises ShareExceeded."""
        self.take(1, **owners)
        try:
            yield
        finally:
            self.give_back(1, **owners)

    def take(self, units: int, **owners: Hashable) -> None:
        """Take units until they are given back. Raises ShareExceeded for the narrowest limit, and takes none."""
        for share, limit in self._limits.items():
            if self._of_owners[share][owners[share]] + units > limit:
                raise ShareExceeded(share, limit)
        if self._taken + units > self._total:
            raise ShareExceeded("total", self._total)
        self._taken += units
        for share, counts in self._of_owners.items():
            counts[owners[share]] += units

    def give_back(self, units: int, **owners: Hashable) -> None:
        """Give units back that were taken for these owners."""
        self._taken -= units
        for share, counts in self._of_owners.items():
            counts[owners[share]] -= units
            if not counts[owners[share]]:
                del counts[owners[share]]  # owners come and go
