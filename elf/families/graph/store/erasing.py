"""Removes memories from a file for good: rows, spans, words, vectors and what they have been."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from elf.families.graph.store.change_feed import drop_changes
from elf.families.graph.store.statements import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Which memories are to go: those of the ids, of conversations, of a source file, or everything.

    And those of a `user`, where one is named: then those of conversations that are other users' stay, and the name of
    the user goes off all that stays. Nobody is told of them unless it `is_told`.
    """

    memory_ids: Sequence[str] = ()
    conversations: Sequence[str] = ()
    user: str | None = None
    source_path: str | None = None
    everything: bool = False
    is_told: bool = True


@dataclass(frozen=True, slots=True)
class Erased:
    """What went: the ids of the memories, the files that they were from, and how much of each kind."""

    memory_ids: frozenset[str]
    source_paths: frozenset[str]
    counts: dict[str, int] = field(default_factory=dict)


def erase(change: Change, asked: Erasure) -> Erased:
    """Remove memories and all that belongs to them. The log tells how many, and none of their words."""
    rows = change.rows(
        "memories_to_erase", memory_ids=json.dumps(list(asked.memory_ids)),
        conversations=json.dumps(list(asked.conversations)), source_path=asked.source_path, everything=asked.everything,
        owner=asked.user,
    )  # fmt: skip
    memory_ids = [memory_id for memory_id, _ in rows]
    going = json.dumps(memory_ids)
    belonging = change.row("count_of_memories", memory_ids=going) or ()
    kinds = ("edges", "spans", "vectors", "versions", "quotes")
    counts = {"memories": len(memory_ids), **dict(zip(kinds, belonging, strict=True))}
    change.run("erase_memories", memory_ids=going)
    if not asked.is_told:
        drop_changes(change, None if asked.everything else memory_ids)
    counts["ingests"] = change.run("erase_ingests", memory_ids=going, everything=asked.everything)
    if asked.user is not None:
        counts["versions"] += change.run("erase_versions", owner=asked.user)
        unname(change, asked.user)
    change.log("memory.erased", orchestrator_id=change.key.orchestrator_id, **counts)
    paths = frozenset(path for _, path in rows if path is not None)
    return Erased(frozenset(memory_ids), paths, counts)


def unname(change: Change, name: str) -> int:
    """Take the name of a user or an agent off what memories have been and what was done; returns how often it stood."""
    signed = sum(change.run(statement, actor=name) for statement in ("unsign_versions", "unsign_audit"))
    return signed + change.run("unname_audit", name=name)
