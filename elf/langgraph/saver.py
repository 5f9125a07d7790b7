"""A checkpointer for LangGraph that keeps everything in an ELF service."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.call import Call
from elf.client.errors import InvalidRequest
from elf.langgraph.either import EitherClient
from elf.langgraph.serializer import let_compile_name_types, strict
from elf.langgraph.wire import Wire

T = TypeVar("T")

let_compile_name_types()


class ElfSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of graphs in ELF, over a client, an async client, or both.

    Async methods go through threads where there is only a client; sync methods need one. `user_id` is whose threads
    they are; without it, it is `user_id` of the config's configurable. A call that names only threads or runs is then
    about the one user who has them. The clients stay yours to close.

    A checkpoint is decoded if it consists of LangGraph's and LangChain's own types, of those that `compile()` finds in
    the state of a graph, and of `types`; with another one it raises TypeNotAllowed before anything reaches the graph.
    `serde` has to be as strict.

    Raises ValueError for a `serde` that is not, and when nobody says whose the threads are, RuntimeError for a sync
    method without a client, and otherwise what the client raises: see elf.client.errors.
    """

    def __init__(
        self,
        client: Client | None = None,
        async_client: AsyncClient | None = None,
        *,
        user_id: str | None = None,
        serde: SerializerProtocol | None = None,
        types: Sequence[type] = (),
    ) -> None:
        super().__init__(serde=strict(serde, types))
        self._clients = EitherClient(client, async_client, adapter="ElfSaver")
        self.user_id = user_id

    @property
    def _wire(self) -> Wire:
        # Made anew: the base class clones a saver with another serializer.
        return Wire(self._clients.tenant_id, self.user_id, self.serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        stored = self._send(self._wire.get(config)).checkpoint
        return None if stored is None else self._wire.tuple_of(stored, config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        stored = (await self._asend(self._wire.get(config))).checkpoint
        return None if stored is None else self._wire.tuple_of(stored, config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first; without a config, those of all threads of the user."""
        cursor: str | None = None
        while limit is None or limit > 0:
            page = self._send(self._wire.list(config, filter, before, limit, cursor))
            yield from (self._wire.tuple_of(stored, config) for stored in page.items)
            limit = None if limit is None else limit - len(page.items)
            if (cursor := page.next_cursor) is None:
                return

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield what `list` does."""
        cursor: str | None = None
        while limit is None or limit > 0:
            page = await self._asend(self._wire.list(config, filter, before, limit, cursor))
            for stored in page.items:
                yield self._wire.tuple_of(stored, config)
            limit = None if limit is None else limit - len(page.items)
            if (cursor := page.next_cursor) is None:
                return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self._send(self._wire.put(config, checkpoint, metadata, new_versions))
        return self._put_at(config, checkpoint)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        await self._asend(self._wire.put(config, checkpoint, metadata, new_versions))
        return self._put_at(config, checkpoint)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._send(self._wire.put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._asend(self._wire.put_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self._send(self._wire.of_threads("/delete", thread_ids=[str(thread_id)]))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._asend(self._wire.of_threads("/delete", thread_ids=[str(thread_id)]))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._send(self._wire.of_threads("/delete", run_ids=[str(run) for run in run_ids]))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._asend(self._wire.of_threads("/delete", run_ids=[str(run) for run in run_ids]))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._send(self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._asend(self._copy(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all of threads (`delete`), or all but the newest of each namespace and what it needs."""
        self._send(self._prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Do what `prune` does."""
        await self._asend(self._prune(thread_ids, strategy))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version after another one. By chance, two branches of a thread have no version in common."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    def _copy(self, source: str, target: str) -> Call[None]:
        return self._wire.of_threads("/copy", source_thread_id=str(source), target_thread_id=str(target))

    def _prune(self, thread_ids: Sequence[str], strategy: str) -> Call[None]:
        ids = [str(thread_id) for thread_id in thread_ids]
        return self._wire.of_threads("/prune", thread_ids=ids, strategy=strategy)

    def _put_at(self, config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
        given = config["configurable"]
        return self._wire.config(given["thread_id"], given.get("checkpoint_ns", ""), checkpoint["id"], config)

    def _send(self, call: Call[T]) -> T:
        with _user_missing_is_a_value_error():
            return self._clients.send(call)

    async def _asend(self, call: Call[T]) -> T:
        with _user_missing_is_a_value_error():
            return await self._clients.asend(call)


@contextmanager
def _user_missing_is_a_value_error() -> Iterator[None]:
    try:
        yield
    except InvalidRequest as error:
        if error.fields != ("user_id",):
            raise
        raise ValueError(
            "user_id: nobody says whose threads they are: give it to ElfSaver or the config"
        ) from error
