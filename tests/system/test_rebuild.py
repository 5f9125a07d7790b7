"""Section 19 D against the running service: an index that was lost is rebuilt from Postgres without one embedding call.

The model is a scripted one behind a real socket, where the calls are counted.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

import httpx
import numpy as np
import psutil
import pytest

from elf.cli import main
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.port import IndexPoint, StoredPoint
from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat, running_chat
from tests.system.fake_model import DIMENSIONS, embed, embedded_texts, point_embedding
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.truth import assert_all_there, rows, wait_indexed

T = TypeVar("T")

REBUILD, DRIFT, REPAIR = (f"/v1/admin/{name}" for name in ("rebuild_qdrant", "index_drift", "index_repair"))
NO_DRIFT = {"missing_count": 0, "stale_count": 0, "orphaned_count": 0, "moving_count": 0, "given_up_count": 0}
THINGS = (
    "anchor",
    "basket",
    "candle",
    "dagger",
    "engine",
    "feather",
    "garden",
    "hammer",
    "island",
    "jacket",
    "kettle",
)
PLACES = ("attic", "barn", "cellar", "dock", "forest", "harbour", "kitchen", "lobby", "meadow", "office")


@pytest.fixture(scope="module")
def model() -> Iterator[FakeChat]:
    with running_chat() as model:
        model.script(embed)
        yield model


@pytest.fixture(scope="module")
def remote(model: FakeChat, model_folder: Path) -> Iterator[RunningService]:
    """A service whose embedding model is `model`, at an admin port that its config file names."""
    with fresh_folder() as folder:
        admin = f'"127.0.0.1:{free_port()}"'
        config = write_config(folder, admin_bind=admin, cache_dir=f'"{model_folder}"')
        point_embedding(config, model.api_base)
        with RunningService(config) as running:
            yield running


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def index_folder(service: RunningService) -> Path:
    return service.config.parent / ".elf" / "index"


def in_index(service: RunningService, work: Callable[[EdgeIndex], Awaitable[T]]) -> T:
    """Do something with the service's index behind its back."""

    async def connected() -> T:
        index = EdgeIndex(index_folder(service), NOTES)
        try:
            return await work(index)
        finally:
            await index.aclose()

    return asyncio.run(connected())


async def all_points(index: EdgeIndex) -> list[StoredPoint]:
    return await index.scan(after=None, limit=10_000)


async def drop_all(index: EdgeIndex) -> None:
    await index.delete_points([point.point_id for point in await all_points(index)])


def store(service: RunningService, tenant: str, count: int = 60) -> dict[str, str]:
    """Store that many notes; their texts by id, once they are indexed."""
    texts = [
        f"The {THINGS[number % len(THINGS)]} number {number} is in the {PLACES[number % 10]}."
        for number in range(count)
    ]
    results = service.add(tenant, *(note(text, key=text) for text in texts))
    wait_indexed(service)
    return {result["note_id"]: text for result, text in zip(results, texts, strict=True)}


def live_chunks(service: RunningService) -> int:
    found = rows(
        service.config.parent,
        "SELECT count(*) AS chunks FROM memory_note_chunks JOIN memory_notes USING (note_id)"
        " WHERE status = 'active' AND (expires_at IS NULL OR expires_at > now())",
    )
    return int(found[0]["chunks"])


def rebuild(service: RunningService) -> dict[str, Any]:
    response = service.admin.post(REBUILD)
    assert response.status_code == 200, response.text
    report: dict[str, Any] = response.json()
    return report


def progress(service: RunningService) -> dict[str, Any]:
    body: dict[str, Any] = service.admin.get(REBUILD).json()
    return body


def drift(service: RunningService) -> dict[str, Any]:
    body: dict[str, Any] = service.admin.get(DRIFT).json()
    return body


# Rebuilding


def test_a_lost_index_is_rebuilt_and_every_note_found_without_one_embedding_call(
    remote: RunningService, model: FakeChat, tenant: str
) -> None:
    stored = store(remote, tenant)
    in_index(remote, drop_all)
    assert remote.search(tenant, stored[next(iter(stored))]) == []
    model.script(embed)
    expected = live_chunks(remote)
    assert rebuild(remote) == {
        "rebuilt_count": expected, "missing_vector_count": 0, "error_count": 0, "removed_count": 0,
    }  # fmt: skip
    assert model.asked == []
    assert len(in_index(remote, all_points)) == expected
    assert_all_there(remote, tenant, stored)
    said = progress(remote)
    assert (said["state"], said["done"], said["total"]) == ("done", expected, expected)
    assert said["started_at"] < said["finished_at"]
    assert (said["report"]["rebuilt_count"], said["last_error"]) == (expected, None)
    assert remote.events("index_rebuild_started")
    assert remote.events("index_rebuilt")[-1]["rebuilt"] == expected


def test_a_deleted_index_folder_is_made_anew_and_rebuilt(
    remote: RunningService, model: FakeChat, tenant: str
) -> None:
    stored = store(remote, tenant, 20)
    model.script(embed)
    former = remote.index_process().pid
    shutil.rmtree(index_folder(remote))
    assert rebuild(remote)["rebuilt_count"] == live_chunks(remote)
    assert remote.index_process().pid != former
    assert model.asked == []
    remote.wait_ready()
    assert_all_there(remote, tenant, stored)
    assert set(embedded_texts(model)) <= set(stored.values()), "only queries were embedded"
    assert drift(remote)["missing_count"] == 0


