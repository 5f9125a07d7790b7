#!/usr/bin/env python3
"""How searches behave as a service grows, after it restarts, and in an API process that joins it.

    python -m ops.bench.growth [--sizes 1000,10000,100000] [--folder F]

Grows one service, with the packaged model, to each number of notes in turn, spread over 50 projects. At each size, when
no indexing job is left, one client searches over HTTP, in a project at random: once the service is warm, right after
it was restarted, and right after one more API process has started beside it. Every query is asked once, so no cache
of answers helps. In the end it says which goals hold; exit code 1: one does not.

Disk is that of the database and of the index, without Postgres' log, before the searches of this size. Memory is the
proportional set size of all processes after the warm searches, without pages of files, which the system drops when it
needs room (Linux).

100,000 notes take minutes. `--folder` keeps the service's data and the figures, and a later run goes on from there, so
that `--sizes 50000 --folder F`, then `--sizes 100000 --folder F`, is one growth in two parts. The size that is already
there is measured anew.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec

from elf.config import load
from ops.bench.footprint import size_of
from ops.bench.search import body_of, percentile, question, store
from ops.bench.write import Client, all_indexed, opened
from tests.folders import fresh_folder
from tests.system.service import RunningService, processes_of, write_config
from tests.system.several import command

TENANT = "growth"
PROJECTS = 50
NOTES_A_REQUEST = 20  # so that 1,000 notes reach every project
WARM_UP_SEARCHES = 100
FIRST_SEARCHES = 50
MIDDLE_SIZE, FULL_SIZE = 10_000, 100_000
DATABASE_BYTES = "SELECT pg_database_size(current_database()) AS bytes"
STAGES = """
SELECT s.stage ->> 0 AS name, percentile_cont(0.5) WITHIN GROUP (ORDER BY (s.stage ->> 1)::float) AS p50
FROM (SELECT stages FROM search_traces ORDER BY created_at DESC LIMIT $1) AS t,
  jsonb_array_elements(t.stages) WITH ORDINALITY AS s (stage, place)
GROUP BY name
ORDER BY avg(place)
"""


class Latency(msgspec.Struct, frozen=True):
    """Milliseconds of searches."""

    p50: float
    p95: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Latency:
        return cls(statistics.median(values), percentile(list(values), 0.95))

    def __str__(self) -> str:
        return f"p50 {self.p50:7.1f} ms   p95 {self.p95:7.1f} ms"


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What one size gave. Memory is in megabytes, disk in bytes a note, `stages` medians of warm searches in ms."""

    notes: int
    warm: Latency
    stages: dict[str, float]
    restarted: Latency
    joined: Latency
    database: float
    index: float
    memory: float

    def __str__(self) -> str:
        return "\n".join(
            (
                f"{self.notes:,} notes",
                f"  warm                           {self.warm}",
                "    of which " + ", ".join(f"{name} {p50:.1f}" for name, p50 in self.stages.items()),
                f"  first {FIRST_SEARCHES} after a restart       {self.restarted}",
                f"  first {FIRST_SEARCHES} of one more process   {self.joined}",
                f"  disk a note: database {self.database:,.0f}, index {self.index:,.0f} bytes",
                f"  memory {self.memory:.0f} MB",
            )
        )


class Goal(NamedTuple):
    """A figure and the most that it may be."""

    name: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        return (
            f"{'holds ' if self.holds else 'MISSED'} {self.name}: {self.value:.1f}, at most {self.limit:.1f}"
        )


def goals(figures: Mapping[int, Figures]) -> Iterator[Goal]:
    """Give the goals that can be told from the sizes that were measured."""
    for notes, at in sorted(figures.items()):
        for when, first in (("after a restart", at.restarted), ("of one more process", at.joined)):
            name = f"{notes:,} notes, first {FIRST_SEARCHES} {when}"
            yield Goal(f"{name}, p50 over that of warm ones", first.p50 / at.warm.p50, 1.5)
            yield Goal(f"{name}, p95 over the p50 of warm ones", first.p95 / at.warm.p50, 5.0)
    if full := figures.get(FULL_SIZE):
        if middle := figures.get(MIDDLE_SIZE):
            name = f"p50 at {FULL_SIZE:,} notes over that at {MIDDLE_SIZE:,}"
            yield Goal(name, full.warm.p50 / middle.warm.p50, 2.5)
        yield Goal(f"{FULL_SIZE:,} notes, memory in MB", full.memory, 800.0)


