"""A store for LangGraph that keeps everything in an ELF service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from langgraph.store.base import BaseStore, Op, Result, TTLConfig

from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.call import Call
from elf.client.errors import InvalidRequest
from elf.client.families.store import Results
from elf.langgraph.either import EitherClient
from elf.langgraph.store_wire import StoreWire, Talk

T = TypeVar("T")


class ElfStore(BaseStore):
    """Keeps the items of graphs in ELF, over a client, an async client, or both.

    Async methods go through threads where there is only a client; sync methods need one. `user_id` is whose items they
    are; without it, they are the caller's own. `fields` are the paths by which an item is found that names none; None:
    nothing is found by words. `ttl` says how long items live that are put without a time, and whether those that are
    read live their time anew. Raises ValueError for what a store does not take, RuntimeError for a sync method without
    a client, and otherwise what the client raises: see elf.client.errors. The clients stay yours to close.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        *,
        user_id: str | None = None,
        fields: Sequence[str] | None = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        self._clients = EitherClient(client, async_client, adapter="ElfStore")
        self._wire = StoreWire(self._clients.tenant_id, user_id, fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out: all is read as it was before anything is written."""
        talk = self._wire.talk(ops)
        answer = None
        while True:
            try:
                call = _next(talk, answer)
            except StopIteration as done:
                results: list[Result] = done.value
                return results
            answer = self._send(call)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does."""
        talk = self._wire.talk(ops)
        answer = None
        while True:
            try:
                call = _next(talk, answer)
            except StopIteration as done:
                results: list[Result] = done.value
                return results
            answer = await self._asend(call)

    def _send(self, call: Call[T]) -> T:
        with _refused_is_a_value_error():
            return self._clients.send(call)

    async def _asend(self, call: Call[T]) -> T:
        with _refused_is_a_value_error():
            return await self._clients.asend(call)


def _next(talk: Talk, answer: Results | None) -> Call[Results]:
    with _refused_is_a_value_error():
        return next(talk) if answer is None else talk.send(answer)


@contextmanager
def _refused_is_a_value_error() -> Iterator[None]:
    try:
        yield
    except InvalidRequest as error:
        raise ValueError(error.message) from error
