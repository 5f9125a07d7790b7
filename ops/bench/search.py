#!/usr/bin/env python3
"""How fast a search over HTTP is, beside the parts that it cannot do without.

    python ops/bench/search.py [--notes 20000] [--projects 20] [-c elf.toml]

Starts a service of its own, or takes the running one of a config file (it must be the embedded index). Notes made of a
small grammar are stored over HTTP and indexed. Then one client searches; right after each answer this process does the
bare parts of the same search itself, one after the other: embedding the query, the index call, one round trip to
Postgres for the same rows and their token vectors, comparing these. Both see the same machine at the same
moment, so their ratio holds although machines drift. Then 8 and 32 clients search at once. Every query is asked once,
so no cache answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx

from elf.config import Config, load
from elf.core.scopes import AGENT_PRIVATE
from elf.db.database import Database
from elf.families.notes.keeping.queries import note_queries
from elf.families.notes.keeping.space import NOTES
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import Context
from elf.families.notes.reading.note_filter import EVERYTHING
from elf.index.edge.client import EdgeIndex
from elf.index.port import IndexFilter, IndexQuery, Vector
from elf.indexing.fresh import FreshWrites
from elf.providers.factory import Providers, open_providers
from elf.providers.token_vectors import TokenVectors
from elf.search.fuse import FusionRules, fuse
from elf.search.token_store import TokenStore
from elf.search.trace_store import search_queries
from ops.bench.write import Client, opened
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config

PROFILE = "private_plus_project"
PROJECT_SHARED = "project_shared"
NOTES_A_REQUEST = 100
ONE_CLIENT_SEARCHES = 300
MAX_WORDS = 4000
CROWD_SEARCHES = 400
INDEXED_WITHIN_S = 600.0

PEOPLE = (
    "Ana", "Ben", "Chloe", "Dmitri", "Elif", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mona", "Nils",
    "Olga", "Pavel", "Rosa", "Sven", "Tara", "Umar",
)  # fmt: skip
ACTS = (
    "prefers", "dislikes", "decided to drop", "plans to try", "has finished", "is responsible for", "asked about",
    "is learning", "forgot", "recommends", "must never touch", "is waiting for", "bought", "sold", "wrote about",
)  # fmt: skip
THINGS = (
    "the billing service", "oat milk", "a used bicycle", "the quarterly report", "sourdough bread",
    "the staging cluster", "a violin lesson", "the tax forms", "green tea", "the release checklist", "a camping stove",
    "the onboarding guide",
    "night trains", "the search index", "a marathon", "the garden fence", "old maps", "the payment webhook",
    "a pottery class", "the password policy", "winter tyres", "the design review", "board games", "the backup job",
    "a telescope", "the coffee machine", "the holiday rota", "spicy noodles", "the mobile app", "a second monitor",
)  # fmt: skip
CIRCUMSTANCES = (
    "because of the new budget", "since the move to Lisbon", "after the incident in March", "before the summer break",
    "on Tuesday mornings", "whenever it rains", "together with the neighbours", "for the customer in Oslo",
    "at the request of the auditors", "until the contract ends", "despite the noise", "with the old laptop",
    "as agreed with the team", "for health reasons", "during the night shift",
)  # fmt: skip


class Raw(NamedTuple):
    """The bare parts of one search, in milliseconds."""

    embedding: float
    lookup: float
    rows: float
    rerank: float


class Candidates(NamedTuple):
    """The token vectors of candidates, and how many milliseconds naming and reading them took."""

    tokens: Sequence[TokenVectors]
    lookup: float
    rows: float


def note_text(rng: random.Random, number: int) -> str:
    return (
        f"{rng.choice(PEOPLE)} {rng.choice(ACTS)} {rng.choice(THINGS)} {rng.choice(CIRCUMSTANCES)}, "
        f"see ticket {number}."
    )


def question(rng: random.Random, number: int) -> str:
    """A question of its own: the number makes every one a new one."""
    return f"What about {rng.choice(THINGS)} and {rng.choice(PEOPLE)} {rng.choice(CIRCUMSTANCES)} in case {number}?"


def body_of(tenant: str, project: int, query: str) -> bytes:
    return json.dumps(
        {
            "tenant_id": tenant,
            "project_id": f"project-{project}",
            "agent_id": "bench",
            "read_profile": PROFILE,
            "query": query,
        }
    ).encode()


def store(
    url: str, tenant: str, notes: int, projects: int, *, first: int = 0, a_request: int = NOTES_A_REQUEST
) -> None:
    """Store the notes `first` to `notes`, so many a request; requests go to the projects in turn."""
    rng = random.Random(11 + first)
    with httpx.Client(base_url=url, timeout=60.0) as client:
        for start in range(first, notes, a_request):
            numbers = range(start, min(start + a_request, notes))
            body = {
                "tenant_id": tenant,
                "project_id": f"project-{(start // a_request) % projects}",
                "agent_id": "bench",
                "scope": PROJECT_SHARED,
                "notes": [
                    {"type": "fact", "key": f"n{number}", "text": note_text(rng, number), "importance": 0.5,
                     "confidence": 0.9}
                    for number in numbers
                ],
            }  # fmt: skip
            client.post("/v1/memory/add_note", json=body).raise_for_status()


class Bare:
    """The parts of a search, done by this process with its own model and its own connections."""

    def __init__(self, config: Config, providers: Providers, index: EdgeIndex, database: Database) -> None:
        fusion = config.search.fusion
        self._config = config
        self._providers = providers
        self._index = index
        self._database = database
        assert providers.late is not None, "the packaged model reranks"
        self._late = providers.late
        self._tokens = TokenStore(search_queries(), version=self._late.version, max_words=MAX_WORDS)
        self._store = NoteStore(note_queries(), FreshWrites(), self._tokens)
        self._rules = FusionRules(fusion.method, fusion.k, fusion.dense_weight, fusion.bm25_weight)
        self._scopes = config.scopes.read_profiles[PROFILE]

    async def search(self, tenant: str, project: int, query: str) -> Raw:
        began = time.perf_counter()
        (vector,) = await self._providers.embedder.embed([query])
        embedded = time.perf_counter()
        found = await self.candidates(tenant, project, query, vector)
        compared = time.perf_counter()
        await self._late.score(query, found.tokens, [0.0] * len(found.tokens))
        return Raw(
            embedding=(embedded - began) * 1000,
            lookup=found.lookup,
            rows=found.rows,
            rerank=(time.perf_counter() - compared) * 1000,
        )

    async def candidates(self, tenant: str, project: int, query: str, vector: Vector) -> Candidates:
        """Ask the index, and Postgres for the rows of what it names with their token vectors."""
        limit = self._config.memory.candidate_k
        context = Context(tenant, f"project-{project}", "bench")
        must = {
            "tenant_id": tenant,
            "project_id": context.project_id,
            "status": "active",
            "embedding_version": self._config.embedding_version,
        }
        any_of = [{"scope": [PROJECT_SHARED]}, {"scope": [AGENT_PRIVATE], "agent_id": ["bench"]}]
        began = time.perf_counter()
        found = await self._index.query([IndexQuery(vector, query, IndexFilter(must, any_of), limit)])
        named = time.perf_counter()
        candidates = fuse(found, rules=self._rules, limit=limit)
        between = time.perf_counter()
        async with self._database.connection() as connection:
            rows = await self._store.candidates(
                connection,
                chunk_ids=[candidate.point_id for candidate in candidates],
                embedding_version=self._config.embedding_version,
                context=context,
                scopes=self._scopes,
                now=datetime.now(UTC),
                filter=EVERYTHING,
            )
        tokens = [found for row in rows if (found := self._tokens.read(row, row["text"])) is not None]
        return Candidates(tokens, (named - began) * 1000, (time.perf_counter() - between) * 1000)


class Bench:
    """One run against one service."""

    def __init__(self, host: str, port: int, tenant: str, projects: int) -> None:
        self._host, self._port = host, port
        self._tenant = tenant
        self._projects = projects
        self._rng = random.Random(29)
        self._asked = 0

    def next_query(self) -> tuple[int, str]:
        self._asked += 1
        return self._rng.randrange(self._projects), question(self._rng, self._asked)

    async def one_client(self, bare: Bare, searches: int) -> tuple[list[float], list[Raw]]:
        client = Client(self._host, self._port)
        await client.open()
        over_http, raw = [], []
        for turn in range(searches + searches // 10):
            project, query = self.next_query()
            body = body_of(self._tenant, project, query)
            began = time.perf_counter()
            await client.ask("POST", "/v1/memory/search", body)
            taken = (time.perf_counter() - began) * 1000
            parts = await bare.search(self._tenant, project, query)
            if turn >= searches // 10:  # the first ones warm both sides
                over_http.append(taken)
                raw.append(parts)
        await client.close()
        return over_http, raw

    async def crowd(self, clients: int, searches: int) -> tuple[float, list[float]]:
        latencies: list[float] = []

        async def visitor(rounds: int) -> None:
            client = Client(self._host, self._port)
            await client.open()
            for _ in range(rounds):
                body = body_of(self._tenant, *self.next_query())
                began = time.perf_counter()
                await client.ask("POST", "/v1/memory/search", body)
                latencies.append((time.perf_counter() - began) * 1000)
            await client.close()

        began = time.perf_counter()
        await asyncio.gather(*(visitor(max(1, searches // clients)) for _ in range(clients)))
        return time.perf_counter() - began, latencies


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def show(name: str, values: list[float], extra: str = "") -> None:
    print(
        f"{name:<28} p50 {statistics.median(values):7.1f} ms   p95 {percentile(values, 0.95):7.1f} ms{extra}"
    )


async def measure(config: Config, host: str, port: int, tenant: str, projects: int, searches: int) -> None:
    folder = config.storage.qdrant.place.folder
    if folder is None:
        raise SystemExit("the bare index call is measured on the embedded index only")
    index = EdgeIndex(folder, NOTES)
    bench = Bench(host, port, tenant, projects)
    async with await open_providers(config) as providers, opened(config) as database:
        over_http, raw = await bench.one_client(Bare(config, providers, index, database), searches)
    await index.aclose()
    show("search, 1 client", over_http)
    for name in Raw._fields:
        show(f"  bare: {name}", [getattr(one, name) for one in raw])
    sums = [sum(one) for one in raw]
    show("  bare: their sum", sums)
    ratio = statistics.median(over_http) / statistics.median(sums)
    print(f"p50 of a search over p50 of the sum of its bare parts: {ratio:.2f}")
    show("what a search takes beyond", [whole - parts for whole, parts in zip(over_http, sums, strict=True)])
    for clients in (8, 32):
        seconds, latencies = await bench.crowd(clients, CROWD_SEARCHES)
        show(f"search, {clients} clients", latencies, f"   {len(latencies) / seconds:6.1f} searches/s")


@contextmanager
def service_of(path: Path | None) -> Iterator[tuple[Config, str]]:
    if path is not None:
        config = load(path)
        yield config, f"http://{config.service.http_address}"
        return
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        yield load(service.config), service.url


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", type=Path, help="of a running service; by default one is started")
    parser.add_argument("--notes", type=int, default=20_000)
    parser.add_argument("--projects", type=int, default=20)
    parser.add_argument("--searches", type=int, default=ONE_CLIENT_SEARCHES, help="by one client")
    parser.add_argument("--tenant", help="use the notes of an earlier run on the same service")
    options = parser.parse_args()
    with service_of(options.config) as (config, url):
        tenant = options.tenant or f"bench-{uuid.uuid4()}"
        if options.tenant is None:
            began = time.perf_counter()
            store(url, tenant, options.notes, options.projects)
            stored = time.perf_counter() - began
            wait_indexed(url, tenant, options)
            print(
                f"{options.notes} notes in {options.projects} projects of {tenant}: stored in {stored:.0f} s, "
                f"indexed {time.perf_counter() - began:.0f} s after the first"
            )
        target = httpx.URL(url)
        assert target.port is not None
        asyncio.run(measure(config, target.host, target.port, tenant, options.projects, options.searches))


def wait_indexed(url: str, tenant: str, options: argparse.Namespace) -> None:
    """Wait until the last note of each project is found by its number."""
    with httpx.Client(base_url=url, timeout=60.0) as client:

        def found(project: int) -> bool:
            last = max(
                start for start in range(0, options.notes, NOTES_A_REQUEST)
                if (start // NOTES_A_REQUEST) % options.projects == project
            )  # fmt: skip
            number = min(last + NOTES_A_REQUEST, options.notes) - 1
            answer = client.post(
                "/v1/memory/search", content=body_of(tenant, project, f"ticket {number}"),
                headers={"Content-Type": "application/json"},
            )  # fmt: skip
            return any(item["key"] == f"n{number}" for item in answer.json()["items"])

        for project in range(options.projects):
            wait_for(partial(found, project), f"project {project} is indexed", timeout_s=INDEXED_WITHIN_S)


if __name__ == "__main__":
    main()
