"""Searching while parts of the service are away, slow or talk junk, alone and together, against the whole service."""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import psutil
import pytest

from elf.client import NO_RETRIES, Client, fail_open
from elf.client.families.knowledge import ContextBlock, KnowledgeClient
from tests.chaos.kills import kill_postgres
from tests.folders import fresh_folder
from tests.system.fake_chat import saying
from tests.system.fake_model import embedding
from tests.system.fake_provider import FakeProvider, point_provider, running_provider
from tests.system.odd_queries import ODD_QUERIES
from tests.system.service import RunningService, note, search_body, wait_for, write_config
from tests.system.truth import wait_indexed

BUDGET_MS: Final = 2000
# A provider that hangs is given 10 s by its own time-out, so an answer within this did not wait for that.
LONGEST_ANSWER_S: Final = 7.0
# A breaker opens at the third failure; calls that are under way by then still count.
FEW: Final = 5

TENANT: Final = "harbour"
NOTES: Final = {
    "ferry": "The ferry leaves the harbour at noon.",
    "gold": "A golden anchor hangs over the harbour gate.",
    "cat": "Our cat sleeps beside the stove.",
    "violin": "Violin practice begins at midnight.",
    "bread": "Rye bread is baked on Thursdays.",
}
QUERY: Final = "Which feline takes the ferry from the harbour?"
BY_WORD: Final = frozenset({"ferry", "gold"})
BY_WORD_OF_THE_REWORDING: Final = frozenset({"violin"})


def embedded(body: dict[str, Any]) -> Any:
    """Vectors of a model that knows what a feline is."""
    texts = [f"text {text.lower().replace('feline', 'cat')}" for text in body["input"]]
    return {"data": [{"index": place, "embedding": embedding(text)} for place, text in enumerate(texts)]}


def reranked(body: dict[str, Any]) -> Any:
    """Scores of a model that is fond of gold."""
    scores = [0.9 if "golden" in document else 0.2 for document in body["documents"]]
    return {"results": [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]}


def reworded(body: dict[str, Any]) -> Any:
    return saying('{"queries": ["midnight violin"]}')[1]


PROVIDERS: Final = {"embedding": embedded, "rerank": reranked, "expansion": reworded}
TABLES: Final = {"embedding": "embedding", "rerank": "rerank", "expansion": "llm_extractor"}
JUNK: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "embedding": lambda body: {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
    "rerank": lambda body: {"results": [{"index": 999, "relevance_score": 0.9}]},
    "expansion": lambda body: saying("As a model of language, I would rather not say.")[1],
}


