"""Reranking never fails a search, whatever the reranker does."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from elf.core.errors import InternalError, ProviderUnavailable
from elf.search.rerank import rerank_scores

pytestmark = pytest.mark.anyio

NAN, INF = math.nan, math.inf


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Answering:
    """A reranker with a fixed answer, or a failure."""

    def __init__(self, answer: list[float] | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[str]]] = []

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        self.asked.append((query, list(documents)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def scores(answer: list[float] | Exception, documents: int) -> list[float] | None:
    return await rerank_scores(Answering(answer), "q", [f"d{number}" for number in range(documents)])


async def test_scores_come_back_as_they_are_and_in_order() -> None:
    reranker = Answering([0.1, -3.0])
    assert await rerank_scores(reranker, "q", ["a", "b"]) == [0.1, -3.0]
    assert reranker.asked == [("q", ["a", "b"])]


async def test_no_documents_ask_nothing() -> None:
    reranker = Answering([])
    assert await rerank_scores(reranker, "q", []) == []
    assert reranker.asked == []


@pytest.mark.parametrize("missing", [NAN, INF, -INF])
async def test_a_missing_score_becomes_the_lowest_there_is(missing: float) -> None:
    assert await scores([0.4, missing, 0.2], 3) == [0.4, 0.2, 0.2]


@pytest.mark.parametrize("answer", [[NAN], [NAN, INF, -INF]])
async def test_without_one_finite_score_there_are_none(answer: list[float]) -> None:
    assert await scores(answer, len(answer)) is None


@pytest.mark.parametrize("failure", [ProviderUnavailable("away"), InternalError("nonsense")])
async def test_a_failing_provider_gives_none(failure: Exception) -> None:
    assert await scores(failure, 2) is None


async def test_a_fault_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await scores(ZeroDivisionError(), 2)
