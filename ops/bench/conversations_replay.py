#!/usr/bin/env python3
"""Answers that are replayed while they are recorded: how late they come, what they cost the recorder, and memory.

    python -m ops.bench.conversations_replay [--replays 100] [--rate 100] [--seconds 20] [--idle 20]

It starts a service of two API processes and a worker on the embedded Postgres, and a writer in a process of its own
that records so many chunks a second, first with nobody and then with all replays, each over a connection of its own. A
chunk is the moment at which it was sent, so each replay tells how late it is, of all that was sent since it began. It
prints the lag, how the replays were spread, what the processes computed, and the writer's pace beside its pace alone.
Then it records 15 MiB, has one read it in each process, and prints by how much the two processes grow with so many more
that do not read. The clients compute on the same cores as the service, and so does Postgres.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import grpc
import httpx
import psutil

from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import ResponseRecorderServiceStub
from ops.bench.search import percentile
from tests.folders import fresh_folder
from tests.metrics_kit import Page
from tests.system.service import write_config
from tests.system.several import SeveralProcesses, split

API: Final = ("api-1", "api-2")
OWN_CONNECTION: Final = [("grpc.use_local_subchannel_pool", 1)]
LARGE: Final = 15 * 1024 * 1024
SETTLE_S: Final = 3.0


class Place(NamedTuple):
    """Where a conversation is, and whose."""

    address: str
    proof: str
    id: UUID


@asynccontextmanager
async def recorder(place: Place) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(place.address, options=OWN_CONNECTION) as channel:
        yield ResponseRecorderServiceStub(channel)


def write(place: Place, rate: int, seconds: float) -> float:
    """Record chunks in a process of its own; return how many a second it could send."""
    return asyncio.run(_write(place, rate, seconds))


async def _write(place: Place, rate: int, seconds: float) -> float:
    async with recorder(place) as stub:
        call = stub.Record(metadata=[("authorization", place.proof)])
        await call.write(pb.RecordRequest(conversation_id=place.id.bytes))
        began = time.monotonic()
        count = round(rate * seconds)
        for number in range(count):
            await asyncio.sleep(began + number / rate - time.monotonic())
            await call.write(pb.RecordRequest(content=f"{time.monotonic():.6f} "))
        taken = time.monotonic() - began
        await call.done_writing()
        assert (await call).status == pb.RECORD_STATUS_SUCCESS
        return count / taken


async def replay(place: Place, lags: list[float]) -> int:
    """Replay to the end, note by how many milliseconds chunks were late, and return how many there were.

    What was there before the first answer is late by no fault of the service's.
    """
    async with recorder(place) as stub:
        asked = pb.ReplayRequest(conversation_id=place.id.bytes)
        rest, count, began = "", 0, 0.0
        async for answer in stub.Replay(asked, metadata=[("authorization", place.proof)]):
            now = time.monotonic()
            began = began or now
            *sent, rest = (rest + answer.content).split(" ")
            lags.extend((now - float(moment)) * 1000 for moment in sent if float(moment) > began)
            count += len(sent)
        return count


async def recorded(place: Place) -> None:
    """Wait until the conversation is recorded."""
    asked = pb.CheckRecordingsRequest(conversation_ids=[place.id.bytes])
    async with recorder(place) as stub:
        metadata = [("authorization", place.proof)]
        while not (await stub.CheckRecordings(asked, metadata=metadata)).conversation_ids:  # noqa: ASYNC110 - another process tells
            await asyncio.sleep(0.01)


def begin(service: SeveralProcesses) -> Place:
    proof = f"Bearer {uuid4().hex}"
    made = httpx.post(f"{service.url}/v1/conversations", json={}, headers={"Authorization": proof})
    return Place(service.grpc_address, proof, UUID(made.json()["id"]))


async def spread(service: SeveralProcesses) -> list[int]:
    """How many replays each process has."""
    async with httpx.AsyncClient() as client:
        counts = []
        for name in API:
            (line,) = service.events("admin_address", process=name)
            page = Page((await client.get(f"http://{line['address']}/metrics")).text)
            counts.append(int(page.value("elf_conversation_streams", kind="replay")))
        return counts


async def run_lag(service: SeveralProcesses, replays: int, rate: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        await loop.run_in_executor(pool, write, begin(service), rate, 1.0)  # the process is up
        alone = await loop.run_in_executor(pool, write, begin(service), rate, seconds)
        place, lags, before = begin(service), list[float](), computed(service)
        writing = loop.run_in_executor(pool, write, place, rate, seconds)
        await recorded(place)
        async with asyncio.TaskGroup() as group:
            reading = [group.create_task(replay(place, lags)) for _ in range(replays)]
            await asyncio.sleep(seconds / 2)
            print(f"replays in each process: {await spread(service)}", flush=True)
        together = await writing
    assert {task.result() for task in reading} == {round(rate * seconds)}, "a replay lacks something"
    shares = ", ".join(
        f"{(now - then) / seconds:.0%}" for now, then in zip(computed(service), before, strict=True)
    )
    print(f"a core is computed on by each process for {shares} of the time")
    lags.sort()
    told = ", ".join(f"p{share} {percentile(lags, share / 100):.0f}" for share in (50, 95, 99))
    print(f"lag of {len(lags):,} chunks in ms: {told}, most {lags[-1]:.0f}")
    print(f"pace of the writer: {together:.1f} chunks/s, alone {alone:.1f}: {together / alone:.3f}")


def computed(service: SeveralProcesses) -> list[float]:
    """How many seconds each API process has computed since its start."""
    times = [psutil.Process(service.pid(name)).cpu_times() for name in API]
    return [one.user + one.system for one in times]


def memory(service: SeveralProcesses) -> float:
    """How many MB the API processes have."""
    return sum(psutil.Process(service.pid(name)).memory_info().rss for name in API) / 1e6


async def run_memory(service: SeveralProcesses, idle: int) -> None:
    place = begin(service)
    proof = [("authorization", place.proof)]
    async with AsyncExitStack() as stack:
        stub = await stack.enter_async_context(recorder(place))
        writing = stub.Record(metadata=proof)
        await writing.write(pb.RecordRequest(conversation_id=place.id.bytes))
        await recorded(place)
        readers = await read_in_each(service, place, stack)
        for _ in range(LARGE // 65536):
            await writing.write(pb.RecordRequest(content="x" * 65536))
        for reader in readers:
            read = 0
            while read < LARGE:
                read += len((await reader.read()).content)
        await asyncio.sleep(SETTLE_S)
        before = memory(service)
        asked = pb.ReplayRequest(conversation_id=place.id.bytes)
        stuck = []
        for _ in range(idle):
            own = await stack.enter_async_context(recorder(place))
            stuck.append(own.Replay(asked, metadata=proof))
        await asyncio.sleep(SETTLE_S)
        print(
            f"{idle} that do not read, of {LARGE:,} bytes: {memory(service) - before:+.1f} MB in both processes"
        )
        writing.cancel()


async def read_in_each(service: SeveralProcesses, place: Place, stack: AsyncExitStack) -> Sequence[Any]:
    """Open replays until each process has one, and return all of them."""
    readers: list[Any] = []
    while 0 in await spread(service):
        stub = await stack.enter_async_context(recorder(place))
        asked = pb.ReplayRequest(conversation_id=place.id.bytes)
        readers.append(stub.Replay(asked, metadata=[("authorization", place.proof)]))
        while sum(await spread(service)) < len(readers):  # noqa: ASYNC110 - another process counts them
            await asyncio.sleep(0.01)
    return readers


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replays", type=int, default=100)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--idle", type=int, default=20)
    options = parser.parse_args()
    with fresh_folder() as folder:
        config = split(write_config(folder), "api = 2\nworker = 1")
        with SeveralProcesses(config) as service:
            await run_lag(service, options.replays, options.rate, options.seconds)
            await run_memory(service, options.idle)


if __name__ == "__main__":
    asyncio.run(main())
