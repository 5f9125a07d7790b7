"""Removes memories from a file for good: rows, spans, words, vectors and what they have been."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elf.families.graph.store.change_feed import drop_changes
from elf.families.graph.store.statements import Change, Snapshot


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What an erasure takes away of a memory: the memories with their contents by id, what others have been that stay,
    all files that these are or were from, and, by key, the names of the files that they were taken out of.
    """

    contents: Mapping[str, str]
    versions: Sequence[tuple[str, int, str]]
    source_paths: frozenset[str]
    ingests: Mapping[str, str]

    @property
    def memory_ids(self) -> frozenset[str]:
        return frozenset(self.contents)

    @property
    def told_of(self) -> frozenset[str]:
        """The ids of all memories of which something goes."""
        return self.memory_ids | {memory_id for memory_id, *_ in self.versions}

    @property
    def texts(self) -> frozenset[str]:
        """What goes of what memories say and have said."""
        return frozenset([*self.contents.values(), *(content for *_, content in self.versions)])


@dataclass(frozen=True, slots=True)
class Erased:
    """What went, and how much of each kind."""

    doomed: Doomed
    counts: dict[str, int] = field(default_factory=dict)


def doomed_by(snapshot: Snapshot, asked: Erasure) -> Doomed:
    """Return what an erasure would take away at this moment."""
    contents: dict[str, str] = dict(
        snapshot.rows("memories_to_erase", memory_ids=json.dumps(list(asked.memory_ids)), **_origin(asked))
    )
    versions: list[tuple[str, int, str]] = snapshot.rows(
        "versions_to_erase", memory_ids=json.dumps([*contents]), **_origin(asked, everything=None)
    )
    going = json.dumps([*contents, *asked.memory_ids, *(memory_id for memory_id, *_ in versions)])
    paths = {path for (path,) in snapshot.rows("paths_of_memories", memory_ids=going)}
    if asked.source_path is not None:
        paths.add(asked.source_path)
    ingests = snapshot.rows("ingests_of_memories", memory_ids=going, everything=asked.everything)
    return Doomed(contents=contents, versions=versions, source_paths=frozenset(paths), ingests=dict(ingests))


def erase(change: Change, asked: Erasure) -> Erased:
    """Remove memories and all that belongs to them. The log tells how many, and none of their words."""
    doomed = doomed_by(change, asked)
    memory_ids = [*doomed.contents]
    going = json.dumps(memory_ids)
    belonging = change.row("count_of_memories", memory_ids=going) or ()
    kinds = ("edges", "spans", "vectors", "versions", "quotes")
    counts = {"memories": len(memory_ids), **dict(zip(kinds, belonging, strict=True))}
    change.run("erase_memories", memory_ids=going)
    if not asked.is_told:
        drop_changes(change, None if asked.everything else memory_ids)
    change.run("erase_writebacks", memory_ids=going, everything=asked.everything)
    told_of = json.dumps([*doomed.told_of])
    change.run("erase_unfinished_ingests", memory_ids=told_of, everything=asked.everything)
    counts["ingests"] = change.run("erase_ingests", memory_ids=told_of, everything=asked.everything)
    former = [(memory_id, version) for memory_id, version, _ in doomed.versions]
    counts["versions"] += change.run("erase_versions", versions=json.dumps(former))
    counts["quotes"] += change.run(
        "erase_quotes", memory_ids=json.dumps([memory_id for memory_id, _ in former])
    )
    if asked.user is not None:
        unname(change, asked.user)
    change.log("memory.erased", orchestrator_id=change.key.orchestrator_id, **counts)
    return Erased(doomed, counts)


def unname(change: Change, name: str) -> int:
    """Take the name of a user or an agent off what memories have been and what was done; returns how often it stood."""
    signed = sum(change.run(statement, actor=name) for statement in ("unsign_versions", "unsign_audit"))
    return signed + change.run("unname_audit", name=name)


def _origin(asked: Erasure, **other: Any) -> dict[str, Any]:
    """Return by what statements know where the memories are from that go."""
    return {
        "conversations": json.dumps(list(asked.conversations)), "source_path": asked.source_path,
        "owner": asked.user, "everything": asked.everything, **other,
    }  # fmt: skip
