"""How relevant results are, over HTTP: it tells whether there is anything on a subject, and leaves out what is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.folders import fresh_folder
from tests.system.service import RunningService, note, search_body, wait_for, write_config

FACTS = (
    "Maria drinks two espressos every morning.",
    "The team deploys the billing service every Tuesday.",
    "Maria's dog Bruno is afraid of thunder.",
    "Customer records live in Postgres 16.",
    "Tom spends July in Lisbon.",
)
KNOWN = "When is the billing service deployed?"
UNKNOWN = "Which chess opening did Magnus win the tournament with?"


def fill(service: RunningService, tenant: str) -> None:
    results = service.add(tenant, *map(note, FACTS))
    for text, result in zip(FACTS, results, strict=True):
        service.wait_found(tenant, text, result["note_id"])


@pytest.fixture
def filled(service: RunningService, tenant: str) -> RunningService:
    fill(service, tenant)
    return service


@pytest.fixture(scope="module")
def plain(model_folder: Path) -> Iterator[RunningService]:
    """A service whose config has no [search.rerank]."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        text, count = re.subn(
            r"^\[search\.rerank\]\n(?!\[)(?:(?!\[).*\n)*", "", config.read_text(), flags=re.MULTILINE
        )
        assert count == 1
        config.write_text(text)
        with RunningService(config) as service:
            yield service


def answer(service: RunningService, tenant: str, query: str, **fields: Any) -> dict[str, Any]:
    response = service.post("search", search_body(tenant, query, **fields))
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def traced(service: RunningService, tenant: str, trace_id: str) -> dict[str, Any]:
    """The trace of a search, once it is stored."""

    def ask() -> dict[str, Any] | None:
        response = service.client.get(
            f"/v1/memory/search/traces/{trace_id}",
            params={"tenant_id": tenant, "project_id": "p", "agent_id": "a"},
        )
        return response.json() if response.status_code == 200 else None

    return wait_for(ask, "the trace is stored")


def test_what_is_stored_is_no_weak_match_and_what_is_not_is_one(filled: RunningService, tenant: str) -> None:
    known, unknown = answer(filled, tenant, KNOWN), answer(filled, tenant, UNKNOWN)
    assert (known["weak_match"], unknown["weak_match"]) == (False, True)
    assert known["items"][0]["snippet"] == FACTS[1]
    best, of_the_other = (max(item["relevance"] for item in body["items"]) for body in (known, unknown))
    assert of_the_other < 0.42 <= best <= 1.0


def test_an_answer_in_brief_speaks_of_a_weak_match_only_when_it_is_one(
    filled: RunningService, tenant: str
) -> None:
    known, unknown = (answer(filled, tenant, query, detail="brief") for query in (KNOWN, UNKNOWN))
    assert "weak_match" not in known
    assert list(unknown) == ["trace_id", "weak_match", "items"]
    assert unknown["weak_match"] is True


def test_an_empty_project_is_a_weak_match(service: RunningService, tenant: str) -> None:
    assert answer(service, tenant, KNOWN)["weak_match"] is True


def test_results_below_the_least_relevance_are_left_out_and_told_why(
    filled: RunningService, tenant: str
) -> None:
    everything = answer(filled, tenant, KNOWN)["items"]
    some = answer(filled, tenant, KNOWN, min_relevance=0.42)
    shown = {item["note_id"]: item["relevance"] for item in everything}
    kept = {note_id for note_id, relevance in shown.items() if relevance >= 0.42}
    assert {item["note_id"] for item in some["items"]} == kept < shown.keys()

    trace = traced(filled, tenant, some["trace_id"])
    assert {item["note_id"]: item["relevance"] for item in trace["items"]}.items() <= shown.items()
    dropped = {drop["note_id"]: (drop["stage"], drop["reason_code"]) for drop in trace["dropped"]}
    assert dropped == dict.fromkeys(shown.keys() - kept, ("relevance", "BELOW_MIN_RELEVANCE"))

    nothing = answer(filled, tenant, UNKNOWN, min_relevance=0.9)
    assert (nothing["items"], nothing["weak_match"]) == ([], True)


@pytest.mark.parametrize("odd", ["high", True, 1e7, -2])
def test_a_least_relevance_that_is_none_is_refused_by_name(
    service: RunningService, tenant: str, odd: object
) -> None:
    refused = service.post("search", search_body(tenant, KNOWN, min_relevance=odd))
    assert (refused.status_code, refused.json()["fields"]) == (400, ["$.min_relevance"])


def test_without_its_table_no_relevance_is_told_and_none_may_be_asked_for(
    plain: RunningService, tenant: str
) -> None:
    fill(plain, tenant)
    for query in (KNOWN, UNKNOWN):
        body = answer(plain, tenant, query)
        assert body["weak_match"] is None
        assert {item["relevance"] for item in body["items"]} == {None}
        assert {item["relevance"] for item in traced(plain, tenant, body["trace_id"])["items"]} == {None}
    refused = plain.post("search", search_body(tenant, KNOWN, min_relevance=0.42)).json()
    assert (refused["error_code"], refused["fields"]) == ("INVALID_REQUEST", ["$.min_relevance"])
    assert "[search.rerank]" in refused["message"]