def test_writes_during_rebuilds_are_not_lost(remote: RunningService, tenant: str) -> None:
    stored = store(remote, tenant, 40)
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    changed = list(stored)[:20]
    deleted = list(stored)[20:25]
    failures: list[str] = []

    def write() -> None:
        for number, note_id in enumerate(changed):
            text = f"Somebody moved piece {number} to the {PLACES[number % 10]} roof."
            answer = remote.post("update", place | {"note_id": note_id, "text": text})
            stored[note_id] = text
            failures.extend([answer.text] if answer.status_code != 200 else [])
        for note_id in deleted:
            remote.post("delete", place | {"note_id": note_id})
            del stored[note_id]
        (added,) = remote.add(tenant, note("A late note arrives by pigeon.", key="late"))
        stored[added["note_id"]] = "A late note arrives by pigeon."

    writing = threading.Thread(target=write)
    writing.start()
    rebuilds = 0
    while writing.is_alive() or rebuilds < 3:
        assert rebuild(remote)["error_count"] == 0
        rebuilds += 1
    writing.join()
    assert failures == []
    assert_all_there(remote, tenant, stored)
    assert {name: count for name, count in drift(remote).items() if name != "examples"} == NO_DRIFT


def test_a_rebuild_outlives_its_client_and_runs_alone(remote: RunningService, tenant: str) -> None:
    store(remote, tenant, 5)
    index = remote.index_process()
    index.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(httpx.ReadTimeout):
            remote.admin.post(REBUILD, timeout=0.3)
        assert progress(remote)["state"] == "running"
        second = remote.admin.post(REBUILD)
        assert (second.status_code, second.json()["error_code"]) == (400, "INVALID_REQUEST")
        assert "already" in second.json()["message"]
    finally:
        index.send_signal(signal.SIGCONT)
    wait_for(lambda: progress(remote)["state"] == "done", "the rebuild has ended")
    assert progress(remote)["report"]["rebuilt_count"] == live_chunks(remote)


def test_an_index_process_that_is_killed_in_a_rebuild_is_waited_for(
    remote: RunningService, tenant: str
) -> None:
    stored = store(remote, tenant, 30)
    index: psutil.Process = remote.index_process()
    index.send_signal(signal.SIGSTOP)
    reports: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: reports.append(rebuild(remote)))
    asking.start()
    wait_for(lambda: progress(remote)["state"] == "running", "the rebuild runs")
    index.send_signal(signal.SIGKILL)
    asking.join()
    assert (reports[0]["rebuilt_count"], reports[0]["error_count"]) == (live_chunks(remote), 0)
    remote.wait_ready()
    assert_all_there(remote, tenant, stored)


# Drift


def old_point(point_id: UUID, owner_id: UUID) -> IndexPoint:
    payload = {"tenant_id": "nobody", "status": "active", "updated_at": "2020-01-01T00:00:00+00:00"}
    return IndexPoint(point_id, owner_id, np.ones(DIMENSIONS, np.float32), "text", payload)


def test_planted_drift_is_counted_named_and_mended_and_nothing_else(
    remote: RunningService, model: FakeChat, tenant: str
) -> None:
    stored = store(remote, tenant, 10)
    assert remote.admin.post(REPAIR).status_code == 200
    assert {name: count for name, count in drift(remote).items() if name != "examples"} == NO_DRIFT
    model.script(embed)
    missing, stale = [point for point in in_index(remote, all_points) if str(point.owner_id) in stored][:2]
    orphan = old_point(uuid4(), uuid4())

    async def plant(index: EdgeIndex) -> None:
        await index.delete_points([missing.point_id])
        await index.upsert([old_point(stale.point_id, stale.owner_id), orphan])

    before = {point.point_id: point for point in in_index(remote, all_points)}
    in_index(remote, plant)
    found = drift(remote)
    examples = found.pop("examples")
    assert found == {
        "missing_count": 1,
        "stale_count": 1,
        "orphaned_count": 1,
        "moving_count": 0,
        "given_up_count": 0,
    }
    assert examples == {
        kind: [{"chunk_id": str(point.point_id), "note_id": str(point.owner_id)}]
        for kind, point in (("missing", missing), ("stale", stale), ("orphaned", orphan))
    }
    assert orphan.point_id in {point.point_id for point in in_index(remote, all_points)}, "it writes nothing"
    assert remote.admin.get(DRIFT, params={"examples": "0"}).json()["examples"] == {
        "missing": [], "stale": [], "orphaned": [],
    }  # fmt: skip
    repaired = remote.admin.post(REPAIR).json()
    assert repaired == found | {"jobs": 3, "open_jobs": 0}
    assert {point.point_id: point for point in in_index(remote, all_points)} == before
    assert model.asked == []
    assert_all_there(remote, tenant, stored)


# Asking


def test_the_command_line_rebuilds_compares_and_repairs(
    remote: RunningService, tenant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store(remote, tenant, 5)
    config = ["-c", str(remote.config)]
    assert main(["rebuild", *config]) == 0
    assert f"rebuilt         {live_chunks(remote)}\n" in capsys.readouterr().out
    in_index(remote, lambda index: index.upsert([old_point(uuid4(), uuid4())]))
    assert main(["drift", *config]) == 1
    assert "orphaned  1\n" in capsys.readouterr().out
    assert main(["drift", "--repair", *config]) == 0
    assert main(["drift", *config]) == 0


def test_only_operators_may_ask_and_only_in_the_right_form(remote: RunningService) -> None:
    for path in (REBUILD, REPAIR):
        assert remote.client.post(path).status_code == 404
        refused = remote.admin.post(path, json={"force": True})
        assert (refused.status_code, refused.json()["fields"]) == (400, ["$.force"])
    assert remote.client.get(DRIFT).status_code == 404
    for examples in ("-1", "101", "many"):
        refused = remote.admin.get(DRIFT, params={"examples": examples})
        assert (refused.status_code, refused.json()["fields"]) == (400, ["$.examples"])
    assert remote.complaints() == []
