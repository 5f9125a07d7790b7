"""Queries while the embedding model is away, hangs, or is slow: answered by words, and soon."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.query_kit import ask

pytestmark = pytest.mark.anyio

LONGEST_S = 5.0
"""An answer without the model comes in a fraction of this; a provider's time-out is longer."""


async def degraded(house: AssistantHouse) -> list[str]:
    with anyio.fail_after(LONGEST_S):
        answer: dict[str, Any] = await ask(house)
    return list(answer["degraded"])


async def until_back(house: AssistantHouse) -> None:
    """Ask until an answer has a vector again."""
    with anyio.fail_after(20):
        while await degraded(house):
            pass


async def test_a_model_that_hangs_is_not_waited_for_and_is_asked_again_behind_the_scenes(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path, remote=True) as house:
        await house.add("Deployment waits for Ana.", "tasks")
        assert await degraded(house) == []
        house.model.before_answer = anyio.sleep_forever
        for _ in range(3):
            assert await degraded(house) == ["embedding"]
        house.model.before_answer = None
        await until_back(house)


async def test_after_a_miss_no_query_asks_the_model(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, remote=True) as house:
        house.model.away = True
        assert await degraded(house) == ["embedding"]
        house.model.texts.clear()
        for number in range(5):
            await ask(house, query=f"Deployment {number}")
        assert not [text for text in house.model.texts if text.startswith("Deployment")]
        house.model.away = False
        await until_back(house)


async def test_a_model_that_always_misses_the_deadline_is_away(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, "embed_deadline_ms = 10\n", remote=True) as house:
        answered = 0
        is_probed_twice = anyio.Event()

        async def slow() -> None:
            nonlocal answered
            await anyio.sleep(0.2)
            answered += 1
            if answered == 3:  # the query that missed the deadline, and two probes
                is_probed_twice.set()

        house.model.before_answer = slow
        assert await degraded(house) == ["embedding"]
        with anyio.fail_after(20):
            await is_probed_twice.wait()
        assert await degraded(house) == ["embedding"]


async def test_a_local_model_that_is_busy_is_waited_for(house: AssistantHouse) -> None:
    async def busy() -> None:
        await anyio.sleep(0.15)

    house.model.before_answer = busy
    found: list[list[str]] = []

    async def one() -> None:
        found.append(await degraded(house))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(one)
    assert found == [[]] * 8


TOPICS: Final = (
    "passport", "bicycle", "dentist", "garden", "invoice", "kettle", "lantern", "marathon", "notebook", "orchestra",
    "parking", "quarterly", "recipe", "schedule", "telescope", "umbrella", "vaccine", "workshop", "yoga", "zucchini",
)  # fmt: skip


async def measured(house: AssistantHouse, rounds: int = 3) -> tuple[float, float]:
    """Return the 95th percentile of how long queries take, in milliseconds, and the share that finds its memory."""
    took, found = [], 0
    for topic in TOPICS * rounds:
        began = time.perf_counter()
        answer = await ask(house, query=f"what about the {topic}", top_k=3)
        took.append((time.perf_counter() - began) * 1000)
        found += any(f"{topic} number" in item["text"] for item in answer["items"])
    return sorted(took)[int(0.95 * len(took))], found / len(took)


async def test_what_queries_take_and_find_without_the_model_is_told(
    database: Database, tmp_path: Path
) -> None:
    async def slow() -> None:
        await anyio.sleep(0.3)

    report = []
    for name in ("fast", "unavailable", "hanging", "slow"):
        async with house_at(database, tmp_path, remote=True) as house:
            if name == "fast":
                for number, topic in enumerate(TOPICS):
                    await house.add(f"The {topic} number {number} is due in May.", "tasks")
            house.model.away = name == "unavailable"
            house.model.before_answer = {"hanging": anyio.sleep_forever, "slow": slow}.get(name)
            p95, share = await measured(house)
            report.append(f"{name}: p95 {p95:.1f} ms, {share:.2f} of the memories found")
            assert share == 1.0 or name == "fast"
    sys.stdout.write("\n".join(["", *report, ""]))
