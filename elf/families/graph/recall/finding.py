"""A recall in one snapshot of a file: both legs, their fusion, and what stands around the memories found."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from elf.families.graph import model as m
from elf.families.graph.recall.grants import Grants
from elf.families.graph.recall.legs import Where, by_vector, by_words
from elf.families.graph.rules.query_words import match_expression
from elf.families.graph.rules.ranking import Ranked, Weight, rank
from elf.families.graph.store.nodes import read_memories
from elf.families.graph.store.rows import edge_of
from elf.families.graph.store.statements import Snapshot

MAX_BUNDLE_EDGES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is looked for. `nearest` returns all memories in the order of their vectors; None without that leg."""

    query: str
    nearest: Callable[[], Iterator[str] | None]
    where: Where
    top_n: int
    rrf_k: int
    top_k_text: int
    top_k_vector: int
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A memory in its place, how often it was written, and the span by which it was found, where words found it."""

    memory: m.MemoryNode
    version: int
    snippet: str | None
    contradicted: bool
    ranked: Ranked


def find(snapshot: Snapshot, sought: Sought, grants: Grants) -> list[Found]:
    """Return the best memories, at most `top_n`. Raises InvalidRow for one that breaks the rules."""
    snippets = by_words(snapshot, match_expression(sought.query), sought.where, most=sought.top_k_text)
    nearest = sought.nearest()  # which may be waited for: words are looked for before
    near = [] if nearest is None else by_vector(snapshot, nearest, sought.where, most=sought.top_k_vector)
    read = read_memories(snapshot, {*snippets, *near})
    memories = {id: one.memory for id, one in read.items()}
    contradicted = contradicted_among(snapshot, memories)
    ranked = rank(
        text=list(snippets), vector=near, weights=_weights(memories, contradicted), rrf_k=sought.rrf_k, now=sought.now
    )  # fmt: skip
    allowed = (one for one in ranked if grants.allow(memories[one.memory_id]))
    return [
        Found(
            memory=memories[one.memory_id],
            version=read[one.memory_id].version,
            snippet=snippets.get(one.memory_id),
            contradicted=one.memory_id in contradicted,
            ranked=one,
        )
        for one in islice(allowed, sought.top_n)
    ]


def edges_around(snapshot: Snapshot, found: Sequence[Found], grants: Grants) -> list[m.MemoryEdge]:
    """Return the weightiest edges of memories; none leads to what is retracted, or may not be named."""
    return _edges(snapshot, "edges_touching", found, grants)


def contradictions_around(snapshot: Snapshot, found: Sequence[Found], grants: Grants) -> list[m.MemoryEdge]:
    """Return the weightiest unresolved contradictions of memories; none leads to what may not be named."""
    return _edges(snapshot, "contradictions_touching", found, grants)


def contradicted_among(snapshot: Snapshot, memory_ids: Collection[str]) -> set[str]:
    """Return those of the memories that are in an unresolved contradiction."""
    rows = snapshot.rows("contradictions_touching", memory_ids=json.dumps(list(memory_ids)))
    return {end for _, *ends in rows for end in ends[:2]}.intersection(memory_ids)


def _edges(snapshot: Snapshot, statement: str, found: Sequence[Found], grants: Grants) -> list[m.MemoryEdge]:
    memory_ids = json.dumps([one.memory.memory_id for one in found])
    with closing(snapshot.each(statement, memory_ids=memory_ids)) as rows:
        allowed = (edge for *edge, start, end in rows if grants.allow_path(start) and grants.allow_path(end))
        return [edge_of(tuple(edge)).edge for edge in islice(allowed, MAX_BUNDLE_EDGES)]


def _weights(memories: Mapping[str, m.MemoryNode], contradicted: set[str]) -> dict[str, Weight]:
    return {
        memory_id: Weight(
            importance=memory.importance,
            confidence=memory.confidence,
            updated_at=memory.updated_at,
            contradicted=memory_id in contradicted,
        )
        for memory_id, memory in memories.items()
    }
