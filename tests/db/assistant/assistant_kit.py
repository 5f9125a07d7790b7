"""The assistant family over HTTP: in this process with a model and a clock that a test can turn, and in a whole service
beside the other families, with its real fronts and the real embedded stack.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from actors.families import FAMILIES
from actors.processes.diverted_logs import LogDiversion
from actors.system import open_system
from actors.workers.leased_work import LeasedWork
from elf.config import Config, load
from elf.config.load import loads
from elf.config.tables import TABLES
from elf.db.database import Database
from elf.families.assistant.manifest import ASSISTANT
from elf.families.assistant.query.hits import HitCounter
from elf.family import Opened
from elf.ground import Ground, Models, ProcessId, Roles
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet
from elf.indexing.fresh import FreshWrites
from elf.outbox.leases import Job
from elf.providers.port import Chat
from elf.search.trace_store import LEASE_S, TraceStore, search_queries
from elf.web.app import create_app
from elf.web.readiness import Readiness
from tests.database_template import copy_template_for
from tests.keys_kit import with_keys
from tests.notes_kit import FakeEmbedder, TurnedClock, WordTokens
from tests.rpc_kit import named
from tests.system.fake_chat import point_extractor
from tests.system.fake_model import point_embedding
from tests.system.service import write_config

TENANT = "acme"
USER = "ana"
NOTHING_ELSE = "[assistant.background]\ninsights = false\nepisodes = false\nprocedures = false\n"


class Addresses(NamedTuple):
    """Where a service answers: over HTTP, and where the tools of the assistant are."""

    http: str
    mcp: str


@dataclass
class AssistantHouse:
    """A process that serves the assistant and does its jobs when it is told to: asked as tenant acme of user ana."""

    client: httpx.AsyncClient
    model: FakeEmbedder
    clock: TurnedClock
    database: Database
    opened: Opened

    async def ask(self, method: str, path: str, status: int = 200, /, **said: Any) -> Any:
        """Return the JSON of an answer to a request, which has this status. `user_id=None` leaves the user out."""
        fields = {name: value for name, value in ({"user_id": USER} | said).items() if value is not None}
        where = {"params": fields} if method in ("GET", "DELETE") else {"json": fields}
        answer = await self.client.request(method, f"/v1/assistant/{path}", **where)  # type: ignore[arg-type]
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def post(self, path: str, status: int = 200, /, **body: Any) -> Any:
        return await self.ask("POST", path, status, **body)

    async def get(self, path: str, status: int = 200, /, **query: Any) -> Any:
        return await self.ask("GET", path, status, **query)

    async def patch(self, path: str, status: int = 200, /, **body: Any) -> Any:
        return await self.ask("PATCH", path, status, **body)

    async def delete(self, path: str, status: int = 200, /, **query: Any) -> Any:
        return await self.ask("DELETE", path, status, **query)

    async def add(self, text: str = "User prefers tea.", category: str = "preferences", **other: Any) -> Any:
        """Add a memory and return it as it is kept."""
        return (await self.post("memories", text=text, category=category, **other))["memory"]

    async def rows(self, sql: str, *arguments: Any) -> list[Mapping[str, Any]]:
        """Look into the database."""
        async with self.database.connection() as connection:
            return await connection.fetch(sql, *arguments)

    async def settle_hits(self) -> None:
        """Wait until all hits are written."""
        (counter,) = (owner for owner in self.opened.owners if isinstance(owner, HitCounter))
        await counter.settled()

    async def jobs(self) -> list[Job]:
        """Lease the jobs that are due."""
        return await self.opened.outboxes["assistant"].lease(100)

    async def jobs_after_turns(self) -> list[Job]:
        """Read turns, and lease the jobs that wait for them."""
        (queue,) = self.opened.queues
        waiting: list[Job] = []
        while jobs := await self.jobs():
            rows = await self.rows("SELECT outbox_id FROM assistant_outbox WHERE kind = 'turn'")
            turns = {row["outbox_id"] for row in rows}
            waiting += [job for job in jobs if job.outbox_id not in turns]
            if read := [job for job in jobs if job.outbox_id in turns]:
                await queue.handle(read)
        return waiting

    async def do_jobs(self) -> None:
        """Do what is due until nothing is; what fails is put off."""
        (queue,) = self.opened.queues
        work = LeasedWork(queue.outbox, queue.handle, caution=None, told={}, failure_event="job_failed")
        while jobs := await queue.outbox.lease(100):
            await work.do_or_give_back(jobs)

    async def make_due(self) -> None:
        """Have what was put off due at once."""
        await self.rows(
            "UPDATE assistant_outbox SET available_at = now() WHERE status IN ('PENDING', 'FAILED')"
        )


def assistant_config(folder: Path, table: str = "", **changes: str) -> Path:
    """Write a config with the assistant in it; `table` are lines of [assistant], `changes` as those of write_config."""
    path = write_config(folder, **changes)
    text = path.read_text(encoding="utf-8").partition("\n[assistant]\n")[0]
    path.write_text(f"{text}\n[assistant]\n{table}", encoding="utf-8")
    return path


def _no_index(space: Space) -> VectorIndex:
    raise AssertionError(f"the assistant needs no index, and {space} is one")


@asynccontextmanager
async def house_at(
    database: Database,
    folder: Path,
    table: str = "",
    *,
    identify: Callable[..., Any] = named,
    proves_users: bool = False,
    chat: Chat | None = None,
    background: bool = False,
    remote: bool = False,
) -> AsyncIterator[AssistantHouse]:
    """Serve the assistant for the block; `proves_users` as a service does that asks everybody who calls.

    `chat` is the language model, which is called scripted; without one fixed rules judge. With `background` turns leave
    work behind that makes something of the last words of their threads. `remote`: as if the embedding model were behind
    a URL.
    """
    path = assistant_config(folder, table if background else f"{table}\n{NOTHING_ELSE}")
    if chat is not None:
        point_extractor(path, "http://models.example/v1", timeout_ms=10_000)
    if remote:
        point_embedding(path, "http://models.example/v1")
    text = path.read_text(encoding="utf-8")
    if proves_users:
        text = with_keys(text, {"key": "k" * 43})
    config = loads(text, source=str(path), folder=folder, tables=TABLES)
    model, clock = FakeEmbedder(), TurnedClock()
    ground = Ground(
        config=config,
        process=ProcessId(id=uuid4(), name="test"),
        roles=Roles(serves=True, administers=True, works=True),
        clock=clock,
        database=database,
        reads=database,
        dsn=lambda: "",
        models=Models(embedder=model, extractor=chat),
        texts=TextEmbedder(model, WordTokens(), 64, 0, "words"),
        fleet=Fleet(model.version, None),
        ring=lambda queue: lambda: None,
        index=_no_index,
        fresh=FreshWrites(),
        tokens=None,
        traces=TraceStore(database, search_queries(), lease_seconds=LEASE_S),
        search=None,
    )
    opened = ASSISTANT.open(ground)
    family = ASSISTANT.fit(ASSISTANT, config)
    app = create_app(
        (*family.operations, *family.admin_operations),
        opened.handlers,
        readiness=lambda: Readiness(ready=True, parts=[]),
        identify=identify,
        policies=ASSISTANT.paths,
    )
    async with anyio.create_task_group() as group:
        for owner in opened.owners:
            await group.start(owner.run)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://elf", headers={"x-tenant": TENANT}
        ) as client:
            yield AssistantHouse(client, model, clock, database, opened)
        group.cancel_scope.cancel()


@contextmanager
def served_beside_the_others(path: Path) -> Iterator[str]:
    """Run a whole service in this process as a config file says, and give the address of its HTTP front."""
    with fronts_beside_the_others(path) as fronts:
        yield fronts.http


@contextmanager
def fronts_beside_the_others(path: Path) -> Iterator[Addresses]:
    """Run a whole service in this process as a config file says, and give the addresses of its fronts."""
    copy_template_for(path)
    with (
        start_blocking_portal("asyncio", {"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(_running(load(path))) as addresses,
    ):
        yield addresses


@asynccontextmanager
async def _running(config: Config) -> AsyncIterator[Addresses]:
    logs = LogDiversion("error")
    logs.enter()
    with logs.installed():
        async with open_system(config, families=FAMILIES) as system, anyio.create_task_group() as group:
            await group.start(system.run)
            yield Addresses(f"http://{system.fronts.http}", f"http://{system.fronts.mcp}{ASSISTANT.mcp_path}")
            group.cancel_scope.cancel()
