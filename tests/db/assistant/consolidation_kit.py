"""A user with many memories, some of which say the same in other words, and a language model that can tell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import anyio
import numpy as np
from pgvector import Vector

from elf.outbox.chores import Chore, Due
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse
from tests.db.assistant.model_kit import ScriptedModel
from tests.notes_kit import WordTokens, vector_of

FIRST: Final = "User keeps kettle {} at home."
SECOND: Final = "The kettle with number {} stands in the kitchen of User."
MERGED: Final = "User keeps kettle {} in the kitchen at home."
LONE: Final = "User once saw lantern {} far away."
NUMBER: Final = re.compile(r"\d+")

_SEED: Final = """
INSERT INTO assistant_memories (
  tenant_id, user_id, memory_id, type, category, text, importance, source, created_at, updated_at)
SELECT $1, $2, t.id, 'semantic', t.category, t.text, t.importance, 'manual', t.at, t.at
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::int[], $7::timestamptz[]) AS t (id, category, text, importance, at)
"""
_VECTORS: Final = """
INSERT INTO assistant_vectors (tenant_id, user_id, memory_id, embedding_version, embedding)
SELECT $1, $2, t.id, $3, t.vector FROM unnest($4::uuid[], $5::vector[]) AS t (id, vector)
"""


@dataclass(frozen=True)
class Planted:
    """The texts of two memories that are one, and their cosine."""

    first: str
    second: str
    cosine: float


def kettles(count: int) -> list[Planted]:
    """Return pairs that say the same, none as like as another one."""
    return [
        Planted(FIRST.format(number), SECOND.format(number), 0.55 - 0.1 * number / count)
        for number in range(count)
    ]


async def plant(
    house: AssistantHouse, pairs: Sequence[Planted], *, lone: int = 0, user: str = USER, importance: int = 3
) -> None:
    """Give a user memories: pairs, and others that are like nothing."""
    texts, vectors = [], []
    for pair in pairs:
        base = vector_of(pair.first)
        across = vector_of(pair.second)
        across -= np.dot(across, base) * base
        across /= np.linalg.norm(across)
        texts += [pair.first, pair.second]
        vectors += [base, pair.cosine * base + np.sqrt(1 - pair.cosine**2) * across]
    for number in range(lone):
        texts.append(LONE.format(number))
        vectors.append(vector_of(texts[-1]))
    ids = [UUID(int=number + 1) for number in range(len(texts))]
    kinds = [f"c{NUMBER.findall(text)[0][-1]}" for text in texts]
    now = house.clock.now()
    ages = [now - timedelta(minutes=len(texts) - place) for place in range(len(texts))]
    weights = [importance if place < 2 * len(pairs) else 1 for place in range(len(texts))]
    async with house.database.transaction() as connection:
        await connection.execute(_SEED, TENANT, user, ids, kinds, texts, weights, ages)
        rows = [Vector(vector.astype(np.float32)) for vector in vectors]
        await connection.execute(_VECTORS, TENANT, user, house.model.version, ids, rows)
        await connection.execute("ANALYZE assistant_memories, assistant_vectors")


def pairs_in(question: str) -> list[dict[str, Any]]:
    """Return the pairs that a model is asked about."""
    return [json.loads(line) for line in question.splitlines() if line.startswith('{"pair":')]


def number_of(pair: dict[str, Any]) -> int:
    return int(NUMBER.findall(pair["older"]["text"])[0])


def judging(is_same: Callable[[int], bool] = lambda _: True, **config: Any) -> ScriptedModel:
    """Return a model that knows which kettles are one, and says so of those that `is_same` lets it."""

    def script(question: str) -> str:
        said = []
        for pair in pairs_in(question):
            number = number_of(pair)
            ids, texts = zip(*(pair[name].values() for name in ("newer", "older")), strict=True)
            one = len({NUMBER.search(text)[0] for text in texts}) == 1 and is_same(number)  # type: ignore[index]
            verdict = {"verdict": "same", "text": MERGED.format(number)} if one else {"verdict": "different"}
            said.append({"pair": pair["pair"], "from": ids, **verdict})
        return json.dumps({"pairs": said})

    return ScriptedModel(script, **config)


def asked_numbers(model: ScriptedModel, since: int = 0) -> list[int]:
    """Return the kettles that a model was asked about, from a question on, in order."""
    return [number_of(pair) for question in model.questions[since:] for pair in pairs_in(question)]


def tokens_at_the_wire(model: ScriptedModel, since: int = 0) -> int:
    """Return how many tokens questions had, and their answers may have had."""
    return sum(
        body["max_tokens"] + sum(len(WordTokens().spans(message["content"])) for message in body["messages"])
        for body in model.asked[since:]
    )


def daily(house: AssistantHouse) -> Chore:
    return next(chore for chore in house.opened.chores if chore.name == "memory_consolidation")


async def a_day(house: AssistantHouse) -> int:
    """Do what is due, and go on by a day; returns how many users had their turn."""
    chore = daily(house)
    subjects = await chore.subjects()
    for subject in subjects:
        await chore.run(Due(subject, house.clock.now(), 1))
    assert await chore.subjects() == []
    house.clock.turn(days=1)
    return len(subjects)


async def still_double(house: AssistantHouse, count: int) -> list[int]:
    """Return the kettles of which there still are two memories."""
    rows = await house.rows("SELECT text FROM assistant_memories WHERE state = 'active'")
    texts = {row["text"] for row in rows}
    return [pair for pair in range(count) if {FIRST.format(pair), SECOND.format(pair)} <= texts]


async def run_until_asked(house: AssistantHouse, model: ScriptedModel, questions: int) -> None:
    """Run a user's turn and kill it while the model thinks about a question, the one with this number from 1."""
    (subject,) = await daily(house).subjects()

    async def hang() -> None:
        if len(model.asked) == questions:
            thinking.set()
            await anyio.sleep_forever()

    thinking = anyio.Event()
    model.before_answer = hang
    async with anyio.create_task_group() as group:
        group.start_soon(daily(house).run, Due(subject, house.clock.now(), 1))
        await thinking.wait()
        group.cancel_scope.cancel()
    model.before_answer = None
