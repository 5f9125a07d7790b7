"""Concurrent callers of an embedder share its calls.

While nobody else calls, a call goes out at once, in its caller's own task. Calls that come while one is out are
gathered and leave together when that one returns, or after a few milliseconds. A shared call belongs to none of its
callers, so it runs in a task of the actor and goes on as long as one of them waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from anyio.abc import TaskGroup, TaskStatus

from elf.core.errors import ServiceError, Unavailable
from elf.providers.port import Embedder, Matrix


class MicroBatchingEmbedder:
    """The Embedder port around another one, and the actor that owns the shared calls.

    A gathering call waits at most `window_s` seconds, and for one of `max_in_flight` places; it takes at most
    `max_texts` texts, each text once. A call of more texts than that goes out alone. While the actor does not run,
    calls pass through as they are.

    When a shared call fails in a way that any call would, all its callers are told so. Any other failure may be about
    one caller's texts, so then each call is made again by itself.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        name: str = "query_batcher",
        window_s: float = 0.003,
        max_texts: int = 64,
        max_in_flight: int = 4,
    ) -> None:
        self.name = name
        self._inner = inner
        self._window_s = window_s
        self._max_texts = max_texts
        self._max_in_flight = max_in_flight
        self._places = anyio.Semaphore(max_in_flight, fast_acquire=True)
        self._group: TaskGroup | None = None
        self._boarding: _Flight | None = None

    @property
    def version(self) -> str:
        return self._inner.version

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Own the shared calls until cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            try:
                await anyio.sleep_forever()
            finally:
                self._group = self._boarding = None

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a float32 matrix of shape (len(texts), dimensions), in the order of the texts; see the port."""
        if self._group is None or not 0 < len(texts) <= self._max_texts:
            return await self._inner.embed(texts)
        if self._is_idle:
            return await self._call(texts)
        flight = self._flight_for(len(texts), self._group)
        seat = flight.seat(texts)
        if flight.texts == self._max_texts:
            self._depart()
        vectors = await flight.carry(seat)
        return await self._call(texts) if vectors is None else vectors

    @property
    def _is_idle(self) -> bool:
        return self._places.value == self._max_in_flight and self._boarding is None

    async def _call(self, texts: Sequence[str]) -> Matrix:
        try:
            async with self._places:
                return await self._inner.embed(texts)
        finally:
            self._hasten()

    def _flight_for(self, count: int, group: TaskGroup) -> _Flight:
        """Return the flight that takes `count` texts more."""
        if self._boarding is not None and self._boarding.texts + count > self._max_texts:
            self._depart()
        if self._boarding is None:
            self._boarding = _Flight()
            group.start_soon(self._fly, self._boarding)
        return self._boarding

    def _depart(self) -> None:
        """Take no more texts aboard: what is full need not wait for others."""
        self._hasten()
        self._boarding = None

    async def _fly(self, flight: _Flight) -> None:
        try:
            with flight.scope:
                with anyio.move_on_after(self._window_s):
                    await flight.called.wait()
                async with self._places:
                    self._close(flight)
                    await flight.embed_with(self._inner)
        finally:
            self._close(flight)
            flight.landed.set()
            self._hasten()

    def _hasten(self) -> None:
        if self._boarding is not None:
            self._boarding.called.set()

    def _close(self, flight: _Flight) -> None:
        if self._boarding is flight:
            self._boarding = None


class _Seat:
    """One caller's part of a flight."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.vectors: Matrix | None = None


class _Flight:
    """One shared call: who waits for it, and what came of it.

    `called` is set when it need not gather any longer, `landed` when it is over. Its scope has the latest deadline of
    its callers, so that what is called sees how long it has got, and is cancelled when none of them is left.
    """

    def __init__(self) -> None:
        self.called = anyio.Event()
        self.landed = anyio.Event()
        self.scope = anyio.CancelScope(deadline=-float("inf"))
        self._seats: list[_Seat] = []
        self._failure: ServiceError | None = None

    @property
    def texts(self) -> int:
        return sum(len(seat.texts) for seat in self._seats)

    def seat(self, texts: Sequence[str]) -> _Seat:
        """Take the caller aboard, who is to call `carry` next."""
        seat = _Seat(texts)
        self._seats.append(seat)
        self.scope.deadline = max(self.scope.deadline, anyio.current_effective_deadline())
        return seat

    async def carry(self, seat: _Seat) -> Matrix | None:
        """Return the vectors of the texts, or None when they have to be asked for alone. Raises ServiceError."""
        try:
            await self.landed.wait()
        finally:
            self._seats.remove(seat)
            if not self._seats:
                self.scope.cancel()
        if self._failure is not None:
            raise self._failure
        return seat.vectors

    async def embed_with(self, embedder: Embedder) -> None:
        """Make the call for those who are there now."""
        seats = list(self._seats)
        texts = list(dict.fromkeys(text for seat in seats for text in seat.texts))
        try:
            matrix = await embedder.embed(texts)
        except ServiceError as error:
            # Unless any call would fail, one caller's texts may be at fault: then each asks alone.
            if (isinstance(error, Unavailable) and error.concerns_all) or len(seats) == 1:
                self._failure = error
        else:
            rows = {text: row for row, text in enumerate(texts)}
            for seat in seats:
                seat.vectors = matrix[[rows[text] for text in seat.texts]]
