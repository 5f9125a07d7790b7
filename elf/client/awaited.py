"""Calls that are awaited, whichever client there is: for adapters of frameworks that are async alone."""

from __future__ import annotations

from typing import TypeAlias, TypeVar, cast

from anyio import to_thread

from elf.client.asynchronous import AsyncClient, AsyncPages
from elf.client.blocking import Client
from elf.client.call import Call, Listing
from elf.client.families.conversations import ConversationsClient

T = TypeVar("T")

AnyClient: TypeAlias = Client | AsyncClient


class Awaited:
    """A client whose calls are awaited: those of an AsyncClient, or of a Client, each of which has a thread then.

    An AsyncClient belongs to one event loop; a Client may be called from several, as by code that runs one for each
    call.
    """

    def __init__(self, client: AnyClient) -> None:
        self._client = client
        self.calls = client.calls

    @property
    def conversations(self) -> ConversationsClient[AsyncClient]:
        """The client of conversations, whose methods are awaited."""
        return ConversationsClient(cast("AsyncClient", self))  # it has all that a family's client asks of one

    async def send(self, call: Call[T]) -> T:
        """Carry out a call and return its result."""
        if isinstance(self._client, AsyncClient):
            return await self._client.send(call)
        return await to_thread.run_sync(self._client.send, call)

    def pages(self, listing: Listing[T]) -> AsyncPages[T]:
        """Return the items of a listing, whose pages are asked for when they are needed."""
        return AsyncPages(self.send, listing)
