"""Reading what was just written: what was written and has not been seen indexed yet.

Indexing takes some hundredths of a second. An agent that writes something and asks at once would not find it, so a
search waits for the little of its place that is on its way. It is a courtesy with a limit, not a guarantee: large
imports are not waited for, and what other processes write and index is known as far as news of it arrive.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

import anyio

PATIENCE_S = 0.25
MOST_SUBJECTS = 32
FORGET_AFTER_S = 2.0

Place: TypeAlias = tuple[str, ...]
"""Where searches look into: the values of the place_fields of the corpus' space."""


class FreshNews(NamedTuple):
    """Subjects of a place of a corpus that have been written; or, without a place, subjects that have been indexed."""

    corpus: str
    place: Place | None
    subject_ids: Sequence[UUID]


class FreshWrites:
    """What is on its way to the index, by corpus and place.

    What nobody reports as indexed (the worker is elsewhere, and news of it got lost) is forgotten after
    `forget_after_s`. `clock` tells seconds that never go back. `tell` is called, and must not block, with what happens
    in this process, for others whose `hear` is to be called with it.
    """

    def __init__(
        self,
        *,
        patience_s: float = PATIENCE_S,
        most_subjects: int = MOST_SUBJECTS,
        forget_after_s: float = FORGET_AFTER_S,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[FreshNews], object] = lambda news: None,
    ) -> None:
        self._patience_s = patience_s
        self._most_subjects = most_subjects
        self._forget_after_s = forget_after_s
        self._clock = clock
        self._tell = tell
        # Oldest first; a plain dict would look for its first entry among all that have left it.
        self._on_the_way: OrderedDict[_Key, tuple[Place, float]] = OrderedDict()
        self._by_place: dict[tuple[str, Place], set[UUID]] = {}
        self._changed = anyio.Event()

    def wrote(self, corpus: str, place: Place, subject_ids: Sequence[UUID]) -> None:
        """Remember subjects that have been written: their transaction is committed."""
        self._remember(corpus, place, subject_ids)
        # So many tell that it is an import.
        self._tell(FreshNews(corpus, place, subject_ids[: self._most_subjects + 1]))

    def indexed(self, corpus: str, subject_ids: Sequence[UUID]) -> None:
        """Forget subjects that an indexer has dealt with, well or not."""
        self._forget_all(corpus, subject_ids)
        self._tell(FreshNews(corpus, None, subject_ids))

    def hear(self, news: FreshNews) -> None:
        """Take in what another process told."""
        if news.place is None:
            self._forget_all(news.corpus, news.subject_ids)
        else:
            self._remember(news.corpus, news.place, news.subject_ids)

    def _remember(self, corpus: str, place: Place, subject_ids: Iterable[UUID]) -> None:
        now = self._clock()
        self._forget_older_than(now - self._forget_after_s)
        for subject_id in subject_ids:
            key = _Key(corpus, subject_id)
            self._forget(key)
            self._on_the_way[key] = (place, now)
            self._by_place.setdefault((corpus, place), set()).add(subject_id)

    def _forget_all(self, corpus: str, subject_ids: Iterable[UUID]) -> None:
        for subject_id in subject_ids:
            self._forget(_Key(corpus, subject_id))
        self._changed.set()
        self._changed = anyio.Event()

    async def settled(self, corpus: str, place: Place) -> None:
        """Wait until what is on its way now to this place is indexed, `patience_s` at most.

        Returns at once when there is nothing, or too much to wait for.
        """
        self._forget_older_than(self._clock() - self._forget_after_s)
        here = (corpus, place)
        awaited = set(self._by_place.get(here, ()))
        if not awaited or len(awaited) > self._most_subjects:
            return
        with anyio.move_on_after(self._patience_s):
            while awaited & self._by_place.get(here, set()):
                await self._changed.wait()

    def _forget_older_than(self, moment: float) -> None:
        while self._on_the_way:
            key, (_, written_at) = next(iter(self._on_the_way.items()))
            if written_at > moment:
                return
            self._forget(key)

    def _forget(self, key: _Key) -> None:
        entry = self._on_the_way.pop(key, None)
        if entry is None:
            return
        here = (key.corpus, entry[0])
        subjects = self._by_place[here]
        subjects.discard(key.subject_id)
        if not subjects:
            del self._by_place[here]


class _Key(NamedTuple):
    corpus: str
    subject_id: UUID
