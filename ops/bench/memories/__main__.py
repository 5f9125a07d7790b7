"""How fast a recall over all families is, beside what it cannot do without, measured in the same run.

    python -m ops.bench.memories [--items 600] [--recalls 60]

Starts a service of its own on the embedded default, in which each of five families keeps so many things of one user,
all with token vectors. One client recalls over HTTP; after each answer this process does the bare parts itself, one
after the other: one embedding of the query, what each family's candidates need of its index, its tables or its file,
and one comparing of a hundred of them by stored token vectors. Every question is asked once. Three turns; the goal is
about the median of their ratios. Then a context for each of as many questions, and last one family is made to hang, by
a lock on its table: how long answers without it take. Exit code 1: a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import httpx

from elf.config import Config, load
from elf.config.tables.graph import GraphTable
from elf.db.database import Database
from elf.families.conversations.finding.corpus import SPACE
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.providers.factory import open_providers
from ops.bench.conversations.searching import settled
from ops.bench.graph import Goals
from ops.bench.graph_file import BareFile
from ops.bench.memories.bare import EACH, Bare, BareRecall
from ops.bench.memories.seeding import AGENT, FAMILIES, PROJECT, TENANT, USER, keep_tokens, seed
from ops.bench.search import question, show
from ops.bench.write import Client, opened
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

TURNS: Final = 3
WARM_UP: Final = 15
WITHOUT_ONE: Final = 5
HANGING: Final = "assistant"
LOCK: Final = "LOCK TABLE assistant_memories IN ACCESS EXCLUSIVE MODE"


class Asker:
    """Recalls for the user over one connection; no question comes twice."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._rng = random.Random(7)
        self._asked = 0

    def question(self) -> str:
        self._asked += 1
        return question(self._rng, self._asked)

    async def ask(self, path: str, query: str, **other: Any) -> tuple[float, Any]:
        """Return how many milliseconds an answer took, and what it says."""
        whose = {"tenant_id": TENANT, "user_id": USER, "agent_id": AGENT, "project_id": PROJECT}
        content = json.dumps({**whose, "query": query, **other}).encode()
        began = time.perf_counter()
        answer = await self._client.ask("POST", f"/v1/{path}", content)
        return (time.perf_counter() - began) * 1000, json.loads(answer)


async def offered(asker: Asker) -> None:
    """See that each family offers as much as it is asked for."""
    _, answer = await asker.ask("recall", asker.question(), explain=True)
    counts = Counter(one["family"] for one in (*answer["items"], *answer["left_out"]))
    assert [*counts.values()] == [EACH] * FAMILIES, counts


async def measured(asker: Asker, bare: BareRecall, recalls: int, goals: Goals) -> None:
    ratios = []
    for _ in range(TURNS):
        whole, parts, contexts = await one_turn(asker, bare, recalls)
        show("recall, 1 client", whole)
        for name in Bare._fields:
            show(f"  bare: {name}", [getattr(one, name) for one in parts])
        sums = [sum(one) for one in parts]
        show("  bare: their sum", sums)
        show("context, 1 client", contexts)
        ratios.append(statistics.median(whole) / statistics.median(sums))
    goals.at_most(1.3, "p50 of a recall over that of the sum of its bare parts", ratios)


async def one_turn(
    asker: Asker, bare: BareRecall, recalls: int
) -> tuple[list[float], list[Bare], list[float]]:
    whole, parts, contexts = [], [], []
    for number in range(WARM_UP + recalls):
        query = asker.question()
        taken, answer = await asker.ask("recall", query)
        assert not answer["degraded"]
        assert all(item["relevance"] is not None for item in answer["items"]), "all are compared"
        done = await bare.recall(query)
        told, _ = await asker.ask("context", asker.question())
        if number >= WARM_UP:
            whole.append(taken)
            parts.append(done)
            contexts.append(told)
    return whole, parts, contexts


async def without_one(asker: Asker, database: Database, config: Config) -> None:
    """Recall while a family hangs, and see that the others answer within the budget."""
    taken = []
    async with database.transaction() as connection:
        await connection.execute(LOCK)
        for _ in range(WITHOUT_ONE):
            milliseconds, answer = await asker.ask("recall", asker.question())
            assert answer["degraded"] == [HANGING], answer["degraded"]
            assert {item["family"] for item in answer["items"]}, "the others answer"
            taken.append(milliseconds)
    budget = config.search.budget
    assert budget is not None
    show(f"recall while {HANGING} hangs", taken, f"   within the budget of {budget.total_ms} ms")
    assert max(taken) <= budget.total_ms, "an answer took longer than its budget"


async def run(service: RunningService, items: int, recalls: int, goals: Goals) -> None:
    config, url = load(service.config), httpx.URL(service.url)
    assert url.port is not None
    began = time.perf_counter()
    lacking = await asyncio.to_thread(seed, service.url, config, items)
    folder = config.storage.qdrant.place.folder
    assert folder is not None, "it is the embedded index"
    async with AsyncExitStack() as stack:
        providers = await stack.enter_async_context(await open_providers(config))
        database = await stack.enter_async_context(opened(config))
        assert providers.late is not None
        async with database.connection() as connection:
            await settled(connection)
        kept = await keep_tokens(database, providers.late, lacking)
        print(f"5 x {items} things in {time.perf_counter() - began:.0f} s", flush=True)
        file = stack.enter_context(BareFile(Path(config.of(GraphTable).root), TENANT, AGENT))
        indexes = EdgeIndex(folder, NOTES), EdgeIndex(folder, SPACE)
        client = Client(url.host, url.port)
        await client.open()
        asker = Asker(client)
        await measured(asker, BareRecall(config, providers, database, indexes, file, kept), recalls, goals)
        await without_one(asker, database, config)
        for index in indexes:
            await index.aclose()
        await client.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=600, help="how many things each family keeps (600)")
    parser.add_argument("--recalls", type=int, default=60, help="how many a turn (60)")
    options = parser.parse_args()
    goals = Goals()
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        asyncio.run(run(service, options.items, options.recalls, goals))
    return 1 if goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
