"""The client for code that is not async."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

import httpx

from elf.client.answer import Answer
from elf.client.call import Call, Listing, Stream
from elf.client.calls import Calls
from elf.client.connection import DEFAULT_TIMEOUT_S, Connection, Place
from elf.client.context import project_of
from elf.client.credentials import Credentials, Token
from elf.client.event_stream import EventReader
from elf.client.inputs import DEFAULT_SCOPE
from elf.client.results import Page
from elf.client.retries import DEFAULT_RETRIES, Retries

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pages(Generic[T]):
    """The items of a listing; each page is asked for when it is needed."""

    _send: Callable[[Call[Page[T]]], Page[T]]
    _listing: Listing[T]

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items

    def pages(self) -> Iterator[Page[T]]:
        """Iterate over whole pages, of which each says in `next_cursor` how to go on."""
        cursor = self._listing.cursor
        while True:
            page = self._send(self._listing.at(cursor))
            yield page
            if (cursor := page.next_cursor) is None:
                return


class Client(Connection[httpx.BaseTransport]):
    """A client of an ELF service; threads may share it. A context manager that closes its connections.

    The context, `tenant_id` to `read_profile`, goes with every call that takes one; `user` is another name for the
    project. Notes are written to `scope` when a call does not say. `api_key` and `token` prove who calls, and go with
    every request, to this service alone; `for_user` is the user whom a key acts for that may. `token` may be a function
    that gives one, called before each request. `timeout_s` is the longest wait for an answer,
    `retries` says how long a call is tried, `headers` go with every request. `transport` replaces the network.
    Every method raises ServiceError or UnexpectedAnswer: see elf.client.errors. Raises ValueError when `base_url` is no
    http(s) URL, and for a key, token or user that no header can carry.
    """

    SHOWN: ClassVar[Mapping[str, str]] = {
        "Call": "{}",
        "Listing": "Pages[{}]",
        "Stream": "AbstractContextManager[Iterator[{}]]",
    }

    def __init__(
        self,
        base_url: str,
        *,
        tenant_id: str | None = None,
        project_id: str | None = None,
        user: str | None = None,
        agent_id: str | None = None,
        scope: str = DEFAULT_SCOPE,
        read_profile: str | None = None,
        api_key: str | None = None,
        token: Token = None,
        for_user: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        retries: Retries = DEFAULT_RETRIES,
        headers: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        place = Place.of(base_url)
        # No proxy setting of the environment counts. Loading certificates takes a while, and plain HTTP needs none.
        transport = transport or httpx.HTTPTransport(verify=place.is_encrypted, trust_env=False)
        calls = Calls(tenant_id, project_of(user, project_id), agent_id, read_profile, scope)
        super().__init__(
            transport, place, headers, Credentials(api_key, token, for_user), calls, timeout_s, retries
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, those of clients made by `within`, too."""
        self._use.is_over = True
        self._transport.close()

    def send(self, call: Call[T]) -> T:
        """Carry out a call, one of `self.calls` or of your own, and return its result."""
        return self.ask(call).result_of(call)

    def ask(self, call: Call[Any], *, retries: Retries | None = None) -> Answer:
        """Carry out a call and return the answer as it came, that of an error, too. Raises Unreachable."""
        answer, _ = self._answered(call, retries)
        return answer

    def pages(self, listing: Listing[T]) -> Pages[T]:
        """Return what a listing lists; nothing is asked before it is gone through."""
        return Pages(self.send, listing)

    @contextmanager
    def stream(self, stream: Stream[T]) -> Iterator[Iterator[T]]:
        """Begin a stream, and give its events as they come; the block's end closes it.

        Raises what `send` does, on entering and for each event.
        """
        answer, response = self._answered(stream.call, None, keep_open=True)
        try:
            answer.check(stream.call)
            yield self._events(stream.call, answer, response)
        finally:
            response.close()

    def _events(self, call: Call[T], answer: Answer, response: httpx.Response) -> Iterator[T]:
        reader = EventReader()
        with answer.in_transit():
            for chunk in response.iter_raw():
                for event in reader.feed(chunk):
                    yield answer.event(call, event)

    def _answered(
        self, call: Call[Any], retries: Retries | None, *, keep_open: bool = False
    ) -> tuple[Answer, httpx.Response]:
        """Return the last answer, and its response, which is read and closed unless a good one is to be kept open."""
        course = self._course(call, retries, time.monotonic)
        while True:
            try:
                request = self._request(call, course.request_id, self._credentials.headers())
                response = self._transport.handle_request(request)
                if not (keep_open and response.is_success):
                    try:
                        response.read()
                    finally:
                        response.close()
            except httpx.TransportError as error:
                pause_s = course.failed(error)
            else:
                answer, again_s = course.answered(response)
                if again_s is None:
                    return answer, response
                pause_s = again_s
            time.sleep(pause_s)
