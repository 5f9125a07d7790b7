#!/usr/bin/env python3
"""How much of the ten nearest facts a search of knowledge by meaning gives, tenant by tenant, and how long it takes.

    python -m ops.bench.nearest [--vectors FILE.npy] [--random] [--queries 30]

Makes a database of its own with 50,000 facts in 20 tenants, of 10 to 25,000 facts, and asks for the ten nearest to
each of some questions. What is exact is computed in memory, over the facts of the tenant. The packaged model embeds the
facts, which takes a minute or two; FILE.npy keeps the vectors for another time. With --random vectors have no likeness
at all, which is the hardest for an index.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import numpy as np
import numpy.typing as npt
from pgvector import Vector

from actors.families import steps_on
from elf.config.model import EmbeddingProvider
from elf.config.optional import LocalModel
from elf.db import migration
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from elf.families.knowledge.access import Reach
from elf.families.knowledge.kit import knowledge_queries
from elf.families.knowledge.reading.legs import Legs, Question
from elf.providers.local.encoder import Encoder
from elf.providers.local.ports import LocalPorts
from ops.bench.embed import MODEL
from tests.folders import fresh_folder

Vectors = npt.NDArray[np.float32]

DIM = 384
LIMIT = 10
VERSION = "local:all-MiniLM-L6-v2:384"
SIZES = (
    10, 20, 50, 100, 200, 400, 600, 800, 1000, 1200, 1500, 1800, 2000, 2200, 2320, 2400, 2600, 2800, 3000, 25_000,
)  # fmt: skip
PEOPLE = (
    "Ana",
    "Ben",
    "Chidi",
    "Dana",
    "Elif",
    "Femi",
    "Grace",
    "Hiro",
    "Ines",
    "Jonas",
    "Keiko",
    "Liam",
    "Mara",
)
THINGS = (
    "breakfast", "coffee", "running shoes", "the train to work", "a window seat", "jazz records", "chess", "gardening",
    "the dentist", "night shifts", "hotel rooms", "a peanut allergy", "the old bicycle", "tax papers", "piano lessons",
    "the staging server", "code review", "release notes", "the billing importer", "a rented flat", "swimming",
    "the choir", "vegetarian food", "winter holidays", "a standing desk", "the budget", "dark mode", "the backup job",
)  # fmt: skip
SAYINGS = (
    "likes {thing} most on {day}", "gave up {thing} after {day}", "asked {other} about {thing} on {day}",
    "plans {thing} with {other} for {day}", "is unhappy with {thing} since {day}", "pays for {thing} every {day}",
    "forgot {thing} when {other} came on {day}", "recommends {thing} to {other}, but not on {day}",
)  # fmt: skip
DAYS = (
    "Monday",
    "Tuesday",
    "Friday",
    "Sunday",
    "New Year",
    "Easter",
    "her birthday",
    "the first of May",
    "payday",
)
QUESTIONS = (
    "what does {person} think of {thing}", "when does {person} meet {other}", "{thing} on {day}",
    "who knows about {thing}", "{person} {day}", "plans of {person} and {other}",
)  # fmt: skip
INDEX = "idx_knowledge_facts_embedding"
INSERT = """
INSERT INTO knowledge_facts (
  id, tenant_id, subject, predicate, content, permanence, decay_rate, embedding, embedding_version, search_vector,
  created_at, last_confirmed_at)
