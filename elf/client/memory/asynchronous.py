"""The memory for async code, on asyncio or trio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Self

import anyio

from elf.client.asynchronous import AsyncClient
from elf.client.connection import DEFAULT_TIMEOUT_S
from elf.client.credentials import Token
from elf.client.memory.known_doing import KnownDoing
from elf.client.memory.opening import Opening, Where
from elf.client.memory.subject import Subject
from elf.client.memory.verbs import Verbs


@dataclass(slots=True)
class _Open:
    """What memories of the same connections share: what is open, and the user of calls that name none."""

    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    client: AsyncClient | None = None
    user: str | None = None
    is_over: bool = False


class AsyncMemory(Verbs):
    """The memory of an agent, as Memory is, with the same methods to be awaited.

        async with AsyncMemory() as memory:
            await memory.remember("I prefer green tea to coffee.", user_id="ana")
            print((await memory.recall("What does Ana drink?", user_id="ana")).items[0].text)

    The service of its own is started on entering, or by the first call.
    """

    SHOWN: ClassVar[str] = "Awaitable[{}]"

    def __init__(
        self,
        where: Where | None = None,
        *,
        key: str | None = None,
        token: Token = None,
        for_user: str | None = None,
        tenant_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self._opening = Opening(
            where=where, key=key, token=token, for_user=for_user, tenant_id=tenant_id, timeout_s=timeout_s
        )
        self._subject = Subject(user_id, agent_id, run_id, is_proven=self._opening.is_proven)
        self._open = _Open()

    @property
    def client(self) -> AsyncClient:
        """The client of all families. Raises RuntimeError before it is entered, or a call was made."""
        if self._open.client is None:
            raise RuntimeError("the memory is not open yet: enter it by `async with`")
        return self._open.client

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, those of memories made by `within`, too, and stop what was started."""
        self._open.is_over = True
        await self._open.stack.aclose()

    async def _opened(self) -> AsyncClient:
        shared = self._open
        async with shared.lock:
            if shared.is_over:
                raise RuntimeError("the memory has been closed")
            if shared.client is None:
                if (url := self._opening.url) is not None:
                    shared.client = await shared.stack.enter_async_context(self._opening.async_client(url))
                else:
                    service = self._opening.local()
                    shared.client = await shared.stack.enter_async_context(service)
                    shared.user = service.user
            return shared.client

    async def _carried_out(
        self,
        does: Callable[..., Coroutine[Any, Any, Any]],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        client, subject = await self._opened(), self._subject
        if subject.user_id is None:
            subject = subject.with_(self._open.user)
        return await does(KnownDoing(client, subject), *args, **kwargs)
