"""When a call is sent again: a policy, and the course of one call under it. No I/O, no clock of its own."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from elf.client.answer import Answer, retry_after_s
from elf.client.call import Call
from elf.client.errors import Unreachable

# These fail before a byte of the request has left.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_MOST_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class Retries:
    """How long a call is tried: no try begins later than `patience_s` after the first.

    Pauses double from `first_pause_s` to `longest_pause_s`, each cut by up to a half at random; a Retry-After of the
    service is kept, and ends the call at once when it is longer than the patience.
    """

    patience_s: float = 10.0
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0

    def __post_init__(self) -> None:
        if not (self.patience_s >= 0 and 0 < self.first_pause_s <= self.longest_pause_s):
            raise ValueError("patience_s must be 0 or more, and 0 < first_pause_s <= longest_pause_s")


DEFAULT_RETRIES = Retries()
NO_RETRIES = Retries(patience_s=0.0)


class Course:
    """The tries of one call. `failed` and `answered` judge one try each; `now` is any clock in seconds."""

    def __init__(
        self,
        call: Call[Any],
        retries: Retries,
        where: str,
        now: Callable[[], float],
        *,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.request_id = str(uuid4())  # one for all tries, so that the service's log shows that they are one
        self._call = call
        self._retries = retries
        self._where = where
        self._now = now
        self._jitter = jitter
        self._tries = 0
        self._give_up_at = now() + retries.patience_s

    def failed(self, error: httpx.TransportError) -> float:
        """Return the pause before the next try. Raises Unreachable when there is none."""
        self._tries += 1
        undone = self._call.repeat == "undone" and isinstance(error, _UNSENT)
        pause_s = self._pause_s(None) if undone or self._call.repeat == "safe" else None
        if pause_s is None:
            raise self._unreachable(error) from error
        return pause_s

    def answered(self, response: httpx.Response) -> tuple[Answer, float | None]:
        """Return the answer, and the pause before the next try when it is not the last word.

        A response that is still open has its content later.
        """
        self._tries += 1
        answer = Answer(
            response.status_code,
            response.content if response.is_closed else b"",
            self._where,
            self.request_id,
            retry_after_s(response.headers),
        )
        return answer, self._pause_s(answer.retry_after_s) if self._may_repeat(answer) else None

    def _may_repeat(self, answer: Answer) -> bool:
        if self._call.repeat == "never" or not answer.is_away:
            return False
        # The service itself says 503 of what it has not done; a proxy may have lost the answer.
        return self._call.repeat == "safe" or (answer.status == 503 and answer.told(self._call) is not None)

    def _pause_s(self, asked_s: float | None) -> float | None:
        """Return the pause before another try; None when it would begin too late."""
        doublings = min(self._tries - 1, _MOST_DOUBLINGS)
        pause_s = min(self._retries.first_pause_s * 2**doublings, self._retries.longest_pause_s)
        # The half that is left to chance keeps the clients that were sent away together from coming back together.
        pause_s *= 0.5 + 0.5 * self._jitter()
        if asked_s is not None:
            pause_s = asked_s + pause_s * 0.1
        return pause_s if self._now() + pause_s < self._give_up_at else None

    def _unreachable(self, error: httpx.TransportError) -> Unreachable:
        reason = str(error) or type(error).__name__
        after = f" after {self._tries} tries" if self._tries > 1 else ""
        unreachable = Unreachable(f"the service at {self._where} does not answer{after}: {reason}")
        unreachable.add_note(f"request {self.request_id}")
        return unreachable
