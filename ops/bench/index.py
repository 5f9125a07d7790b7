"""Figures of the embedded index: query latency as a client sees it, upserts a second, what a flush costs.

    python ops/bench/index.py [--points 1000 20000] [--folder DIR]

Points are random: 384 numbers and 15 words of a vocabulary of 5,000, in 2 projects of 5 agents each. A query
has both legs, the filter of a search over two scopes, and candidate_k 60.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4, uuid5

import anyio
import numpy as np
import uvloop

from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex, wire_point
from elf.index.edge.folder import IndexFolder
from elf.index.edge.opening import open_shard
from elf.index.edge.process import EdgeProcess
from elf.index.port import IndexFilter, IndexPoint, IndexQuery

DIM = 384
WORDS = [f"word{number}" for number in range(5000)]
BATCH = 64
QUERIES = 200
CLIENTS = 8


def made_points(count: int, rng: np.random.Generator) -> list[IndexPoint]:
    vectors = rng.normal(size=(count, DIM)).astype(np.float32)
    return [made_point(number, vectors[number]) for number in range(count)]


def made_point(number: int, vector: np.ndarray) -> IndexPoint:
    owner = uuid4()
    return IndexPoint(
        point_id=uuid5(owner, "0"),
        owner_id=owner,
        dense=vector,
        text=" ".join(random.choices(WORDS, k=15)),
        payload={
            "tenant_id": "tenant",
            "project_id": f"project{number % 2}",
            "agent_id": f"agent{number % 5}",
            "scope": "agent_private" if number % 3 else "project_shared",
            "status": "active",
            "type": "fact",
            "embedding_version": "bench:random:384",
            "created_at": "2026-01-01T00:00:00+00:00",
            "updated_at": "2026-01-01T00:00:00+00:00",
            "chunk_index": 0,
            "importance": 0.5,
            "confidence": 0.5,
        },
    )


def made_query(rng: np.random.Generator) -> IndexQuery:
    where = IndexFilter(
        must={
            "tenant_id": "tenant",
            "project_id": "project0",
            "status": "active",
            "embedding_version": "bench:random:384",
        },
        any_of=[
            {"scope": ["project_shared", "org_shared"]},
            {"scope": ["agent_private"], "agent_id": ["agent0"]},
        ],
    )
    vector = rng.normal(size=DIM).astype(np.float32)
    return IndexQuery(dense=vector, text=" ".join(random.choices(WORDS, k=8)), where=where, limit=60)


async def timed_queries(index: EdgeIndex, queries: Sequence[IndexQuery]) -> list[float]:
    taken = []
    for query in queries:
        start = time.perf_counter()
        await index.query([query])
        taken.append(time.perf_counter() - start)
    return taken


def show(label: str, seconds: Sequence[float]) -> None:
    cuts = statistics.quantiles(seconds, n=20)
    print(f"  {label:<34} p50 {cuts[9] * 1000:6.2f} ms   p95 {cuts[18] * 1000:6.2f} ms")


async def measure_size(folder: Path, count: int) -> None:
    rng = np.random.default_rng(7)
    points = made_points(count, rng)
    process = await EdgeProcess.start(folder, vector_dim=DIM)
    index = EdgeIndex(folder, NOTES)
    try:
        start = time.perf_counter()
        await process.wait_ready(deadline_s=120)
        print(f"{count} points\n  start of an empty index            {time.perf_counter() - start:6.2f} s")
        await measure_writes(index, points)
        await measure_queries(index, rng)
        start = time.perf_counter()
        await index.delete_owners([point.owner_id for point in points[:100]])
        print(f"  delete of 100 owners               {(time.perf_counter() - start) * 1000:6.2f} ms")
        print(f"  memory of the index process        {resident_mb(process.pid):6.0f} MB")
    finally:
        await index.aclose()
        await process.stop()
    await measure_load(folder)
    measure_flush(folder)


async def measure_writes(index: EdgeIndex, points: Sequence[IndexPoint]) -> None:
    start = time.perf_counter()
    for first in range(0, len(points), BATCH):
        await index.upsert(points[first : first + BATCH])
    print(f"  upserts, batches of {BATCH}             {len(points) / (time.perf_counter() - start):6.0f} /s")
    single = []
    for point in points[:100]:
        start = time.perf_counter()
        await index.upsert([point])
        single.append(time.perf_counter() - start)
    show("upsert of one point", single)
    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for writer in range(CLIENTS):
            tasks.start_soon(upsert_singly, index, points[writer * 50 : writer * 50 + 50])
    print(
        f"  single upserts, {CLIENTS} writers          {CLIENTS * 50 / (time.perf_counter() - start):6.0f} /s"
    )


async def upsert_singly(index: EdgeIndex, points: Sequence[IndexPoint]) -> None:
    for point in points:
        await index.upsert([point])


async def measure_queries(index: EdgeIndex, rng: np.random.Generator) -> None:
    await timed_queries(index, [made_query(rng) for _ in range(20)])
    show("hybrid query, 1 client", await timed_queries(index, [made_query(rng) for _ in range(QUERIES)]))
    pings = []
    for _ in range(QUERIES):
        start = time.perf_counter()
        await index.info()
        pings.append(time.perf_counter() - start)
    show("ping", pings)
    taken: list[float] = []

    async def client(queries: Sequence[IndexQuery]) -> None:
        taken.extend(await timed_queries(index, queries))

    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(CLIENTS):
            tasks.start_soon(client, [made_query(rng) for _ in range(QUERIES // 2)])
    show(f"hybrid query, {CLIENTS} clients", taken)
    print(
        f"  queries, {CLIENTS} clients                 {len(taken) / (time.perf_counter() - start):6.0f} /s"
    )


async def measure_load(folder: Path) -> None:
    start = time.perf_counter()
    process = await EdgeProcess.start(folder, vector_dim=DIM)
    index = EdgeIndex(folder, NOTES)
    try:
        await process.wait_ready(deadline_s=120)
        print(f"  start of the full index            {time.perf_counter() - start:6.2f} s")
        print(f"  points found                       {await index.count():6d}")
    finally:
        await index.aclose()
        await process.stop()


def measure_flush(folder: Path) -> None:
    """Open the shard of an index that has ended, and time a flush behind writes of several sizes."""
    shard = open_shard(IndexFolder(folder).of(NOTES), NOTES, vector_dim=DIM).shard
    points = [wire_point(point) for point in made_points(1024, np.random.default_rng(8))]
    for size in (1, 64, 1024):
        taken = []
        for _ in range(5):
            shard.upsert([(point, shard.prepare(point)) for point in points[:size]])
            start = time.perf_counter()
            shard.flush()
            taken.append(time.perf_counter() - start)
        print(f"  flush behind {size:4d} points             p50 {statistics.median(taken) * 1000:6.2f} ms")
    shard.close()


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


async def main(sizes: Sequence[int], folder: Path) -> None:
    random.seed(7)
    for size in sizes:
        await measure_size(folder / f"index-{size}", size)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--folder", type=Path, help="an empty folder; a temporary one when left out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        anyio.run(
            main,
            options.points,
            options.folder or Path(temporary),
            backend_options={"loop_factory": uvloop.new_event_loop},
        )
