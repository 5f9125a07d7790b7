"""How many points a second a rebuild writes, what it does to searches meanwhile, and how much memory it takes.

    python -m ops.bench.rebuild [--notes 20000] [-c elf.toml]

Starts a service of its own, or takes the running one of a config file. Notes with random vectors go straight into
Postgres, so that the index knows none of them. They are rebuilt twice: into an index without them, then over what is
there, the second time while one client searches without pause. Then the two sides are compared. The notes are removed
again in the end.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import anyio
import httpx
import numpy as np
import psutil
from pgvector import Vector

from elf.config import Config, load
from elf.core.ids import chunk_id_for, new_note_id
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from tests.folders import fresh_folder
from tests.system.service import RunningService, search_body, write_config

BATCH = 1000
QUIET_S = 3.0
QUERIES = ["word1 word20 word300", "word4000 word500 word6", "word77 word8 word999"]
WORDS = [f"word{number}" for number in range(5000)]
INSERT = """
WITH notes AS (
  INSERT INTO memory_notes (
    note_id, tenant_id, project_id, agent_id, scope, type, key, text, importance, confidence, status, created_at,
    updated_at, expires_at, requested_ttl_days, embedding_version, source_ref)
  SELECT t.note_id, $1, 'p', 'a', 'project_shared', 'fact', NULL, t.text, 0.5, 0.9, 'active', $2, $2, NULL, NULL, $3,
    '{}'
  FROM unnest($4::uuid[], $6::text[]) AS t (note_id, text)
  RETURNING note_id
), chunks AS (
  INSERT INTO memory_note_chunks (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text, embedding_version)
  SELECT t.chunk_id, t.note_id, 0, 0, length(t.text), t.text, $3
  FROM unnest($4::uuid[], $5::uuid[], $6::text[]) AS t (note_id, chunk_id, text) JOIN notes USING (note_id)
  RETURNING chunk_id
)
INSERT INTO note_chunk_embeddings (chunk_id, embedding_version, embedding_dim, vec)
SELECT t.chunk_id, $3, vector_dims(t.vec), t.vec
FROM unnest($5::uuid[], $7::vector[]) AS t (chunk_id, vec) JOIN chunks USING (chunk_id)
"""


@dataclass
class Target:
    """The service that is measured; `processes` are its own, by name, when they are known."""

    config: Config
    url: str
    admin_url: str
    processes: dict[str, psutil.Process] = field(default_factory=dict)


@contextmanager
def own_service() -> Iterator[Target]:
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        processes = {"service": psutil.Process(service.process.pid), "index": service.index_process()}
        yield Target(load(service.config), service.url, service.admin_url, processes)


@contextmanager
def running_service(path: Path) -> Iterator[Target]:
    config = load(path)
    address, admin = config.service.http_address, config.service.admin_address
    yield Target(config, f"http://{address}", f"http://{admin}")


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Database]:
    place = config.storage.postgres.place
    server = None if place.folder is None else EmbeddedServer(place.folder)
    dsn = str(place.dsn) if server is None else await server.start()
    database = Database(max_conns=2)
    await database.open(dsn)
    try:
        yield database
    finally:
        await database.close()
        if server is not None:
            await server.leave()


async def insert(config: Config, tenant: str, count: int) -> None:
    rng = np.random.default_rng(7)
    async with opened(config) as database:
        for start in range(0, count, BATCH):
            size = min(BATCH, count - start)
            notes = [new_note_id() for _ in range(size)]
            vectors = rng.normal(size=(size, config.storage.qdrant.vector_dim)).astype(np.float32)
            async with database.connection() as connection:
                await connection.execute(
                    INSERT, tenant, datetime.now(UTC), config.embedding_version, notes,
                    [chunk_id_for(note_id, 0) for note_id in notes],
                    [" ".join(random.choices(WORDS, k=15)) for _ in notes],
                    [Vector(vector) for vector in vectors],
                )  # fmt: skip


async def remove(config: Config, tenant: str) -> None:
    async with opened(config) as database, database.connection() as connection:
        await connection.execute("DELETE FROM memory_notes WHERE tenant_id = $1", tenant)


class Cost:
    """The processor time and the most memory each process took while the block ran; a context manager."""

    def __init__(self, processes: dict[str, psutil.Process]) -> None:
        self._processes = processes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.before_mb = self._sizes()
        self.most_mb = dict(self.before_mb)
        self.cpu_s = self._seconds()

    def _sizes(self) -> dict[str, float]:
        return {name: process.memory_info().rss / 1e6 for name, process in self._processes.items()}

    def _seconds(self) -> dict[str, float]:
        times = {name: process.cpu_times() for name, process in self._processes.items()}
        return {name: taken.user + taken.system for name, taken in times.items()}

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self.most_mb = {name: max(size, self.most_mb[name]) for name, size in self._sizes().items()}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.cpu_s = {name: seconds - self.cpu_s[name] for name, seconds in self._seconds().items()}


def search(client: httpx.Client, tenant: str, query: str) -> None:
    client.post("/v1/memory/search", json=search_body(tenant, query)).raise_for_status()


class Searcher:
    """One client that searches without pause while the block runs; a context manager.

    Its queries are few, so that the model's work on them is remembered from the round before.
    """

    def __init__(self, url: str, tenant: str) -> None:
        self._url, self._tenant = url, tenant
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._search, daemon=True)
        self.taken_ms: list[float] = []

    def _search(self) -> None:
        with httpx.Client(base_url=self._url, timeout=60.0) as client:
            for query in itertools.cycle(QUERIES):
                if self._stop.is_set():
                    return
                start = time.perf_counter()
                search(client, self._tenant, query)
                self.taken_ms.append((time.perf_counter() - start) * 1000)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def show(self, when: str) -> None:
        ordered = sorted(self.taken_ms)
        print(
            f"  searches {when:<22} p50 {statistics.median(ordered):6.1f} ms"
            f"   p95 {ordered[int(len(ordered) * 0.95)]:6.1f} ms   ({len(ordered)})"
        )


def rebuild(target: Target, label: str) -> None:
    with Cost(target.processes) as cost:
        start = time.perf_counter()
        report = post(target, "rebuild_qdrant")
        seconds = time.perf_counter() - start
    print(f"  {label:<31} {report['rebuilt_count'] / seconds:6.0f} points/s   {seconds:6.2f} s   {report}")
    for name, cpu_s in cost.cpu_s.items():
        print(
            f"    {name + ' process':<16} {cpu_s:6.2f} s of processor time,"
            f" {cost.before_mb[name]:4.0f} MB before, {cost.most_mb[name]:4.0f} MB at most"
        )


def post(target: Target, name: str) -> dict[str, Any]:
    response = httpx.post(f"{target.admin_url}/v1/admin/{name}", json={}, timeout=None)
    response.raise_for_status()
    body: dict[str, Any] = response.json()
    return body


def measure(target: Target, count: int) -> None:
    random.seed(7)
    tenant = f"bench-{uuid4()}"
    anyio.run(insert, target.config, tenant, count)
    print(f"{count} notes")
    rebuild(target, "into an index without them")
    with httpx.Client(base_url=target.url, timeout=60.0) as client:
        for query in QUERIES:
            search(client, tenant, query)
    with Searcher(target.url, tenant) as quiet:
        time.sleep(QUIET_S)
    quiet.show("before")
    with Searcher(target.url, tenant) as busy:
        rebuild(target, "over what is there, searched")
    busy.show("during the rebuild")
    start = time.perf_counter()
    httpx.get(f"{target.admin_url}/v1/admin/index_drift", timeout=None).raise_for_status()
    print(f"  comparing both sides            {count / (time.perf_counter() - start):6.0f} points/s")
    anyio.run(remove, target.config, tenant)
    start = time.perf_counter()
    removed = post(target, "rebuild_qdrant")["removed_count"]
    print(f"  removing points of nobody       {removed / (time.perf_counter() - start):6.0f} points/s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", type=Path, help="of a running service (default: start one)")
    parser.add_argument("--notes", type=int, default=20_000)
    options = parser.parse_args()
    with own_service() if options.config is None else running_service(options.config) as target:
        measure(target, options.notes)


if __name__ == "__main__":
    main()
