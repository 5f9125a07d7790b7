"""Writes what searches leave for the cache of model answers, behind their backs and many at once."""

from __future__ import annotations

import anyio
from anyio.abc import TaskStatus

from actors.kernel import Channel
from elf.search.cache import AnswerCache, LatePut

BATCH_SIZE = 128  # answers of one statement
# Searches of this time share their statement; until it is written this process has their answers in memory.
GATHER_S = 0.5
COUNT_EVERY_S = 5.0
LAST_WORDS_S = 2.0


class CacheWriter:
    """Puts the answers of a channel into their cache, those of `gather_s` seconds at once, and counts hits.

    The channel should drop when it is full: an answer that is not kept is asked for again. When it is stopped, it
    writes what is waiting, for at most LAST_WORDS_S seconds.
    """

    name = "cache_writer"

    def __init__(self, cache: AnswerCache, puts: Channel[LatePut], *, gather_s: float = GATHER_S) -> None:
        self._cache = cache
        self._puts = puts
        self._gather_s = gather_s
        self._taken: list[LatePut] = []  # from the channel, and not written yet

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        self._taken = []
        task_status.started()
        try:
            while True:
                await self._put_until(anyio.current_time() + COUNT_EVERY_S)
                await self._cache.count_hits()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(LAST_WORDS_S, shield=True):
                await self._put_the_waiting()
                await self._cache.count_hits()
            raise

    async def _put_until(self, due: float) -> None:
        while anyio.current_time() < due:
            with anyio.CancelScope(deadline=due):  # around the waiting only: a write is never cut short by it
                self._taken = await self._puts.receive_many(BATCH_SIZE)
                await anyio.sleep(self._gather_s)
                if self._puts.statistics().fill and (room := BATCH_SIZE - len(self._taken)):
                    self._taken += await self._puts.receive_many(room)
            await self._put_taken()

    async def _put_the_waiting(self) -> None:
        await self._put_taken()
        while self._puts.statistics().fill:
            self._taken = await self._puts.receive_many(BATCH_SIZE)
            await self._put_taken()

    async def _put_taken(self) -> None:
        if self._taken:
            await self._cache.put_many([put.answer for put in self._taken])
            self._taken = []