class House:
    """A running service, its steerable providers, and what is done to its parts."""

    def __init__(self, service: RunningService, providers: Mapping[str, FakeProvider]) -> None:
        self.service = service
        self.providers = providers
        self._numbers = itertools.count()
        self._keys: dict[str, str] = {}

    def fill(self) -> None:
        results = self.service.add(TENANT, *(note(text, key=key) for key, text in NOTES.items()))
        self._keys = {result["note_id"]: key for key, result in zip(NOTES, results, strict=True)}
        wait_indexed(self.service)

    def ask(self, **fields: Any) -> httpx.Response:
        """Search for what no cache knows."""
        body = search_body(TENANT, f"{QUERY} {next(self._numbers)}") | fields
        return self.service.post("search", body)

    def keys(self, answer: Mapping[str, Any]) -> list[str]:
        return [self._keys[item["note_id"]] for item in answer["items"]]

    def explained(self, handle: str) -> dict[str, Any]:
        """What the trace of a result tells, once it is stored."""

        def ask() -> dict[str, Any] | None:
            response = self.service.client.get("/v1/memory/search/explain", params={"result_handle": handle})
            return response.json() if response.status_code == 200 else None

        return wait_for(ask, "the trace is stored")

    def is_whole(self) -> bool:
        response = self.ask()
        assert response.status_code in (200, 503), response.text
        return response.status_code == 200 and response.json()["degraded"] == []

    def wait_whole(self) -> None:
        wait_for(self.is_whole, "a search needs to do without nothing")

    def refusal(self) -> httpx.Response | None:
        """The answer to a search, if it is none."""
        response = self.ask()
        assert response.status_code in (200, 503), response.text
        return None if response.status_code == 200 else response

    def calls(self) -> Counter[str]:
        """How many calls of each provider came over the wire."""
        return Counter({part: len(provider.asked) for part, provider in self.providers.items()})

    def probes(self) -> Counter[str]:
        """How often the breaker of each provider let a call through to see whether it is back."""
        events = self.service.events("circuit_half_open")
        probed = [event["provider"].split()[0].removeprefix("providers.") for event in events]
        return Counter(part for part in self.providers for table in probed if table == TABLES[part])

    def asks_nobody(self, *parts: str, **fields: Any) -> bool:
        """Whether a search calls none of these providers, or of all."""
        before = self.calls()
        assert self.ask(**fields).status_code == 200
        after = self.calls()
        return all(before[part] == after[part] for part in parts or self.providers)

    @contextmanager
    def hurt(self, faults: Mapping[str, str]) -> Iterator[None]:
        """Do this to these parts; afterwards they are well again, and searches know."""
        try:
            with ExitStack() as stack:
                for part, fault in faults.items():
                    stack.enter_context(self._hurt_one(part, fault))
                yield
        finally:
            self.wait_whole()

    @contextmanager
    def _hurt_one(self, part: str, fault: str) -> Iterator[None]:
        if part == "index":
            with self._index_dead() if fault == "dead" else self._index_slow():
                yield
            return
        provider = self.providers[part]
        try:
            match fault:
                case "dead":
                    provider.leave()
                case "failing":
                    provider.fail()
                case "refused":
                    provider.refuse()
                case "slow":
                    provider.hang()
                case "junk":
                    provider.talk(JUNK[part])
            yield
        finally:
            provider.get_well()

    @contextmanager
    def _index_slow(self) -> Iterator[None]:
        with suspended(self.service.index_process()):
            yield

    @contextmanager
    def _index_dead(self) -> Iterator[None]:
        """Kill the index process, and hold up the next one before it serves."""
        first = self.service.index_process()
        first.kill()

        def successor() -> psutil.Process | None:
            process = self.service.index_process_or_none()
            return None if process is None or process.pid == first.pid else process

        with suspended(wait_for(successor, "the index process is started again")):
            yield


@contextmanager
def suspended(process: psutil.Process) -> Iterator[None]:
    process.suspend()
    try:
        yield
    finally:
        if process.is_running():
            process.resume()


@pytest.fixture(scope="module")
def house(model_folder: Path) -> Iterator[House]:
    with ExitStack() as stack:
        folder = stack.enter_context(fresh_folder())
        config = write_config(folder, cache_dir=f'"{model_folder}"', total_ms=str(BUDGET_MS))
        text, count = re.subn(
            r'(?m)(^\[search\.expansion\]\n(?:#.*\n)*mode = )"off"', r'\1"always"', config.read_text()
        )
        assert count == 1
        config.write_text(text)
        providers = {part: stack.enter_context(running_provider(PROVIDERS[part])) for part in PROVIDERS}
        for part, provider in providers.items():
            point_provider(config, TABLES[part], provider)
        house = House(stack.enter_context(RunningService(config)), providers)
        house.fill()
        yield house


ALONE = [
    {"embedding": "dead"}, {"embedding": "slow"}, {"embedding": "failing"}, {"embedding": "junk"},
    {"embedding": "refused"}, {"rerank": "refused"}, {"expansion": "refused"},
    {"rerank": "dead"}, {"rerank": "slow"}, {"rerank": "failing"}, {"rerank": "junk"},
    {"expansion": "dead"}, {"expansion": "slow"}, {"expansion": "failing"}, {"expansion": "junk"},
    {"index": "dead"}, {"index": "slow"},
]  # fmt: skip
TOGETHER = [
    {"embedding": "dead", "rerank": "junk"},
    {"embedding": "failing", "index": "dead"},
    {"expansion": "slow", "embedding": "junk"},
    {"index": "slow", "rerank": "failing"},
    {"expansion": "junk", "embedding": "junk", "rerank": "junk"},
    {"expansion": "failing", "index": "dead", "rerank": "failing"},
    {"expansion": "dead", "embedding": "dead", "index": "dead", "rerank": "dead"},
    {"expansion": "slow", "embedding": "slow", "index": "slow", "rerank": "slow"},
]


