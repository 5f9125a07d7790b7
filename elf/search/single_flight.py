"""Equal work that is asked for at the same time is done once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

K = TypeVar("K")
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Lets the first of several callers with the same key do the work, and the others share what comes of it.

    Nothing is kept: a caller that comes after the end does the work anew. All callers get the same value or the same
    exception object, so a value should be immutable. `make` must not ask for its own key again.
    """

    def __init__(self) -> None:
        self._flights: dict[K, _Flight[V]] = {}

    def __len__(self) -> int:
        """Return the number of keys that are being worked on."""
        return len(self._flights)

    async def do(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """Return what `make` returns, or raise what it raises, whoever's `make` it was that ran.

        When the caller that does the work is cancelled, one of the others begins again with its own `make`.
        """
        while (flight := self._flights.get(key)) is not None:
            await flight.over.wait()
            if flight.error is not None:
                raise flight.error
            if flight.values:
                return flight.values[0]
        return await self._lead(key, make)

    async def _lead(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        flight = self._flights[key] = _Flight()
        try:
            value = await make()
        except Exception as error:
            flight.error = error
            raise
        else:
            flight.values.append(value)
            return value
        finally:
            # Everyone is woken, so a caller that is cancelled as it wakes leaves the lead to the next.
            del self._flights[key]
            flight.over.set()


class _Flight(Generic[V]):
    """One run of the work: without a value and without an error it was cut off."""

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.values: list[V] = []
        self.error: Exception | None = None
