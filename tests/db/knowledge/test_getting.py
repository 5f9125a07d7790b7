"""Reading one memory, which counts as a reference, and what does not count."""

from __future__ import annotations

from uuid import UUID, uuid4

import anyio
import pytest

from elf.core.errors import NotFound
from elf.families.knowledge.api import listing as a
from tests.db.knowledge.conftest import ANA, TENANT, KnowledgeHouse

pytestmark = pytest.mark.anyio

KINDS = ("episode", "fact", "rule")


@pytest.fixture
async def ids(knowledge: KnowledgeHouse) -> dict[str, UUID]:
    """One memory of each kind."""
    return {
        "episode": await knowledge.episode(),
        "fact": (await knowledge.fact()).id,
        "rule": await knowledge.rule(),
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_get_memory_with_reference_bump(
    knowledge: KnowledgeHouse, ids: dict[str, UUID], kind: str
) -> None:
    knowledge.clock.turn(hours=1)
    assert [(await knowledge.read(kind, ids[kind])).reference_count for _ in range(2)] == [1, 2]
    read = await knowledge.read(kind, ids[kind])
    assert read.last_referenced_at == knowledge.clock.moment
    row = await knowledge.row(kind, ids[kind])
    said = read.model_dump()
    for name in row.keys() & said.keys():
        assert said[name] == row[name], name
    left_out = {"embedding", "search_vector", "idempotency_key", "request_digest"}
    of_work = {"available_at", "lease", "leased_until"}
    assert row.keys() - said.keys() == left_out | (of_work if kind == "episode" else {"reader"})
    for other in KINDS:
        if other != kind:
            with pytest.raises(NotFound):
                await knowledge.read(other, ids[kind])
    with pytest.raises(NotFound):
        await knowledge.read(kind, uuid4())
    with pytest.raises(NotFound):
        await knowledge.read(kind, ids[kind], tenant_id="another")
    assert (await knowledge.row(kind, ids[kind]))["reference_count"] == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_references_at_once_all_count(
    knowledge: KnowledgeHouse, ids: dict[str, UUID], kind: str
) -> None:
    counts = []

    async def read() -> None:
        counts.append((await knowledge.read(kind, ids[kind])).reference_count)

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(read)
    assert sorted(counts) == list(range(1, 21))


async def test_lists_and_histories_reference_nothing(knowledge: KnowledgeHouse, ids: dict[str, UUID]) -> None:
    await knowledge.listing.facts(a.ListFacts(tenant_id=TENANT), ANA)
    await knowledge.listing.rules(a.ListRules(tenant_id=TENANT), ANA)
    await knowledge.listing.episodes(a.ListEpisodes(tenant_id=TENANT), ANA)
    for kind, id in ids.items():
        await knowledge.history(kind, id)
        row = await knowledge.row(kind, id)
        assert (row["reference_count"], row["last_referenced_at"]) == (0, None)