SELECT t.id, $1, 'subject', t.id::text, t.text, 'standard', 0.008, t.vector, $2, to_tsvector('english', t.text), $3, $3
FROM unnest($4::uuid[], $5::text[], $6::vector[]) AS t (id, text, vector)
"""


def said(templates: Sequence[str], rng: random.Random) -> str:
    person, other = rng.sample(PEOPLE, 2)
    return rng.choice(templates).format(
        person=person, other=other, thing=rng.choice(THINGS), day=rng.choice(DAYS)
    )


def fact_texts() -> list[str]:
    """Return a text for each fact, no two alike."""
    rng, texts = random.Random(7), dict[str, None]()
    while len(texts) < sum(SIZES):
        text = f"{rng.choice(PEOPLE)} {said(SAYINGS, rng)}"
        texts[text if text not in texts else f"{text}, {said(SAYINGS, rng)}"] = None
    return list(texts)


def question_texts(count: int) -> list[str]:
    rng = random.Random(11)
    return [said(QUESTIONS, rng) for _ in range(count)]


async def embedded(texts: Sequence[str]) -> Vectors:
    embedder = LocalPorts(Encoder.open(LocalModel())).embedder(
        EmbeddingProvider(path="/v1/embeddings", dimensions=DIM, **MODEL), None
    )
    parts = [await embedder.embed(texts[start : start + 512]) for start in range(0, len(texts), 512)]
    return np.concatenate(parts).astype(np.float32)


async def vectors_of(texts: Sequence[str], kept: Path | None) -> Vectors:
    path = None if kept is None else anyio.Path(kept)
    if path is not None and await path.exists():
        vectors: Vectors = np.load(path)
        return vectors
    vectors = await embedded(texts)
    if path is not None:
        np.save(path, vectors)
    return vectors


def unlike(count: int) -> Vectors:
    vectors = np.random.default_rng(7).normal(size=(count, DIM))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def tenants() -> Iterator[tuple[str, range]]:
    """Yield each tenant with the numbers of its facts, which are all over the texts."""
    start = 0
    for size in SIZES:
        yield f"tenant {size}", range(start, start + size)
        start += size


@asynccontextmanager
async def own_database() -> Any:
    with fresh_folder() as folder:
        server = EmbeddedServer(folder / "postgres")
        dsn = await server.start()
        try:
            await migration.apply(dsn, steps_on(), vector_dim=DIM)
            database = Database(max_conns=4)
            await database.open(dsn)
            yield database
            await database.close()
        finally:
            await server.leave()


async def fill(database: Database, texts: Sequence[str], vectors: Vectors) -> None:
    """Insert the facts in turns, as they come when tenants write side by side; the index is made of all at once."""
    now = datetime.now(UTC)
    todo = [
        (name, numbers[at : at + 200]) for name, numbers in tenants() for at in range(0, len(numbers), 200)
    ]
    random.Random(7).shuffle(todo)
    async with database.connection() as connection:
        index = await connection.fetchval(f"SELECT pg_get_indexdef('{INDEX}'::regclass)")
        await connection.execute(f"DROP INDEX {INDEX}")
        for name, numbers in todo:
            await connection.execute(
                INSERT, name, VERSION, now, [UUID(int=number) for number in numbers],
                [texts[number] for number in numbers], [Vector(vectors[number]) for number in numbers],
            )  # fmt: skip
        await connection.execute(f"SET maintenance_work_mem = '512MB'; {index}", timeout=1800)
        await connection.execute("VACUUM ANALYZE knowledge_facts", timeout=600)


async def measure(database: Database, vectors: Vectors, questions: Vectors) -> None:
    legs = Legs(database, knowledge_queries())
    print(f"{'facts':>8} {'of the exact ten':>17} {'worst':>7} {'fewest rows':>12} {'p50':>9} {'p95':>9}")
    for name, numbers in tenants():
        of_tenant = vectors[numbers.start : numbers.stop]
        shares, counts, taken = [], [], []
        for question in questions:
            asked = Question(
                reach=Reach(name, "user:ana", "ana"), scope=None, words="", vector=Vector(question), version=VERSION,
                limit=LIMIT, min_confidence=0.2, now=datetime.now(UTC),
            )  # fmt: skip
            start = time.perf_counter()
            rows = (await legs.find(asked, ["fact"]))["fact"]
            taken.append((time.perf_counter() - start) * 1000)
            likeness = of_tenant @ question
            least = np.sort(likeness)[-min(LIMIT, len(numbers))]
            counts.append(len(rows))
            found = sum(likeness[row["id"].int - numbers.start] >= least - 1e-6 for row in rows)
            shares.append(found / min(LIMIT, len(numbers)))
        taken.sort()
        print(
            f"{len(numbers):>8} {statistics.mean(shares):>17.3f} {min(shares):>7.1f} {min(counts):>12}"
            f" {statistics.median(taken):>6.1f} ms {taken[int(len(taken) * 0.95)]:>6.1f} ms"
        )


async def bench(kept: Path | None, *, is_random: bool, count: int) -> None:
    texts = fact_texts()
    if is_random:
        every = unlike(len(texts) + count)
        vectors, questions = every[:-count], every[-count:]
    else:
        vectors, questions = await vectors_of(texts, kept), await embedded(question_texts(count))
    async with own_database() as database:
        start = time.perf_counter()
        await fill(database, texts, vectors)
        print(f"{len(texts)} facts of {len(SIZES)} tenants, filled in {time.perf_counter() - start:.0f} s")
        await measure(database, vectors, questions)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, help="where the vectors of the facts are kept")
    parser.add_argument("--random", action="store_true", help="vectors without any likeness")
    parser.add_argument("--queries", type=int, default=30)
    options = parser.parse_args()
    anyio.run(lambda: bench(options.vectors, is_random=options.random, count=options.queries))


if __name__ == "__main__":
    main()
