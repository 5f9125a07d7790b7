"""What a family gets from the house by its manifest alone, on the toy family that keeps rows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import anyio
import httpx
import numpy as np
import pytest

from elf.api.caller import ANONYMOUS
from elf.core.clock import SystemClock
from elf.core.errors import NotFound
from elf.db import migration
from elf.db.database import Database
from elf.db.schema import schema_steps
from elf.family import Opened
from elf.ground import Ground, Models, ProcessId, Roles
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.offers import Question, Subject
from elf.outbox.chores import Due
from elf.search.trace_store import LEASE_S, TraceStore, search_queries
from tests.families.served import config_of_all, loaded
from tests.families.toy_rows.manifest import TOY_ROWS
from tests.metrics_kit import Page
from tests.system.service import RunningService, wait_for

OWNER = Subject(tenant_id="t", user="p")


def place(tenant: str) -> dict[str, str]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}


# Over HTTP


def test_each_form_of_operation_answers_as_it_says(service: RunningService) -> None:
    tenant = uuid4().hex
    client, here = service.client, place(tenant)
    put = client.post("/v1/toy_rows/toys", json={**here, "words": "ein Bär und eine 电车"})
    assert (put.status_code, put.json()["words"]) == (201, "ein Bär und eine 电车")
    several = client.post(f"/v1/toy_rows/{tenant}/p/a/toys", json=["a ball", "a kite"])
    assert several.status_code == 201, several.text
    one = f"/v1/toy_rows/toys/{several.json()['toys'][0]['toy_id']}"
    with client.stream("GET", "/v1/toy_rows/all", params=here) as stream:
        events = [json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line]
    words = [event["words"] for event in events]
    assert (words[0], sorted(words[1:])) == ("ein Bär und eine 电车", ["a ball", "a kite"])
    gone = client.delete(one, params=here)
    assert (gone.status_code, gone.content) == (204, b"")
    missing = client.get(one, params=here)
    assert (missing.status_code, list(missing.json())) == (404, ["problem"])
    assert client.delete(one, params=here).json()["error_code"] == "NOT_FOUND"
    assert client.post("/v1/toy_rows/empty", json=here).json()["error_code"] == "FORBIDDEN"
    wrong = client.post(f"/v1/toy_rows/{tenant}/p/a/toys", json=["a ball", ""])
    assert (wrong.status_code, wrong.json()["fields"]) == (400, ["$[1]"])


def test_what_is_put_is_found_by_its_queue_and_counted_by_its_chore(
    service: RunningService, tenant: str
) -> None:
    here = place(tenant)
    service.client.post("/v1/toy_rows/toys", json={**here, "words": "a wooden train"})

    def found() -> list[str]:
        answer = service.client.post("/v1/toy_rows/find", json={**here, "query": "train"})
        return [toy["words"] for toy in answer.json()["toys"]]

    wait_for(lambda: found() == ["a wooden train"], "the toy is found")

    def metrics() -> Page:
        return Page(service.admin.get("/metrics").text)

    wait_for(lambda: metrics().value("elf_toys") >= 1, "the chore has counted")
    page = metrics()
    assert page.has("elf_outbox_jobs", family="toy_rows", outbox="toy_vectors", status="pending")
    assert page.value("elf_chore_last_done_timestamp_seconds", family="toy_rows", chore="count") > 0
    assert page.has("elf_gc_step_failures_total", family="toy_rows", step="done_toy_jobs")
    parts = {part["name"] for part in service.client.get("/ready").json()["parts"]}
    assert {"toy_diary", "toy_vectors_dispatcher", "toy_vectors_worker_1"} <= parts
    assert "done_toy_jobs" in service.admin.post("/v1/admin/gc").json()["counts"]


def test_it_stands_in_the_documents(service: RunningService) -> None:
    document = service.client.get("/openapi.json").json()
    ids = {entry["operationId"] for methods in document["paths"].values() for entry in methods.values()}
    assert {operation.name for operation in TOY_ROWS.operations} <= ids
    page = service.client.get("/docs").text
    assert all(operation.summary in page for operation in TOY_ROWS.operations)


def test_its_tools_are_at_a_path_of_their_own(service: RunningService, tenant: str) -> None:
    def ask(method: str, params: dict[str, object]) -> httpx.Response:
        return httpx.post(
            f"{service.mcp_url}/toy_rows",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={"accept": "application/json, text/event-stream"},
            timeout=60.0,
        )

    tools = ask("tools/list", {}).json()["result"]["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in TOY_ROWS.tools]
    arguments = {**place(tenant), "words": "a spinning top"}
    result = ask("tools/call", {"name": "put_toy", "arguments": arguments}).json()["result"]
    assert json.loads(result["content"][0]["text"])["words"] == "a spinning top"


# What it offers to whoever stands above all families


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as asyncpg is


class Model:
    """Embeds a text as the one of two directions that its first letter says."""

    version = "toys:1:384"
    dimensions = 384

    async def embed(self, texts: list[str]) -> np.ndarray:
        return np.stack([np.eye(384, dtype=np.float32)[ord(text[0]) % 2] for text in texts])


def no_index(space: Space) -> VectorIndex:
    raise AssertionError(f"rows need no index, and {space} is one")


@asynccontextmanager
async def opened(dsn: str, folder: Path) -> AsyncIterator[Opened]:
    """The family on a database of its own."""
    await migration.apply(dsn, schema_steps([("toy_rows", TOY_ROWS.sql_folder)]), vector_dim=384)
    database = Database(max_conns=4)
    await database.open(dsn)
    clock = SystemClock()
    ground = Ground(
        config=loaded(config_of_all(folder)),
        process=ProcessId(id=uuid4(), name="test"),
        roles=Roles(serves=True, administers=False, works=True),
        clock=clock,
        database=database,
        reads=database,
        dsn=lambda: dsn,
        models=Models(embedder=Model()),
        texts=None,
        fleet=Fleet(Model.version, None),
        ring=lambda queue: lambda: None,
        index=no_index,
        fresh=FreshWrites(),
        tokens=None,
        traces=TraceStore(database, search_queries(), lease_seconds=LEASE_S),
        search=None,
    )
    family = TOY_ROWS.open(ground)
    (diary,) = family.owners
    try:
        async with anyio.create_task_group() as group:
            await group.start(lambda *, task_status: diary.run(task_status=task_status))
            yield family
            group.cancel_scope.cancel()
    finally:
        await database.close()


async def taken_in(family: Opened, *words: str, user: str = "p") -> list[str]:
    assert family.subjects is not None
    toys = [{"toy_id": str(uuid4()), "tenant_id": "t", "project_id": user, "words": one} for one in words]
    assert await family.subjects.take_in(toys) == len(words)
    (queue,) = family.queues
    await queue.handle(await queue.outbox.lease(100))
    return [toy["toy_id"] for toy in toys]


@pytest.mark.anyio
async def test_it_recalls_reads_and_forgets_items(empty_dsn: str, tmp_path: Path) -> None:
    async with opened(empty_dsn, tmp_path) as family:
        assert family.recall is not None
        assert family.items is not None
        bear, _ = await taken_in(family, "bear", "ark")
        await taken_in(family, "boat", user="another")
        vector = np.eye(384, dtype=np.float32)[ord("b") % 2]
        question = Question(text="bear", vector=vector, subject=OWNER, limit=1)
        (item,) = await family.recall(question, ANONYMOUS)
        assert (item.id, item.text, item.score) == (bear, "bear", pytest.approx(1.0))
        assert (await family.items.read("toy", bear, OWNER, ANONYMOUS)).text == "bear"
        await family.items.forget("toy", bear, OWNER, ANONYMOUS)
        with pytest.raises(NotFound):
            await family.items.read("toy", bear, OWNER, ANONYMOUS)


@pytest.mark.anyio
async def test_what_is_exported_can_be_taken_in_and_what_is_erased_is_in_no_file(
    empty_dsn: str, tmp_path: Path
) -> None:
    async with opened(empty_dsn, tmp_path) as family:
        assert family.subjects is not None
        ids = await taken_in(family, "bear", "ark")
        (other,) = await taken_in(family, "boat", user="another")
        exported = [one async for one in family.subjects.export(OWNER)]
        assert {one["words"] for one in exported} == {"bear", "ark"}
        assert await family.subjects.erase(OWNER) == {"toys": 2, "lines of the diary": 2}
        assert [one async for one in family.subjects.export(OWNER)] == []
        diary = (tmp_path / "toys.txt").read_text()
        assert other in diary
        assert not any(one in diary for one in ids)
        assert await family.subjects.take_in(exported) == 2
        again = [one async for one in family.subjects.export(OWNER)]
        assert sorted(again, key=str) == sorted(exported, key=str)


@pytest.mark.anyio
async def test_its_chore_has_the_tenants_as_subjects(empty_dsn: str, tmp_path: Path) -> None:
    async with opened(empty_dsn, tmp_path) as family:
        await taken_in(family, "bear")
        (chore,) = family.chores
        assert await chore.subjects() == ["t"]
        await chore.run(Due("t", SystemClock().now(), 1))
        (gauge,) = family.stored_gauges
        assert await gauge.read() == {(): 1.0}
