"""The client for async code, on asyncio or trio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import anyio
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
class AsyncPages(Generic[T]):
    """The items of a listing; each page is asked for when it is needed."""

    _send: Callable[[Call[Page[T]]], Awaitable[Page[T]]]
    _listing: Listing[T]

    def __aiter__(self) -> AsyncIterator[T]:
        return _Items(_Walk(self._send, self._listing))

    def pages(self) -> AsyncIterator[Page[T]]:
        """Iterate over whole pages, of which each says in `next_cursor` how to go on."""
        return _Walk(self._send, self._listing)


class _Walk(Generic[T]):
    # Not an async generator: one that is left before its end is cleaned up late, and complained of by trio.

    def __init__(self, send: Callable[[Call[Page[T]]], Awaitable[Page[T]]], listing: Listing[T]) -> None:
        self._send = send
        self._listing = listing
        self._cursor = listing.cursor
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Page[T]:
        if self._is_over:
            raise StopAsyncIteration
        page = await self._send(self._listing.at(self._cursor))
        self._cursor = page.next_cursor
        self._is_over = page.next_cursor is None
        return page


class _Items(Generic[T]):
    def __init__(self, pages: _Walk[T]) -> None:
        self._pages = pages
        self._rest: Iterator[T] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while True:
            for item in self._rest:
                return item
            self._rest = iter((await anext(self._pages)).items)


class AsyncClient(Connection[httpx.AsyncBaseTransport]):
    """A client of an ELF service; tasks may share it. An async context manager that closes its connections.

    The context, `tenant_id` to `read_profile`, goes with every call that takes one; `user` is another name for the
    project. Notes are written to `scope` when a call does not say. `api_key` and `token` prove who calls, and go with
    every request, to this service alone; `for_user` is the user whom a key acts for that may. `token` may be a function
    that gives one, called before each request. `timeout_s` is the longest wait for an answer,
    `retries` says how long a call is tried, `headers` go with every request. `transport` replaces the network.
    Every method raises ServiceError or UnexpectedAnswer: see elf.client.errors. Raises ValueError when `base_url` is no
    http(s) URL, and for a key, token or user that no header can carry.
    """

    SHOWN: ClassVar[Mapping[str, str]] = {
        "Call": "Awaitable[{}]",
        "Listing": "AsyncPages[{}]",
        "Stream": "AbstractAsyncContextManager[AsyncIterator[{}]]",
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        place = Place.of(base_url)
        transport = transport or httpx.AsyncHTTPTransport(verify=place.is_encrypted, trust_env=False)
        calls = Calls(tenant_id, project_of(user, project_id), agent_id, read_profile, scope)
        super().__init__(
            transport, place, headers, Credentials(api_key, token, for_user), calls, timeout_s, retries
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, those of clients made by `within`, too."""
        self._use.is_over = True
        await self._transport.aclose()

    async def send(self, call: Call[T]) -> T:
        """Carry out a call, one of `self.calls` or of your own, and return its result."""
        return (await self.ask(call)).result_of(call)

    async def ask(self, call: Call[Any], *, retries: Retries | None = None) -> Answer:
        """Carry out a call and return the answer as it came, that of an error, too. Raises Unreachable."""
        answer, _ = await self._answered(call, retries)
        return answer

    def pages(self, listing: Listing[T]) -> AsyncPages[T]:
        """Return what a listing lists; nothing is asked before it is gone through."""
        return AsyncPages(self.send, listing)

    @asynccontextmanager
    async def stream(self, stream: Stream[T]) -> AsyncIterator[AsyncIterator[T]]:
        """Begin a stream, and give its events as they come; the block's end closes it.

        Raises what `send` does, on entering and for each event.
        """
        answer, response = await self._answered(stream.call, None, keep_open=True)
        try:
            answer.check(stream.call)
            async with aclosing(self._events(stream.call, answer, response)) as events:
                yield events
        finally:
            await response.aclose()

    async def _events(
        self, call: Call[T], answer: Answer, response: httpx.Response
    ) -> AsyncGenerator[T, None]:
        reader = EventReader()
        with answer.in_transit():
            async with aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_raw())) as chunks:
                async for chunk in chunks:
                    for event in reader.feed(chunk):
                        yield answer.event(call, event)

    async def _answered(
        self, call: Call[Any], retries: Retries | None, *, keep_open: bool = False
    ) -> tuple[Answer, httpx.Response]:
        """Return the last answer, and its response, which is read and closed unless a good one is to be kept open."""
        course = self._course(call, retries, anyio.current_time)
        while True:
            try:
                identity = await self._credentials.headers_soon()
                request = self._request(call, course.request_id, identity)
                response = await self._transport.handle_async_request(request)
                if not (keep_open and response.is_success):
                    try:
                        await response.aread()
                    finally:
                        await response.aclose()
            except httpx.TransportError as error:
                pause_s = course.failed(error)
            else:
                answer, again_s = course.answered(response)
                if again_s is None:
                    return answer, response
                pause_s = again_s
            await anyio.sleep(pause_s)
