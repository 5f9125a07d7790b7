"""What came back, and what it means: a result, or the error that it tells of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from elf.client.call import Call
from elf.client.errors import ErrorBody, UnexpectedAnswer, Unreachable, service_error
from elf.client.event_stream import Event
from elf.client.json_value import JsonObject
from elf.core.errors import ElfError
from elf.core.structs import read_json

GOOD = range(200, 300)
AWAY = frozenset({502, 503, 504})  # what a proxy says, too, while the service behind it is away
DEFAULT_RETRY_AFTER_S = 1.0
LONGEST_RETRY_AFTER_S = 86_400.0

T = TypeVar("T")
E = TypeVar("E", bound=ElfError)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of whatever listens at `where`; `retry_after_s` is None when it does not say."""

    status: int
    content: bytes
    where: str
    request_id: str
    retry_after_s: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether the service did what it was asked."""
        return self.status in GOOD

    @property
    def is_away(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in AWAY

    @property
    def body(self) -> JsonObject:
        """The body as it came. Raises UnexpectedAnswer when it is no JSON object."""
        try:
            return read_json(self.content, JsonObject)
        except ValueError:
            raise self._unexpected() from None

    def told(self, call: Call[Any]) -> ErrorBody | None:
        """Return the error that the service tells of; None when the body is not that of an error of the call."""
        return call.read_error(self.status, self.content)

    def result_of(self, call: Call[T]) -> T:
        """Return what the call asked for. Raises the ServiceError that the answer tells of, or UnexpectedAnswer."""
        self.check(call)
        return self.read(call, self.content)

    def check(self, call: Call[Any]) -> None:
        """Raise the error that the answer is, unless it is a good one."""
        if self.is_good:
            return
        told = self.told(call)
        if told is not None or self.status not in call.also_read:
            raise self.failure(told, call)

    def read(self, call: Call[T], content: bytes) -> T:
        """Return what the call asked for, or a part of it. Raises UnexpectedAnswer when this is none."""
        try:
            return call.read(content)
        except ValueError as error:
            raise self._unexpected(f": {error}") from error

    def event(self, call: Call[T], event: Event) -> T:
        """Return what an event of the answer brings. Raises the ServiceError that it tells of, or UnexpectedAnswer."""
        if event.type != "error":
            return self.read(call, event.data)
        raise self.failure(call.read_error(self.status, event.data), call)

    @contextmanager
    def in_transit(self) -> Iterator[None]:
        """Raise Unreachable when the rest of the answer does not come."""
        try:
            yield
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise self._noted(Unreachable(f"the answer of {self.where} ended midway: {reason}")) from error

    def failure(self, told: ErrorBody | None, call: Call[T]) -> ElfError:
        """Return the error of an answer that is not good, with paths as the arguments of the call."""
        if told is not None:
            error: ElfError = service_error(
                told.error_code,
                call.renamed(told.message),
                [call.renamed(path) for path in told.fields or () if path != "$"],
                retry_after_s=self._whole_seconds(),
            )
        elif self.is_away:
            message = f"the service at {self.where} is away (HTTP {self.status})"
            error = Unreachable(message, retry_after_s=self._whole_seconds())
        else:
            return self._unexpected()
        return self._noted(error)

    def _whole_seconds(self) -> int:
        return round(DEFAULT_RETRY_AFTER_S if self.retry_after_s is None else self.retry_after_s)

    def _unexpected(self, why: str = "") -> UnexpectedAnswer:
        what = "is not understood" if why else "is not ELF"
        return self._noted(UnexpectedAnswer(f"what answers at {self.where} {what} (HTTP {self.status}){why}"))

    def _noted(self, error: E) -> E:
        error.add_note(f"request {self.request_id}")
        return error


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After (RFC 9110 section 10.2.3), seconds or a date; None when there is none to read."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), LONGEST_RETRY_AFTER_S)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), LONGEST_RETRY_AFTER_S)