def in_words(faults: Mapping[str, str]) -> str:
    return "-".join(f"{part}-{fault}" for part, fault in faults.items())


def test_a_search_with_all_its_parts_needs_no_excuse(house: House) -> None:
    answer = house.ask().json()
    assert answer["degraded"] == []
    keys = house.keys(answer)
    assert (keys[0], set(keys)) == ("gold", set(NOTES))


@pytest.mark.parametrize("faults", [*ALONE, *TOGETHER], ids=in_words)
def test_what_is_left_answers_in_time_and_says_what_is_missing(
    house: House, faults: Mapping[str, str]
) -> None:
    with house.hurt(faults):
        began = time.monotonic()
        response = house.ask()
        took = time.monotonic() - began
    assert response.status_code == 200, response.text
    assert took < LONGEST_ANSWER_S
    answer = response.json()
    assert sorted(answer["degraded"]) == sorted(faults)
    assert_right_notes(house.keys(answer), missing=faults.keys())
    assert_explained(house, answer)


def assert_explained(house: House, answer: Mapping[str, Any]) -> None:
    """The trace says what was missing, and its terms add up although they are others than usual."""
    told = house.explained(answer["items"][0]["result_handle"])
    assert told["trace"]["degraded"] == answer["degraded"]
    items = [told["item"], *told["other_items"]]
    assert [item["explain"] for item in items] == [item["explain"] for item in answer["items"]]
    for why in (item["explain"] for item in items):
        total = sum(boost["score"] for boost in why["boosts"])
        assert total == pytest.approx(why["final_score"], abs=1e-6, rel=0)


def assert_right_notes(keys: list[str], *, missing: Collection[str]) -> None:
    if "embedding" in missing:
        by_rewording = set() if "expansion" in missing else BY_WORD_OF_THE_REWORDING
        assert set(keys) == BY_WORD | by_rewording
    else:
        assert set(keys) == set(NOTES), "vectors find all of so few"
        assert keys.index("cat") < keys.index("bread"), "only the vectors know that a cat is a feline"
    assert (keys[0] == "gold") == ("rerank" not in missing), "only the reranker is fond of gold"


@pytest.mark.parametrize(
    "faults",
    [
        {"rerank": "slow"},
        {"expansion": "failing", "embedding": "failing"},
        {"expansion": "refused", "embedding": "refused", "rerank": "junk"},
    ],
    ids=in_words,
)
def test_what_failed_or_was_too_slow_a_few_times_is_not_asked_for_a_while(
    house: House, faults: Mapping[str, str]
) -> None:
    with house.hurt(faults):
        before = house.calls()
        with ThreadPoolExecutor(3) as clients:
            assert {one.status_code for one in clients.map(lambda _: house.ask(), range(3))} == {200}
        wait_for(lambda: house.asks_nobody(*faults), "a search does not ask them")
        calls, probes = house.calls(), house.probes()
        assert all(calls[part] - before[part] <= FEW for part in faults)
        for _ in range(6):
            answer = house.ask().json()
            assert sorted(answer["degraded"]) == sorted(faults)
            assert_right_notes(house.keys(answer), missing=faults.keys())
        asked, probed = house.calls() - calls, house.probes() - probes
        assert {part: asked[part] for part in faults} == {part: probed[part] for part in faults}


