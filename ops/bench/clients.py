#!/usr/bin/env python3
"""What a service does with more clients than it can serve, and what one tenant's flood costs another tenant.

    python -m ops.bench.clients [--seconds 10] [--notes 1000] [--served 16]

Starts a service of its own with the limits of the example config, but for a queue so short that it serves 16 clients,
and stores notes for two tenants. Every client searches again and again over one kept-alive connection; one that is
refused with 503 waits as long as Retry-After says, or, where it says "impatient", asks again at once. Each query is
asked once, so no cache answers. Then prints, for some crowds: searches a second, their p50 and p95, how many were
refused, and how fast.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from elf.config import load
from ops.bench.search import percentile, question, store
from ops.bench.write import Client
from tests.folders import fresh_folder
from tests.system.service import REPO, RunningService, wait_for, write_config

CALM, FLOOD = "calm", "flood"
PROJECTS = 4
WARM_UP_S = 1.0
ROUNDS = 4


@dataclass
class Tally:
    """What one group of clients met: the milliseconds of each answered search, and of each refusal."""

    served: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what the same group met in another round."""
        self.served += other.served
        self.refused += other.refused

    def line(self, name: str, seconds: float) -> str:
        text = f"{name:<44} {len(self.served) / seconds:6.1f}/s"
        if self.served:
            text += (
                f"   p50 {statistics.median(self.served):6.1f}   p95 {percentile(self.served, 0.95):6.1f} ms"
            )
        if self.refused:
            text += (
                f"   refused {len(self.refused) / seconds:6.1f}/s"
                f"   p95 {percentile(self.refused, 0.95):5.1f}   max {max(self.refused):5.1f} ms"
            )
        return text


@dataclass(frozen=True)
class Group:
    """Some clients of one tenant. The impatient ask again at once when they are refused."""

    tenant: str
    clients: int
    impatient: bool = False


class Crowd:
    """Groups of clients that search at once against one service."""

    def __init__(self, url: str) -> None:
        address = httpx.URL(url)
        assert address.port is not None
        self._host, self._port = address.host, address.port
        self._rng = random.Random(29)
        self._numbers = itertools.count()

    def _body(self, tenant: str) -> bytes:
        number = next(self._numbers)
        return json.dumps(
            {
                "tenant_id": tenant,
                "project_id": f"project-{number % PROJECTS}",
                "agent_id": "bench",
                "read_profile": "private_plus_project",
                "query": question(self._rng, number),
            }
        ).encode()

    async def run(self, groups: Sequence[Group], seconds: float) -> list[Tally]:
        """Let all groups search for some seconds; a search that begins in the first WARM_UP_S does not count."""
        began = time.perf_counter()
        tallies = [Tally() for _ in groups]

        async def client(group: Group, tally: Tally) -> None:
            asker = Client(self._host, self._port)
            await asker.open()
            while (start := time.perf_counter()) < began + WARM_UP_S + seconds:
                status, headers, _ = await asker.send("POST", "/v1/memory/search", self._body(group.tenant))
                taken = (time.perf_counter() - start) * 1000
                if start >= began + WARM_UP_S:
                    (tally.served if status == 200 else tally.refused).append(taken)
                if status not in (200, 503):
                    raise SystemExit(f"a search was answered with {status}")
                if status == 503 and not group.impatient:
                    await asyncio.sleep(float(headers[b"retry-after"]) * self._rng.uniform(0.8, 1.2))
            await asker.close()

        pairs = zip(groups, tallies, strict=True)
        await asyncio.gather(*(client(group, tally) for group, tally in pairs for _ in range(group.clients)))
        return tallies


def measure(url: str, seconds: float, crowds: Sequence[int]) -> None:
    """Print what crowds of one tenant meet, and what a tenant meets beside the flood of another."""
    crowd = Crowd(url)
    for clients in crowds:
        (tally,) = asyncio.run(crowd.run([Group(FLOOD, clients)], seconds))
        print(tally.line(f"{clients} clients of one tenant", seconds), flush=True)
    (tally,) = asyncio.run(crowd.run([Group(FLOOD, 64, impatient=True)], seconds))
    print(tally.line("64 impatient clients of one tenant", seconds), flush=True)
    for clients in (1, 4):
        beside_a_flood(crowd, clients, seconds)


def beside_a_flood(crowd: Crowd, clients: int, seconds: float) -> None:
    """Print what a calm tenant meets alone, beside one client of another tenant, and beside a flood.

    They take turns in short rounds, because a machine is not equally fast all the time.
    """
    calm, others = Group(CALM, clients), 64 - clients
    scenes = {
        "alone": [calm],
        "beside 1 client": [calm, Group(FLOOD, 1)],
        f"beside {others} clients": [calm, Group(FLOOD, others)],
        f"beside {others} impatient ones": [calm, Group(FLOOD, others, impatient=True)],
    }
    met = {name: Tally() for name in scenes}
    for _ in range(ROUNDS):
        for name, groups in scenes.items():
            met[name].add(asyncio.run(crowd.run(groups, seconds / ROUNDS))[0])
    alone = percentile(met["alone"].served, 0.95)
    for name, tally in met.items():
        ratio = percentile(tally.served, 0.95) / alone
        print(
            f"{tally.line(f'{clients} of a calm tenant {name}', seconds)}   {ratio:.2f} times alone",
            flush=True,
        )


def fill(url: str, notes: int) -> None:
    """Store notes for both tenants and wait until the last ones are found."""
    for tenant in (CALM, FLOOD):
        store(url, tenant, notes, PROJECTS)
    with httpx.Client(base_url=url, timeout=60.0) as client:
        body = {"tenant_id": FLOOD, "project_id": f"project-{(notes - 1) // 100 % PROJECTS}", "agent_id": "bench",
                "read_profile": "private_plus_project", "query": f"ticket {notes - 1}"}  # fmt: skip

        def found() -> bool:
            items = client.post("/v1/memory/search", json=body).json()["items"]
            return any(item["key"] == f"n{notes - 1}" for item in items)

        wait_for(found, "the last note is indexed", timeout_s=600.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--notes", type=int, default=1000, help="of each tenant")
    parser.add_argument("--crowds", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument(
        "--served", type=int, default=16, help="clients that find a place at work or in the queue"
    )
    options = parser.parse_args()
    limits = load(REPO / "elf.example.toml").service.limits
    assert limits is not None
    changes = {"max_waiting": str(options.served - limits.max_concurrent)}
    with fresh_folder() as folder, RunningService(write_config(folder, **changes)) as service:
        fill(service.url, options.notes)
        measure(service.url, options.seconds, options.crowds)


if __name__ == "__main__":
    main()
