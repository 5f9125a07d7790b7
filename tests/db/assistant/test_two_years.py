"""Two years of memories on a turned clock: what ages, is restored, is given, stays or goes, each as it should."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from elf.outbox.chores import NO_SUBJECT, Due
from tests.db.assistant.assistant_kit import AssistantHouse
from tests.db.assistant.query_kit import ask

pytestmark = pytest.mark.anyio

DAYS: Final = 730
STEP: Final = 5
AGED: Final = timedelta(days=60)
RESTORABLE: Final = timedelta(days=30)


class Diary:
    """What a memory should be, told day by day: when it was given last, and when it was deleted softly."""

    def __init__(self, memory: Any, now: datetime, *, lasts: bool) -> None:
        self.id: str = memory["id"]
        self.text: str = memory["text"]
        self.lasts = lasts
        self.given = now
        self.deleted: datetime | None = None
        self.purged = False
        self.told: Counter[str] = Counter()

    def at(self, now: datetime) -> str:
        """Return the state at a moment, after what is due then was done."""
        if self.deleted is not None and now >= self.deleted + RESTORABLE:
            self.purged = True
        elif self.deleted is None and not self.lasts and now > self.given + AGED:
            self.deleted = now
            self.told["soft_deleted"] += 1
        if self.purged:
            return "purged"
        return "active" if self.deleted is None else "soft_deleted"

    def restored(self, now: datetime) -> None:
        self.deleted, self.given = None, now
        self.told["restored"] += 1


async def _states(house: AssistantHouse) -> dict[str, str]:
    rows = await house.rows("SELECT memory_id::text AS id, state FROM assistant_memories")
    return {row["id"]: row["state"] for row in rows}


async def _what_changed(house: AssistantHouse, **asked: Any) -> tuple[Any, list[Any]]:
    """Return an answer in the thread, and the changes that it tells of for the first time."""
    rows = await house.rows(
        "SELECT c.memory_id::text AS id, c.event FROM assistant_changes AS c "
        "WHERE c.rev > coalesce((SELECT max(r.seen_rev) FROM assistant_recalls AS r), 0) ORDER BY c.rev"
    )
    answer = await ask(house, thread_id="t", **asked)
    assert answer["delta"]["total"] == len({row["id"] for row in rows})
    return answer, rows


async def test_two_years_of_memories(house: AssistantHouse) -> None:
    rng = random.Random(7)
    (chore,) = (chore for chore in house.opened.chores if chore.name == "memory_lifecycle")
    await ask(house, thread_id="t", query="nothing")
    diaries: list[Diary] = []
    told: Counter[tuple[str, str]] = Counter()
    for day in range(0, DAYS, STEP):
        now = house.clock.now()
        if day < DAYS - 120:
            importance, pinned = rng.randint(1, 5), rng.random() < 0.2
            memory = await house.add(
                f"Thing {day} stands in row {day}.", "tasks", importance=importance, pinned=pinned, thread_id="t",
                evidence=[{"quote": f"row {day}"}],
            )  # fmt: skip
            diaries.append(Diary(memory, now, lasts=pinned or importance >= 3))
        await chore.run(Due(NO_SUBJECT, now, 1))
        expected = {diary.id: diary.at(now) for diary in diaries}
        there = {id: state for id, state in expected.items() if state != "purged"}
        assert await _states(house) == there
        sought = rng.choice(diaries).text if rng.random() < 0.4 else "nothing"
        answer, changes = await _what_changed(house, query=sought, top_k=1)
        told.update((row["id"], row["event"]) for row in changes)
        given = {item["id"] for item in answer["items"]} | {one["id"] for one in answer["related"]}
        assert {expected[id] for id in given} <= {"active"}
        for diary in diaries:
            if diary.id in given:
                diary.given = now
        await house.settle_hits()
        deleted = [diary for diary in diaries if expected[diary.id] == "soft_deleted"]
        if deleted and rng.random() < 0.15:
            diary = rng.choice(deleted)
            await house.post(f"memories/{diary.id}/restore")
            diary.restored(now)
        house.clock.turn(days=STEP)
    for diary in diaries:
        events = {
            event: count for (id, event), count in told.items() if id == diary.id and event != "created"
        }
        assert events == dict(diary.told)
        rows = await house.rows(
            "SELECT event, old_ref, new_ref FROM assistant_history WHERE memory_id = $1", diary.id
        )
        assert all(diary.text in str(dict(row)) for row in rows if row["event"] == "ADD") != diary.purged
    left = str([dict(row) for row in await house.rows("SELECT meta FROM assistant_changes")])
    assert not any(diary.text in left for diary in diaries if diary.purged)
    kinds = Counter((diary.lasts, diary.purged, diary.told["restored"] > 0) for diary in diaries)
    assert kinds[(False, True, False)] > 5
    assert kinds[(True, False, False)] > 20
    assert sum(count for (_, _, was_restored), count in kinds.items() if was_restored) > 3
