"""The cache writer: what queues up is written together, hits are counted at intervals, a stop loses nothing."""

from __future__ import annotations

import anyio
import pytest

from actors.kernel import Channel
from actors.workers.cache_writer import BATCH_SIZE, COUNT_EVERY_S, GATHER_S, LAST_WORDS_S, CacheWriter
from elf.search.cache import Answer, LatePut
from tests.actors.outbox_kit import on_virtual_time, running
from tests.kernel.steered import PATIENCE_S, settle
from tests.search_kit import MemoryCache

pytestmark = pytest.mark.anyio


class Bench:
    """A writer over a cache in memory, and the channel to it."""

    def __init__(self, *, capacity: int = 1000, gather_s: float = 0.0) -> None:
        self.cache = MemoryCache()
        self.puts: Channel[LatePut] = Channel("cache_puts", capacity, "drop")
        self.writer = CacheWriter(self.cache, self.puts, gather_s=gather_s)

    def leave(self, *numbers: int) -> None:
        for number in numbers:
            self.puts.send_nowait(LatePut(self.cache, Answer("rerank", f"key {number}", [number], 7)))

    @property
    def kept(self) -> list[int]:
        return [payload[0] for payload in self.cache.payloads]

    @property
    def batch_sizes(self) -> list[int]:
        return [len(batch) for batch in self.cache.batches]


async def test_an_answer_is_written_as_it_comes() -> None:
    bench = Bench()
    async with running(bench.writer):
        for number in (1, 2):
            bench.leave(number)
            await settle()
    assert (bench.kept, bench.batch_sizes) == ([1, 2], [1, 1])


async def test_answers_that_queue_up_behind_a_write_are_written_together() -> None:
    bench, free = Bench(), anyio.Event()
    bench.cache.before_put = free.wait
    async with running(bench.writer):
        bench.leave(1)
        await settle()
        bench.leave(*range(2, BATCH_SIZE + 5))
        free.set()
        await settle()
    assert bench.batch_sizes == [1, BATCH_SIZE, 3]
    assert bench.kept == list(range(1, BATCH_SIZE + 5))


@on_virtual_time
async def test_answers_of_a_short_time_are_written_together() -> None:
    bench = Bench(gather_s=GATHER_S)
    async with running(bench.writer):
        for number in range(4):
            bench.leave(number)
            await anyio.sleep(GATHER_S / 4.5)
        await settle()
        assert bench.batch_sizes == []
        await anyio.sleep(GATHER_S)
    assert (bench.kept, bench.batch_sizes) == ([0, 1, 2, 3], [4])


async def test_a_full_channel_drops_and_counts_and_holds_nobody() -> None:
    bench, free = Bench(capacity=2), anyio.Event()
    bench.cache.before_put = free.wait
    async with running(bench.writer):
        bench.leave(1)
        await settle()
        bench.leave(2, 3, 4)
        free.set()
        await settle()
    assert bench.kept == [1, 2, 3]
    assert bench.puts.statistics().dropped == 1


@on_virtual_time
async def test_hits_are_counted_at_intervals_however_much_there_is_to_write() -> None:
    bench = Bench()
    async with running(bench.writer):
        for number in range(35):
            bench.leave(number)
            await anyio.sleep(COUNT_EVERY_S / 10)
        assert bench.cache.hits_counted == 3
    assert bench.kept == list(range(35))


@on_virtual_time
async def test_a_write_that_takes_longer_than_the_interval_is_not_cut_short() -> None:
    bench = Bench()
    bench.cache.before_put = lambda: anyio.sleep(COUNT_EVERY_S * 3)
    async with running(bench.writer):
        bench.leave(1)
        await anyio.sleep(COUNT_EVERY_S * 3.5)
        assert bench.kept == [1]


async def test_when_it_is_stopped_it_writes_what_waits_and_counts_the_hits() -> None:
    bench = Bench()
    async with running(bench.writer):
        bench.leave(*range(BATCH_SIZE + 1))
    assert bench.kept == list(range(BATCH_SIZE + 1))
    assert bench.cache.hits_counted == 1


@on_virtual_time
async def test_a_database_that_hangs_does_not_hold_up_the_stop() -> None:
    bench = Bench()
    bench.cache.before_put = anyio.sleep_forever
    begin = anyio.current_time()
    with anyio.fail_after(PATIENCE_S):
        async with running(bench.writer):
            bench.leave(1)
            await settle()
            bench.leave(2)
    assert anyio.current_time() - begin <= LAST_WORDS_S
