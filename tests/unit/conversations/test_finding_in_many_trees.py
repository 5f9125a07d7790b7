"""Who is a member of very many trees: the index is asked for all of the tenant, and for the trees where need be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

import pytest

from elf.families.conversations.finding.by_both import WIDER, BothWays
from elf.families.conversations.finding.ranking import RankingRules
from elf.families.conversations.finding.reach import MANY_TREES, Reach, widened
from elf.index.port import IndexFilter
from elf.search.fuse import Candidate
from elf.search.retrieve import Ask, Retrieved
from elf.search.stages import Stages

pytestmark = pytest.mark.anyio

CANDIDATES = 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)
REACH = Reach(tenant_id="t", user="ana")
SPACE = UUID(int=7)


def ids(name: str, count: int) -> list[UUID]:
    return [uuid5(SPACE, f"{name}{number}") for number in range(count)]


def in_trees(count: int) -> IndexFilter:
    return IndexFilter(
        must={"tenant_id": "t"},
        any_of=[{"creator": ["ana"]}, {"tree_id": [str(number) for number in range(count)]}],
    )


@dataclass
class Tenant:
    """An index that names what is of others before what is of ana; it stands for the database as well."""

    where_it_is: IndexFilter
    own: Sequence[UUID]
    others: Sequence[UUID]
    asked: list[tuple[bool, int]] = field(default_factory=list)

    async def retrieve(self, ask: Ask, stages: Stages) -> Retrieved:
        assert ask.where is not None
        is_wide = ask.where.any_of is None
        self.asked.append((is_wide, ask.limit))
        every = [*self.others, *self.own]
        named = (every if is_wide else list(self.own))[: ask.limit]
        candidates = [
            Candidate(id, uuid5(SPACE, str(id)), 1.0 / rank, rank, None, None)
            for rank, id in enumerate(named, start=1)
        ]
        return Retrieved([ask.query], candidates, is_all=len(named) < ask.limit)

    async def where(self, reach: Reach) -> IndexFilter:
        return self.where_it_is

    async def read(
        self, reach: Reach, chunk_ids: Sequence[UUID], *, with_tokens: bool = True
    ) -> Mapping[UUID, Mapping[str, Any]]:
        return {
            id: {
                "entry_id": id, "conversation_id": id, "seq": 1, "role": "USER", "said_at": NOW, "changed_at": NOW,
                "chars": 1, "text": "x",
            }
            for id in chunk_ids
            if id in set(self.own)
        }  # fmt: skip

    async def beginnings(self, reach: Reach, entry_ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, Any]]:
        assert not entry_ids
        return {}

    async def waiting(self, reach: Reach, query: str, *, limit: int) -> Sequence[Mapping[str, Any]]:
        return []

    async def scores(self, query: str, passages: Sequence[object]) -> None:
        return None


async def found(tenant: Tenant, *, limit: int = 200) -> list[UUID]:
    rules = RankingRules(rerank_weight=0.9, retrieval_weight=0.1)
    parts: Any = tenant
    search = BothWays(
        retrieval=parts, passages=parts, words=parts, reranking=parts, rules=rules, candidates=CANDIDATES
    )
    hits = await search.page(REACH, "x", grouped=False, offset=0, limit=limit, stages=Stages())
    return [hit.entry_id for hit in hits.page]


def test_only_very_many_trees_are_not_named() -> None:
    assert widened(in_trees(MANY_TREES - 1)) is None
    assert widened(in_trees(MANY_TREES)) == IndexFilter(must={"tenant_id": "t"})
    assert widened(IndexFilter(must={"tenant_id": "t", "creator": "ana"})) is None


async def test_the_trees_are_not_named_where_enough_of_all_is_found() -> None:
    tenant = Tenant(in_trees(5000), own=ids("own", 40), others=ids("others", 5))
    assert await found(tenant, limit=CANDIDATES - 1) == tenant.own[: CANDIDATES - 1]
    assert tenant.asked == [(True, WIDER * CANDIDATES)]


async def test_what_is_of_others_hides_nothing() -> None:
    tenant = Tenant(in_trees(5000), own=ids("own", 40), others=ids("others", 400))
    assert set(await found(tenant)) == set(tenant.own)
    assert tenant.asked[:2] == [(True, WIDER * CANDIDATES), (False, CANDIDATES)]


async def test_a_small_tenant_is_searched_once() -> None:
    tenant = Tenant(in_trees(5000), own=ids("own", 6), others=ids("others", 6))
    assert set(await found(tenant)) == set(tenant.own)
    assert tenant.asked == [(True, WIDER * CANDIDATES)]
