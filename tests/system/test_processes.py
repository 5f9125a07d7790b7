"""One service in several processes: what each of them runs, and what becomes of the others when one is killed."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psutil
import pytest

from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat, running_chat
from tests.system.fake_model import embed, embedded_texts, point_embedding
from tests.system.service import (
    REPO,
    RunningService,
    add_body,
    note,
    processes_of,
    search_body,
    up_command,
    wait_for,
    write_config,
)
from tests.system.several import SeveralProcesses, command, split
from tests.system.truth import rows

pytestmark = pytest.mark.timeout(240)  # a bound on hanging

LEASE_S = 5
COMMON = {
    "postgres_host",
    "database",
    "index_host",
    "trace_writer",
    "outbox_listener",
    "fresh_herald",
    "fleet_watch",
    "admin_front",
}
RECORDER = {"recording_news", "recording_keeper", "recording_follower"}
API = {
    "http_front", "grpc_front", "cache_writer", "token_writer",
    "query_batcher", "knowledge_batcher", "fresh_listener", *RECORDER,
}  # fmt: skip
INDEXING = {"indexing_worker_1", "indexing_worker_2", "indexing_dispatcher"}
WORKER = {*INDEXING, "notes_renewer", "gc_ticker"}


@pytest.fixture(scope="module")
def model() -> Iterator[FakeChat]:
    with running_chat() as model:
        model.script(embed)
        yield model


@pytest.fixture(scope="module")
def several(model: FakeChat, model_folder: Path) -> Iterator[SeveralProcesses]:
    """Two API processes, two workers and MCP; notes are embedded by `model`. It ends without a trace when told to."""
    with fresh_folder() as folder:
        config = split(write_config(folder, cache_dir=f'"{model_folder}"', lease_seconds=str(LEASE_S)))
        point_embedding(config, model.api_base, timeout_ms=60_000)
        with SeveralProcesses(config) as service:
            yield service
            assert service.stop() == 0
        assert processes_of(folder) == []
        assert service.complaints() == []
        tagged = {line.get("process") for line in map(json.loads, service.log.splitlines())}
        assert tagged >= {"api-1", "api-2", "worker-1", "worker-2", "mcp"}


def mcp_search(service: SeveralProcesses, tenant: str, query: str) -> list[dict[str, Any]]:
    """Search with a tool, as the plain request that MCP's stateless HTTP is."""
    call = {"name": "memory_search", "arguments": search_body(tenant, query)}
    answer = httpx.post(
        service.mcp_url,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"accept": "application/json, text/event-stream"},
        timeout=30.0,
    )
    items: list[dict[str, Any]] = json.loads(answer.json()["result"]["content"][0]["text"])["items"]
    return items


def found(client: httpx.Client, tenant: str, query: str) -> list[str]:
    answer = client.post("/v1/memory/search", json=search_body(tenant, query))
    assert answer.status_code == 200, answer.text
    return [item["note_id"] for item in answer.json()["items"]]


def added(client: httpx.Client, tenant: str, text: str, **fields: Any) -> str:
    answer = client.post("/v1/memory/add_note", json=add_body(tenant, note(text, **fields)))
    assert answer.status_code == 200, answer.text
    return str(answer.json()["results"][0]["note_id"])


def test_each_process_runs_what_its_role_needs_and_nothing_else(several: SeveralProcesses) -> None:
    for api in ("api-1", "api-2"):
        assert several.parts(api) & (COMMON | API | WORKER) == COMMON | API
    for worker in ("worker-1", "worker-2"):
        assert several.parts(worker) & (COMMON | API | WORKER) == COMMON | WORKER
    # The packaged model is the reranker's only, here; what MCP tools need is at the other end of a connection.
    assert {"onnxruntime", "tokenizers", "asyncpg"} <= _packages(several.pid("api-1"))
    packages = _packages(several.pid("worker-1"))
    assert "onnxruntime" not in packages
    assert {"tokenizers", "asyncpg"} <= packages
    assert {"onnxruntime", "tokenizers", "asyncpg", "numpy"}.isdisjoint(_packages(several.pid("mcp")))


def test_operators_reach_each_process_but_mcp_at_a_port_of_its_own(several: SeveralProcesses) -> None:
    admins = {line["process"]: line["address"] for line in several.events("admin_address")}
    assert list(admins) == ["api-1", "api-2", "worker-1", "worker-2"]
    assert f"http://{admins['api-1']}" == several.admin_url
    assert len(set(admins.values())) == 4
    for address in admins.values():
        assert "\nelf_ready " in httpx.get(f"http://{address}/metrics").text
        assert httpx.get(f"http://{address}/v1/admin/overview").status_code == 200


