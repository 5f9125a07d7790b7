#!/usr/bin/env python3
"""Write throughput of a running service, beside what bare asyncpg transactions with the same rows reach.

Starts nothing: give it the config file of a running service. 16 clients write keyed notes, one note a request and 100
notes a request; and 16 connections write the same rows of 100 notes a transaction straight into a database of their own
on the same server, made for it and dropped, so that nothing indexes them meanwhile. Each phase waits until the service
has indexed what came before, and the three take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import asyncpg

from actors.families import steps_on
from elf.config import Config, load
from elf.core.clock import SystemClock
from elf.core.ids import new_note_id
from elf.db import migration
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from elf.families.notes.keeping.queries import note_queries
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import Context, Note
from elf.families.notes.writing.decisions import Decision, DecisionLog
from elf.families.notes.writing.resolver import Change
from elf.indexing.fresh import FreshWrites

CLIENTS = 16
TURNS = 3
JOBS_LEFT = "SELECT count(*) FROM indexing_outbox WHERE status <> 'DONE'"


def note_text(number: int) -> str:
    return f"Fact: job {number} of the nightly pipeline took {number % 97} minutes and wrote table t{number % 31}."


class Answer(NamedTuple):
    """What came back; the names of the headers are in lower case."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Client:
    """One keep-alive HTTP/1.1 connection with as little work of its own as can be; `headers` go with each request."""

    def __init__(self, host: str, port: int, **headers: str) -> None:
        self._host, self._port = host, port
        self._headers = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    @property
    def is_closed(self) -> bool:
        """Whether the service has closed it, as it does with those that are idle."""
        return self._reader.at_eof()

    async def send(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Send a request and return its answer, whatever the status."""
        fields = (
            f"{self._headers}Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        self._writer.write(f"{method} {path} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body)
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines if line)
        content = await self._reader.readexactly(int(headers.get(b"content-length", 0)))
        return Answer(int(status.split()[1]), headers, content)

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request and return the body of its answer. Ends the run on anything but 200, and on a refused note."""
        answer = await self.send(method, path, body)
        if answer.status != 200 or b"REJECTED" in answer.body:
            raise SystemExit(f"{path} failed: {answer.status} {answer.body[:300].decode()}")
        return answer.body

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


def body_of(tenant: str, start: int, count: int) -> bytes:
    notes = [
        {
            "type": "fact",
            "key": f"job_{number}",
            "text": note_text(number),
            "importance": 0.5,
            "confidence": 0.9,
            "source_ref": {"log": f"pipeline.log:{number}"},
        }
        for number in range(start, start + count)
    ]
    context = {"tenant_id": tenant, "project_id": "bench", "agent_id": "writer", "scope": "project_shared"}
    return json.dumps(context | {"notes": notes}).encode()


async def at_once(rounds: int, work: Callable[[int, int], Awaitable[object]]) -> tuple[float, list[float]]:
    """Run `rounds` rounds of work on each of CLIENTS workers; return the seconds and each latency in ms."""
    latencies: list[float] = []

    async def worker(client: int) -> None:
        for number in range(rounds):
            began = time.perf_counter()
            await work(client, number)
            latencies.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(worker(client) for client in range(CLIENTS)))
    return time.perf_counter() - began, latencies


async def over_http(config: Config, *, notes_a_request: int, rounds: int) -> tuple[float, list[float]]:
    tenant = f"bench-{uuid.uuid4()}"
    address = config.service.http_address
    clients = [Client(address.host, address.port) for _ in range(CLIENTS)]
    bodies = {
        (client, number): body_of(tenant, (client * rounds + number) * notes_a_request, notes_a_request)
        for client in range(CLIENTS)
        for number in range(rounds)
    }
    for client in clients:
        await client.open()
    try:
        return await at_once(
            rounds,
            lambda client, number: clients[client].ask("POST", "/v1/memory/add_note", bodies[client, number]),
        )
    finally:
        for client in clients:
            await client.close()


