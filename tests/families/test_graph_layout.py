"""A memory whose folder leads elsewhere is nobody's to read or write, by whatever is offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.families.fronts import Front, Fronts, HttpFront, Reply, request_for
from tests.families.graph_rows import CHANGING, READING
from tests.families.graph_world import GraphWorld, settle
from tests.system.service import RunningService

ROWS = {name: row for row in (*READING, *CHANGING) for name in row.names}
WITHOUT_MEMORY = {"graph_context", "graph_bulletin", "graph_status"}
"""They are answered whatever fails, and say that the memory is disabled."""


@pytest.fixture(scope="module")
def linked(service: RunningService, fronts: Fronts) -> Iterator[GraphWorld]:
    """What an orchestrator knows, in the place of another one: the folder of that one is a link to the first one's."""
    world = settle(fronts)
    place = {**world.place, "orchestrator_id": "linked", "requesting_orchestrator_id": "linked"}
    tenant = service.config.parent / ".elf" / "graph" / world.place["tenant_id"]
    (tenant / "linked").mkdir()
    (tenant / "linked" / "memory").symlink_to(tenant / "planner" / "memory")
    state, files = world.state(), _files(tenant)
    yield replace(world, place=place)
    assert (world.state(), _files(tenant)) == (state, files)


def _files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if not path.name.startswith("memory.db"))


def _asked(service: RunningService, front: Front, name: str, arguments: Mapping[str, Any]) -> Reply:
    if not isinstance(front, HttpFront):
        return front.ask(name, arguments)
    with httpx.Client() as http:
        base = service.admin_url if front.name == "admin" else service.url
        answer = http.send(request_for(http, front.where(name), arguments, base=base))
    return Reply(answer.is_success, answer.text, answer.status_code)


@pytest.mark.parametrize("name", ROWS)
def test_a_memory_over_a_link_is_disabled_and_nothing_of_it_is_told(
    service: RunningService, fronts: Fronts, linked: GraphWorld, name: str
) -> None:
    offering = fronts.offering(name)
    assert offering
    for front in offering:
        for attempt in ROWS[name].attempts:
            arguments = {**linked.place, **attempt.arguments(linked, linked)}
            reply = _asked(service, front, name, arguments)
            if name in WITHOUT_MEMORY:
                assert (reply.ok, reply.body["status"]) == (True, "disabled")
            else:
                assert (reply.ok, reply.body["error_code"]) == (False, "unsafe_layout")
            assert not [id for id in linked.ids.values() if id in reply.text]


def test_it_is_logged_why_it_is_disabled(service: RunningService, linked: GraphWorld) -> None:
    assert not service.client.get("/v1/graph/memories", params=dict(linked.place)).is_success
    logged = service.events("memory.worker.degraded", orchestrator_id="linked")
    assert {line["error_code"] for line in logged} == {"unsafe_layout"}
