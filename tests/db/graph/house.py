"""The whole family over HTTP in this process, on real files and a real Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import anyio
import httpx

from elf.config.load import loads
from elf.db.database import Database
from elf.families.graph.manifest import GRAPH
from elf.family import Opened, tables_of
from elf.ground import Ground, Models, ProcessId, Roles
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.search.trace_store import LEASE_S, TraceStore, search_queries
from elf.web.app import create_app
from elf.web.readiness import Readiness
from tests.notes_kit import FakeEmbedder, TurnedClock, WordTokens
from tests.rpc_kit import named
from tests.system.service import write_config

T = TypeVar("T")
TENANT = "acme"
PLANNER = {"orchestrator_id": "planner"}
FACT: dict[str, Any] = {
    "memoryId": "m1",
    "type": "Fact",
    "importance": 50,
    "content": "The office is in Lisbon.",
    "confidence": 0.8,
    "source": {"sourceType": "manual", "capturedBy": "user"},
}


def fact(memory_id: str, **other: Any) -> dict[str, Any]:
    """Return a memory to write that is like the usual one but for what is said."""
    return {**FACT, "memoryId": memory_id, **other}


def link(start: str, end: str, edge_type: str = "RelatedTo", **other: Any) -> dict[str, Any]:
    """Return an edge to write."""
    return {"fromMemoryId": start, "toMemoryId": end, "edgeType": edge_type, "weight": 0.5, **other}


async def eventually(ask: Callable[[], Awaitable[T]], is_so: Callable[[T], Any]) -> T:
    """Ask until the answer is as it should be, and return it; something in the service is to come to pass."""
    with anyio.fail_after(60):
        while True:
            answer = await ask()
            if is_so(answer):
                return answer
            await anyio.sleep(0.01)


@dataclass
class House:
    """A process that serves the graph: asked over HTTP, as tenant acme of the orchestrator planner."""

    client: httpx.AsyncClient
    model: FakeEmbedder
    clock: TurnedClock
    root: Path
    opened: Opened

    async def post(self, path: str, status: int = 200, /, **body: Any) -> Any:
        """Return the JSON of an answer, which has this status."""
        answer = await self.client.post(f"/v1/graph/{path}", json={**PLANNER, **body})
        assert answer.status_code == status, answer.text
        return answer.json()

    async def erase(self, **what: Any) -> Any:
        """Return the receipt of an erasure."""
        answer = await self.client.post("/v1/admin/graph/erase", json={**PLANNER, **what})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def get(self, path: str, status: int = 200, /, **query: Any) -> Any:
        """Return the JSON of an answer, which has this status."""
        answer = await self.client.get(f"/v1/graph/{path}", params={**PLANNER, **query})
        assert answer.status_code == status, answer.text
        return answer.json()

    def memory(self, orchestrator_id: str = "planner") -> Path:
        """Return the folder of a memory."""
        return self.root / TENANT / orchestrator_id / "memory"


def graph_config(
    folder: Path, table: str = "", *, root: str = "memories", auto_register: bool = True
) -> Path:
    """Write a config with the graph in it; `table` is what else [graph] has."""
    path = write_config(folder)
    text = path.read_text(encoding="utf-8").partition("\n[graph]\n")[0]
    own = f"[graph]\nroot = '{root}'\nauto_register = {str(auto_register).lower()}\n{table}"
    path.write_text(f"{text}\n{own}", encoding="utf-8")
    return path


def _no_index(space: Space) -> VectorIndex:
    raise AssertionError(f"the graph needs no index, and {space} is one")


@asynccontextmanager
async def house_at(
    database: Database, folder: Path, table: str = "", *, identify: Callable[..., Any] = named, **keys: Any
) -> AsyncIterator[House]:
    """Serve the graph, with files below a folder, for the block; `keys` are those of `graph_config`."""
    path = graph_config(folder, table, **keys)
    config = loads(path.read_text(encoding="utf-8"), source=str(path), folder=folder, tables=_tables())
    model, clock = FakeEmbedder(), TurnedClock()
    ground = Ground(
        config=config,
        process=ProcessId(id=uuid4(), name="test"),
        roles=Roles(serves=True, administers=False, works=True),
        clock=clock,
        database=database,
        reads=database,
        dsn=lambda: "",
        models=Models(embedder=model),
        texts=TextEmbedder(model, WordTokens(), 64, 0, "words"),
        fleet=Fleet(model.version, None),
        ring=lambda queue: lambda: None,
        index=_no_index,
        fresh=FreshWrites(),
        tokens=None,
        traces=TraceStore(database, search_queries(), lease_seconds=LEASE_S),
        search=None,
    )
    opened = GRAPH.open(ground)
    app = create_app(
        (*GRAPH.operations, *GRAPH.admin_operations),
        opened.handlers,
        readiness=lambda: Readiness(ready=True, parts=[]),
        identify=identify,
        policies=GRAPH.paths,
    )
    async with anyio.create_task_group() as group:
        for owner in opened.owners:
            await group.start(owner.run)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://elf", headers={"x-tenant": TENANT}
        ) as client:
            yield House(client, model, clock, folder / keys.get("root", "memories"), opened)
        group.cancel_scope.cancel()


def _tables() -> Any:
    from elf.config.tables import TABLES

    return {**TABLES, **tables_of([GRAPH])}