def _packages(pid: int) -> set[str]:
    """The Python packages that a process has loaded compiled parts of."""
    paths = [Path(file.path).parts for file in psutil.Process(pid).memory_maps()]
    return {parts[parts.index("site-packages") + 1] for parts in paths if "site-packages" in parts}


def test_a_note_added_through_one_process_is_found_through_the_others(
    several: SeveralProcesses, tenant: str
) -> None:
    with several.connected("api-1") as one, several.connected("api-2") as other:
        note_id = added(one, tenant, "The tram to the harbour leaves every ten minutes.")
        # News of the note reach the other process, which waits for it; without them it would be found a moment later.
        wait_for(lambda: found(other, tenant, "tram harbour") == [note_id], "the other process finds it")
        assert found(one, tenant, "tram harbour") == [note_id]
        (item,) = mcp_search(several, tenant, "tram harbour")
        assert item["note_id"] == note_id
        changed = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": note_id}
        answer = other.post("/v1/memory/update", json=changed | {"text": "The tram stops at midnight."})
        assert answer.json()["op"] == "UPDATE"
        wait_for(lambda: found(one, tenant, "tram midnight") == [note_id], "the first finds the new text")


def test_what_one_process_stores_of_conversations_the_other_lists_remembers_forks_and_finds(
    several: SeveralProcesses,
) -> None:
    path = f"/v1/conversations/{uuid4()}"
    proof = {"Authorization": f"Bearer ana-{uuid4().hex}", "X-Client-ID": "bot"}
    said = {
        "channel": "history",
        "contentType": "history",
        "content": [{"role": "AI", "text": "The ferry is late."}],
    }
    memory = {"channel": "memory", "contentType": "LC4J"}
    with several.connected("api-1") as one, several.connected("api-2") as other:

        def ask(client: httpx.Client, call: str, body: Any = None) -> Any:
            method, rest = call.split(" ")
            answer = client.request(method, rest, json=body, headers=proof)
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None

        first = ask(one, f"POST {path}/entries", said | {"indexedContent": "a late ferry"})["id"]
        second = ask(other, f"POST {path}/entries", said)["id"]
        assert [entry["id"] for entry in ask(one, f"GET {path}/entries")["data"]] == [first, second]
        assert ask(one, f"POST {path}/entries/sync", memory | {"content": [1, 2]})["epoch"] == 1
        grown = ask(other, f"POST {path}/entries/sync", memory | {"content": [1, 2, 3]})
        assert (grown["epoch"], grown["epochIncremented"], grown["entry"]["content"]) == (1, False, [3])
        assert ask(one, f"POST {path}/entries/sync", memory | {"content": [1, 2, 3]})["noOp"]
        fork = ask(other, f"POST {path}/entries/{second}/fork", {})["id"]
        assert [entry["id"] for entry in ask(one, f"GET /v1/conversations/{fork}/entries")["data"]] == [first]
        for way in ("fulltext", "auto"):
            found = ask(other, "POST /v1/conversations/search", {"query": "late ferry", "searchType": way})
            assert [hit["entryId"] for hit in found["data"]] == [first]
        ask(other, f"DELETE {path}")
        assert one.get(path, headers=proof).status_code == 404
        assert ask(one, "GET /v1/conversations?mode=all")["data"] == []


