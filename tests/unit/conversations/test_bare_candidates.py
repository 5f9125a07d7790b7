"""Candidates for somebody else: each entry once, as many as are asked for, and few read for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import pytest

from elf.families.conversations.finding.bare import BareSearch
from elf.families.conversations.finding.hits import MOST
from elf.families.conversations.finding.reach import MANY_TREES, Reach
from elf.index.port import IndexFilter, Vector
from elf.search.fuse import Candidate
from elf.search.retrieve import Ask, Retrieved
from elf.search.stages import Stages

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REACH = Reach(tenant_id="t", user="ana")
SPACE = UUID(int=7)
VECTOR = np.ones(2, dtype=np.float32)
DEPTH = 10
FEW = IndexFilter(must={"tenant_id": "t", "creator": "ana"})
MANY = IndexFilter(must={"tenant_id": "t"}, any_of=[{"tree_id": [str(n) for n in range(MANY_TREES + 1)]}])


def entries(name: str, count: int) -> list[UUID]:
    return [uuid5(SPACE, f"{name}{number}") for number in range(count)]


def row(entry: UUID) -> dict[str, Any]:
    return {"entry_id": entry, "conversation_id": SPACE, "said_at": NOW, "text": "x"}


@dataclass
class Parts:
    """An index that names chunks of entries, two of each, and a database that vouches for some of them."""

    named: Sequence[UUID]
    vouched: Sequence[UUID]
    where_it_is: IndexFilter = FEW
    unknown: Sequence[Mapping[str, Any]] = ()
    asked: list[tuple[IndexFilter | None, int]] = field(default_factory=list)
    read_at_once: list[int] = field(default_factory=list)

    async def retrieve_by(self, vector: Vector | None, ask: Ask, stages: Stages) -> Retrieved:
        assert vector is VECTOR
        self.asked.append((ask.where, ask.limit))
        chunks = [(uuid5(entry, str(chunk)), entry) for entry in self.named for chunk in range(2)]
        found = [
            Candidate(chunk, entry, 1.0 / rank, rank, None, None)
            for rank, (chunk, entry) in enumerate(chunks[: ask.limit], start=1)
        ]
        return Retrieved([ask.query], found, is_all=len(chunks) < ask.limit)

    async def where(self, reach: Reach) -> IndexFilter:
        return self.where_it_is

    async def read(
        self, reach: Reach, chunk_ids: Sequence[UUID], *, with_tokens: bool
    ) -> Mapping[UUID, Mapping[str, Any]]:
        assert not with_tokens, "whoever compares reads those of the few that are compared"
        self.read_at_once.append(len(chunk_ids))
        of = {uuid5(entry, str(chunk)): entry for entry in self.vouched for chunk in range(2)}
        return {id: row(of[id]) for id in chunk_ids if id in of}

    async def beginnings(self, reach: Reach, entry_ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
        assert not entry_ids
        return {}

    async def waiting(self, reach: Reach, query: str, *, limit: int) -> Sequence[Mapping[str, Any]]:
        return self.unknown


async def embedded() -> Vector:
    return VECTOR


async def found(parts: Parts, *, limit: int) -> list[UUID]:
    any_parts: Any = parts
    search = BareSearch(retrieval=any_parts, passages=any_parts, words=any_parts, candidates=DEPTH)
    return [one.row["entry_id"] for one in await search.best(REACH, "x", embedded, limit=limit)]


async def test_each_entry_is_there_once_and_no_more_is_read_than_is_wanted() -> None:
    own = entries("own", 40)
    parts = Parts(own, own)
    assert await found(parts, limit=3) == own[:3]
    assert (parts.asked, parts.read_at_once) == ([(FEW, DEPTH)], [3])


async def test_more_is_read_in_ever_larger_portions_where_little_may_be_found() -> None:
    all_of_them = entries("all", 5)
    parts = Parts(all_of_them, all_of_them[3:])
    assert await found(parts, limit=1) == [all_of_them[3]]
    assert parts.read_at_once == [1, 2, 2]


async def test_it_looks_deeper_where_the_first_look_has_too_little() -> None:
    others, own = entries("other", 50), entries("own", 2)
    parts = Parts([*others, *own], own)
    assert await found(parts, limit=2) == own
    assert parts.asked == [(FEW, DEPTH), (FEW, MOST)]


async def test_a_small_tenant_is_asked_once() -> None:
    own = entries("own", 2)
    parts = Parts(own, own)
    assert await found(parts, limit=5) == own
    assert len(parts.asked) == 1


async def test_very_many_trees_are_named_in_the_second_look_alone() -> None:
    others, own = entries("other", 50), entries("own", 2)
    parts = Parts([*others, *own], own, where_it_is=MANY)
    assert await found(parts, limit=2) == own
    assert parts.asked == [(IndexFilter(must=MANY.must), DEPTH), (MANY, MOST)]


async def test_what_waits_for_the_index_is_there_once_in_its_place() -> None:
    known, new = entries("own", 1)[0], entries("new", 1)[0]
    unknown = [row(known) | {"share": 1.0}, row(new) | {"share": 0.5}]
    assert await found(Parts([known], [known], unknown=unknown), limit=5) == [known, new]
    assert await found(Parts([], [], unknown=unknown), limit=1) == [known]
