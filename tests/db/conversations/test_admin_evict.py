"""Evicting over the wire: in silence or watched, by several at once, of one's own tenant, until the client leaves."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from actors.fronts.connections import Connections
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.api.operation import Handler
from elf.config.places import Address
from elf.core.errors import DatabaseUnavailable
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.admin_service import AdminService
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.search import ConversationSearch
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.indexing.writes import CorpusWrites
from tests.actors.outbox_kit import PATIENCE_S
from tests.db.conversations.wire_kit import ROOT, Wire, app_of, asking
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

ANY = "/v1/admin/conversations"
EVICT = "POST /v1/admin/evict"
OLD = {"retentionPeriod": "P30D", "resourceTypes": ["conversations"]}
EVENTS = {"Accept": "text/event-stream"}
BOSS: dict[str, Any] = {"user": "boss", "role": "admin"}


class GatedEviction(Eviction):
    """Stops after its first step until it may go on."""

    def __init__(self, database: Database, queries: Queries, writes: CorpusWrites) -> None:
        super().__init__(database, queries, writes)
        self.may_go_on, self.ended = anyio.Event(), anyio.Event()

    async def run(self, tenant_id: str, before: datetime) -> AsyncGenerator[int]:
        try:
            async with aclosing(super().run(tenant_id, before)) as progress:
                async for percent in progress:
                    yield percent
                    await self.may_go_on.wait()
        finally:
            self.ended.set()


class AwayEviction(Eviction):
    """Meets a database that goes away after the first step."""

    async def run(self, tenant_id: str, before: datetime) -> AsyncGenerator[int]:
        async with aclosing(super().run(tenant_id, before)) as progress:
            yield await anext(progress)
            raise DatabaseUnavailable("Postgres does not answer")


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


ServedBy = Callable[[Eviction], Mapping[str, Handler]]


@pytest.fixture
def served_by(
    handlers: Mapping[str, Handler],
    oversight: Oversight,
    search: ConversationSearch,
    subjects: ConversationSubjects,
    clock: TurnedClock,
) -> ServedBy:
    """What carries out each operation, with another eviction."""

    def served(eviction: Eviction) -> Mapping[str, Handler]:
        service = AdminService(oversight, search, eviction, subjects, clock, asks_why=False)
        return {**handlers, **{one.name: handle for one, handle in service.handlers().items()}}

    return served


async def deleted_trees(ask: Wire, clock: TurnedClock, count: int, **more: Any) -> list[str]:
    """Trees with an entry each that were deleted 31 days ago."""
    ids = []
    for _ in range(count):
        answer = await ask(f"POST {ROOT}", {}, **more)
        ids.append(str(answer.json()["id"]))
        await ask.say(ids[-1], "Hi", **more)
        assert (await ask(f"DELETE {ROOT}/{ids[-1]}", **more)).status_code == 204
    clock.turn(days=31)
    return ids


async def left(ask: Wire, **more: Any) -> int:
    answer = await ask(f"GET {ANY}?includeDeleted=true&mode=all&limit=1000", **BOSS, **more)
    return len(answer.json()["data"])


async def found(ask: Wire, query: str) -> list[str]:
    body = {"query": query, "searchType": "fulltext", "includeDeleted": True}
    answer = await ask(f"POST {ANY}/search", body, **BOSS)
    return [one["conversationId"] for one in answer.json()["data"]]


def progress(text: str) -> list[int]:
    return [
        int(line.removeprefix('data: {"progress":').removesuffix("}")) for line in text.split("\n\n") if line
    ]


async def test_what_was_deleted_long_ago_is_gone_and_nothing_of_another_tenant(
    ask: Wire, clock: TurnedClock
) -> None:
    other = f"{ask.tenant}-other"
    await deleted_trees(ask, clock, 2, tenant=other)
    (old,) = await deleted_trees(ask, clock, 1)
    live, young = await ask.new(), await ask.new()
    assert (await ask(f"DELETE {ROOT}/{young}")).status_code == 204
    answer = await ask(EVICT, OLD, **BOSS)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await ask(f"GET {ANY}/{old}", **BOSS)).status_code == 404
    assert (await ask(f"GET {ANY}/{young}", **BOSS)).status_code == 200
    assert (await ask(f"GET {ROOT}/{live}")).status_code == 200
    assert await left(ask, tenant=other) == 2
    forever = OLD | {"retentionPeriod": "P999999Y"}
    assert (await ask(EVICT, forever, **BOSS)).status_code == 204
    assert await left(ask) == 2


@pytest.mark.parametrize(("query", "headers"), [("?async=true", {}), ("", EVENTS), ("?async=false", EVENTS)])
async def test_who_watches_is_told_how_it_goes(
    ask: Wire, clock: TurnedClock, query: str, headers: Mapping[str, str]
) -> None:
    await deleted_trees(ask, clock, 4)
    answer = await ask(f"{EVICT}{query}", OLD, **BOSS, more=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    seen = progress(answer.text)
    assert seen[-1] == 100
    assert len(seen) == 5
    assert all(earlier <= later for earlier, later in pairwise(seen))
    assert await left(ask) == 0


async def test_three_at_once_evict_everything_and_none_fails(ask: Wire, clock: TurnedClock) -> None:
    await deleted_trees(ask, clock, 12)
    answers: list[httpx.Response] = []

    async def evict(query: str) -> None:
        answers.append(await ask(f"{EVICT}{query}", OLD, **BOSS))

    async with anyio.create_task_group() as group:
        for query in ("", "?async=true", "?async=true"):
            group.start_soon(evict, query)
    assert sorted(answer.status_code for answer in answers) == [200, 200, 204]
    assert all(progress(answer.text)[-1] == 100 for answer in answers if answer.status_code == 200)
    assert await left(ask) == 0


async def test_a_failure_is_the_last_event_or_the_answer(
    served_by: ServedBy,
    writes: CorpusWrites,
    database: Database,
    queries: Queries,
    clock: TurnedClock,
) -> None:
    async with asking(served_by(AwayEviction(database, queries, writes))) as ask:
        await deleted_trees(ask, clock, 3)
        with capture_logs() as lines:
            answer = await ask(EVICT, OLD, **BOSS, more=EVENTS)
        assert answer.status_code == 200
        assert answer.text == (
            'data: {"progress":33}\n\nevent: error\ndata: {"error":"Postgres does not answer"}\n\n'
        )
        assert [one["outcome"] for one in lines if one["event"] == "admin_audit"] == ["unavailable"]
        answer = await ask(EVICT, OLD, **BOSS)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


@asynccontextmanager
async def watching(
    handlers: Mapping[str, Handler], clock: TurnedClock, trees: int
) -> AsyncIterator[tuple[Wire, httpx.Response]]:
    """Over a connection of its own, the answer to one who watches, from behind the first step on."""
    with bind(Address("127.0.0.1", 0), key="service.http_bind") as sock, anyio.fail_after(PATIENCE_S):
        front = HttpFront("http_front", app_of(handlers), sock, Connections("http_front", 10))
        async with anyio.create_task_group() as group:
            await group.start(partial(_run, front))
            async with httpx.AsyncClient(base_url=f"http://{bound_address(sock)}") as http:
                ask = Wire(http)
                await deleted_trees(ask, clock, trees)
                said = {"X-User": "boss", "X-Tenant": ask.tenant, "X-Role": "admin", **EVENTS}
                async with http.stream("POST", "/v1/admin/evict", json=OLD, headers=said) as answer:
                    first = await anext(answer.aiter_lines())
                    assert first.startswith('data: {"progress":')
                    yield ask, answer
            group.cancel_scope.cancel()


@pytest.mark.parametrize("is_reset", [True, False])
async def test_it_stops_when_its_client_has_left(
    served_by: ServedBy,
    writes: CorpusWrites,
    database: Database,
    queries: Queries,
    clock: TurnedClock,
    is_reset: bool,
) -> None:
    eviction = GatedEviction(database, queries, writes)
    with capture_logs() as lines:
        async with watching(served_by(eviction), clock, trees=20) as (ask, answer):
            if is_reset:
                sock = answer.extensions["network_stream"].get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await answer.aclose()
            if not is_reset:
                eviction.may_go_on.set()  # it may have closed its side only: what is sent next shows that it is gone
            await eviction.ended.wait()
            assert await left(ask) == 19 if is_reset else await left(ask) > 0
    told = [one for one in lines if one["event"] == "admin_audit" and one["action"] == "evict"]
    assert [one["outcome"] for one in told] == ["left"]


async def _run(front: HttpFront, *, task_status: Any) -> None:
    await front.run(task_status=task_status)


async def test_a_tree_that_goes_in_steps_is_gone_with_the_first(
    ask: Wire, writes: CorpusWrites, database: Database, queries: Queries, clock: TurnedClock
) -> None:
    id = await ask.new()
    for number in range(5):
        await ask.say(id, f"boat {number}")
    assert (await ask(f"DELETE {ROOT}/{id}")).status_code == 204
    clock.turn(days=31)
    assert await found(ask, "boat") == [id]
    steps = Eviction(database, queries, writes, step=2).run(ask.tenant, clock.now())
    await anext(steps)
    await steps.aclose()
    assert (await ask(f"GET {ANY}/{id}", **BOSS)).status_code == 404
    assert (await ask(f"POST {ANY}/{id}/restore", **BOSS)).status_code == 404
    assert await left(ask) == 0
    assert await found(ask, "boat") == []
    answer = await ask(EVICT, OLD | {"retentionPeriod": "P900D"}, **BOSS)
    assert answer.status_code == 204
    async with database.connection() as connection:
        rows = "SELECT count(*) FROM conversation_entries WHERE conversation_id = $1"
        assert await connection.fetchval(rows, UUID(id)) == 0


async def test_garbage_collection_evicts_by_itself_in_bounded_batches(
    ask: Wire, writes: CorpusWrites, database: Database, queries: Queries, clock: TurnedClock
) -> None:
    await deleted_trees(ask, clock, 3)
    other = f"{ask.tenant}-other"
    await deleted_trees(ask, clock, 2, tenant=other)
    step = Eviction(database, queries, writes).garbage(timedelta(days=30))
    done = [await step.collect(clock.now(), 3) for _ in range(2)]
    assert done == [3, 3]
    while (last := await step.collect(clock.now(), 3)) == 3:
        pass
    assert last < 3
    assert await left(ask) == await left(ask, tenant=other) == 0
