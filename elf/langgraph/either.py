"""The clients of an adapter: one whose calls block, one whose calls are awaited, or both."""

from __future__ import annotations

from typing import Final, TypeVar

from anyio import to_thread

from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.call import Call

T = TypeVar("T")


class EitherClient:
    """Carries calls out by what there is; `adapter` is the class that is given clients, for what it tells of them.

    Raises ValueError where neither is given.
    """

    def __init__(self, client: Client | None, async_client: AsyncClient | None, *, adapter: str) -> None:
        either = client or async_client
        if either is None:
            raise ValueError("client: a client or an async_client is needed")
        self._client = client
        self._async_client = async_client
        self._adapter = adapter
        self.tenant_id: Final = either.calls.tenant_id

    def send(self, call: Call[T]) -> T:
        """Carry a call out and return its result. Raises RuntimeError where there is only an async client."""
        if self._client is None:
            raise RuntimeError(
                f"client: sync methods need a client; give {self._adapter} one, or call the async methods"
            )
        return self._client.send(call)

    async def asend(self, call: Call[T]) -> T:
        """Do what `send` does: in a thread where there is no async client."""
        if self._async_client is None:
            return await to_thread.run_sync(self.send, call)
        return await self._async_client.send(call)
