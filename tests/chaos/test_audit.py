"""The audit log while the service is killed, and while Postgres does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from elf.core.api_key import new_key
from tests.chaos.audit_calls import Siege, guarded_config
from tests.chaos.kills import hang_postgres
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for
from tests.system.truth import rows

PROGRESS = "/v1/admin/rebuild_qdrant"  # which a process knows of itself


@pytest.mark.timeout(600)  # every operation is called, some of them beside a start
def test_each_answered_call_has_one_row_whenever_the_service_is_killed(model_folder: Path) -> None:
    key = new_key()
    with fresh_folder() as folder:
        config = guarded_config(folder, key, cache_dir=f'"{model_folder}"')
        with RunningService(config) as service:
            siege = Siege(service, key, seed=3)
            siege.run(calls=70, kills=2)
            assert [*siege.faults()] == []
            assert siege.kills == 2
            assert service.complaints() == []


@contextmanager
def unresponsive_postgres(service: RunningService) -> Iterator[None]:
    """Have Postgres stand still for the block."""
    postmaster = hang_postgres(service)
    stopped = [postmaster, *postmaster.children()]
    try:
        yield
    finally:
        for process in stopped:
            process.resume()


def outcomes(service: RunningService, id: str) -> list[str]:
    query = "SELECT outcome FROM audit_log WHERE request_id = $1::uuid"
    return [row["outcome"] for row in rows(service.config.parent, query, id)]


def test_while_postgres_does_not_answer_reads_are_answered_and_nothing_is_exported_or_changed(
    service: RunningService,
) -> None:
    read, export, change = (str(uuid4()) for _ in range(3))
    whose = {"tenant_id": "acme", "user_id": "ana"}
    with unresponsive_postgres(service):
        answer = service.admin.get(PROGRESS, headers={"X-Request-Id": read})
        assert answer.status_code == 200
        for refused in (
            service.admin.get("/v1/admin/export", params=whose, headers={"X-Request-Id": export}),
            service.admin.post("/v1/admin/gc", headers={"X-Request-Id": change}),
        ):
            assert (refused.status_code, refused.json()["error_code"]) == (503, "UNAVAILABLE")
            assert "audit log" in refused.json()["message"]
            assert int(refused.headers["Retry-After"]) > 0
    wait_for(lambda: service.client.get("/ready").status_code == 200, "it is ready again")
    unwritten = {line["request_id"]: line for line in service.events("audit_unwritten")}
    assert {read, export, change} <= unwritten.keys()
    assert unwritten[read]["operation"] == "rebuild_progress"
    assert "ana" not in str(unwritten[export])
    assert outcomes(service, read) == []
    for id in (export, change):  # its beginning may have come through late
        assert outcomes(service, id) in ([], ["begun"], ["UNAVAILABLE"])
    again = str(uuid4())
    assert service.admin.get(PROGRESS, headers={"X-Request-Id": again}).status_code == 200
    assert outcomes(service, again) == ["done"]
    assert service.events("garbage_collected", request_id=change) == []
