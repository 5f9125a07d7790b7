"""How fast values are put, read and found by 16 clients, beside what that cannot do without, measured in the same run.

    python -m ops.bench.store [--values 2000] [--calls 320]

Starts a service of its own on the embedded default, which keeps so many values of one user, in twenty namespaces, each
with one vector. Over HTTP each client puts new values, puts such as are found by no words, reads values by their keys,
and searches by words below one label; no question is asked twice. The bare parts are those of this process: embedding
the same texts, 16 at once, and on 16 connections the same rows and vectors written by bare INSERTs, a row read by its
key, and the nearest of as many vectors with their values. What needs both is compared with both one after the other.
Three turns; a goal is about the median of its ratios. Exit code 1: a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import httpx
from pgvector import Vector

from elf.config import Config, load
from elf.db.database import Database
from elf.families.store.rules.places import address_of, path_of
from elf.providers.factory import Providers, open_providers
from ops.bench.graph import Goals
from ops.bench.search import question, show
from ops.bench.write import CLIENTS, Client, at_once, note_text, opened
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

TURNS: Final = 3
SPACES: Final = 20
AT_ONCE: Final = 100
WHOSE: Final = {"tenant_id": "bench", "user_id": "ana"}
BARE: Final = ("bare", "ana")

INSERT: Final = """
INSERT INTO store_items (
  tenant_id, user_id, address, revision, namespace, path, key, value, indexed, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::json, $9::text::jsonb, $10, $10) RETURNING item_id
