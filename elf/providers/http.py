"""The one HTTP client of all providers: authorised JSON posts, tried again while the time allows.

Every failure leaves here as ProviderUnavailable: one that may pass as itself, one that will not as ProviderRefused, an
answer that is none as ProviderBroken. Messages carry the provider's id, the status or the kind of failure, and never a
header, a body or the key.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple, TypeVar

import anyio
import anyio.to_thread
import httpx
import msgspec
import structlog

from elf.config.model import Provider
from elf.core.errors import (
    InvalidRequest,
    ProviderBroken,
    ProviderRefused,
    ProviderUnavailable,
    StartupError,
)
from elf.core.measures import Measures
from elf.providers.answer import Unreadable, body_of, unpacked
from elf.providers.calls import Calls

T = TypeVar("T")

_MAY_PASS = frozenset({408, 425, 429})
_LIMITS = httpx.Limits(max_connections=16, max_keepalive_connections=8, keepalive_expiry=30.0)
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_LONGEST_RETRY_AFTER_S = 3600.0
_FAILURE_BYTES = 16 * 1024  # read of the body of a failure, so that its connection can be used again
_AT_ONCE_BYTES = 64 * 1024  # an answer up to this size is read in well under a millisecond

_log = structlog.get_logger()


class ProviderHttp:
    """Posts JSON to one provider.

    A call may take `timeout_ms` in all, its tries and the pauses between them together. Connection faults,
    time-outs and the statuses 408, 425, 429 and 5xx are tried again after an exponential pause with jitter,
    or after what Retry-After asks for; a pause that would outlast the budget ends the call at once.

    No more of an answer is taken in than its caller allows: then the connection is closed, the rest stays unread.
    """

    def __init__(
        self,
        name: str,
        config: Provider,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        jitter: Callable[[], float] = random.random,
        measures: Measures | None = None,
    ) -> None:
        """`name` is the config table, such as providers.embedding; `transport` replaces the network.

        Raises StartupError when api_base and path do not make a URL.
        """
        self._calls = Calls(name, config.provider_id, measures)
        self.label = self._calls.label
        self._budget_s = config.timeout_ms / 1000
        self._jitter = jitter
        base = "http://local" if config.is_local else config.api_base.rstrip("/")
        self._url = _url(name, f"{base}{config.path}")
        self._headers = _headers(config)
        # The transport itself: a client around it would add redirects, cookies and authentication flows, which no
        # provider needs, and a third to the time of a search. No environment variable configures ELF (trust_env).
        self._transport = transport or httpx.AsyncHTTPTransport(limits=_LIMITS, trust_env=False)
        # The budget bounds the whole call; a part of it for connecting leaves time for another try.
        self._extensions = {"timeout": httpx.Timeout(None, connect=self._budget_s / 3).as_dict()}

    def deadline(self) -> float:
        """Return the moment, on anyio's clock, at which a call that begins now runs out of time."""
        return anyio.current_time() + self._budget_s

    async def post(
        self, body: object, read: Callable[[bytes], T], *, most_bytes: int, deadline: float | None = None
    ) -> T:
        """Post `body` as JSON and return what `read` makes of the body of the successful answer.

        `read` gets at most `most_bytes`, unpacked, may run in another thread, and raises Unreadable. Several posts that
        make one call share its `deadline`; without one, this post is the call. Raises ProviderUnavailable when no try
        succeeds in time, ProviderRefused when the provider will not serve it, ProviderBroken when the answer is
        larger or cannot be read.
        """
        content = _encode(body)
        call = _Call(self.label, self.deadline() if deadline is None else deadline, self._jitter)
        with self._calls.measured(lambda: call.failed_tries):
            with anyio.CancelScope(deadline=call.deadline):
                return await self._answered(content, read, most_bytes, call)
            raise call.failure("out of time")

    async def _answered(self, content: bytes, read: Callable[[bytes], T], most_bytes: int, call: _Call) -> T:
        try:
            while (answer := await self._try(content, most_bytes, call)) is None:
                await call.pause()
            return await answer.read_by(read, most_bytes)
        except Unreadable as fault:
            raise ProviderBroken(f"the answer of {self.label} {fault}") from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _send(self, content: bytes, most_bytes: int) -> _Answer:
        request = httpx.Request(
            "POST", self._url, headers=self._headers, content=content, extensions=self._extensions
        )
        response = await self._transport.handle_async_request(request)
        try:
            if response.is_success:
                body = await body_of(response, most_bytes=most_bytes)
            else:
                body = b""
                with suppress(Unreadable):  # a failure says enough by its status
                    await body_of(response, most_bytes=_FAILURE_BYTES)
        finally:
            await response.aclose()
        return _Answer(response.status_code, response.headers, body)

    async def _try(self, content: bytes, most_bytes: int, call: _Call) -> _Answer | None:
        """Return the answer, or None after noting a fault that may pass."""
        try:
            answer = await self._send(content, most_bytes)
        except httpx.HTTPError as error:
            # Not chained: a library's message may quote what was sent. Before a connection nothing was.
            reason = f": {error}" if isinstance(error, httpx.ConnectError) else ""
            call.note(f"{type(error).__name__}{reason}", retry_after_s=None)
            return None
        if 200 <= answer.status < 300:
            return answer
        if answer.status in _MAY_PASS or answer.status >= 500:
            call.note(f"HTTP {answer.status}", retry_after_s=_retry_after_s(answer.headers))
            return None
        raise ProviderRefused(
            f"{self.label} refused the request with HTTP {answer.status}", provider_status=answer.status
        )


