"""The vectors of queries: nobody waits for the model longer than a deadline, and not at all while it is away."""

from __future__ import annotations

from typing import Final

import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus
from pgvector import Vector

from elf.core.errors import Unavailable
from elf.memory_embedding import MemoryEmbedder

PROBE_EVERY_S: Final = 0.5
LONGEST_PROBE_S: Final = 2.0
PROBE: Final = "What is known of the user?"

log = structlog.get_logger()


class QueryEmbedding:
    """Embeds queries, and is the actor that finds out when a model that missed the deadline is back.

    After a miss all queries go without a vector until a probe is answered in time. `deadline_s` is None for a model of
    this process: it may be busy, and is never away, so whoever asks waits for it.
    """

    name = "assistant_query_embedding"

    def __init__(self, embedder: MemoryEmbedder, *, deadline_s: float | None) -> None:
        self._embedder = embedder
        self._deadline_s = deadline_s
        self._group: TaskGroup | None = None
        self._missed = anyio.Event()

    @property
    def version(self) -> str:
        return self._embedder.version

    @property
    def is_away(self) -> bool:
        """Whether queries go without a vector until a probe is answered."""
        return self._missed.is_set()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Own the calls that are under way, and probe after a miss, until cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            task_status.started()
            try:
                while True:
                    await self._missed.wait()
                    await self._probe()
            finally:
                self._group = None

    async def embed(self, query: str) -> Vector | None:
        """Return the vector of a query; None where the model is away, or does not answer in time."""
        call = _Call(query)
        if self._deadline_s is None or self._group is None:
            await self._make(call)
            return call.vector
        if self.is_away:
            return None
        # The call goes on without whoever asks: cut off, it would count against a model that others have time for.
        self._group.start_soon(self._make, call)
        with anyio.move_on_after(self._deadline_s):
            await call.ended.wait()
        if not call.is_answered and not self.is_away:
            self._missed.set()
            log.warning("assistant.query_embedding_missed", deadline_ms=round(self._deadline_s * 1000))
        return call.vector

    async def _make(self, call: _Call) -> None:
        try:
            (call.vector,) = await self._embedder.embed([call.query])
            call.is_answered = True
        except Unavailable as error:
            log.warning("assistant.query_not_embedded", error=type(error).__name__)
        finally:
            call.ended.set()

    async def _probe(self) -> None:
        """Ask until the model answers within the deadline."""
        assert self._deadline_s is not None, "only who has a deadline misses it"
        while True:
            call, began = _Call(PROBE), anyio.current_time()
            with anyio.move_on_after(LONGEST_PROBE_S):
                await self._make(call)
            if call.is_answered and anyio.current_time() - began <= self._deadline_s:
                self._missed = anyio.Event()
                log.info("assistant.query_embedding_back")
                return
            await anyio.sleep(PROBE_EVERY_S)


class _Call:
    """The call for one query, and what came of it."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.vector: Vector | None = None
        self.is_answered = False
        self.ended = anyio.Event()