def test_what_the_caches_know_needs_no_provider_until_a_note_changes(house: House) -> None:
    query = f"{QUERY} As always."
    first = house.ask(query=query).json()
    wait_for(lambda: house.asks_nobody("expansion", "rerank", query=query), "both answers are kept")
    with house.hurt({"expansion": "failing", "rerank": "failing"}):
        again = house.ask(query=query).json()
        assert again["degraded"] == []
        assert house.keys(again) == house.keys(first)
        house.service.add(TENANT, note("The ferry leaves the harbour at one.", key="ferry"))
        wait_indexed(house.service)
        changed = house.ask(query=query).json()
        assert changed["degraded"] == ["rerank"], "scores of the old text are worth nothing"
        assert "The ferry leaves the harbour at one." in [item["snippet"] for item in changed["items"]]


@pytest.mark.parametrize("score", ["NaN", "Infinity", "1e39", "-1e308", "null"])
def test_a_score_that_is_none_is_taken_for_the_lowest(house: House, score: str) -> None:
    def odd(body: dict[str, Any]) -> bytes:
        scores = ["0.9" if "golden" in document else score for document in body["documents"]]
        items = ",".join(f'{{"index": {n}, "relevance_score": {one}}}' for n, one in enumerate(scores))
        return f'{{"results": [{items}]}}'.encode()

    house.providers["rerank"].talk(odd)
    answer = house.ask(record_hits=True).json()
    house.providers["rerank"].get_well()
    assert answer["degraded"] == []
    assert {item["explain"]["rerank_score"] for item in answer["items"]} == {0.9}


def test_no_query_is_too_odd_for_what_is_left(house: House) -> None:
    with house.hurt({"index": "dead", "rerank": "junk"}):
        for query in ODD_QUERIES:
            response = house.ask(query=query, record_hits=True)
            assert (response.status_code, response.json().get("degraded")) == (200, ["index", "rerank"]), (
                query
            )


def test_without_postgres_a_search_says_when_to_try_again(house: House) -> None:
    kill_postgres(house.service)
    refused = wait_for(house.refusal, "a search is refused")
    assert refused.json()["error_code"] == "UNAVAILABLE"
    assert int(refused.headers["Retry-After"]) >= 1
    house.wait_whole()


@pytest.fixture
def known(house: House) -> Iterator[KnowledgeClient[Client]]:
    with Client(house.service.url, tenant_id=TENANT, retries=NO_RETRIES) as client:
        yield client.knowledge


def test_without_the_embedding_model_knowledge_is_stored_and_found_by_its_words(
    house: House, known: KnowledgeClient[Client]
) -> None:
    with house.hurt({"embedding": "dead"}):
        stored = known.store_fact("the ferry", "departure", "at noon")
        found = known.search("ferry departure", types=["fact"])
        assert (stored.degraded, found.degraded) == (["embedding"], ["embedding"])
        assert [(item.memory.id, item.semantic_rank) for item in found.items] == [(stored.id, None)]
    wait_for(lambda: known.get("fact", stored.id).embedding_version, "the fact has its vector")
    found = known.search("ferry departure", types=["fact"])
    assert [(item.memory.id, item.semantic_rank) for item in found.items] == [(stored.id, 1)]


def test_without_postgres_a_prompt_does_without_its_context(
    house: House, known: KnowledgeClient[Client]
) -> None:
    def bare() -> ContextBlock | None:
        block = known.context("When does the ferry leave?", "travel")
        return block if block.degraded else None

    kill_postgres(house.service)
    assert wait_for(bare, "a context is degraded") == ContextBlock("# Memory Context\n", [], [], ["storage"])
    house.wait_whole()


def test_without_postgres_a_host_goes_on_and_no_store_is_acknowledged_that_is_not_kept(
    house: House, known: KnowledgeClient[Client]
) -> None:
    remember, kept = fail_open(known.store_rule), set()

    def refused() -> bool:
        stored = remember("Ask before a ferry is booked.")
        if stored is not None:
            kept.add(stored.id)
        return stored is None

    kill_postgres(house.service)
    wait_for(refused, "a store is refused")
    house.wait_whole()
    assert kept <= {rule.id for rule in known.rules()}