class _Answer(NamedTuple):
    """What came over the wire; the body is as it came, maybe packed, and empty unless the status is a success."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    async def read_by(self, read: Callable[[bytes], T], most_bytes: int) -> T:
        """Return what `read` makes of the unpacked body. Raises Unreadable."""
        coding = self.headers.get("Content-Encoding", "")

        def unpack_and_read() -> T:
            return read(unpacked(self.body, coding, most_bytes=most_bytes))

        if len(self.body) <= _AT_ONCE_BYTES and not coding:
            return unpack_and_read()
        # Other requests go on meanwhile. It ends by itself, in time, because of the bound.
        return await anyio.to_thread.run_sync(unpack_and_read)


class _Call:
    """The state of one call: how often it was tried, what went wrong last, how long is left."""

    def __init__(self, label: str, deadline: float, jitter: Callable[[], float]) -> None:
        self.deadline = deadline
        self._label = label
        self._jitter = jitter
        self.failed_tries = 0
        self._fault = ""
        self._retry_after_s: float | None = None

    def note(self, fault: str, *, retry_after_s: float | None) -> None:
        self.failed_tries += 1
        self._fault = fault
        self._retry_after_s = retry_after_s
        _log.info("provider.try_failed", provider=self._label, fault=fault, tries=self.failed_tries)

    async def pause(self) -> None:
        """Wait before the next try. Raises ProviderUnavailable when the budget does not reach that far."""
        pause = self._retry_after_s
        if pause is None:
            ceiling = min(_FIRST_PAUSE_S * 2 ** (self.failed_tries - 1), _LONGEST_PAUSE_S)
            pause = ceiling * (0.5 + 0.5 * self._jitter())
        if anyio.current_time() + pause >= self.deadline:
            raise self.failure(self._fault)
        await anyio.sleep(pause)

    def failure(self, reason: str) -> ProviderUnavailable:
        """Return the error that tells what happened."""
        tried = f"after {self.failed_tries} failed tries" if self.failed_tries else "on the first try"
        last = f", last {self._fault}" if self._fault not in ("", reason) else ""
        wait = min(max(self._retry_after_s or 0.0, 1.0), _LONGEST_RETRY_AFTER_S)
        message = f"{self._label} gave no answer {tried}: {reason}{last}"
        return ProviderUnavailable(message, retry_after_s=round(wait))


def _encode(body: object) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise InvalidRequest("the text holds half of a surrogate pair, which is not a character") from None


def _url(name: str, text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
        url.host.encode("idna")  # what the resolver does; its error would be no OSError
    except (httpx.InvalidURL, UnicodeError) as error:
        raise StartupError(f"{name}.api_base and path do not make a URL: {error}") from error
    return url


def _headers(config: Provider) -> httpx.Headers:
    """Merge the headers; an Authorization among the default ones loses to the key."""
    headers = httpx.Headers(config.default_headers)
    headers["Authorization"] = f"Bearer {config.api_key.strip()}"
    headers["Content-Type"] = "application/json"
    headers["Accept"] = "application/json"
    # Packing saves little on numbers, and what comes as it is needs no care when it is unpacked.
    headers["Accept-Encoding"] = "identity"
    return headers


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After (RFC 9110 section 10.2.3), seconds or a date; None when there is none to read."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