"""
INSERT_VECTOR: Final = """
INSERT INTO store_vectors (tenant_id, user_id, item_id, place, embedding_version, embedding)
VALUES ($1, $2, $3, 0, $4, $5)
"""
SELECT: Final = """
SELECT i.value::text FROM store_items AS i WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.address = $3
"""
NEAREST: Final = """
SELECT i.value::text, 1 - (v.embedding <=> $4) AS score
FROM store_items AS i JOIN store_vectors AS v USING (item_id)
WHERE i.tenant_id = $1 AND i.user_id = $2 AND starts_with(i.path, $3) ORDER BY v.embedding <=> $4 LIMIT 10
"""

Work = Callable[[int, int], Awaitable[object]]


def namespace_of(number: int) -> list[str]:
    return ["facts", f"n{number % SPACES}"]


def value_of(number: int) -> dict[str, Any]:
    return {"says": note_text(number), "rank": number}


class Asked:
    """The store of the service, asked by clients of one user."""

    def __init__(self, clients: Sequence[Client], kept: int) -> None:
        self._clients = clients
        self._rng = random.Random(7)
        self._kept = kept
        self._new = kept
        self._questions = 0

    async def _ask(self, client: int, call: str, **fields: Any) -> Any:
        body = json.dumps({**WHOSE, **fields}).encode()
        answer = await self._clients[client].send("POST", f"/v1/store/{call}", body)
        assert answer.status in (200, 204), f"{call}: {answer.status} {answer.body[:300]!r}"
        return json.loads(answer.body) if answer.body else None

    async def fill(self) -> None:
        """Keep the first values."""
        for start in range(0, self._kept, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, self._kept))
            ops = [{"put": self._put(number, index=["says"])} for number in numbers]
            await self._ask(0, "batch", ops=ops)

    def _put(self, number: int, **how: Any) -> dict[str, Any]:
        return {"namespace": namespace_of(number), "key": f"k{number}", "value": value_of(number), **how}

    async def put(self, client: int, number: int) -> None:
        self._new += 1
        await self._ask(client, "put", **self._put(self._new, index=["says"]))

    async def put_without_words(self, client: int, number: int) -> None:
        self._new += 1
        await self._ask(client, "put", **self._put(self._new, index=False))

    async def get(self, client: int, number: int) -> None:
        one = self._rng.randrange(self._kept)
        answer = await self._ask(client, "get", namespace=namespace_of(one), key=f"k{one}")
        assert answer["item"]["value"] == value_of(one)

    async def search(self, client: int, number: int) -> None:
        self._questions += 1
        query = question(self._rng, self._questions)
        answer = await self._ask(client, "search", namespace=["facts"], query=query, limit=10)
        assert len(answer["items"]) == 10


class Bare:
    """The same on bare connections to the same database; the values are those of another tenant."""

    def __init__(self, config: Config, providers: Providers, database: Database, kept: int) -> None:
        self._version = config.embedding_version
        self._providers = providers
        self._database = database
        self._kept = kept
        self._new = kept
        self._vectors: list[Vector] = []
        self._rng = random.Random(11)

    async def fill(self) -> None:
        """Keep the same first values."""
        texts = [note_text(number) for number in range(self._kept)]
        for start in range(0, self._kept, AT_ONCE):
            found = await self._providers.embedder.embed(texts[start : start + AT_ONCE])
            self._vectors += [Vector(one) for one in found]
        for number in range(self._kept):
            await self._insert(number, self._vectors[number])

    async def _insert(self, number: int, vector: Vector | None) -> None:
        space = namespace_of(number)
        now, indexed = datetime.now(UTC), None if vector is None else '["says"]'
        async with self._database.transaction() as connection:
            item_id = await connection.fetchval(
                INSERT, *BARE, address_of(space, f"k{number}"), uuid4(), space, path_of(space), f"k{number}",
                json.dumps(value_of(number)), indexed, now,
            )  # fmt: skip
            if vector is not None:
                await connection.execute(INSERT_VECTOR, *BARE, item_id, self._version, vector)

    async def put(self, client: int, number: int) -> None:
        self._new += 1
        await self._insert(self._new, self._rng.choice(self._vectors))

    async def put_without_words(self, client: int, number: int) -> None:
        self._new += 1
        await self._insert(self._new, None)

    async def get(self, client: int, number: int) -> None:
        one = self._rng.randrange(self._kept)
        async with self._database.connection() as connection:
            address = address_of(namespace_of(one), f"k{one}")
            assert await connection.fetchval(SELECT, *BARE, address) is not None

    async def search(self, client: int, number: int) -> None:
        async with self._database.connection() as connection:
            vector = self._rng.choice(self._vectors)
            assert len(await connection.fetch(NEAREST, *BARE, path_of(["facts"]), vector)) == 10

    async def embed(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), CLIENTS):
            await self._providers.embedder.embed(texts[start : start + CLIENTS])


async def each_ms(work: Work, calls: int, name: str) -> float:
    """Print how long calls took, and return how many milliseconds there were to each of all clients."""
    seconds, latencies = await at_once(calls // CLIENTS, work)
    show(name, latencies, f"   {len(latencies) / seconds:7.1f} a second")
    return seconds * 1000 / len(latencies)


async def embed_ms(bare: Bare, texts: Sequence[str], name: str) -> float:
    """Print how long embedding took, and return it for each text."""
    began = asyncio.get_running_loop().time()
    await bare.embed(texts)
    each = (asyncio.get_running_loop().time() - began) * 1000 / len(texts)
    print(f"{name:<28} {each:6.1f} ms each", flush=True)
    return each


async def measure(asked: Asked, bare: Bare, calls: int, goals: Goals) -> None:
    ratios: dict[str, list[float]] = {}
    rng = random.Random(13)
    for turn in range(TURNS):
        texts = [note_text(number) for number in range(turn * calls, (turn + 1) * calls)]
        questions = [question(rng, -number) for number in range(turn * calls, (turn + 1) * calls)]
        embedding = {
            "put": await embed_ms(bare, texts, "  bare: embedding a value"),
            "search": await embed_ms(bare, questions, "  bare: embedding a query"),
        }
        for call in ("put", "put_without_words", "get", "search"):
            name = call.replace("_", " ")
            whole = await each_ms(getattr(asked, call), calls, name)
            limit = await each_ms(getattr(bare, call), calls, f"  bare: {name}")
            ratios.setdefault(call, []).append(whole / (limit + embedding.get(call, 0.0)))
    goals.at_most(2.5, "a put over a bare embedding and INSERT", ratios["put"])
    goals.at_most(6.0, "a put without words over a bare INSERT", ratios["put_without_words"])
    goals.at_most(9.0, "a get over a bare SELECT", ratios["get"])
    goals.at_most(2.5, "a search over a bare embedding and vector query", ratios["search"])


async def run(service: RunningService, values: int, calls: int, goals: Goals) -> None:
    config, url = load(service.config), httpx.URL(service.url)
    assert url.port is not None
    clients = [Client(url.host, url.port) for _ in range(CLIENTS)]
    async with AsyncExitStack() as stack:
        providers = await stack.enter_async_context(await open_providers(config))
        database = await stack.enter_async_context(opened(config))
        for client in clients:
            await client.open()
            stack.push_async_callback(client.close)
        asked, bare = Asked(clients, values), Bare(config, providers, database, values)
        await asked.fill()
        await bare.fill()
        async with database.connection() as connection:
            await connection.execute("ANALYZE store_items, store_vectors")
        await measure(asked, bare, calls, goals)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--values", type=int, default=2000, help="how many values are kept (2000)")
    parser.add_argument("--calls", type=int, default=320, help="how many of each kind a turn (320)")
    options = parser.parse_args()
    goals = Goals()
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        asyncio.run(run(service, options.values, options.calls, goals))
    return 1 if goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