def test_the_jobs_of_a_killed_worker_are_done_by_the_other_when_their_lease_ends(
    several: SeveralProcesses, model: FakeChat, tenant: str
) -> None:
    """The model keeps one worker waiting; that one is killed, and the other is not kept waiting."""
    asked, answer = threading.Event(), threading.Event()

    def hold(body: dict[str, Any]) -> tuple[int, Any]:
        if "The lighthouse was built in 1901." in body["input"]:
            first = not asked.is_set()
            asked.set()
            if first:
                answer.wait(60.0)
        return embed(body)

    model.script(hold)
    try:
        with several.connected("api-1") as client:
            note_id = added(client, tenant, "The lighthouse was built in 1901.", key="lighthouse")
            assert asked.wait(30.0)
            name = _worker_at(several, model.askers[0])
            (job,) = rows(several.config.parent, "SELECT * FROM indexing_outbox WHERE note_id = $1", note_id)
            ready = len(several.events("process_ready", process=name))
            psutil.Process(several.pid(name)).kill()
            wait_for(lambda: found(client, tenant, "lighthouse") == [note_id], "the note is found")
        assert job["status"] == "PENDING"

        def jobs() -> list[Any]:
            return rows(several.config.parent, "SELECT * FROM indexing_outbox WHERE note_id = $1", note_id)

        wait_for(lambda: {one["status"] for one in jobs()} == {"DONE"}, "all jobs of the note are done")
        # The killed worker looks through the notes when it is back, and may have asked for this one anew meanwhile.
        if len(done := jobs()) == 1:
            assert done[0]["updated_at"] >= job["available_at"], "nobody touches a job while its lease lasts"
        assert embedded_texts(model).count("The lighthouse was built in 1901.") == 2
        several.wait_restarted(name, times=ready + 1)
    finally:
        answer.set()
        model.script(embed)


def _worker_at(several: SeveralProcesses, port: int) -> str:
    """The worker that a connection from this port belongs to."""
    (name,) = [
        name
        for name in ("worker-1", "worker-2")
        if any(one.laddr.port == port for one in psutil.Process(several.pid(name)).net_connections("tcp"))
    ]
    return name


def test_when_the_owner_of_the_index_is_killed_the_others_answer_and_one_takes_over(
    several: SeveralProcesses, tenant: str
) -> None:
    index = several.index_process()
    parent = index.ppid()
    (owner,) = [name for name in ("api-1", "api-2", "worker-1", "worker-2") if several.pid(name) == parent]
    other = "api-2" if owner == "api-1" else "api-1"
    ready = len(several.events("process_ready", process=owner))
    with several.connected(other) as client:
        note_id = added(client, tenant, "The night watchman has two dogs.")
        wait_for(lambda: found(client, tenant, "watchman dogs") == [note_id], "the note is found")
        psutil.Process(parent).kill()

        def taken_over() -> bool:
            assert found(client, tenant, "watchman dogs") == [
                note_id
            ]  # by exact search, while the index is away
            heir = several.index_process_or_none()
            return heir is not None and heir.pid != index.pid and client.get("/ready").status_code == 200

        wait_for(taken_over, "another process has the index")
        several.wait_restarted(owner, times=ready + 1)
        later = added(client, tenant, "The dogs are called Ajax and Bella.")
        wait_for(lambda: later in found(client, tenant, "Ajax Bella"), "what is written now is found")
    assert several.client.get("/ready").status_code == 200


# Separate commands


def test_separate_commands_join_a_service_that_runs(service: RunningService, tenant: str) -> None:
    with ThreadPoolExecutor(2) as pool, ExitStack() as stack:
        api, worker = command("api", service.config), command("worker", service.config)
        said, heard = pool.map(stack.enter_context, [api, worker])
        assert heard == "elf: ready\n"
        url = said.removeprefix("elf: ready at ").strip()
        with httpx.Client(base_url=url, timeout=30.0) as client:
            parts = {part["name"] for part in client.get("/ready").json()["parts"]}
            assert parts & (COMMON | API | WORKER) == COMMON | API
            note_id = added(client, tenant, "The bakery opens at six.")
            wait_for(lambda: found(client, tenant, "bakery") == [note_id], "it finds its own note")
        service.wait_found(tenant, "bakery", note_id)


def test_processes_end_when_the_one_that_started_them_is_killed(model_folder: Path) -> None:
    with fresh_folder() as folder:
        config = split(
            write_config(folder, cache_dir=f'"{model_folder}"'),
            "api = 0",
        )
        with (folder / "log").open("ab") as log:
            parent = subprocess.Popen(
                up_command(config), stdout=subprocess.PIPE, stderr=log, text=True, cwd=REPO
            )
        with parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "elf: ready\n"
            assert parent.stdout.readline().startswith("elf: admin at http://127.0.0.1:")
            assert parent.stdout.readline().startswith("elf: mcp at http://127.0.0.1:")
            names = {child.cmdline()[-2] for child in psutil.Process(parent.pid).children()}
            assert names == {"worker", "mcp"}
            parent.kill()
        wait_for(lambda: processes_of(folder) == [], "all of them are gone, and Postgres with them")
        logged = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
        gone = [line["process"] for line in logged if line["event"] == "parent_gone"]
        assert sorted(gone) == ["mcp", "worker"]
