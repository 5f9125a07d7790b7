"""Appending over REST and gRPC, beside bare transactions that write the same rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import asyncpg
import grpc
import msgspec

from elf.config import Config
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.rules.words import spaced
from ops.bench.conversations import seeding
from ops.bench.conversations.talking import ROOT, TENANT, Talker, talking
from ops.bench.conversations.turns import TURNS, compare, show
from ops.bench.write import CLIENTS, at_once, made_aside, opened
from tests.system.service import RunningService

USER, AGENT = "ana", "agent"
ROUNDS: Final = 150
APPEND: Final = "/memory.v1.EntriesService/AppendEntry"
JOBS_LEFT: Final = "SELECT count(*) FROM conversations_indexing_outbox WHERE status <> 'DONE'"

# What the service writes for an entry, and nothing else: no lock is taken, and nothing is asked.
_ROWS: Final = """
WITH entry AS (
  INSERT INTO conversation_entries (
    tenant_id, conversation_id, seq, entry_id, tree_id, user_id, client_id, channel, epoch, content_type, content,
    is_indexed, memory_count, memory_digest, memory_type, created_at
  )
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $19::text IS NOT NULL, $12, $13, $14, $15)
), found_by AS (
  INSERT INTO conversation_texts (
    tenant_id, conversation_id, seq, entry_id, tree_id, creator, role, text, words, embedding_version, said_at,
    created_at, changed_at
  )
  SELECT $1, $2, $3, $4, $5, $21, $18, $19, conversation_words($20), $22, $15, $15, $15 WHERE $19 IS NOT NULL
), job AS (
  INSERT INTO conversations_indexing_outbox (outbox_id, subject_id, op, embedding_version, status)
  SELECT gen_random_uuid(), $4, 'UPSERT', $22, 'PENDING' WHERE $19 IS NOT NULL
)
UPDATE conversations AS c
SET last_seq = $3, last_entry_at = $15, title = coalesce(c.title, $16),
  titled_by = CASE WHEN c.title IS NULL AND $16 IS NOT NULL THEN $6 ELSE c.titled_by END,
  last_message_preview = CASE WHEN $8 = 'history' THEN $17 ELSE c.last_message_preview END,
  updated_at = CASE WHEN $8 = 'history' THEN greatest(c.updated_at, $15) ELSE c.updated_at END
