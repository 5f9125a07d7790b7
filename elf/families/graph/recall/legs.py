"""The two ways in which a recall finds memories: by the words of their spans, and by their vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from elf.families.graph import model as m
from elf.families.graph.store.statements import Snapshot, stored_moment

_FIRST_PORTION: Final = 64
"""Of how many of the nearest memories it is looked up first whether they pass; four times as many each time after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which memories are looked for; what is None takes all.

    `since` is the first moment and `until` the first one too late, of when they were said: see VersionedMemory. With
    `shared`, which may block and returns folders with a slash at their end, they are those of conversations and those
    of files in these folders.
    """

    statuses: Sequence[m.Status] = ("active",)
    types: Sequence[m.NodeType] | None = None
    conversation_ids: Sequence[str] | None = None
    min_importance: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    shared: Callable[[], Sequence[str]] | None = None

    def values(self) -> dict[str, Any]:
        """Return the filters as statements take them. Blocks."""
        return {
            "statuses": json.dumps(list(self.statuses)),
            "types": _list(self.types),
            "conversation_ids": _list(self.conversation_ids),
            "min_importance": self.min_importance,
            "since": None if self.since is None else stored_moment(self.since),
            "until": None if self.until is None else stored_moment(self.until),
            "shared": None if self.shared is None else _list(self.shared()),
        }


@dataclass(frozen=True, slots=True)
class _Span:
    """The best span of a memory: a lower `score` is better, and of equals the earlier one."""

    score: float
    ordinal: int
    text: str

    @property
    def order(self) -> tuple[float, int]:
        return self.score, self.ordinal


def by_words(snapshot: Snapshot, words: str | None, where: Where, *, most: int) -> dict[str, str]:
    """Return the best span of each memory that an expression of words finds, the best memory first.

    That is by BM25, the place of the span, and the id.
    """
    if words is None or not most:
        return {}
    best: dict[str, _Span] = {}
    worst = 0.0
    with closing(snapshot.each("spans_by_words", words=words, **where.values())) as rows:
        for memory_id, ordinal, text, score in rows:
            if len(best) >= most and score > worst:
                break
            worst, found = score, _Span(score, ordinal, text)
            if memory_id not in best or found.order < best[memory_id].order:
                best[memory_id] = found
    ranked = sorted(best.items(), key=lambda one: (*one[1].order, one[0]))
    return {memory_id: span.text for memory_id, span in ranked[:most]}


def by_vector(snapshot: Snapshot, nearest: Iterator[str], where: Where, *, most: int) -> list[str]:
    """Return the first memories that pass the filters, of all memories in the order of their vectors."""
    found: list[str] = []
    portion = _FIRST_PORTION
    while len(found) < most and (asked := list(islice(nearest, portion))):
        rows = snapshot.rows("memories_that_pass", memory_ids=json.dumps(asked), **where.values())
        passing = {memory_id for (memory_id,) in rows}
        found += [memory_id for memory_id in asked if memory_id in passing]
        portion *= 4
    return found[:most]


def _list(values: Sequence[str] | None) -> str | None:
    return None if values is None else json.dumps(list(values))
