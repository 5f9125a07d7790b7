"""How long what gathers around notes is kept: hits, decisions, and the versions that a note has left behind.

The notes themselves end by their lifecycle. A note that is still there keeps its newest versions whatever their age:
what it is, what it was before, and what a deleted one is restored from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.families.notes.model import FAMILY

PAGE: Final = 5000  # versions looked at in one statement: all are, as only their notes tell which are kept
PAGES: Final = 200  # at one collection; the next goes on from there

Place = tuple[UUID, datetime]

BEFORE_THE_FIRST: Final[Place] = (UUID(int=0), datetime.min.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """After how many days hits, decisions and versions go; 0 is never. `versions_kept` is per note, 2 or more."""

    hit_days: int
    decision_days: int
    version_days: int
    versions_kept: int


class NoteRetention:
    """The steps of a collection over what gathers around notes; `queries` are those of the folder sql/notes."""

    def __init__(self, *, database: Database, queries: Queries, rules: RetentionRules) -> None:
        self._database = database
        self._sql = queries
        self._rules = rules
        self._looked_at = BEFORE_THE_FIRST

    def steps(self) -> list[GarbageStep]:
        """Return the steps for what is not kept for ever."""
        rules = self._rules
        steps = [
            (rules.hit_days, GarbageStep(FAMILY, "old_hits", self._drop_hits)),
            (rules.decision_days, GarbageStep(FAMILY, "old_decisions_of_notes", self._drop_decisions)),
            (rules.version_days, GarbageStep(FAMILY, "old_versions", self._drop_versions)),
        ]
        return [step for days, step in steps if days]

    async def _drop_hits(self, now: datetime, limit: int) -> int:
        return await self._drop("drop_old_hits", now - timedelta(days=self._rules.hit_days), limit)

    async def _drop_decisions(self, now: datetime, limit: int) -> int:
        before = now - timedelta(days=self._rules.decision_days)
        return await self._drop("drop_old_decisions_of_notes", before, limit)

    async def _drop(self, query: str, before: datetime, limit: int) -> int:
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql[query], before, limit))

    async def _drop_versions(self, now: datetime, limit: int) -> int:
        """Look through the versions, note by note, until `limit` of them are dropped, or PAGES are done."""
        before = now - timedelta(days=self._rules.version_days)
        dropped = 0
        for _ in range(PAGES):
            done, self._looked_at = await self._drop_of_page(before, self._looked_at)
            dropped += done
            if dropped >= limit or self._looked_at == BEFORE_THE_FIRST:
                break
        return dropped

    async def _drop_of_page(self, before: datetime, after: Place) -> tuple[int, Place]:
        """Return how many versions of the page behind `after` were dropped, and where the next one begins."""
        async with self._database.connection() as connection:
            page = await connection.fetchrow(
                self._sql["drop_old_versions"], before, *after, PAGE, self._rules.versions_kept
            )
        assert page is not None
        is_last = page["looked_at"] < PAGE
        return page["dropped"], BEFORE_THE_FIRST if is_last else (page["note_id"], page["ts"])
