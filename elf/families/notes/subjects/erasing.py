"""Erasing for good all notes of a tenant, a user or an agent, and all that tells of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Final

from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.erasing import in_passes
from elf.families.notes.subjects.whose import AT_THE_START, Place, Whose, projects_of

DECISIONS_AT_ONCE: Final = 5000
KINDS: Final = ("notes", "versions", "hits", "decisions", "trace_jobs", "traces", "expansions")


class NoteErasure:
    """Removes notes, `step` of them a transaction, in every form but the points of the index, which go by jobs.

    With the notes go their chunks and vectors, by cascade, their history, their hits, the decisions on what was
    written, and the traces of searches. Kept wordings of queries go, whosever they are: nothing tells that.
    """

    def __init__(self, database: Database, queries: Queries, *, ring: Callable[[], None], step: int) -> None:
        self._database = database
        self._sql = queries
        self._ring = ring
        self._step = step

    async def erase(self, whose: Whose) -> Mapping[str, int]:
        """Erase all of it; returns how much of each kind went. Raises Unavailable: then it may be done again."""
        gone = await in_passes(KINDS, partial(self._once, whose))
        gone["expansions"] += await self._all("erase_expansions")
        return dict(gone)

    async def _once(self, whose: Whose) -> Counter[str]:
        gone: Counter[str] = Counter()
        async with aclosing(projects_of(self._database, self._sql, whose)) as projects:
            async for project in projects:
                gone.update(await self._notes(whose._replace(project_id=project)))
        gone["versions"] += await self._all("erase_purged_notes", *whose)
        gone["decisions"] += await self._decisions(whose)
        # A trace goes the same way: what is stored meanwhile is met there.
        gone["trace_jobs"] += await self._all("erase_trace_jobs", *whose)
        gone["traces"] += await self._all("erase_traces", *whose)
        return gone

    async def _notes(self, whose: Whose) -> Counter[str]:
        gone: Counter[str] = Counter()
        behind = AT_THE_START
        while True:
            some, last = await retrying(partial(self._some_notes, whose, behind))
            gone.update(some)
            if last is None:
                return gone
            behind = last

    async def _some_notes(self, whose: Whose, behind: Place) -> tuple[Mapping[str, int], Place | None]:
        """Erase some notes of a project; returns how much went, and the last place, which is None at the end."""
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_subject_notes"], *whose, *behind, self._step)
            if not rows:
                return {}, None
            counts = await connection.fetchrow(
                self._sql["erase_notes"],
                [row["note_id"] for row in rows],
                [row["embedding_version"] for row in rows],
            )
            connection.after_commit(self._ring)
        assert counts is not None, "it always counts"
        return dict(counts), max(Place(row["updated_at"], row["note_id"]) for row in rows)

    async def _decisions(self, whose: Whose) -> int:
        gone, behind = 0, 0
        while True:
            some, last = await retrying(partial(self._decisions_of_page, whose, behind))
            gone += some
            if last is None:
                return gone
            behind = last

    async def _decisions_of_page(self, whose: Whose, behind: int) -> tuple[int, int | None]:
        async with self._database.transaction() as connection:
            page = await connection.fetchrow(self._sql["erase_decisions"], *whose, behind, DECISIONS_AT_ONCE)
        assert page is not None, "it always tells"
        return page["gone"], page["last"]

    async def _all(self, query: str, *of: str | None) -> int:
        """Run a statement that removes up to `step` of something until there is no more."""
        gone = 0
        while count := await retrying(partial(self._some, query, of)):
            gone += count
        return gone

    async def _some(self, query: str, of: tuple[str | None, ...]) -> int:
        async with self._database.transaction() as connection:
            return len(await connection.fetch(self._sql[query], *of, self._step))
