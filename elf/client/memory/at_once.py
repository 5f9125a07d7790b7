"""How what is written once, to be awaited, is carried out by a client that blocks: without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from elf.client.answer import Answer
from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.call import Call
from elf.client.retries import Retries

T = TypeVar("T")


class AtOnceClient(AsyncClient):
    """An AsyncClient whose calls a Client carries out when they are awaited, so that nothing ever waits for a loop.

    It has no connections of its own: closing is the Client's. It streams nothing.
    """

    def __init__(self, client: Client) -> None:  # no more of what an AsyncClient has
        self._blocking = client
        self._credentials = client._credentials
        self._default_project = client._default_project
        self.calls = client.calls
        self.base_url = client.base_url

    async def send(self, call: Call[T]) -> T:
        """Carry out a call, and return its result."""
        return (await self.ask(call)).result_of(call)

    async def ask(self, call: Call[Any], *, retries: Retries | None = None) -> Answer:
        """Carry out a call, and return the answer as it came."""
        return self._blocking.proven_by(self._credentials).ask(call, retries=retries)


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Carry out what awaits nothing but an AtOnceClient, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("it awaits more than a client that blocks")
