"""What a search calls is guarded, each part by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import numpy as np
import pytest
from trio.testing import MockClock

from elf.config import load
from elf.config.model import Config
from elf.core.errors import IndexUnavailable, ProviderUnavailable, ServiceError
from elf.families.notes.keeping.space import NOTES
from elf.index.port import IndexFilter, IndexQuery
from elf.providers.factory import Providers
from elf.providers.port import JsonAnswer, Matrix, Prompt
from elf.search.breaker import BreakerState, CircuitBreaker
from elf.search.guards import (
    INDEX_LONGEST_OPEN_S,
    GuardedIndex,
    SearchModels,
    guarded_consolidator,
    guarded_index,
    guarded_models,
)
from tests.notes_kit import MemoryIndex

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "elf.example.toml"
QUERY = IndexQuery(dense=None, text="tea", where=IndexFilter(must={}), limit=1)
ANSWER: JsonAnswer[Any] = JsonAnswer("queries", {}, lambda value: value)


on_virtual_time = pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "asyncio":
        return ("asyncio", {})
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


class Everything(MemoryIndex):
    """All four ports at once; counts calls, and each may be away."""

    version = "fake:hash:2"
    dimensions = 2

    def __init__(self) -> None:
        super().__init__()
        self.away: set[str] = set()
        self.calls: list[str] = []
        self.gate: anyio.Event | None = None

    async def embed(self, texts: Sequence[str]) -> Matrix:
        if self.gate is not None:
            await self.gate.wait()
        self._called("embed")
        return np.zeros((len(texts), 2), np.float32)

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        self._called("rerank")
        return [1.0 for _ in documents]

    async def ask(self, prompt: Prompt, answer: JsonAnswer[Any]) -> Any:
        self._called("ask")
        return answer.read(["tea"])

    async def text(self, prompt: Prompt) -> str:
        self._called("text")
        return "tea, plainly"

    async def query(self, queries: Sequence[IndexQuery]) -> Any:
        self._called("query")
        return await super().query(queries)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.away:
            raise IndexUnavailable("away") if name == "query" else ProviderUnavailable("away")


@pytest.fixture
def parts() -> Everything:
    return Everything()


class Guarded(NamedTuple):
    """What a search calls."""

    models: SearchModels
    index: GuardedIndex

    @property
    def breakers(self) -> list[CircuitBreaker]:
        return [*self.models.breakers, self.index.breaker]


def providers_of(parts: Everything, config: Config) -> Guarded:
    providers = Providers(embedder=parts, reranker=parts, late=None, extractor=parts, connections=())
    return Guarded(guarded_models(config, providers), guarded_index(parts, NOTES))


async def use(search: Guarded, name: str) -> Any:
    if name == "embed":
        return (await search.models.embedder.embed(["tea"])).tolist()
    if name == "rerank":
        return await search.models.reranker.rerank("tea", ["hot tea"])
    if name == "ask":
        return await search.models.chat.ask(Prompt("be brief", "tea"), ANSWER)
    return await search.index.query([QUERY])


PARTS = ("embed", "rerank", "ask", "query")


async def test_what_is_there_answers_through_its_guard(parts: Everything) -> None:
    search = providers_of(parts, load(EXAMPLE))
    assert (search.models.embedder.version, search.models.embedder.dimensions) == ("fake:hash:2", 2)
    assert await use(search, "embed") == [[0.0, 0.0]]
    assert await use(search, "rerank") == [1.0]
    assert await use(search, "ask") == ["tea"]
    assert len(await use(search, "query")) == 1


@pytest.mark.parametrize("gone", PARTS)
async def test_what_is_away_is_refused_without_a_call_and_nothing_else_is(
    parts: Everything, gone: str
) -> None:
    search = providers_of(parts, load(EXAMPLE))
    parts.away = {gone}
    for _ in range(10):
        with pytest.raises(IndexUnavailable if gone == "query" else ProviderUnavailable):
            await use(search, gone)
    assert parts.calls == [gone] * 3
    for other in set(PARTS) - {gone}:
        await use(search, other)
    states = [breaker.state for breaker in search.breakers]
    assert states.count(BreakerState.OPEN) == 1


async def test_breakers_are_named_after_the_tables_of_the_config(parts: Everything) -> None:
    search = providers_of(parts, load(EXAMPLE))
    assert [breaker.name for breaker in search.breakers] == [
        "providers.embedding (local)", "providers.rerank (local)", "providers.rerank (local), large calls",
        "providers.llm_extractor (local)", "the index",
    ]  # fmt: skip


async def test_what_consolidates_is_guarded_by_a_breaker_of_its_own_where_the_config_has_it(
    parts: Everything,
) -> None:
    config = load(EXAMPLE)
    guarded = guarded_consolidator(config, parts)
    assert guarded is not None
    assert await guarded.text(Prompt("be brief", "tea")) == "tea, plainly"
    assert guarded.breaker.name == "providers.llm_consolidator (local)"
    parts.away = {"text"}
    for _ in range(10):
        with pytest.raises(ProviderUnavailable):
            await guarded.text(Prompt("be brief", "tea"))
    assert parts.calls == ["text"] * 4
    assert guarded_consolidator(config, None) is None


@on_virtual_time
async def test_an_index_that_is_back_is_found_out_soon_however_long_it_was_away(parts: Everything) -> None:
    search = providers_of(parts, load(EXAMPLE))
    parts.away = {"query"}
    for _ in range(600):
        with pytest.raises(IndexUnavailable):
            await use(search, "query")
        await anyio.sleep(0.1)
    parts.away = set()
    await anyio.sleep(INDEX_LONGEST_OPEN_S)
    assert len(await use(search, "query")) == 1
    assert not search.index.is_away


async def test_calls_too_large_to_end_in_time_cost_the_usual_ones_nothing(parts: Everything) -> None:
    search = providers_of(parts, load(EXAMPLE))
    usual, large = ["tea"] * 100, ["tea"] * 101
    parts.away = {"rerank"}
    for _ in range(4):
        with pytest.raises(ProviderUnavailable):
            await search.models.reranker.rerank("tea", large)
    assert parts.calls == ["rerank"] * 3
    parts.away = set()
    assert await search.models.reranker.rerank("tea", usual) == [1.0] * 100
    with pytest.raises(ProviderUnavailable):
        await search.models.reranker.rerank("tea", large)


async def test_a_shared_call_that_fails_is_one_failure(parts: Everything) -> None:
    search = providers_of(parts, load(EXAMPLE))
    parts.away, parts.gate = {"embed"}, anyio.Event()
    refused = 0

    async def caller(text: str) -> None:
        nonlocal refused
        try:
            await search.models.embedder.embed([text])
        except ServiceError:
            refused += 1

    async with anyio.create_task_group() as owner:
        await owner.start(lambda *, task_status: search.models.embedder.run(task_status=task_status))
        async with anyio.create_task_group() as group:
            for number in range(5):  # one alone, four together
                group.start_soon(caller, str(number))
            await anyio.wait_all_tasks_blocked()
            parts.gate.set()
        owner.cancel_scope.cancel()
    assert (refused, len(parts.calls), search.breakers[0].state) == (5, 2, BreakerState.CLOSED)