class Growth:
    """A service in a folder, which grows; a figure is kept there as soon as it is known."""

    def __init__(self, service: RunningService, searches: int) -> None:
        self._service = service
        self._folder = service.config.parent
        self._searches = searches
        self._kept = self._folder / "figures.json"
        self._rng = random.Random()  # another one each time: Postgres knows the queries of former runs

    @property
    def figures(self) -> dict[int, Figures]:
        if not self._kept.exists():
            return {}
        known = msgspec.json.decode(self._kept.read_bytes(), type=list[Figures])
        return {figures.notes: figures for figures in known}

    async def reach(self, size: int) -> bool:
        """Store what is missing, and wait until all is indexed. False when there are more notes already."""
        notes = self._service.admin.get("/v1/admin/overview").raise_for_status().json()["notes"]
        if notes > size:
            return False
        began = time.perf_counter()
        store(self._service.url, TENANT, size, PROJECTS, first=notes, a_request=NOTES_A_REQUEST)
        async with opened(load(self._service.config)) as database:
            await all_indexed(database)
        print(f"{size - notes:,} notes stored and indexed in {time.perf_counter() - began:.0f} s", flush=True)
        return True

    async def measure(self, size: int) -> Figures:
        """Measure a service that has this size. It was restarted afterwards."""
        # Before the searches, which leave traces.
        database = await self._asked(DATABASE_BYTES)
        index = size_of(self._folder / ".elf" / "index")
        await self._search(WARM_UP_SEARCHES)
        warm = await self._search(self._searches)
        stages = await self._asked(STAGES, self._searches)
        memory = memory_of(self._folder)
        self._service.stop()
        self._service.start()
        restarted = await self._search(FIRST_SEARCHES)
        with command("api", self._service.config) as said:
            joined = await self._search(FIRST_SEARCHES, said.removeprefix("elf: ready at ").strip())
        figures = Figures(
            notes=size,
            warm=warm,
            stages={row["name"]: row["p50"] for row in stages},
            restarted=restarted,
            joined=joined,
            database=database[0]["bytes"] / size,
            index=index * 1e6 / size,
            memory=memory,
        )
        self._keep(figures)
        return figures

    def _keep(self, figures: Figures) -> None:
        known = {**self.figures, figures.notes: figures}
        self._kept.write_bytes(msgspec.json.format(msgspec.json.encode(list(known.values()))))

    async def _search(self, count: int, url: str = "") -> Latency:
        target = httpx.URL(url or self._service.url)
        assert target.port is not None
        client = Client(target.host, target.port)
        await client.open()
        taken = [await self._timed_search(client) for _ in range(count)]
        await client.close()
        return Latency.of(taken)

    async def _timed_search(self, client: Client) -> float:
        query = question(self._rng, self._rng.randrange(10**9))
        body = body_of(TENANT, self._rng.randrange(PROJECTS), query)
        began = time.perf_counter()
        await client.ask("POST", "/v1/memory/search", body)
        return (time.perf_counter() - began) * 1000

    async def _asked(self, statement: str, *values: object) -> list[Any]:
        async with opened(load(self._service.config)) as database, database.connection() as connection:
            return await connection.fetch(statement, *values)


def memory_of(folder: Path) -> float:
    """Megabytes that all processes on a folder hold, but for pages of files; what they share counts once."""
    return sum(_own_pages(process.pid) for process in processes_of(folder))


def _own_pages(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError):  # it has just ended, as workers of Postgres do
        return 0.0
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return (kilobytes["Pss_Anon"] + kilobytes["Pss_Shmem"]) * 1024 / 1e6


async def grow(growth: Growth, sizes: Sequence[int]) -> None:
    for size in sizes:
        if await growth.reach(size):
            print(await growth.measure(size), flush=True)
        elif size in growth.figures:
            print(f"{growth.figures[size]}\n  (measured before)", flush=True)
        else:
            print(f"{size:,} notes: not measured, there are more already")


@contextmanager
def kept_or_fresh(folder: Path | None) -> Iterator[Path]:
    """Give the config of the folder, made when there is none; without a folder, that of a new one, deleted later."""
    if folder is None:
        with fresh_folder() as new:
            yield write_config(new)
        return
    folder.mkdir(parents=True, exist_ok=True)
    config = folder.resolve() / "elf.toml"
    yield config if config.exists() else write_config(config.parent)


def sizes_of(text: str) -> list[int]:
    """Read `1000,10000`. Raises ValueError."""
    return sorted(int(size) for size in text.split(","))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=sizes_of, default=[1000, MIDDLE_SIZE, FULL_SIZE], help="1000,10000")
    parser.add_argument("--folder", type=Path, help="where the service lives on, for a later run")
    parser.add_argument("--searches", type=int, default=300, help="warm ones that count")
    options = parser.parse_args()
    # Told to end, it stops the service like at Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with kept_or_fresh(options.folder) as config, RunningService(config) as service:
        growth = Growth(service, options.searches)
        asyncio.run(grow(growth, options.sizes))
        judged = list(goals(growth.figures))
    print(*judged, sep="\n")
    return 0 if all(goal.holds for goal in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
