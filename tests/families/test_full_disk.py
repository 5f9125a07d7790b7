"""A full disk: what is read is answered, what is written is refused for now, and nothing acknowledged is lost."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from elf.client import Client, ServiceError
from elf.client.retries import NO_RETRIES
from tests.families.every import PROOFS
from tests.families.served import config_of_all, service_of_all
from tests.families.webhooks_proof import other_complaints
from tests.families.work import Crew, Task
from tests.folders import fresh_folder
from tests.metrics_kit import Page
from tests.system import small_disk
from tests.system.service import RunningService, add_body, note, search_body, wait_for

DISK_MB: Final = "900"
TENANTS: Final = ("first", "second")
EACH: Final = 2
USER: Final = "ana"
QUERY: Final = "what does Ana drink?"
TEXT: Final = "Preference: Ana drinks green tea."

READS: Final[Mapping[str, Callable[[Client], object]]] = {
    "recall": lambda client: client.memories.recall(QUERY, user_id=USER, agent_id="a"),
    "context": lambda client: client.memories.context(QUERY, user_id=USER, agent_id="a"),
    "list of conversations": lambda client: [*client.conversations.list()],
    "search of conversations": lambda client: [*client.conversations.search(QUERY)],
    "search of knowledge": lambda client: client.knowledge.search(QUERY),
    "recall of knowledge": lambda client: client.knowledge.recall(QUERY),
    "context of knowledge": lambda client: client.knowledge.context(QUERY, "travel"),
    "value": lambda client: client.store.get(["tea"], "kind", user_id=USER),
    "search of values": lambda client: client.store.search(QUERY, namespace=["tea"], user_id=USER),
    "recall of the graph": lambda client: client.graph.recall(QUERY),
    "bulletin of the graph": lambda client: client.graph.bulletin("m-1", QUERY),
    "context of the graph": lambda client: client.graph.context("selector", message_id="m-2", message=QUERY),
    "status of the graph": lambda client: client.graph.status(),
    "query of the assistant": lambda client: client.assistant.query(QUERY, agent="supervisor", user_id=USER),
    "list of the assistant": lambda client: [*client.assistant.list(user_id=USER)],
    "files of the assistant": lambda client: [*client.assistant.files(user_id=USER)],
}
WRITES: Final[Mapping[str, Callable[[Client], object]]] = {
    "remember": lambda client: client.memories.remember([{"content": TEXT}], user_id=USER),
    "value": lambda client: client.store.put(["tea"], "kind", {"tea": "green"}, ttl=60, user_id=USER),
    "episode": lambda client: client.knowledge.store_episode(TEXT, "travel"),
    "memory of the graph": lambda client: client.graph.remember(TEXT, "Preference"),
    "memory of the assistant": lambda client: client.assistant.add(TEXT, "preferences", user_id=USER),
    "file of the assistant": lambda client: client.assistant.create_file(
        f"/memories/{uuid4().hex}.md", TEXT, user_id=USER
    ),
}


def put_much(client: Client) -> None:
    client.store.put(["much"], uuid4().hex, secrets.token_hex(100_000), is_indexed=False, user_id=USER)


def wait_refused(client: Client) -> None:
    wait_for(lambda: refusals({"much": put_much}, client), "there is no room left")


@contextmanager
def clients(service: RunningService) -> Iterator[dict[str, Client]]:
    with ExitStack() as stack:
        yield {
            tenant: stack.enter_context(
                Client(service.url, tenant_id=tenant, project_id="p", agent_id="a", retries=NO_RETRIES)
            )
            for tenant in TENANTS
        }


def refusals(acts: Mapping[str, Callable[[Client], object]], client: Client) -> dict[str, tuple[int, str]]:
    """Which of the acts are refused, and how."""
    refused = {}
    for name, act in acts.items():
        try:
            act(client)
        except ServiceError as error:
            refused[name] = (error.status, error.message)
    return refused


def judge_operators(service: RunningService) -> None:
    """Without room for a row of the audit log, what is read is answered, and nothing is exported or changed."""

    def statuses() -> tuple[int, int, int]:
        export = service.admin.get("/v1/admin/export", params={"tenant_id": TENANTS[0], "user_id": USER})
        change = service.admin.post(
            "/v1/admin/graph/recover", json={"tenant_id": "none", "orchestrator_id": "none"}
        )
        return service.admin.get("/v1/admin/jobs/counts").status_code, export.status_code, change.status_code

    wait_for(lambda: statuses() == (200, 503, 503), "there is no room left for a row")
    told = service.events("audit_unwritten")
    if {line["operation"] for line in told} != {"count_jobs", "export_memory", "graph_recover"}:
        raise AssertionError(told)


def refuse_none(acts: Mapping[str, Callable[[Client], object]], client: Client) -> None:
    if refused := refusals(acts, client):
        raise AssertionError(refused)


def live_through_it(config: Path, disk: Path) -> None:
    """What the test does where the small disk can be seen."""
    with service_of_all(config) as service, clients(service) as two:
        for tenant, client in two.items():
            refuse_none(WRITES, client)
            assert service.post("add_note", add_body(tenant, note(TEXT))).is_success
        tasks = [
            Task(
                proof.work,
                [service],
                {"tenant_id": f"{tenant} {proof.name}", "project_id": "p", "agent_id": "a"},
            )
            for tenant, proofs in ((TENANTS[0], PROOFS), (TENANTS[1], PROOFS[:1]))
            for proof in proofs
        ]
        with ExitStack() as stack:
            crews = [
                stack.enter_context(Crew(task, clients=1, seed=seed, pause_s=0.1))
                for seed, task in enumerate(tasks)
            ]
            for crew in crews:
                crew.wait_done(EACH)
            small_disk.fill(disk / "filler")
            wait_for(lambda: not two[TENANTS[0]].ready().ready, "it says that the disk is full")
            small_disk.fill(disk / "filler")
            for tenant, client in two.items():
                refuse_none(READS, client)
                found = service.post("search", search_body(tenant, QUERY))
                assert found.json()["items"], found.text
                # What fits into pages that there are is still taken.
                refused = refusals(WRITES, client)
                assert {status for status, _ in refused.values()} <= {503}, refused
                wait_refused(client)
                assert "trace" in client.memories.recall(QUERY, user_id=USER).degraded
            assert Page(service.admin.get("/metrics").text).value("elf_recall_traces_dropped_total") >= 2
            judge_operators(service)
            (disk / "filler").unlink()
            wait_for(lambda: two[TENANTS[0]].ready().ready, "it is ready again")
            for crew in crews:
                crew.wait_done(EACH)
        for task, crew in zip(tasks, crews, strict=True):
            if problems := [*crew.faults, *task.problems(crew.claims)]:
                raise AssertionError(task.place, problems)
        for client in two.values():
            refuse_none(READS, client)
        if complaints := other_complaints(service):
            raise AssertionError(complaints)


@pytest.mark.timeout(600)  # it is the work of all families
@pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux to have a disk of one's own")
def test_a_full_disk_stops_no_reader_and_loses_nothing(model_folder: Path) -> None:
    with fresh_folder() as folder:
        (disk := folder / "disk").mkdir()
        config = config_of_all(
            folder, cache_dir=f'"{model_folder}"', dsn=f'"embedded:{disk}/postgres"', url=f'"edge:{disk}/index"',
            root=f'"{disk}/graph"',
        )  # fmt: skip
        result = small_disk.completed(disk, DISK_MB, live_through_it, config, disk)
    if result.returncode == small_disk.CANNOT:
        pytest.skip("this system lets nobody mount a disk of their own")
    assert result.returncode == 0, result.stderr
