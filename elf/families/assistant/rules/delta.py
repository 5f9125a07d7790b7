"""What a thread is told has changed since it looked last: a few lines that lead an answer.

    Memory updates since rev 4:
    - +created: [Personal] Preferred name is Ana (imp=2)
    - ↑updated: [Goals] Ship v1 by Sep
    - ↔merged: Combined 2 notes about lactose intolerance

Several changes of one memory are told as what came of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final
from uuid import UUID

from elf.core.stored_text import inert
from elf.families.assistant.model import Change, ChangeEvent

MOST_BULLETS: Final = 3
MOST_CHARS: Final = 80
MARKS: Final = MappingProxyType[ChangeEvent, str](
    {
        "created": "+created", "updated": "↑updated", "merged": "↔merged", "deleted": "-deleted",
        "soft_deleted": "~soft_deleted", "restored": "↻restored",
    }
)  # fmt: skip
INTO: Final = "into"
"""In the meta of a change: the id of the memory that this one was merged into. That one is told."""
RECREATED: Final = "recreated"
"""In the meta of a change: the memory is the new one of a merge."""

_GONE: Final = frozenset[ChangeEvent]({"deleted", "soft_deleted"})


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed from one revision to another: how many memories, and the lines about the newest of them.

    Where nothing did, the text is empty.
    """

    since_rev: int
    rev: int
    total: int
    text: str


def delta(since_rev: int, rev: int, changes: Iterable[Change]) -> Delta:
    """Return what the changes of a thread behind `since_rev` come to; they are given oldest first."""
    told = folded(changes)
    lines = [f"- {_line(change)}" for change in told[:MOST_BULLETS]]
    text = "\n".join([f"Memory updates since rev {since_rev}:", *lines]) if lines else ""
    return Delta(since_rev, rev, len(told), text)


def folded(changes: Iterable[Change]) -> list[Change]:
    """Return one change for each memory that is not as it was, newest first, out of those given oldest first."""
    of_memory: dict[UUID, list[Change]] = {}
    for change in changes:
        of_memory.setdefault(change.memory_id, []).append(change)
    told = [one for one in map(_folded, of_memory.values()) if one is not None]
    return sorted(told, key=lambda change: -change.rev)


def _folded(changes: Sequence[Change]) -> Change | None:
    """Return what the changes of one memory come to; None when it is as it was, or another one tells of it."""
    first, last = changes[0], changes[-1]
    event = _net_event(first, last, {change.event for change in changes})
    return None if event is None else replace(last, event=event)


def _net_event(first: Change, last: Change, events: set[ChangeEvent]) -> ChangeEvent | None:
    was_there = first.event not in ("created", "restored") and RECREATED not in first.meta
    if INTO in last.meta:
        return None
    if last.event in _GONE:
        return last.event if was_there else None
    if not was_there:
        return first.event
    if "merged" in events:
        return "merged"
    return "updated" if "updated" in events else None


def _line(change: Change) -> str:
    category, text = change.meta.get("category"), _cut(inert(str(change.meta.get("text", ""))))
    words = [f"{MARKS[change.event]}:"]
    if category and change.event != "merged":
        words.append(f"[{category}]")
    if text:
        words.append(text)
    if change.event == "created" and "importance" in change.meta:
        words.append(f"(imp={change.meta['importance']})")
    return " ".join(words)


def _cut(text: str) -> str:
    """Return the beginning of a text, with an ellipsis where there is more."""
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1].rstrip()}…"
