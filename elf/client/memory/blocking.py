"""The memory for code that is not async."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, ClassVar, Self

from elf.client.blocking import Client
from elf.client.connection import DEFAULT_TIMEOUT_S
from elf.client.credentials import Token
from elf.client.memory.at_once import AtOnceClient, at_once
from elf.client.memory.known_doing import KnownDoing
from elf.client.memory.opening import Opening, Where
from elf.client.memory.subject import Subject
from elf.client.memory.verbs import Verbs


class Memory(Verbs):
    """The memory of an agent: what was said is remembered, and what is known is recalled, over all families.

        memory = Memory()
        memory.remember("I prefer green tea to coffee.", user_id="ana")
        print(memory.recall("What does Ana drink?", user_id="ana").items[0].text)

    Without an address it runs a service in this process, with all that it needs, on the folder `where`: `elf-memory`
    below the one where the program runs, when it is left out; or by a config file. Another process may use the folder
    at the same time, and whoever comes later finds what is there. With an address it is a client of the service there:
    `Memory("http://127.0.0.1:8765", key="elf_...")`. A `key` or a `token` proves who calls, and `for_user` is the user
    for whom a key calls that may act for users.

    `user_id`, `agent_id` and `run_id`, a conversation by any name, are whom all calls are about that do not say; in
    this process without any it is one user's. The tenant is `default`, unless it is said, or bound by what proves who
    calls. `client` has all else that families can do. A context manager that closes what it started; that is closed
    with the process at the latest. Raises StartupError where no service can be started: it says what to install.
    """

    SHOWN: ClassVar[str] = "{}"

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
        opening = Opening(
            where=where, key=key, token=token, for_user=for_user, tenant_id=tenant_id, timeout_s=timeout_s
        )
        self._subject = Subject(user_id, agent_id, run_id, is_proven=opening.is_proven)
        self._stack = ExitStack()
        if (url := opening.url) is not None:
            self.client: Client = self._stack.enter_context(opening.client(url))
        else:
            service = opening.local()
            self.client = self._stack.enter_context(service)
            self._subject = Subject(service.user, is_proven=opening.is_proven).with_(
                user_id, agent_id, run_id
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, those of memories made by `within`, too, and stop what was started."""
        self._stack.close()

    def _carried_out(
        self,
        does: Callable[..., Coroutine[Any, Any, Any]],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        return at_once(does(KnownDoing(AtOnceClient(self.client), self._subject), *args, **kwargs))
