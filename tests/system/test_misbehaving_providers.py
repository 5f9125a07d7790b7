"""A reranker and an extractor that misbehave, and what the operator is told of a provider that does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from tests.system.fake_chat import point_extractor, saying
from tests.system.fake_model import point_embedding
from tests.system.misbehaviour import ANYWHERE, WAYS, MisbehavingModel, Wire, embeds, running_model
from tests.system.service import RunningService, note, search_body, wait_for, write_config
from tests.system.siege import Memory
from tests.system.truth import listed, wait_indexed

TIMEOUT_MS: Final = 500
GREATEST_GROWTH_MB: Final = 64.0
SAID: Final = "I prefer tea over coffee."
PROPOSED: Final = {
    "type": "preference", "key": None, "text": "The user prefers tea.", "importance": 0.5, "confidence": 0.9,
    "ttl_days": None, "scope_suggestion": "project_shared",
    "evidence": [{"message_index": 0, "quote": "I prefer tea"}], "reason": "said so",
}  # fmt: skip


def ranks(body: dict[str, Any], wire: Wire) -> None:
    results = [{"index": n, "relevance_score": 0.5} for n in range(len(body["documents"]))]
    wire.answer(json.dumps({"results": results}))


def proposes(body: dict[str, Any], wire: Wire) -> None:
    wire.answer(json.dumps(saying(json.dumps({"notes": [PROPOSED]}))[1]))


@dataclass(frozen=True)
class House:
    """A service and the models it relies on."""

    service: RunningService
    embedder: MisbehavingModel
    reranker: MisbehavingModel
    extractor: MisbehavingModel

    def add_event(self, tenant: str, **fields: Any) -> httpx.Response:
        body = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "scope": "project_shared"}
        return self.service.post(
            "add_event", body | {"messages": [{"role": "user", "content": SAID}]} | fields
        )

    def degraded(self, tenant: str, query: str) -> list[str]:
        response = self.service.post("search", search_body(tenant, query))
        assert response.status_code == 200, response.text
        parts: list[str] = response.json()["degraded"]
        return parts


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    config = write_config(tmp_path_factory.mktemp("providers"))
    with ExitStack() as stack:
        embedder, reranker, extractor = (
            stack.enter_context(running_model(well)) for well in (embeds, ranks, proposes)
        )
        point_embedding(config, embedder.api_base, timeout_ms=TIMEOUT_MS)
        point_reranker(config, reranker.api_base)
        point_extractor(config, extractor.api_base, timeout_ms=TIMEOUT_MS)
        service = stack.enter_context(RunningService(config))
        yield House(service, embedder, reranker, extractor)
        assert service.complaints() == []


@pytest.fixture(autouse=True)
def _well_again(house: House) -> Iterator[None]:
    yield
    for model in (house.embedder, house.reranker, house.extractor):
        model.behave()


@pytest.mark.parametrize("way", ANYWHERE)
def test_a_reranker_that_misbehaves_costs_a_search_its_order_alone(
    house: House, way: str, tenant: str
) -> None:
    (added,) = house.service.add(tenant, note("The ferry leaves the harbour at noon.", key="ferry"))
    wait_indexed(house.service)
    memory = Memory(house.service)
    house.reranker.misbehave(WAYS[way])
    assert house.degraded(tenant, f"ferry {way}") == ["rerank"]
    assert memory.growth_mb < GREATEST_GROWTH_MB
    house.reranker.behave()
    wait_for(lambda: house.degraded(tenant, f"ferry after {way}") == [], "the reranker is asked again")
    assert added["note_id"] in [item["note_id"] for item in house.service.search(tenant, "ferry")]


@pytest.mark.parametrize("way", ANYWHERE)
def test_an_extractor_that_misbehaves_is_unavailable_and_nothing_is_stored_until_it_is_well(
    house: House, way: str, tenant: str
) -> None:
    memory = Memory(house.service)
    house.extractor.misbehave(WAYS[way])
    response = house.add_event(tenant)
    assert response.status_code == 503, response.text
    assert response.json()["error_code"] == "UNAVAILABLE"
    assert "providers.llm_extractor" in response.json()["message"]
    assert int(response.headers["Retry-After"]) >= 1
    assert memory.growth_mb < GREATEST_GROWTH_MB
    assert listed(house.service, tenant) == {}
    house.extractor.behave()
    (result,) = house.add_event(tenant).json()["results"]
    assert result["op"] == "ADD"


@pytest.mark.parametrize("way", ["401", "302 to itself", "HTML", "vectors too short", "NaN", "zeros"])
def test_what_an_event_says_is_stored_while_the_embedder_misbehaves(
    house: House, way: str, tenant: str
) -> None:
    house.embedder.misbehave(WAYS[way])
    for dry_run in (True, False):
        response = house.add_event(tenant, dry_run=dry_run)
        assert response.status_code == 200, response.text
        (result,) = response.json()["results"]
        assert (result["op"], result["reason_code"]) == ("ADD", "SIMILARITY_UNCHECKED")
    assert house.degraded(tenant, "tea") == ["embedding"]
    house.embedder.behave()
    house.service.wait_found(tenant, "Who prefers tea?", result["note_id"])


def test_the_operator_is_told_of_a_refused_key_once_and_by_name(house: House, tenant: str) -> None:
    house.embedder.misbehave(WAYS["402"])
    seen = len(house.service.events("provider.trouble"))
    for number in range(5):
        house.service.add(tenant, note(f"Fact {number} of the harbour."))
    told = house.service.events("provider.trouble")[seen:]
    assert len(told) <= 1, "once a minute"
    assert all(line["kind"] == "refused" and "HTTP 40" in line["problem"] for line in told)
    lines = house.service.admin.get("/metrics").text.splitlines()
    (count,) = [
        float(line.split()[-1])
        for line in lines
        if line.startswith("elf_provider_calls_total{") and '"embedding"' in line and '"refused"' in line
    ]
    assert count >= 5


def point_reranker(config: Any, api_base: str) -> None:
    """Make the reranker of a config file that of `api_base`."""
    head, table, rest = config.read_text(encoding="utf-8").partition("[providers.rerank]\n")
    rest = rest.replace('api_base = "local:"', f'api_base = "{api_base}"', 1)
    rest = rest.replace("timeout_ms = 10000", f"timeout_ms = {TIMEOUT_MS}", 1)
    config.write_text(head + table + rest, encoding="utf-8")
