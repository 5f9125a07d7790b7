"""Reading what was just written: which notes were written and have not been seen indexed yet.

Indexing takes some hundredths of a second. An agent that writes a note and asks at once would not find it, so a search
waits for the few notes of its project that are on their way. It is a courtesy with a limit, not a guarantee: large
imports are not waited for, and what other processes write and index is known as far as news of it arrive.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

import anyio

PATIENCE_S = 0.25
MOST_NOTES = 32
FORGET_AFTER_S = 2.0


class Project(NamedTuple):
    """The unit that searches look into."""

    tenant_id: str
    project_id: str


class FreshNews(NamedTuple):
    """Notes of a project that are about to be committed; or, without a project, notes that have been indexed."""

    project: Project | None
    note_ids: Sequence[UUID]


class FreshWrites:
    """The notes on their way to the index, by project.

    A note that nobody reports as indexed (the transaction was undone, the worker is elsewhere) is forgotten after
    `forget_after_s`. `clock` tells seconds that never go back. `tell` is called, and must not block, with what happens
    in this process, for others whose `hear` is to be called with it.
    """

    def __init__(
        self,
        *,
        patience_s: float = PATIENCE_S,
        most_notes: int = MOST_NOTES,
        forget_after_s: float = FORGET_AFTER_S,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[FreshNews], object] = lambda news: None,
    ) -> None:
        self._patience_s = patience_s
        self._most_notes = most_notes
        self._forget_after_s = forget_after_s
        self._clock = clock
        self._tell = tell
        # Oldest first; a plain dict would look for its first entry among all that have left it.
        self._on_the_way: OrderedDict[UUID, tuple[Project, float]] = OrderedDict()
        self._by_project: dict[Project, set[UUID]] = {}
        self._changed = anyio.Event()

    def wrote(self, project: Project, note_ids: Sequence[UUID]) -> None:
        """Remember notes that are about to be committed."""
        self._remember(project, note_ids)
        self._tell(FreshNews(project, note_ids[: self._most_notes + 1]))  # so many tell that it is an import

    def indexed(self, note_ids: Sequence[UUID]) -> None:
        """Forget notes that an indexer has dealt with, well or not."""
        self._forget_all(note_ids)
        self._tell(FreshNews(None, note_ids))

    def hear(self, news: FreshNews) -> None:
        """Take in what another process told."""
        if news.project is None:
            self._forget_all(news.note_ids)
        else:
            self._remember(news.project, news.note_ids)

    def _remember(self, project: Project, note_ids: Iterable[UUID]) -> None:
        now = self._clock()
        self._forget_older_than(now - self._forget_after_s)
        for note_id in note_ids:
            self._forget(note_id)
            self._on_the_way[note_id] = (project, now)
            self._by_project.setdefault(project, set()).add(note_id)

    def _forget_all(self, note_ids: Iterable[UUID]) -> None:
        for note_id in note_ids:
            self._forget(note_id)
        self._changed.set()
        self._changed = anyio.Event()

    async def settled(self, project: Project) -> None:
        """Wait until the notes of the project that are on their way now are indexed, `patience_s` at most.

        Returns at once when there are none, or too many to wait for.
        """
        self._forget_older_than(self._clock() - self._forget_after_s)
        awaited = set(self._by_project.get(project, ()))
        if not awaited or len(awaited) > self._most_notes:
            return
        with anyio.move_on_after(self._patience_s):
            while awaited & self._by_project.get(project, set()):
                await self._changed.wait()

    def _forget_older_than(self, moment: float) -> None:
        while self._on_the_way:
            note_id, (_, written_at) = next(iter(self._on_the_way.items()))
            if written_at > moment:
                return
            self._forget(note_id)

    def _forget(self, note_id: UUID) -> None:
        entry = self._on_the_way.pop(note_id, None)
        if entry is None:
            return
        notes = self._by_project[entry[0]]
        notes.discard(note_id)
        if not notes:
            del self._by_project[entry[0]]
