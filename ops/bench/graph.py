#!/usr/bin/env python3
"""How fast the graph is, each of its operations beside what it cannot do without, measured in the same run.

    python -m ops.bench.graph [--part recall|write|growth|memory] [--nodes 20000]

Starts a service of its own for each part. What is compared takes turns, three of them; a goal is about the median of
the three ratios. Exit code 1: a goal is missed.

recall: one client recalls and asks for bulletins over HTTP, in a memory of so many nodes; after each answer this
process does the bare parts of the recall itself, one after the other: embedding the query, a plain statement of the
words, the product of all vectors, reading the rows of what both have found. The nodes are made of a grammar; the
vectors are those of 2,000 of them, each moved a little at random.

write: 16 clients write requests of 100 nodes, once with vectors that another process has ready and once with the
packaged model, each until the last vector is in the file; beside bare transactions of as many rows like those in the
same file, and the texts a second that the model embeds.

growth: recalls at 1,000, 20,000 and 100,000 nodes.

memory: what 100 orchestrators take, each with 100 nodes that were recalled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import numpy as np

from elf.config import load
from elf.config.tables.graph import GraphTable
from elf.families.graph.rules.query_words import match_expression
from elf.providers.factory import Providers, open_providers
from ops.bench.conversations.free_models import free_models, point
from ops.bench.footprint import memory_of
from ops.bench.graph_file import BareFile, Floats, Node, Vectors, nearest, nodes_of
from ops.bench.search import percentile, question, show
from ops.bench.write import CLIENTS, Client
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

TENANT: Final = "bench"
PLANNER: Final = "planner"
TURNS: Final = 3
RECALLS: Final = 60
WARM_UP: Final = 20
EMBEDDED: Final = 2000
A_REQUEST: Final = 100
A_CALL: Final = 32
SIZES: Final = (1_000, 20_000, 100_000)
ORCHESTRATORS: Final = 100
# All clients are of one tenant, and wait for the file longer than they would be let.
PATIENT: Final = {"max_wait_ms": "600000"}


class Bare(NamedTuple):
    """The bare parts of one recall, in milliseconds."""

    embedding: float
    words: float
    vectors: float
    rows: float


@dataclass
class Goals:
    """What came of the goals."""

    missed: list[str] = field(default_factory=list)

    def at_most(self, most: float, what: str, ratios: Sequence[float]) -> None:
        self._tell(what, ratios, f"at most {most}", is_met=statistics.median(ratios) <= most)

    def at_least(self, least: float, what: str, ratios: Sequence[float]) -> None:
        self._tell(what, ratios, f"at least {least}", is_met=statistics.median(ratios) >= least)

    def _tell(self, what: str, ratios: Sequence[float], goal: str, *, is_met: bool) -> None:
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        verdict = "" if is_met else "   MISSED"
        print(f"{what}: {statistics.median(ratios):.2f} of {each} (goal: {goal}){verdict}", flush=True)
        self.missed += [] if is_met else [what]


class Graph:
    """The graph of a running service, as tenant bench of one orchestrator."""

    def __init__(self, service: RunningService) -> None:
        url = httpx.URL(service.url)
        assert url.port is not None
        self._host, self._port = url.host, url.port
        self.config = load(service.config)
        self.root = Path(self.config.of(GraphTable).root)
        self._rng = random.Random(7)
        self._asked = 0

    async def client(self) -> Client:
        client = Client(self._host, self._port)
        await client.open()
        return client

    def query(self) -> str:
        """Return a question that nobody has asked before."""
        self._asked += 1
        return question(self._rng, self._asked)

    @contextmanager
    def file(self, orchestrator: str = PLANNER) -> Iterator[BareFile]:
        """Open the file of the orchestrator around the service, which has made it."""
        with BareFile(self.root, TENANT, orchestrator) as file:
            yield file

    async def write(self, client: Client, nodes: Sequence[Node], orchestrator: str = PLANNER) -> None:
        await client.ask("POST", "/v1/graph/memories", written_out(nodes, orchestrator))


def written_out(nodes: Sequence[Node], orchestrator: str = PLANNER) -> bytes:
    """Return a request to write memories."""
    memories = [node.told() for node in nodes]
    return json.dumps({"tenant_id": TENANT, "orchestrator_id": orchestrator, "memories": memories}).encode()


async def asked(client: Client, path: str, orchestrator: str = PLANNER, **body: Any) -> tuple[float, Any]:
    """Return how many milliseconds an answer took, and what it says."""
    content = json.dumps({"tenant_id": TENANT, "orchestrator_id": orchestrator, **body}).encode()
    began = time.perf_counter()
    answer = await client.ask("POST", f"/v1/graph/{path}", content)
    return (time.perf_counter() - began) * 1000, json.loads(answer)


async def embedded(providers: Providers, texts: Sequence[str]) -> Floats:
    calls = [texts[at : at + A_CALL] for at in range(0, len(texts), A_CALL)]
    return np.concatenate([await providers.embedder.embed(call) for call in calls])


async def seed(graph: Graph, vectors: Vectors, before: int, count: int) -> None:
    """Have the file made, and fill it until it has so many nodes."""
    client = await graph.client()
    await graph.write(client, nodes_of(f"first-{count}", 1, random.Random(1)))
    await client.close()
    nodes = nodes_of(f"seed-{count}", count - before, random.Random(count))
    with graph.file() as file:
        for at in range(0, len(nodes), 1000):
            page = nodes[at : at + 1000]
            file.insert(page, vectors.take(len(page)), graph.config.embedding_version)


async def bare_recall(
    providers: Providers, file: BareFile, known: tuple[list[str], Floats], query: str
) -> Bare:
    ids, matrix = known
    marks = [time.perf_counter()]
    (vector,) = await providers.embedder.embed([query])
    marks.append(time.perf_counter())
    found = file.by_words(match_expression(query) or '""')
    marks.append(time.perf_counter())
    near = [ids[place] for place in nearest(matrix, vector)]
    marks.append(time.perf_counter())
    file.rows({*found, *near})
    marks.append(time.perf_counter())
    return Bare(*((end - start) * 1000 for start, end in pairwise(marks)))


async def recalling(service: RunningService, nodes: int, goals: Goals) -> None:
    graph = Graph(service)
    async with await open_providers(graph.config) as providers:
        await seed(graph, await known_vectors(providers), 0, nodes)
        client = await graph.client()
        of_sums, of_recalls = [], []
        with graph.file() as file:
            known = file.vectors()
            for turn in range(TURNS):
                whole, bare, bulletins = await one_turn(graph, client, providers, file, known, turn)
                of_sums.append(statistics.median(whole) / statistics.median(map(sum, bare)))
                of_recalls.append(percentile(bulletins, 0.95) / percentile(whole, 0.95))
        await client.close()
    goals.at_most(1.5, "p50 of a recall over that of the sum of its bare parts", of_sums)
    goals.at_most(1.3, "p95 of a bulletin over that of a recall", of_recalls)


async def one_turn(
    graph: Graph,
    client: Client,
    providers: Providers,
    file: BareFile,
    known: tuple[list[str], Floats],
    turn: int,
) -> tuple[list[float], list[Bare], list[float]]:
    """Recall, and do what that cannot do without; return the milliseconds of both, and of bulletins."""
    whole, bare, bulletins = [], [], []
    for number in range(WARM_UP + RECALLS):
        query = graph.query()
        taken, _ = await asked(client, "recall", query=query)
        parts = await bare_recall(providers, file, known, query)
        told, _ = await asked(
            client,
            "context",
            purpose="selector",
            message_id=f"message-{turn}-{number}",
            message=graph.query(),
        )
        if number >= WARM_UP:
            whole.append(taken)
            bare.append(parts)
            bulletins.append(told)
    show("recall, 1 client", whole)
    for name in Bare._fields:
        show(f"  bare: {name}", [getattr(one, name) for one in bare])
    show("bulletin, 1 client", bulletins)
    return whole, bare, bulletins


async def known_vectors(providers: Providers) -> Vectors:
    return Vectors(
        await embedded(providers, [node.text for node in nodes_of("known", EMBEDDED, random.Random(3))])
    )


async def growing(service: RunningService) -> None:
    graph = Graph(service)
    async with await open_providers(graph.config) as providers:
        vectors = await known_vectors(providers)
    client, before = await graph.client(), 0
    for size in SIZES:
        await seed(graph, vectors, before, size)
        before = size
        for _ in range(WARM_UP):
            await asked(client, "recall", query=graph.query())
        taken = [(await asked(client, "recall", query=graph.query()))[0] for _ in range(TURNS * RECALLS)]
        show(f"recall, {size:,} nodes", taken)
    await client.close()


async def written(graph: Graph, name: str, count: int) -> tuple[float, float]:
    """Write memories by 16 clients; return how many a second were answered, and how many had their vectors."""
    nodes = nodes_of(name, count, random.Random(17))
    requests = iter([written_out(nodes[at : at + A_REQUEST]) for at in range(0, count, A_REQUEST)])

    async def writer() -> None:
        client = await graph.client()
        for request in requests:
            await client.ask("POST", "/v1/graph/memories", request)
        await client.close()

    began = time.perf_counter()
    await asyncio.gather(*(writer() for _ in range(CLIENTS)))
    answered = time.perf_counter() - began
    with graph.file() as file:
        while file.vectors_to_make:  # noqa: ASYNC110 - another process makes them
            await asyncio.sleep(0.02)
    return count / answered, count / (time.perf_counter() - began)


def bare_rate(graph: Graph, vectors: Vectors, name: str, count: int) -> float:
    """Write as many memories with their vectors by bare transactions; return how many a second."""
    nodes, rows = nodes_of(name, count, random.Random(19)), vectors.take(count)
    with graph.file() as file:
        began = time.perf_counter()
        for at in range(0, count, A_REQUEST):
            end = at + A_REQUEST
            file.insert(nodes[at:end], rows[at:end], graph.config.embedding_version)
        return count / (time.perf_counter() - began)


async def writing_given(service: RunningService, goals: Goals, count: int = 8000) -> None:
    """Write memories whose vectors are ready."""
    graph = Graph(service)
    async with await open_providers(graph.config) as providers:
        vectors = await known_vectors(providers)
        await embedded(providers, [node.text for node in nodes_of("ready", count, random.Random(17))])
    await written(graph, "warm", 1600)
    ratios = []
    for turn in range(TURNS):
        answered, done = await written(graph, f"given-{turn}", count)
        bare = bare_rate(graph, vectors, f"bare-{turn}", count)
        print(
            f"nodes, 100 a request: {answered:.0f}/s answered, {done:.0f}/s with vectors; bare {bare:.0f}/s"
        )
        ratios.append(done / bare)
    goals.at_least(0.35, "nodes with vectors given over the bare rate", ratios)


async def writing_packaged(service: RunningService, goals: Goals, count: int = 3200) -> None:
    """Write memories that the packaged model embeds."""
    graph = Graph(service)
    texts = [node.text for node in nodes_of("texts", 640, random.Random(23))]
    ratios = []
    async with await open_providers(graph.config) as providers:
        vectors = await known_vectors(providers)
        await written(graph, "warm", 320)
        for turn in range(TURNS):
            _, done = await written(graph, f"packaged-{turn}", count)
            file_rate = bare_rate(graph, vectors, f"bare-{turn}", count)
            began = time.perf_counter()
            await embedded(providers, texts)
            model_rate = len(texts) / (time.perf_counter() - began)
            print(
                f"nodes, 100 a request: {done:.0f}/s with vectors; E {model_rate:.0f}/s; T {file_rate:.0f}/s"
            )
            ratios.append(done / (1 / (1 / model_rate + 1 / file_rate)))
    goals.at_least(0.7, "nodes with the packaged model over 1 / (1 / E + 1 / T)", ratios)


async def filling(service: RunningService) -> None:
    graph = Graph(service)
    client = await graph.client()
    before = memory_of(service)["service"]
    for number in range(ORCHESTRATORS):
        name = f"orchestrator-{number}"
        await graph.write(client, nodes_of(name, A_REQUEST, random.Random(number)), name)
        with graph.file(name) as file:
            while file.vectors_to_make:  # noqa: ASYNC110 - another process makes them
                await asyncio.sleep(0.02)
        await asked(client, "recall", name, query=graph.query())
    after = memory_of(service)["service"]
    await client.close()
    most = graph.config.of(GraphTable).max_open
    print(
        f"memory of the service (PSS): {before:.0f} MB; with {ORCHESTRATORS} orchestrators, of which {most} may be"
        f" open at a time: {after:.0f} MB"
    )


@contextmanager
def served(**changes: str) -> Iterator[RunningService]:
    with fresh_folder() as folder, RunningService(write_config(folder, **PATIENT, **changes)) as service:
        yield service


@contextmanager
def served_with_free_models() -> Iterator[RunningService]:
    with (
        free_models() as address,
        fresh_folder() as folder,
        RunningService(point(write_config(folder, **PATIENT), address)) as service,
    ):
        yield service


def recall(nodes: int, goals: Goals) -> None:
    with served() as service:
        asyncio.run(recalling(service, nodes, goals))


def write(_: int, goals: Goals) -> None:
    with served_with_free_models() as service:
        asyncio.run(writing_given(service, goals))
    with served() as service:
        asyncio.run(writing_packaged(service, goals))


def growth(_: int, __: Goals) -> None:
    with served() as service:
        asyncio.run(growing(service))


def memory(_: int, __: Goals) -> None:
    with served() as service:
        asyncio.run(filling(service))


PARTS: Final[dict[str, Callable[[int, Goals], None]]] = {
    "recall": recall, "write": write, "growth": growth, "memory": memory,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=tuple(PARTS), help="by default all, one after the other")
    parser.add_argument("--nodes", type=int, default=20_000)
    options = parser.parse_args()
    goals = Goals()
    for part in PARTS if options.part is None else (options.part,):
        print(f"{part}:", flush=True)
        PARTS[part](options.nodes, goals)
    return 1 if goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
