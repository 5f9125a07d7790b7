#!/usr/bin/env python3
"""Requests a second with one API process and with several, on the machine it runs on.

    python -m ops.bench.processes [--counts 1 2] [--clients 16] [--seconds 10] [--notes 2000] [--threads 1]

For each count it starts a service of its own from a config with [processes]: so many of the API, one worker and one
for MCP, on the embedded Postgres and index. Notes are stored and indexed; then the clients, each with a kept
connection, search (at first uncounted, as a new process has read no note yet; each query is asked once, so no cache
answers), then read notes, then write keyed notes. It prints requests a second, how the connections were spread over
the processes, and the memory of each process. The clients compute on the same cores as the service, and so do
Postgres and the index: read the figures beside the number of cores.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import random
import statistics
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

import httpx
import psutil

from ops.bench.search import PROFILE, percentile, question, store, wait_indexed
from ops.bench.write import Client
from ops.bench.write import body_of as write_body
from tests.folders import fresh_folder
from tests.system.service import write_config
from tests.system.several import SeveralProcesses, split

PROJECTS = 10  # of a hundred notes at least
WARM_UP_S = 1.0


class Request(NamedTuple):
    """What a client sends."""

    method: str
    path: str
    body: bytes = b""


@asynccontextmanager
async def connections(host: str, port: int, count: int) -> AsyncIterator[list[Client]]:
    crowd: list[Client] = []
    try:
        for _ in range(count):
            client = Client(host, port)
            await client.open()
            crowd.append(client)
            # Answered before the next is opened: a process that wakes takes all that wait at its door.
            await client.ask("GET", "/health")
        yield crowd
    finally:
        for client in crowd:
            await client.close()


async def measure(crowd: Sequence[Client], requests: Iterator[Request], seconds: float) -> list[float]:
    """Have each client ask one request after the other; return the milliseconds of those that ended in time."""
    taken: list[float] = []
    begin = time.perf_counter() + WARM_UP_S
    end = begin + seconds

    async def ask(client: Client) -> None:
        while (sent := time.perf_counter()) < end:
            await client.ask(*next(requests))
            if begin <= sent and time.perf_counter() <= end:
                taken.append((time.perf_counter() - sent) * 1000)

    await asyncio.gather(*(ask(client) for client in crowd))
    return taken


class Work:
    """Endless requests of each kind, for the notes of one tenant."""

    def __init__(self, url: str, tenant: str) -> None:
        self._tenant = tenant
        self._rng = random.Random(31)
        params = {"tenant_id": tenant, "project_id": "project-0", "agent_id": "bench", "limit": "200"}
        items = httpx.get(f"{url}/v1/memory/list", params=params).json()["items"]
        self._note_ids = [item["note_id"] for item in items]

    def kinds(self) -> dict[str, Callable[[], Iterator[Request]]]:
        return {"search": self.searches, "read a note": self._reads, "write a note": self._writes}

    def searches(self) -> Iterator[Request]:
        for number in itertools.count():
            context = f'"tenant_id":"{self._tenant}","project_id":"project-{self._rng.randrange(PROJECTS)}"'
            asked = f'"agent_id":"bench","read_profile":"{PROFILE}","query":"{question(self._rng, number)}"'
            yield Request("POST", "/v1/memory/search", f"{{{context},{asked}}}".encode())

    def _reads(self) -> Iterator[Request]:
        while True:
            yield Request("GET", f"/v1/memory/notes/{self._rng.choice(self._note_ids)}")

    def _writes(self) -> Iterator[Request]:
        for number in itertools.count():
            yield Request("POST", "/v1/memory/add_note", write_body(self._tenant, number, 1))


async def run(service: SeveralProcesses, options: argparse.Namespace, tenant: str) -> None:
    work = Work(service.url, tenant)
    url = httpx.URL(service.url)
    assert url.port is not None
    async with connections(url.host, url.port, options.clients) as crowd:
        await measure(crowd, work.searches(), options.warm_up)
    for name, requests in work.kinds().items():
        async with connections(url.host, url.port, options.clients) as crowd:
            answers = [await client.ask("GET", "/ready") for client in crowd]
            spread = Counter(httpx.Response(200, content=answer).json()["process"] for answer in answers)
            taken = await measure(crowd, requests(), options.seconds)
        print(
            f"  {name:<14} {len(taken) / options.seconds:7.1f} requests/s"
            f"   p50 {statistics.median(taken):6.1f} ms   p95 {percentile(taken, 0.95):6.1f} ms"
            "   connections: " + ", ".join(f"{process} {count}" for process, count in sorted(spread.items()))
        )


@contextmanager
def started(count: int, options: argparse.Namespace) -> Iterator[SeveralProcesses]:
    with fresh_folder() as folder:
        config = split(
            write_config(folder, threads=str(options.threads)),
            f"api = {count}",
        )
        began = time.perf_counter()
        with SeveralProcesses(config) as service:
            print(
                f"{count} API process{'es' if count > 1 else ''}, ready after {time.perf_counter() - began:.1f} s"
            )
            yield service


def show_memory(service: SeveralProcesses) -> None:
    for event in service.events("process_started"):
        used = psutil.Process(event["pid"]).memory_info().rss / 2**20
        print(f"  memory of {event['process']:<10} {used:5.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2], help="of API processes")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each kind of request")
    parser.add_argument(
        "--warm-up", type=float, default=20.0, help="seconds of searches before any is counted"
    )
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument(
        "--threads", type=int, default=1, help="that each process's packaged model computes with"
    )
    options = parser.parse_args()
    options.projects = PROJECTS  # as wait_indexed asks
    print(f"{os.cpu_count()} cores, {options.clients} clients")
    for count in options.counts:
        with started(count, options) as service:
            tenant = f"bench-{uuid.uuid4()}"
            store(service.url, tenant, options.notes, PROJECTS)
            wait_indexed(service.url, tenant, options)
            asyncio.run(run(service, options, tenant))
            show_memory(service)


if __name__ == "__main__":
    main()
