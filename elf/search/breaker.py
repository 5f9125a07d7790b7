"""A circuit breaker: after a few failures in a row, what is away is not asked for a while.

It guards what a search can do without. Writes and indexing use the same providers unguarded: a search gives a provider
a fraction of a second, they give it its whole time-out, and what a write did without is missing for good.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

import anyio
import structlog

from elf.core.errors import IndexUnavailable, ProviderRefused, ProviderUnavailable, Unavailable

T = TypeVar("T")

FAILURES: Final = (ProviderUnavailable, IndexUnavailable, TimeoutError)

log = structlog.get_logger()


class BreakerState(StrEnum):
    """closed: calls pass. open: calls are refused. half-open: one call may pass, or is under way, to see."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class BreakerStatistics(NamedTuple):
    """What is shown of a breaker. `openings` and `refused` (calls) are counted since it was made."""

    name: str
    state: BreakerState
    openings: int
    refused: int


class CircuitBreaker:
    """Watches what calls come to, and refuses them while it is open.

    It opens after `failures_to_open` failures in a row, for `open_s` seconds. Then it lets one call through: a success
    closes it, a failure opens it again, for twice as long each time, up to `longest_open_s`.

    A failure is one of `failures`, by default ProviderUnavailable, IndexUnavailable or TimeoutError; and a call cut off
    by its caller's deadline after `slow_s` seconds or more, or a slow provider would cost every caller its time. A call
    cut off earlier, or for another reason, tells nothing. Any other error is an answer: whoever gives it is there; and
    so is a provider that refuses what was asked, and not whoever asks.
    """

    def __init__(
        self,
        name: str,
        *,
        failures_to_open: int = 3,
        open_s: float = 1.0,
        longest_open_s: float = 10.0,
        slow_s: float = 0.05,
        refusal: type[Unavailable] = ProviderUnavailable,
        failures: tuple[type[Exception], ...] = FAILURES,
    ) -> None:
        """`name` is for messages, such as `providers.rerank (acme)`; `refusal` is what a refused call raises."""
        self.name = name
        self._failures_to_open = failures_to_open
        self._open_s = open_s
        self._longest_open_s = longest_open_s
        self._slow_s = slow_s
        self._refusal = refusal
        self._failure_types = failures
        self._is_open = False
        self._is_probing = False
        self._failures = 0
        self._pause_s = 0.0
        self._retry_at = 0.0
        self._epoch = 0  # a call that began before the last change has nothing to say about the state
        self._openings = 0
        self._refused = 0

    @property
    def state(self) -> BreakerState:
        if not self._is_open:
            return BreakerState.CLOSED
        waits = anyio.current_time() < self._retry_at
        return BreakerState.OPEN if waits else BreakerState.HALF_OPEN

    @property
    def refuses(self) -> bool:
        """Whether a call made now would be refused."""
        return self._is_open and (self._is_probing or anyio.current_time() < self._retry_at)

    def statistics(self) -> BreakerStatistics:
        return BreakerStatistics(self.name, self.state, self._openings, self._refused)

    async def call(self, make: Callable[[], Awaitable[T]]) -> T:
        """Return what `make()` returns. Raises `refusal` at once while open, else what `make` raises."""
        epoch = self._admit()
        begin, deadline = anyio.current_time(), anyio.current_effective_deadline()
        try:
            value = await make()
        except self._failure_types as error:
            if isinstance(error, ProviderRefused) and not error.concerns_all:
                self._answered(epoch)
            else:
                self._failed(epoch, str(error) or type(error).__name__)
            raise
        except anyio.get_cancelled_exc_class():
            now = anyio.current_time()
            if now >= deadline and now - begin >= self._slow_s:
                self._failed(epoch, f"no answer within {now - begin:.2f} s")
            self._end_probe(epoch)
            raise
        except Exception:
            self._answered(epoch)
            raise
        self._answered(epoch)
        return value

    def _admit(self) -> int:
        if self._is_open:
            if self.refuses:
                self._refused += 1
                raise self._refused_call(self._retry_at - anyio.current_time())
            self._is_probing = True
            log.info("circuit_half_open", provider=self.name)
        return self._epoch

    def _refused_call(self, wait: float) -> Unavailable:
        when = "is being tried again now" if self._is_probing else f"is tried again in {wait:.1f} s"
        return self._refusal(f"{self.name} did not answer and {when}", retry_after_s=max(1, math.ceil(wait)))

    def _answered(self, epoch: int) -> None:
        if epoch != self._epoch:
            return
        self._failures = 0
        if self._is_open:
            self._is_open = self._is_probing = False
            self._epoch += 1
            log.info("circuit_closed", provider=self.name)

    def _failed(self, epoch: int, error: str) -> None:
        if epoch != self._epoch:
            return
        self._failures += 1
        if self._is_open:
            self._open(min(2 * self._pause_s, self._longest_open_s), error)
        elif self._failures >= self._failures_to_open:
            self._open(self._open_s, error)

    def _open(self, pause_s: float, error: str) -> None:
        self._is_open, self._is_probing = True, False
        self._pause_s = pause_s
        self._retry_at = anyio.current_time() + pause_s
        self._epoch += 1
        self._openings += 1
        log.warning(
            "circuit_open", provider=self.name, failures=self._failures, retry_in_s=pause_s, error=error
        )

    def _end_probe(self, epoch: int) -> None:
        """Let the next call be the one that tells."""
        if epoch == self._epoch:
            self._is_probing = False
