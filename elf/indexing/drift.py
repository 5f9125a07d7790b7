"""How far the index has drifted from Postgres, and mending just that.

The two sides cannot be read at one moment. A difference only counts when no job of its subject is open and none was
worked on since the comparison began: the points of any other subject are on their way, and `moving` counts those
differences. Nor does one of a subject whose indexing was given up or discarded: nothing mends that by itself, and
`given_up` counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import anyio

from elf.db.database import Database
from elf.indexing.corpus import Corpus
from elf.indexing.reconcile import KINDS, Difference, IndexReconciler, Kind, Wrong

BATCH: Final = 2000
REPAIR_WAIT_S: Final = 30.0
LOOK_AGAIN_S: Final = 0.02


@dataclass(slots=True)
class Comparison:
    """Differences by kind, the first of each kind as examples, how many others are on their way, and how many stay."""

    counts: Counter[Kind] = field(default_factory=Counter)
    examples: dict[Kind, list[Difference]] = field(default_factory=dict)
    moving: int = 0
    given_up: int = 0

    def counted(self) -> dict[str, int]:
        """Return what an answer about it says, by the names of its fields."""
        counts = {f"{kind}_count": self.counts[kind] for kind in KINDS}
        return counts | {"moving_count": self.moving, "given_up_count": self.given_up}

    def add(self, difference: Difference, *, most_examples: int) -> None:
        self.counts[difference.kind] += 1
        examples = self.examples.setdefault(difference.kind, [])
        if len(examples) < most_examples:
            examples.append(difference)


@dataclass(frozen=True, slots=True)
class Repair:
    """What was found, how many jobs that made, and how many of them were still open when the wait for them ended."""

    found: Comparison
    jobs: int
    open_jobs: int


class IndexDrift:
    """Compares the index with Postgres for operators."""

    def __init__(self, *, database: Database, corpus: Corpus, reconciler: IndexReconciler) -> None:
        self._database = database
        self._sql = corpus.queries
        self._reconciler = reconciler

    async def look(self, *, most_examples: int) -> Comparison:
        """Compare, and write nothing."""
        return await self._compare(Wrong(), most_examples=most_examples)

    async def repair(self) -> Repair:
        """Compare, have the indexers mend what differs, and wait up to REPAIR_WAIT_S until they have."""
        wrong = Wrong()
        found = await self._compare(wrong, most_examples=0)
        jobs = await self._reconciler.enqueue(wrong)
        return Repair(found, len(jobs), await self._still_open(jobs))

    async def _compare(self, wrong: Wrong, *, most_examples: int) -> Comparison:
        found = Comparison()
        async with self._database.connection() as connection:
            began = await connection.fetchval("SELECT now()")
        async for batch in self._batches():
            subject_ids = list({one.subject_id for one in batch})
            async with self._database.connection() as connection:
                moving_rows = await connection.fetch(self._sql["moving_subjects"], subject_ids, began)
                given_up_rows = await connection.fetch(self._sql["given_up_subjects"], subject_ids)
            given_up = {row["subject_id"] for row in given_up_rows}
            moving = {row["subject_id"] for row in moving_rows} - given_up
            for one in batch:
                if one.subject_id in given_up:
                    found.given_up += 1
                elif one.subject_id in moving:
                    found.moving += 1
                else:
                    found.add(one, most_examples=most_examples)
                    wrong.add(one)
        return found

    async def _batches(self) -> AsyncIterator[Sequence[Difference]]:
        batch: list[Difference] = []
        async for difference in self._reconciler.differences():
            batch.append(difference)
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    async def _still_open(self, jobs: Sequence[UUID]) -> int:
        waiting = list(jobs)
        with anyio.move_on_after(REPAIR_WAIT_S):
            while waiting:
                head = waiting[-BATCH:]
                async with self._database.connection() as connection:
                    rows = await connection.fetch(self._sql["open_jobs"], head)
                waiting[-BATCH:] = [row["outbox_id"] for row in rows]
                if rows:
                    await anyio.sleep(LOOK_AGAIN_S)
        return len(waiting)
