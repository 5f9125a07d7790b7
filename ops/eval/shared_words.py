#!/usr/bin/env python3
"""Whether another tenant's words move a tenant's ranking, in the embedded index and in the index in Postgres.

    python ops/eval/shared_words.py LOCOMO.json [--engine edge pgvector] [--only conv-26] [--others 20000]

The turns of a LoCoMo conversation are one tenant's notes and its questions are asked twice: alone, and beside another
tenant's notes, which consist of the words that are rare in the conversation. For BM25 and for the fusion of both legs
it prints recall at 10, alone and beside; the share of the first 10 that stay among them; Kendall's tau of those that
stay; and the questions with any score that is not the same.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4, uuid5

import anyio
import numpy as np
from locomo import Conversation, Question, read_conversations

from actors.families import steps_on
from elf.config.optional import LocalModel
from elf.db import migration
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.edge.process import EdgeProcess
from elf.index.pgvector import PgvectorIndex
from elf.index.port import IndexFilter, IndexPoint, IndexQuery, Vector, VectorIndex
from elf.providers.local.encoder import Encoder
from elf.search.fuse import FusionRules, fuse

DIM = 384
FIRST = 10
LEG = 80  # as deep as a search goes
RARE = 2  # turns at most that hold a rare word
FUSION = FusionRules(method="minmax", k=60, dense_weight=1.0, bm25_weight=1.0)
NAMES = uuid4()

Ranking = list[tuple[UUID, float]]


class Asked(NamedTuple):
    """The rankings of one question by each way of ranking."""

    bm25: Ranking
    fused: Ranking


@asynccontextmanager
async def edge(folder: Path) -> AsyncIterator[VectorIndex]:
    process = await EdgeProcess.start(folder / "index", vector_dim=DIM)
    index = EdgeIndex(folder / "index", NOTES, timeout_s=60)
    try:
        await process.wait_ready(deadline_s=60)
        yield index
    finally:
        await index.aclose()
        await process.stop()


@asynccontextmanager
async def pgvector(folder: Path) -> AsyncIterator[VectorIndex]:
    server = EmbeddedServer(folder / "postgres")
    try:
        dsn = await server.start()
        await migration.apply(dsn, steps_on(), vector_dim=DIM)
        database = Database(max_conns=2)
        await database.open(dsn)
        yield PgvectorIndex(database, space=NOTES, vector_dim=DIM, timeout_s=60)
        await database.close()
    finally:
        await server.leave()


ENGINES = {"edge": edge, "pgvector": pgvector}


def point(name: str, text: str, vector: Vector, tenant: str) -> IndexPoint:
    payload = {
        "tenant_id": tenant,
        "project_id": "talk",
        "agent_id": "anna",
        "scope": "project_shared",
        "status": "active",
        "type": "fact",
        "embedding_version": "packaged",
        "created_at": "2026-01-01T00:00:00+00:00",
        "updated_at": "2026-01-01T00:00:00+00:00",
    }
    return IndexPoint(uuid5(NAMES, name), uuid5(NAMES, name), vector, text, payload)


def others(turns: Sequence[str], count: int) -> list[IndexPoint]:
    """Make another tenant's notes of the words that few turns have."""
    words = Counter(word for turn in turns for word in set(re.findall(r"[a-z]{4,}", turn.lower())))
    rare = sorted(word for word, number in words.items() if number <= RARE)
    choice, vectors = random.Random(7), np.random.default_rng(7)
    return [
        point(f"other {number}", " ".join(choice.sample(rare, 40)), vector, "other")
        for number, vector in enumerate(vectors.normal(size=(count, DIM)).astype(np.float32))
    ]


async def ask(index: VectorIndex, questions: Sequence[Question], vectors: Sequence[Vector]) -> list[Asked]:
    place = {"tenant_id": "mine", "project_id": "talk", "status": "active", "embedding_version": "packaged"}
    where = IndexFilter(must=place, any_of=[{"scope": ["project_shared"]}])
    asked = []
    for question, vector in zip(questions, vectors, strict=True):
        [found] = await index.query([IndexQuery(vector, question.text, where, LEG)])
        fused = [(one.point_id, one.score) for one in fuse([found], rules=FUSION)]
        asked.append(Asked([(hit.point_id, hit.score) for hit in found.bm25], fused))
    return asked


def recall(question: Question, ranking: Ranking) -> float:
    first = {point_id for point_id, _ in ranking[:FIRST]}
    return len({uuid5(NAMES, turn) for turn in question.evidence} & first) / len(question.evidence)


def kept(one: Ranking, other: Ranking) -> list[UUID]:
    others_first = {point_id for point_id, _ in other[:FIRST]}
    return [point_id for point_id, _ in one[:FIRST] if point_id in others_first]


def tau(one: Ranking, other: Ranking) -> float:
    place = {point_id: number for number, (point_id, _) in enumerate(other)}
    pairs = [place[left] < place[right] for left, right in combinations(kept(one, other), 2)]
    return 2 * statistics.fmean(pairs) - 1 if pairs else 1.0


def report(label: str, questions: Sequence[Question], alone: list[Ranking], beside: list[Ranking]) -> None:
    both = [(one, other) for one, other in zip(alone, beside, strict=True) if one]
    recalls = [statistics.fmean(map(recall, questions, rankings)) for rankings in (alone, beside)]
    overlap = statistics.fmean(len(kept(one, other)) / len(one[:FIRST]) for one, other in both)
    order = statistics.fmean(tau(one, other) for one, other in both)
    moved = sum(one != other for one, other in both)
    print(
        f"{label:<15} recall@{FIRST} {recalls[0]:.3f} -> {recalls[1]:.3f}   overlap {overlap:.3f}"
        f"   tau {order:.3f}   moved {moved} of {len(questions)}"
    )


async def evaluate(engine: str, conversation: Conversation, encoder: Encoder, count: int) -> None:
    questions = conversation.questions
    asked_for = await encoder.sentences([question.text for question in questions])
    turns = list(conversation.turns.items())
    vectors = await encoder.sentences([text for _, text in turns])
    mine = [point(name, text, vector, "mine") for (name, text), vector in zip(turns, vectors, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        async with ENGINES[engine](Path(folder)) as index:
            await index.ensure()
            await index.upsert(mine)
            alone = await ask(index, questions, list(asked_for))
            await index.upsert(others(list(conversation.turns.values()), count))
            beside = await ask(index, questions, list(asked_for))
    for way in Asked._fields:
        rankings = [[getattr(asked, way) for asked in answers] for answers in (alone, beside)]
        report(f"{engine} {way}", questions, *rankings)


async def main(options: argparse.Namespace) -> None:
    [conversation] = read_conversations(options.file, [options.only])
    encoder = await anyio.to_thread.run_sync(Encoder.open, LocalModel(cache_dir=options.model_cache))
    print(f"{len(conversation.turns)} notes of one tenant, {options.others} of the other")
    for engine in options.engine:
        await evaluate(engine, conversation, encoder, options.others)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", help="a LoCoMo JSON file")
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--only", default="conv-26", metavar="NAME", help="the conversation")
    parser.add_argument("--others", type=int, default=20_000, help="the other tenant's notes")
    parser.add_argument(
        "--model-cache", default="", help="a folder for the local model (default: the user's cache)"
    )
    anyio.run(main, parser.parse_args())