WHERE c.tenant_id = $1 AND c.conversation_id = $2
"""

Append = Callable[[int, int], Awaitable[object]]
"""Appends to the conversation of a client, in a round."""


class Kind(NamedTuple):
    """What is appended: by an agent or not, and whether it has a text by which it is found."""

    name: str
    agent: str | None
    role: str
    is_indexed: bool


ANSWER: Final = Kind("an answer of an agent", AGENT, "AI", False)
MESSAGE: Final = Kind("a message of a user, which is indexed", None, "USER", True)


async def appending(config: Config, service: RunningService) -> None:
    async with made_aside(config) as dsn, _bare(dsn) as bare:
        for kind in (ANSWER, MESSAGE):
            async with _over_rest(service, kind) as rest, _over_grpc(service, kind) as rpc:
                ways: dict[str, Append] = {
                    "bare transactions": partial(bare.append, kind),
                    "REST": rest,
                    "gRPC": rpc,
                }
                turns = await _turns(config, ways)
            print(f"{kind.name}:")
            show(turns, "entries/s")
            compare(turns, "REST", "bare transactions", goal="at least 0.35")
            compare(turns, "gRPC", "REST", goal="at least 0.9")


async def _turns(config: Config, ways: Mapping[str, Append]) -> list[dict[str, float]]:
    """Return how many entries a second each way appends, turn by turn; the first entries warm them."""
    for way in ways.values():
        await at_once(5, way)
    turns = []
    for _ in range(TURNS):
        turn = {}
        for name, way in ways.items():
            await _all_indexed(config)
            seconds, latencies = await at_once(ROUNDS, way)
            turn[name] = len(latencies) / seconds
        turns.append(turn)
    return turns


async def _all_indexed(config: Config) -> None:
    async with opened(config) as database, database.connection() as connection:
        while await connection.fetchval(JOBS_LEFT):  # noqa: ASYNC110 - another process does them
            await asyncio.sleep(0.2)


def _text(client: int, number: int) -> str:
    return f"Client {client} says in round {number} that the nightly report of ticket {number % 97} is ready."


@asynccontextmanager
async def _over_rest(service: RunningService, kind: Kind) -> AsyncIterator[Append]:
    async with AsyncExitStack() as stack:
        talkers = [
            await stack.enter_async_context(talking(service, USER, kind.agent)) for _ in range(CLIENTS)
        ]
        paths = [f"{ROOT}/{await talker.begin()}/entries" for talker in talkers]

        async def append(client: int, number: int) -> object:
            return await talkers[client].ask("POST", paths[client], _body(kind, client, number))

        yield append


def _body(kind: Kind, client: int, number: int) -> bytes:
    content = {"role": kind.role, "text": _text(client, number)}
    return msgspec.json.encode({"channel": "history", "contentType": "history", "content": [content]})


@asynccontextmanager
async def _over_grpc(service: RunningService, kind: Kind) -> AsyncIterator[Append]:
    """The same over gRPC: each client has a connection of its own, and leaves the answer as it comes, as over REST."""
    metadata = [("authorization", f"Bearer {USER}")]
    metadata += [] if kind.agent is None else [("x-client-id", kind.agent)]
    async with AsyncExitStack() as stack:
        ids = [await _begun(stack, service, kind) for _ in range(CLIENTS)]
        calls = [await _appending_call(stack, service) for _ in range(CLIENTS)]

        async def append(client: int, number: int) -> object:
            return await calls[client](_message(kind, ids[client], client, number), metadata=metadata)

        yield append


async def _appending_call(stack: AsyncExitStack, service: RunningService) -> Any:
    options = [("grpc.use_local_subchannel_pool", 1)]
    channel = grpc.aio.insecure_channel(service.grpc_address, options=options)
    return (await stack.enter_async_context(channel)).unary_unary(APPEND)


async def _begun(stack: AsyncExitStack, service: RunningService, kind: Kind) -> UUID:
    talker: Talker = await stack.enter_async_context(talking(service, USER, kind.agent))
    return UUID(await talker.begin())


def _message(kind: Kind, id: UUID, client: int, number: int) -> bytes:
    asked = pb.AppendEntryRequest(conversation_id=id.bytes)
    asked.entry.channel = pb.HISTORY
    asked.entry.content_type = "history"
    asked.entry.content.add().struct_value.update({"role": kind.role, "text": _text(client, number)})
    return asked.SerializeToString()


class _Bare:
    """The same rows, by one statement and plain asyncpg, and nothing else."""

    def __init__(self, connections: Sequence[asyncpg.Connection[Any]], ids: Sequence[UUID]) -> None:
        self._connections = connections
        self._ids = ids
        self._written = [0] * len(ids)

    async def append(self, kind: Kind, client: int, number: int) -> None:
        self._written[client] += 1
        text, connection = _text(client, number), self._connections[client]
        content = msgspec.json.encode([{"role": kind.role, "text": text}]).decode()
        found_by = (text, spaced(text)) if kind.is_indexed else (None, None)
        async with connection.transaction():
            await connection.execute(
                _ROWS, TENANT, self._ids[client], self._written[client], uuid4(), self._ids[client], USER,
                kind.agent, "history", None, "history", content, None, None, None, datetime.now(UTC), text[:40],
                text[:100], kind.role, *found_by, USER, "bare",
            )  # fmt: skip


@asynccontextmanager
async def _bare(dsn: str) -> AsyncIterator[_Bare]:
    connections = [await asyncpg.connect(dsn) for _ in range(CLIENTS)]
    try:
        ids = await seeding.trees(connections[0], USER, CLIENTS)
        yield _Bare(connections, ids)
    finally:
        for connection in connections:
            await connection.close()
