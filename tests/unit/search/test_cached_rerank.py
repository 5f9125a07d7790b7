"""The reranker with its cache: the provider is asked once for equal searches, and no answer waits for a write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import anyio
import pytest

from elf.core.errors import ProviderBroken, ProviderUnavailable
from elf.search.cache import cache_key
from elf.search.rerank import CachedReranker
from tests.kernel.steered import settle
from tests.search_kit import FakeReranker, MemoryCache

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MATERIAL = {"provider_id": "acme", "model": "rank-1", "rerank_version": "v1"}
NAN, INF = math.nan, math.inf


def signature(*numbers: int, at: datetime = NOW) -> list[tuple[UUID, datetime]]:
    return [(UUID(int=number), at) for number in numbers]


class Bench:
    """A cached reranker over a fake one, with a writer that is never behind."""

    def __init__(self, answer: list[float] | Exception, *, cached: bool = True, **material: str) -> None:
        self.cache = MemoryCache()
        self.provider = FakeReranker(answer)
        self.reranker = self.over(self.cache if cached else None, **material)

    def over(self, cache: MemoryCache | None, **material: str) -> CachedReranker:
        return CachedReranker(
            reranker=self.provider,
            cache=cache,
            material=MATERIAL | material,
            ttl_days=3,
            later=self.cache.put_at_once,
        )

    async def scores(
        self, query: str = "q", named: Sequence[tuple[UUID, datetime]] | None = None
    ) -> list[float] | None:
        places = signature(1, 2) if named is None else named
        return await self.reranker.scores(query, [f"d{place.int}" for place, _ in places], places)


async def test_a_second_equal_search_takes_the_kept_scores() -> None:
    bench = Bench([0.5, -0.25])
    assert [await bench.scores(), await bench.scores(" q\n")] == [[0.5, -0.25]] * 2
    assert bench.provider.asked == [("q", ["d1", "d2"])]
    assert bench.cache.ttls == [3]


async def test_the_key_is_the_material_of_the_specification() -> None:
    bench = Bench([0.5, -0.25])
    await bench.scores(" q ")
    material = {"query": "q", "signature": signature(1, 2), **MATERIAL}
    assert list(bench.cache.entries) == [("rerank", cache_key(material))]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("another", signature(1, 2)),
        ("q", signature(2, 1)),
        ("q", signature(1, 3)),
        ("q", [*signature(1), *signature(2, at=NOW + timedelta(microseconds=1))]),
    ],
)
async def test_another_query_or_candidate_or_a_changed_note_is_another_entry(
    query: str, named: list[tuple[UUID, datetime]]
) -> None:
    bench = Bench([0.5, -0.25])
    await bench.scores()
    await bench.scores(query, named)
    assert len(bench.provider.asked) == len(bench.cache.entries) == 2


@pytest.mark.parametrize("name", MATERIAL)
async def test_another_model_provider_or_version_is_another_entry(name: str) -> None:
    bench = Bench([0.5, -0.25])
    await bench.scores()
    bench.reranker = bench.over(bench.cache, **{name: "another"})
    await bench.scores()
    assert len(bench.provider.asked) == len(bench.cache.entries) == 2


@pytest.mark.parametrize("material", [{}, {"temperature": 0.1} | MATERIAL])
def test_material_that_is_not_that_of_the_specification_is_refused(material: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rerank_version"):
        CachedReranker(
            reranker=FakeReranker([]), cache=None, material=material, ttl_days=1, later=lambda put: None
        )


async def test_without_a_cache_every_search_asks() -> None:
    bench = Bench([0.5, -0.25], cached=False)
    assert [await bench.scores(), await bench.scores()] == [[0.5, -0.25]] * 2
    assert len(bench.provider.asked) == 2
    assert bench.cache.entries == {}


async def test_no_documents_ask_nothing() -> None:
    bench = Bench([])
    assert await bench.scores("q", []) == []
    assert (bench.provider.asked, bench.cache.gets) == ([], 0)


@pytest.mark.parametrize("missing", [NAN, INF, -INF, 1e31, -1.7e308])
async def test_missing_scores_are_the_lowest_there_is_also_when_they_come_from_the_cache(
    missing: float,
) -> None:
    bench = Bench([0.5, missing])
    assert [await bench.scores(), await bench.scores()] == [[0.5, 0.5]] * 2
    assert bench.cache.payloads == [[0.5, None]]
    assert len(bench.provider.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [ProviderUnavailable("away"), ProviderBroken("nonsense"), [NAN, NAN], [INF, -INF], [1e39, -1e39]],
)
async def test_when_there_are_no_scores_nothing_is_kept_and_the_next_search_asks_again(answer: Any) -> None:
    bench = Bench(answer)
    assert await bench.scores() is None
    assert bench.cache.entries == {}
    bench.provider.answer = [0.5, 0.25]
    assert await bench.scores() == [0.5, 0.25]


@pytest.mark.parametrize(
    "payload",
    [
        [0.5],
        [0.5, 0.4, 0.3],
        [],
        ["0.5", 0.4],
        [None, None],
        [1e39, None],
        [True, 0.5],
        {"scores": [1, 2]},
        0.5,
        [10**400, 1],
    ],
)
async def test_an_entry_that_does_not_fit_is_a_miss_and_is_replaced(payload: Any) -> None:
    bench = Bench([0.5, -0.25])
    await bench.scores()
    (place,) = bench.cache.entries
    bench.cache.entries[place] = payload
    assert await bench.scores() == [0.5, -0.25]
    assert bench.cache.payloads == [[0.5, -0.25]]


async def test_whole_numbers_are_scores() -> None:
    bench = Bench([1.0, 0.0])
    await bench.scores()
    (place,) = bench.cache.entries
    bench.cache.entries[place] = [1, 0]  # as JSON may write them
    assert await bench.scores() == [1.0, 0.0]
    assert len(bench.provider.asked) == 1


async def test_equal_searches_at_once_ask_once_and_share_no_list() -> None:
    bench, answered, found = Bench([0.5, -0.25]), anyio.Event(), []
    bench.provider.before_answer = answered.wait

    async def search() -> None:
        found.append(await bench.scores())

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(search)
        await settle()
        answered.set()
    assert found == [[0.5, -0.25]] * 3
    assert len({id(scores) for scores in found}) == 3
    assert (len(bench.provider.asked), bench.cache.gets) == (1, 1)


async def test_a_cancelled_search_does_not_take_the_others_scores_with_it() -> None:
    bench, answered, found = Bench([0.5, -0.25]), anyio.Event(), []
    bench.provider.before_answer = answered.wait
    impatient = anyio.CancelScope()

    async def give_up() -> None:
        with impatient:
            await bench.scores()

    async def search() -> None:
        found.append(await bench.scores())

    async with anyio.create_task_group() as group:
        group.start_soon(give_up)
        await settle()
        group.start_soon(search)
        await settle()
        impatient.cancel()
        await settle()
        answered.set()
    assert found == [[0.5, -0.25]]
    assert len(bench.provider.asked) == 2


async def test_a_fault_of_ours_is_not_hidden() -> None:
    bench = Bench(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await bench.scores()
