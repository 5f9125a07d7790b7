"""What agents ask the memory of a user, and what linking memories costs."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import httpx
from pgvector import Vector

from elf.config import Config, load
from elf.db.database import Connection, Database
from elf.families.assistant.kit import assistant_queries
from elf.providers.factory import Providers, open_providers
from ops.bench.assistant_seed import ANA, LINK_MIN, TENANT, Vectors, seed
from ops.bench.graph import Goals
from ops.bench.search import note_text, percentile, question, show
from ops.bench.write import Client, opened
from tests.system.service import RunningService

TURNS: Final = 3
ASKED: Final = 60
WARM_UP: Final = 15
CROWD: Final = 8
A_SESSION: Final = 200
LINKS: Final = 100
CATEGORIES: Final = {
    "supervisor": [
        "goals", "preferences", "event", "activity", "relationships", "tasks", "relationship_dynamic",
    ],
    "planner": ["goals", "tasks", "projects"],
}  # fmt: skip
RECALLED_EACH: Final = {"supervisor": 11, "executor": 4}
"""In which turns of a session an agent is not sure: in every eleventh, in every fourth."""

_COLUMNS: Final = ", ".join(
    f"m.{name}"
    for name in (
        "memory_id", "category", "type", "text", "steps_text", "importance", "pinned", "created_at", "updated_at",
    )
)  # fmt: skip
_OF_USER: Final = (
    "m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'active' AND m.category = ANY ($3::text[])"
    " AND m.type = ANY ('{semantic,episodic,insight}'::text[])"
)
NEAREST: Final = (
    f"SELECT {_COLUMNS}, v.embedding <=> $4 AS distance FROM assistant_memories AS m JOIN assistant_vectors AS v"
    f" USING (tenant_id, user_id, memory_id) WHERE {_OF_USER} ORDER BY distance LIMIT 50"
)
MATCHING: Final = (
    f"SELECT {_COLUMNS} FROM assistant_memories AS m, to_tsquery('simple', $4) AS q WHERE {_OF_USER}"
    " AND m.words @@ q ORDER BY ts_rank(m.words, q) DESC LIMIT 50"
)
WHOLE: Final = (
    f"SELECT {_COLUMNS} FROM assistant_memories AS m WHERE {_OF_USER}"
    " ORDER BY m.importance DESC, m.updated_at DESC LIMIT 1000"
)
RELATED: Final = (
    f"SELECT {_COLUMNS}, r.strength FROM assistant_relations AS r JOIN assistant_memories AS m"
    " ON m.tenant_id = r.tenant_id AND m.user_id = r.user_id"
    " AND m.memory_id IN (r.from_id, r.to_id) AND m.memory_id <> ALL ($4)"
    f" WHERE r.tenant_id = $1 AND r.user_id = $2 AND (r.from_id = ANY ($4) OR r.to_id = ANY ($4)) AND {_OF_USER}"
    " ORDER BY r.strength DESC LIMIT 2"
)
EVENT: Final = (
    "INSERT INTO assistant_events (tenant_id, user_id, node, op, status, ts)"
    " VALUES ($1, $2, 'context', 'search', 'ok', now())"
)
EDGES: Final = (
    "INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, strength)"
    " SELECT $1, $2, $3, t.id, 0.7 FROM unnest($4::uuid[]) AS t (id)"
)


class Sizes(NamedTuple):
    """How many memories Ana has, and how many the others."""

    of_ana: int
    of_others: int


class Bare(NamedTuple):
    """The bare parts of one query, in milliseconds."""

    embedding: float
    sql: float
    empty: float


class Asker:
    """Asks as the agents of Ana do; no question comes twice."""

    def __init__(self, service: RunningService) -> None:
        url = httpx.URL(service.url)
        assert url.port is not None
        self._host, self._port = url.host, url.port
        self._rng = random.Random(7)
        self._asked = 0

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        client = Client(self._host, self._port)
        await client.open()
        try:
            yield client
        finally:
            await client.close()

    def question(self) -> str:
        self._asked += 1
        return question(self._rng, self._asked)

    async def ask(self, client: Client, agent: str, query: str, **other: Any) -> tuple[float, Any]:
        body = {"agent": agent, "query": query, "filters": {"user_id": ANA}, **other}
        taken, answer = await posted(client, "memory/query", **body)
        assert answer["items"], "a question finds something"
        return taken, answer


async def posted(client: Client, path: str, **body: Any) -> tuple[float, Any]:
    """Return how many milliseconds an answer took, and what it says."""
    content = json.dumps({"tenant_id": TENANT, **body}).encode()
    began = time.perf_counter()
    answer = await client.ask("POST", f"/v1/assistant/{path}", content)
    return (time.perf_counter() - began) * 1000, json.loads(answer)


@asynccontextmanager
async def filled(service: RunningService, sizes: Sizes) -> AsyncIterator[tuple[Config, Providers, Database]]:
    """Fill the memory of a service."""
    config = load(service.config)
    async with await open_providers(config) as providers, opened(config) as database:
        began = time.perf_counter()
        vectors = await Vectors.made(providers)
        await seed(
            database, vectors, config.embedding_version, of_ana=sizes.of_ana, of_others=sizes.of_others
        )
        print(f"{sum(sizes):,} memories in {time.perf_counter() - began:.0f} s", flush=True)
        yield config, providers, database


async def asking(service: RunningService, sizes: Sizes, goals: Goals) -> None:
    asker = Asker(service)
    async with filled(service, sizes) as (_, providers, database):
        ratios, p95 = [], []
        async with asker.client() as client, database.connection() as connection:
            for _ in range(TURNS):
                whole, bare = await _one_turn(asker, client, providers, connection)
                ratios.append(statistics.median(whole) / sum(_medians(bare)))
                p95.append(percentile(whole, 0.95))
        await _crowd(asker)
    goals.at_most(150, "p95 of a query, 1 client, in ms", p95)
    goals.at_most(
        1.5, "p50 of a query over those of its embedding, its bare SQL and an empty request", ratios
    )


async def _one_turn(
    asker: Asker, client: Client, providers: Providers, connection: Connection
) -> tuple[list[float], list[Bare]]:
    whole, bare = [], []
    for number in range(WARM_UP + ASKED):
        agent, query = ("supervisor", "planner")[number % 2], asker.question()
        taken, _ = await asker.ask(client, agent, query)
        parts = await _bare_query(providers, connection, client, agent, query)
        if number >= WARM_UP:
            whole.append(taken)
            bare.append(parts)
    show("query, 1 client", whole)
    for name in Bare._fields:
        show(f"  bare: {name}", [getattr(one, name) for one in bare])
    return whole, bare


def _medians(bare: list[Bare]) -> Bare:
    return Bare(*(statistics.median(getattr(one, name) for one in bare) for name in Bare._fields))


async def _bare_query(
    providers: Providers, connection: Connection, client: Client, agent: str, query: str
) -> Bare:
    marks = [time.perf_counter()]
    (row,) = await providers.embedder.embed([query])
    marks.append(time.perf_counter())
    of = (TENANT, ANA, CATEGORIES[agent])
    if agent == "supervisor":
        await connection.fetch(WHOLE, TENANT, ANA, ["profile"])
    near = await connection.fetch(NEAREST, *of, Vector(row))
    await connection.fetch(MATCHING, *of, " | ".join(word for word in query.split() if word.isalnum()))
    await connection.fetch(RELATED, *of, [one["memory_id"] for one in near[:3]])
    await connection.execute(EVENT, TENANT, ANA)
    marks.append(time.perf_counter())
    await client.ask("GET", "/health")
    marks.append(time.perf_counter())
    return Bare(*((end - start) * 1000 for start, end in pairwise(marks)))


async def _crowd(asker: Asker) -> None:
    latencies: list[float] = []

    async def visitor() -> None:
        async with asker.client() as client:
            latencies.extend(
                [(await asker.ask(client, "planner", asker.question()))[0] for _ in range(ASKED)]
            )

    began = time.perf_counter()
    await asyncio.gather(*(visitor() for _ in range(CROWD)))
    show(f"query, {CROWD} clients", latencies, f"   {len(latencies) / (time.perf_counter() - began):6.1f}/s")


async def recalling(service: RunningService, sizes: Sizes, goals: Goals) -> None:
    asker, taken = Asker(service), []
    calls = dict.fromkeys(RECALLED_EACH, 0)
    warned = dict.fromkeys(RECALLED_EACH, 0)
    async with filled(service, sizes) as (_, _, database), asker.client() as client:
        for turn in range(1, A_SESSION + 1):
            said = [{"role": "user", "content": note_text(random.Random(turn), turn)}]
            await posted(client, "turn", user_id=ANA, thread_id="session", turn_id=str(turn), messages=said)
            for agent, each in RECALLED_EACH.items():
                if turn % each == 0:
                    milliseconds, answer = await asker.ask(
                        client, agent, asker.question(), thread_id="session", reason="recall"
                    )
                    taken.append(milliseconds)
                    calls[agent] += 1
                    warned[agent] += "RECALL_RATE" in answer["warnings"]
        async with database.connection() as connection:
            rows = await connection.fetch(
                "SELECT r.agent_id, r.recalls, t.turns FROM assistant_recalls AS r"
                " JOIN assistant_threads AS t USING (tenant_id, user_id, thread_id) WHERE r.tenant_id = $1",
                TENANT,
            )
    show("recall", taken)
    for row in rows:
        agent, recalls, turns = row["agent_id"], row["recalls"], row["turns"]
        print(
            f"  {agent}: {recalls} counted, {calls[agent]} made, in {turns} turns: {recalls / turns:.1%};"
            f" {warned[agent]} of them warned"
        )
    counted = {row["agent_id"]: row["recalls"] for row in rows}
    goals.at_most(200, "p95 of a recall, in ms", [percentile(taken, 0.95)])
    goals.at_most(
        0, "recalls counted otherwise than made", [sum(counted[one] != calls[one] for one in calls)]
    )
    goals.at_most(0, "warnings below a tenth of the turns", [warned["supervisor"]])


async def linking(service: RunningService, sizes: Sizes, goals: Goals) -> None:
    async with filled(service, sizes) as (config, providers, database), database.connection() as connection:
        vectors = await Vectors.made(providers)
        for user in ("user-0", ANA):
            each = [await _links(connection, user, vectors, config.embedding_version) for _ in range(TURNS)]
            goals.at_most(2, f"ms an edge of {user}", each)


async def _links(connection: Connection, user: str, vectors: Vectors, version: str) -> float:
    """Return how many milliseconds an edge takes that links a new memory to one of its neighbours."""
    statement = assistant_queries()["link_neighbours"]
    linked, inserted, edges = [], [], 0
    for row in vectors.take(LINKS):
        of, vector = (TENANT, user, await _memory(connection, user)), Vector(row)
        began = time.perf_counter()
        rows = await connection.fetch(statement, *of, vector, version, LINK_MIN, 5, False, datetime.now(UTC))
        linked.append((time.perf_counter() - began) * 1000)
        edges += len(rows)
        found = [row["to_id"] for row in rows]
        of = (TENANT, user, await _memory(connection, user))
        began = time.perf_counter()
        await connection.execute(EDGES, *of, found)
        inserted.append((time.perf_counter() - began) * 1000)
    await connection.execute("DELETE FROM assistant_memories WHERE source = 'bench'")
    show(f"linking, {user}", linked, f"   {edges / LINKS:.1f} edges, {sum(linked) / edges:.2f} ms each")
    show("  bare: INSERT", inserted, f"   {sum(inserted) / edges:.2f} ms each")
    return sum(linked) / edges


async def _memory(connection: Connection, user: str) -> UUID:
    """Add a memory that nothing finds by its vector, for it has none."""
    id = uuid4()
    await connection.execute(
        "INSERT INTO assistant_memories (tenant_id, user_id, memory_id, type, category, text, source, created_at,"
        " updated_at) VALUES ($1, $2, $3, 'semantic', 'tasks', 'New.', 'bench', now(), now())",
        TENANT, user, id,
    )  # fmt: skip
    return id
