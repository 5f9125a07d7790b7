"""What is counted as it happens, and how requests come to be counted."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import uuid4

import httpx
import pytest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from pydantic import BaseModel

from elf.api.operation import Operation, for_anyone
from elf.core.errors import Unavailable
from elf.core.measures import Measures, NoMeasures
from elf.web.app import create_app
from elf.web.measures import PrometheusMeasures
from elf.web.metrics import add_metrics_page, count_requests, metrics_page
from elf.web.readiness import Readiness
from tests.metrics_kit import Page

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Empty(BaseModel):
    pass


class Read(BaseModel):
    note_id: str


def page_of(measures: PrometheusMeasures) -> Page:
    return Page(metrics_page(measures.collect()).decode())


@pytest.fixture
def measures() -> PrometheusMeasures:
    return PrometheusMeasures()


async def fails(_: Empty) -> Empty:
    raise Unavailable("away")


async def answers(request: Read) -> Read:
    return request


def client_of(measures: PrometheusMeasures) -> httpx.AsyncClient:
    operations = [
        Operation("fail", "POST", "/v1/fail", "Fail", Empty, Empty),
        Operation("read", "GET", "/v1/notes/{note_id}", "Read", Read, Read),
    ]
    handlers = {"fail": for_anyone(fails), "read": for_anyone(answers)}
    app = create_app(operations, handlers, readiness=lambda: Readiness(ready=True, parts=[]))
    count_requests(app, front="http_front", measures=measures)

    async def collect() -> Iterable[Metric]:
        return measures.collect()

    add_metrics_page(app, collect)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://elf")


async def test_a_request_counts_under_the_template_of_its_route_and_its_status(
    measures: PrometheusMeasures,
) -> None:
    async with client_of(measures) as client:
        for _ in range(3):
            await client.get(f"/v1/notes/{uuid4()}")
        await client.post("/v1/fail", json={})
        await client.post("/v1/fail", content=b"{")
    page = page_of(measures)
    read = {"front": "http_front", "method": "GET", "route": "/v1/notes/{note_id}", "status": "200"}
    assert page.value("elf_http_requests_total", **read) == 3
    assert page.value("elf_http_request_duration_seconds_count", **read) == 3
    fail = {"front": "http_front", "method": "POST", "route": "/v1/fail"}
    assert page.value("elf_http_requests_total", **fail, status="503") == 1
    assert page.value("elf_http_requests_total", **fail, status="400") == 1
    assert page.problems() == []


async def test_a_client_cannot_make_up_series(measures: PrometheusMeasures) -> None:
    async with client_of(measures) as client:
        for number in range(5):
            await client.get(f"/made/up/{number}")
            await client.request(f"MADE{number}", "/v1/fail")
    page = page_of(measures)
    series = [sample for sample in page.families["elf_http_requests"].samples if sample.value]
    assert {(sample.labels["method"], sample.labels["route"]) for sample in series} == {
        ("GET", "unmatched"),
        ("other", "unmatched"),
    }


async def test_the_page_is_served_as_the_text_that_prometheus_reads(measures: PrometheusMeasures) -> None:
    measures.search(family="notes", stages=[("embed", 2.0)], degraded=[])
    async with client_of(measures) as client:
        response = await client.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert Page(response.text).value("elf_searches_total", family="notes") == 1


def test_a_search_counts_its_stages_in_seconds_and_the_parts_it_did_without(
    measures: PrometheusMeasures,
) -> None:
    measures.search(
        family="notes", stages=[("embed", 2.5), ("index", 4.0), ("index", 6.0)], degraded=["rerank"]
    )
    measures.search(family="notes", stages=[("embed", 2.5)], degraded=[])
    page = page_of(measures)
    assert page.value("elf_searches_total", family="notes") == 2
    assert page.value("elf_searches_degraded_total", family="notes", part="rerank") == 1
    assert page.value("elf_search_stage_duration_seconds_count", family="notes", stage="index") == 2
    assert page.value(
        "elf_search_stage_duration_seconds_sum", family="notes", stage="index"
    ) == pytest.approx(0.01)
    assert (
        page.value("elf_search_stage_duration_seconds_bucket", family="notes", stage="embed", le="0.0025")
        == 2
    )
    assert (
        page.value("elf_search_stage_duration_seconds_bucket", family="notes", stage="embed", le="0.001") == 0
    )


def test_a_provider_call_counts_by_its_outcome(measures: PrometheusMeasures) -> None:
    measures.provider_call(provider="rerank", outcome="unavailable", seconds=2.0, failed_tries=3)
    measures.provider_call(provider="rerank", outcome="answered", seconds=0.5, failed_tries=1)
    page = page_of(measures)
    assert page.value("elf_provider_calls_total", provider="rerank", outcome="unavailable") == 1
    assert page.value(
        "elf_provider_call_duration_seconds_sum", provider="rerank", outcome="answered"
    ) == pytest.approx(0.5)
    assert page.value("elf_provider_failed_tries_total", provider="rerank") == 4


def test_two_processes_worth_of_measures_in_one_program_do_not_meet() -> None:
    one, other = PrometheusMeasures(), PrometheusMeasures()
    one.search(family="notes", stages=[], degraded=[])
    assert page_of(other).value("elf_searches_total", family="notes") == 0


def test_there_is_no_series_about_when_a_series_began(measures: PrometheusMeasures) -> None:
    measures.search(family="notes", stages=[("embed", 1.0)], degraded=["rerank"])
    assert "_created" not in page_of(measures).text


def test_who_counts_nothing_takes_everything() -> None:
    silent: Measures = NoMeasures()
    silent.request(front="http_front", method="GET", route="/", status=200, seconds=0.1)
    silent.search(family="notes", stages=[("embed", 1.0)], degraded=[])
    silent.provider_call(provider="rerank", outcome="answered", seconds=0.1, failed_tries=0)


def test_the_check_of_pages_finds_what_prometheus_would_not_take() -> None:
    faulty = [
        GaugeMetricFamily("elf_wait_ms", "How long it waits.", value=1),
        GaugeMetricFamily("elf_Waits", "Waits.", value=1),
        GaugeMetricFamily("elf_unexplained", "", value=1),
    ]
    tenants = GaugeMetricFamily("elf_notes_of", "Notes.", labels=("tenant",))
    tenants.add_metric(("acme",), 1)
    problems = Page(metrics_page([*faulty, tenants]).decode()).problems()
    assert [problem.split()[0] for problem in problems] == [
        "elf_wait_ms", "elf_Waits", "elf_unexplained", "elf_notes_of",
    ]  # fmt: skip
    assert Page("elf_bare 1\n").problems()