async def bare(
    database: Database, config: Config, *, rounds: int, notes_a_request: int
) -> tuple[float, list[float]]:
    """The same rows, made beforehand, by the same statement, and nothing else."""
    store = NoteStore(note_queries(), FreshWrites())
    tenant = f"bench-{uuid.uuid4()}"
    now = datetime.now(UTC)
    template = Note(
        note_id=new_note_id(), tenant_id=tenant, project_id="bench", agent_id="writer", scope="project_shared",
        type="fact", key=None, text="", importance=0.5, confidence=0.9, status="active", created_at=now,
        updated_at=now, expires_at=None, requested_ttl_days=None, embedding_version=config.embedding_version,
        source_ref={},
    )  # fmt: skip

    def change(number: int) -> Change:
        note = replace(
            template,
            note_id=new_note_id(),
            key=f"job_{number}",
            text=note_text(number),
            source_ref={"log": f"pipeline.log:{number}"},
        )
        return Change(op="ADD", before=None, after=note, reason="new note")

    def decided(changes: list[Change]) -> DecisionLog:
        return DecisionLog(
            context=Context(tenant, "bench", "writer"),
            now=now,
            policy={
                "max_note_chars": 240, "dup_sim_threshold": 0.92, "update_sim_threshold": 0.85, "same_fact_only": True,
            },
            decisions=[
                Decision(
                    type="fact", scope="project_shared", keyed=True, text_chars=len(change.after.text), op="ADD",
                    reason_code=None, reason="new note", note_id=change.after.note_id,
                )
                for change in changes
            ],
        )  # fmt: skip

    async def work(client: int, number: int) -> None:
        start = (client * rounds + number) * notes_a_request
        changes = [change(start + place) for place in range(notes_a_request)]
        async with database.transaction() as connection:
            await store.write(connection, changes, actor="bench", log=decided(changes))

    return await at_once(rounds, work)


@contextlib.asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Database]:
    """Open the service's own database."""
    async with _server_of(config) as dsn, _pool(dsn) as database:
        yield database


@contextlib.asynccontextmanager
async def opened_aside(config: Config) -> AsyncIterator[Database]:
    """Open an empty database with the same tables on the same server, and drop it in the end."""
    async with made_aside(config) as dsn, _pool(dsn) as database:
        yield database


@contextlib.asynccontextmanager
async def made_aside(config: Config) -> AsyncIterator[str]:
    """Make such a database and yield its DSN."""
    name = f"bench_{uuid.uuid4().hex}"
    async with _server_of(config) as dsn:
        aside = urlsplit(dsn)._replace(path=f"/{name}").geturl()
        await _run(dsn, f"CREATE DATABASE {name}")
        try:
            await migration.apply(aside, steps_on(), vector_dim=config.storage.qdrant.vector_dim)
            yield aside
        finally:
            await _run(dsn, f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.asynccontextmanager
async def _server_of(config: Config) -> AsyncIterator[str]:
    place = config.storage.postgres.place
    if place.folder is None:
        yield str(place.dsn)
        return
    server = EmbeddedServer(place.folder)
    try:
        yield await server.start()
    finally:
        await server.leave()


@contextlib.asynccontextmanager
async def _pool(dsn: str) -> AsyncIterator[Database]:
    database = Database(max_conns=CLIENTS)
    await database.open(dsn)
    try:
        yield database
    finally:
        await database.close()


async def _run(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def all_indexed(database: Database) -> None:
    """Wait until no indexing job is left."""
    async with database.connection() as connection:
        while await connection.fetchval(JOBS_LEFT):  # noqa: ASYNC110 - another process does them
            await asyncio.sleep(0.5)


@dataclass
class Phase:
    """What one way of writing took, over all turns."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    def add(self, seconds: float, latencies: list[float]) -> None:
        self.seconds += seconds
        self.latencies += latencies

    def show(self, name: str, notes_a_request: int) -> float:
        """Print and return the notes a second."""
        rate = len(self.latencies) * notes_a_request / self.seconds
        ordered = sorted(self.latencies)
        print(
            f"{name:<34} {rate:9.0f} notes/s   p50 {statistics.median(ordered):7.1f} ms"
            f"   p95 {ordered[int(len(ordered) * 0.95)]:7.1f} ms"
        )
        return rate


async def measure(config: Config, rounds: int) -> None:
    singles, hundreds, bares = Phase(), Phase(), Phase()
    async with opened(config) as database, opened_aside(config) as aside:
        for _ in range(TURNS):  # machines drift
            await all_indexed(database)
            singles.add(*await over_http(config, notes_a_request=1, rounds=rounds * 10))
            await all_indexed(database)
            hundreds.add(*await over_http(config, notes_a_request=100, rounds=rounds))
            await all_indexed(database)
            bares.add(*await bare(aside, config, rounds=rounds, notes_a_request=100))
    singles.show("one note a request", 1)
    elf = hundreds.show("100 notes a request", 100)
    base = bares.show("bare transactions of 100 notes", 100)
    print(f"share of the bare rate: {elf / base:.2f}   ({SystemClock().now():%Y-%m-%d %H:%M} UTC)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", type=Path, required=True)
    parser.add_argument(
        "--rounds", type=int, default=4, help="requests of 100 notes a client and turn (default 4)"
    )
    options = parser.parse_args()
    asyncio.run(measure(load(options.config), options.rounds))


if __name__ == "__main__":
    main()
