"""The page of metrics of the running service: sound, complete, moving, and silent about whose notes there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.metrics_kit import (
    Page,
    Selector,
    alert_rules,
    dashboard_queries,
    dashboard_variables,
    selectors,
)
from tests.system.service import RunningService, note

SEARCH = {"front": "http_front", "method": "POST", "route": "/v1/memory/search", "status": "200"}
PROMETHEUS_OWN = {"up"}
PROMETHEUS_LABELS = {"job", "instance"}
# What only goes wrong has no series while all is well, and chores have none where no family has any.
AT_TIMES = {
    "elf_searches_degraded_total": {"part"},
    "elf_chore_runs": {"family", "chore", "status"},
}
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "observability.md"


def page_of(service: RunningService) -> Page:
    response = service.admin.get("/metrics")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Page(response.text)


@pytest.fixture(scope="module")
def page(service: RunningService) -> Page:
    """The page after at least one write and one search."""
    (added,) = service.add("metrics", note("Jonas plays the violin in a quartet."))
    service.wait_found("metrics", "which instrument does Jonas play?", added["note_id"])
    return page_of(service)


def test_the_page_parses_and_every_metric_is_named_and_explained_as_prometheus_asks(page: Page) -> None:
    assert page.problems() == []


def test_the_page_is_on_the_admin_address_only(service: RunningService) -> None:
    assert service.client.get("/metrics").status_code == 404


def test_requests_searches_and_calls_are_counted_as_they_are_made(
    service: RunningService, tenant: str
) -> None:
    before = page_of(service)
    for number in range(3):
        service.search(tenant, f"question {number} that nobody asked before")
    service.client.get(f"/v1/memory/notes/{'0' * 8}-0000-4000-8000-000000000000")
    service.client.get("/no/such/path")
    after = page_of(service)

    def grown(name: str, /, **labels: str) -> float:
        return after.value(name, **labels) - before.value(name, **labels)

    assert grown("elf_http_requests_total", **SEARCH) == 3
    assert grown("elf_http_request_duration_seconds_count", **SEARCH) == 3
    assert grown("elf_http_request_duration_seconds_sum", **SEARCH) > 0
    read = {"front": "http_front", "method": "GET", "route": "/v1/memory/notes/{note_id}", "status": "404"}
    assert grown("elf_http_requests_total", **read) == 1
    nowhere = {"front": "http_front", "method": "GET", "route": "unmatched", "status": "404"}
    assert grown("elf_http_requests_total", **nowhere) == 1
    assert grown("elf_searches_total") == 3
    assert grown("elf_search_stage_duration_seconds_count", stage="embed") == 3
    assert grown("elf_search_stage_duration_seconds_count", stage="index") == 3
    assert grown("elf_provider_calls_total", provider="embedding", outcome="answered") >= 3
    assert grown("elf_channel_sent_total", channel="traces") == 3


def test_the_cache_counts_from_the_start(page: Page) -> None:
    for kind in ("expansion", "rerank"):
        for result in ("hit", "miss"):
            assert page.value("elf_cache_reads_total", kind=kind, result=result) == 0
        assert page.value("elf_cache_errors_total", kind=kind) == 0


def test_the_parts_of_the_process_and_the_database_are_shown(service: RunningService, page: Page) -> None:
    parts = {part["name"] for part in service.client.get("/ready").json()["parts"]}
    for what in ("reads", "writes"):
        assert page.value("elf_database_works", what=what) == 1
    for front in ("http_front", "admin_front", "mcp_front"):
        assert page.has("elf_connections", front=front)
        assert page.value("elf_connections_max", front=front) >= 8
        for outcome in ("refused", "displaced"):
            assert page.has("elf_connections_short_total", front=front, outcome=outcome)
    for actor in parts - {"reads", "writes"}:
        assert page.value("elf_actor_up", actor=actor) == 1
        assert page.has("elf_actor_restarts_total", actor=actor)
    assert page.value("elf_ready") == 1
    assert page.value("elf_database_up") == 1
    for channel in ("indexing_wake", "outbox_announce", "indexing_work", "traces", "cache_puts"):
        assert page.has("elf_channel_items", channel=channel)
        assert page.value("elf_channel_capacity_items", channel=channel) >= 1
    for kind in ("quick", "slow"):
        assert page.has("elf_admission_requests", kind=kind, state="waiting")
        assert page.has("elf_admission_refused_total", kind=kind)
    for circuit in ("embedding", "rerank", "llm_extractor", "index"):
        assert page.has("elf_circuit_open", circuit=circuit)
    pool = [
        page.value("elf_database_connections", pool="primary", state=state) for state in ("idle", "in_use")
    ]
    assert 1 <= sum(pool) <= page.value("elf_database_connections_max", pool="primary") == 16
    for family, outbox in (("notes", "indexing"), ("common", "traces")):
        assert page.has("elf_outbox_oldest_job_age_seconds", family=family, outbox=outbox)
        assert {
            page.has("elf_outbox_jobs", family=family, outbox=outbox, status=status)
            for status in ("pending", "failed", "given_up")
        } == {True}
    assert {page.has("elf_notes", status=status) for status in ("active", "deleted", "deprecated")} == {True}


def test_neither_a_tenant_nor_what_was_written_or_asked_stands_on_the_page(
    service: RunningService, tenant: str
) -> None:
    (added,) = service.add(
        tenant, note("Our xylophone costs nothing."), project_id="zeppelin", agent_id="quokka"
    )
    service.search(tenant, "what about the marimba?", project_id="zeppelin", agent_id="quokka")
    service.client.get(f"/v1/memory/notes/{added['note_id']}")
    service.client.get("/narwhal?walrus=1")
    service.client.request("OKAPI", "/v1/memory/search")
    text = page_of(service).text
    words = (
        "xylophone",
        "marimba",
        "zeppelin",
        "quokka",
        "narwhal",
        "walrus",
        "OKAPI",
        added["note_id"],
        tenant,
    )
    assert [word for word in words if word in text] == []


@pytest.mark.parametrize("query", dashboard_queries())
def test_every_panel_of_the_dashboard_asks_for_metrics_and_labels_there_are(page: Page, query: str) -> None:
    assert unknown(page, selectors(query)) == []


def test_the_variables_of_the_dashboard_come_from_a_metric_there_is(page: Page) -> None:
    used = {name for query in dashboard_variables() for name in re.findall(r"\belf_\w+", query)}
    assert used <= page.series
    assert used


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule["alert"])
def test_every_alert_asks_for_metrics_and_labels_there_are(page: Page, rule: dict[str, str]) -> None:
    assert unknown(page, selectors(rule["expr"])) == []


def unknown(page: Page, chosen: list[Selector]) -> list[str]:
    """What the selectors ask for in vain."""
    assert chosen
    return [
        f"{metric} {sorted(labels)}"
        for metric, labels in chosen
        if metric not in PROMETHEUS_OWN
        and (metric not in page.series or not labels <= known_labels(page, metric))
    ]


def known_labels(page: Page, metric: str) -> set[str]:
    return PROMETHEUS_LABELS | (page.labels_of(metric) or AT_TIMES.get(metric, set()))


def test_every_metric_of_our_own_is_explained_in_the_documents(page: Page) -> None:
    explained = set(re.findall(r"`(elf_\w+)`", DOCUMENT.read_text(encoding="utf-8")))
    shown = {name for name in page.series if name.startswith("elf_")}
    histograms = {family.name for family in page.families.values() if family.type == "histogram"}
    parts = {f"{name}_{part}" for name in histograms for part in ("bucket", "sum", "count")}
    assert explained == shown - parts | histograms
