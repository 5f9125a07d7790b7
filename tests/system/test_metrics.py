"""The page of metrics of the running service: sound, complete, moving, and silent about whose notes there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.metrics_kit import (
    Page,
    Selector,
    alert_rules,
    dashboard_queries,
    dashboard_variables,
    selectors,
)
from tests.system.said import Speaker
from tests.system.service import RunningService, note, wait_for

SEARCH = {"front": "http_front", "method": "POST", "route": "/v1/memory/search", "status": "200"}
PROMETHEUS_OWN = {"up"}
PROMETHEUS_LABELS = {"job", "instance"}
# What only goes wrong has no series while all is well, and what nobody asked for has none yet.
AT_TIMES = {
    "elf_searches_degraded_total": {"family", "part"},
    "elf_chore_runs": {"family", "chore", "status"},
    "elf_grpc_calls_total": {"front", "method", "code"},
    "elf_grpc_call_duration_seconds_bucket": {"front", "method", "code", "le"},
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
    assert grown("elf_searches_total", family="notes") == 3
    assert grown("elf_search_stage_duration_seconds_count", family="notes", stage="embed") == 3
    assert grown("elf_search_stage_duration_seconds_count", family="notes", stage="index") == 3
    assert grown("elf_provider_calls_total", provider="embedding", outcome="answered") >= 3
    assert grown("elf_channel_sent_total", channel="traces") == 3


def test_entries_syncs_and_searches_of_conversations_are_counted(service: RunningService) -> None:
    before = page_of(service)
    ana = Speaker(service)
    trip = ana.begin()
    ana.say(trip, "We fly to Lisbon on Friday.")
    bot = {"Authorization": f"Bearer {ana.name}", "X-Client-ID": "planner"}
    for content in (["a"], ["a"], ["a", "b"], ["c"]):
        body = {"channel": "memory", "contentType": "plan", "content": content}
        answer = service.client.post(f"/v1/conversations/{trip}/entries/sync", headers=bot, json=body)
        assert answer.status_code == 200, answer.text
    for type in ("auto", "semantic", "fulltext"):
        ana.search("Lisbon", searchType=type)
    after = page_of(service)

    def grown(name: str, /, **labels: str) -> float:
        return after.value(name, **labels) - before.value(name, **labels)

    outcomes = ("noop", "first", "extended", "new_epoch")
    assert [grown("elf_conversation_syncs_total", outcome=outcome) for outcome in outcomes] == [1, 1, 1, 1]
    channels = ("history", "memory")
    assert [grown("elf_conversation_entries_written_total", channel=channel) for channel in channels] == [
        1,
        3,
    ]
    mine = {"family": "conversations"}
    assert grown("elf_searches_total", **mine) == 3
    assert grown("elf_searches_total", family="notes") == 0
    for stage in ("waiting", "embed", "index", "revalidate", "meaning", "words"):
        assert grown("elf_search_stage_duration_seconds_count", stage=stage, **mine) == 1, stage
    for state in ("live", "deleted"):
        assert after.has("elf_conversations", state=state)
    for kind in ("recording", "replay"):
        assert after.value("elf_conversation_streams", kind=kind) == 0
        assert after.has("elf_conversation_streams", kind=kind)


def test_what_is_done_with_memories_of_the_graph_is_counted_and_nobody_named(service: RunningService) -> None:
    before = page_of(service)
    place = {"tenant_id": f"t{uuid4()}", "orchestrator_id": "planner"}

    def ask(path: str, **body: object) -> dict[str, Any]:
        answer = service.client.post(f"/v1/graph/{path}", json={**place, **body})
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    ask("writeback/transcript", message_id="m1", conversation_id="c1", text="The office is in Lisbon.")
    home = service.config.parent / ".elf" / "graph" / place["tenant_id"] / "planner" / "memory"
    for name, text in (("a.txt", "It rains in Lisbon."), ("b.csv", "a,b")):
        (home / "ingest" / name).write_text(text)
    wait_for(lambda: ask("ingest/run") and not [*(home / "ingest").glob("[ab].*")], "both files are taken")
    broken = {**place, "tenant_id": f"t{uuid4()}"}
    elsewhere = home.parents[2] / broken["tenant_id"] / "planner"
    elsewhere.mkdir(parents=True)
    (elsewhere / "memory").symlink_to(home)
    assert ask("context", **broken, purpose="diagnostics", prompt="office")["status"] == "disabled"
    after = page_of(service)

    def grown(name: str, /, **labels: str) -> float:
        return after.value(name, **labels) - before.value(name, **labels)

    outcomes = ("processed", "duplicate", "rejected")
    assert [grown("elf_graph_ingested_files_total", outcome=outcome) for outcome in outcomes] == [1, 0, 1]
    kinds = ("full_text", "bulletin", "disabled")
    assert [grown("elf_graph_fallbacks_total", kind=kind) for kind in kinds] == [0, 0, 1]
    assert grown("elf_graph_files_broken") == 1
    assert after.value("elf_graph_files_open") >= 1
    assert grown("elf_graph_changes_total") >= grown("elf_graph_commits_total") >= 3
    assert grown("elf_graph_commit_seconds_total") > 0
    assert after.has("elf_graph_vectors_to_make")
    wait_for(lambda: page_of(service).value("elf_graph_writes_waiting") == 0, "nothing waits for the disk")
    assert place["tenant_id"] not in service.admin.get("/metrics").text
    warnings = service.client.get("/ready").json()["warnings"]
    assert [one for one in warnings if "of the graph cannot be used" in one] != []


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
    for family, outbox in (
        ("notes", "indexing"),
        ("conversations", "conversations_indexing"),
        ("common", "traces"),
    ):
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
