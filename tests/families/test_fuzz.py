"""Every operation answers whatever is sent to it as its OpenAPI document says, and nobody's memory suffers by it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.families.every import PROOFS
from tests.families.webhooks_proof import other_complaints
from tests.families.work import Crew, Task
from tests.fronts import examination
from tests.fronts.examination import Findings, examine
from tests.system.service import RunningService

EXAMPLES = 2  # random requests an operation; ops/fuzz/operations.py sends more, and the edges of every bound
PIECES = 5  # of work that has to outlast them


def test_both_fronts_answer_random_requests_as_their_documents_say(
    service: RunningService, tenant: str
) -> None:
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    tasks = [Task(family.work, [service], place) for family in PROOFS]
    claims = [_worked(task) for task in tasks]
    before = other_complaints(service)
    for url, least in ((service.url, 100), (service.admin_url, 35)):
        _assert_sound(examine(url, examples=EXAMPLES, coverage=False), least)
    assert other_complaints(service) == before
    assert [task.problems(of_task) for task, of_task in zip(tasks, claims, strict=True)] == [[]] * len(tasks)


def _worked(task: Task[Any]) -> list[object]:
    with Crew(task) as crew:
        crew.wait_done(PIECES)
    assert crew.faults == []
    return crew.claims


def _assert_sound(findings: Findings, least: int) -> None:
    assert findings.faults == {}
    assert findings.cases >= least
    assert findings.statuses[200] > 10
    assert findings.allowed[False] > 10
    assert findings.allowed[True] > 10


def test_a_document_that_says_less_or_more_than_the_service_does_is_found_out(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = httpx.get(f"{service.url}/openapi.json").json()
    document["paths"] = {path: document["paths"][path] for path in ("/v1/memory/list", "/ready")}
    listing = document["paths"]["/v1/memory/list"]["get"]
    bounds = {parameter["name"]: parameter["schema"] for parameter in listing["parameters"]}
    bounds["limit"] |= {"minimum": 0, "maximum": 10}  # the service takes 1 to 200
    del listing["responses"]["403"]
    part = document["components"]["schemas"]["Part"]
    del part["properties"]["restarts"]
    part["required"].remove("restarts")
    monkeypatch.setattr(examination, "document_at", lambda url: document)
    assert {
        "GET /v1/memory/list: took what its document forbids",
        "GET /v1/memory/list: refused what its document allows",
        "GET /v1/memory/list: status_code_conformance",
        "GET /ready: response_schema_conformance",
    } <= set(examine(service.url, examples=20).faults)
