"""States of graphs in the saver, beside plain statements that write and read the same rows, and requests of the same
size that do nothing.
"""

from __future__ import annotations

import base64
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg
import msgspec
import numpy as np
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from elf.client import AsyncClient
from elf.client.call import Call
from elf.config import load
from elf.langgraph import ElfSaver
from elf.langgraph.wire import Wire
from ops.bench.empty_front import EMPTY_PATH, empty_front
from ops.bench.graph import Goals
from ops.bench.search import percentile, show
from ops.bench.write import made_aside
from tests.system.service import RunningService

TENANT, USER = "bench", "ana"
SIZES: Final = (64 << 10, 1 << 20)
TURNS: Final = 3
ROUNDS: Final = 60
WARM_UP: Final = 10

_SAVE: Final = (
    """
    INSERT INTO saver_blobs (tenant_id, user_id, thread_id, checkpoint_ns, channel, version, type, data)
    VALUES ($1, $2, $3, '', 'messages', $4, 'msgpack', $5)
    """,
    """
    INSERT INTO saver_checkpoints (
      tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, checkpoint_type, checkpoint, metadata_type, metadata,
      facts, versions)
    VALUES ($1, $2, $3, '', $4, 'msgpack', $5, 'msgpack', $6, $7, $8)
    """,
    """
    INSERT INTO supervisor_checkpoints (tenant_id, user_id, thread_id, checkpoint_id, checkpoint_data)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant_id, user_id, thread_id) DO UPDATE SET
      checkpoint_id = excluded.checkpoint_id, checkpoint_data = excluded.checkpoint_data, updated_at = now()
    """,
)
_LOAD: Final = (
    """
    SELECT * FROM saver_checkpoints
    WHERE tenant_id = $1 AND user_id = $2 AND thread_id = $3 AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1
    """,
    """
    SELECT channel, type, data FROM saver_blobs
    WHERE tenant_id = $1 AND user_id = $2 AND thread_id = $3 AND checkpoint_ns = '' AND channel = 'messages'
      AND version = $4
    """,
    """
    SELECT * FROM saver_writes
    WHERE tenant_id = $1 AND user_id = $2 AND thread_id = $3 AND checkpoint_ns = '' AND checkpoint_id = $4
    """,
)

Work = Callable[[], Awaitable[Any]]


def state_of(size: int) -> list[str]:
    """Return messages of so many bytes in all: text that does not shrink much."""
    rng = np.random.default_rng(size)
    text = base64.b64encode(rng.bytes(size)).decode()[:size]
    return [text[at : at + 1024] for at in range(0, size, 1024)]


class Thread:
    """A thread whose state is saved anew, a checkpoint after the other."""

    def __init__(self, saver: ElfSaver, thread_id: str, state: list[str]) -> None:
        self._saver = saver
        self._state = state
        self._at: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        self._version: str | None = None
        self.config: Any = {"configurable": {"thread_id": thread_id}}

    def next(self) -> Checkpoint:
        self._version = self._saver.get_next_version(self._version, None)
        return empty_checkpoint() | {  # type: ignore[return-value]
            "id": str(uuid6(clock_seq=-1)), "channel_values": {"messages": self._state},
            "channel_versions": {"messages": self._version},
        }  # fmt: skip

    def size(self) -> int:
        """Return how many bytes the request of a `save` has."""
        checkpoint = self.next()
        wire = Wire(TENANT, USER, self._saver.serde)
        return len(wire.put(self._at, checkpoint, {}, checkpoint["channel_versions"]).content or b"")

    async def save(self) -> None:
        checkpoint = self.next()
        self._at = await self._saver.aput(
            self._at, checkpoint, {"source": "loop", "step": 1}, checkpoint["channel_versions"]
        )

    async def load(self) -> None:
        found = await self._saver.aget_tuple(self.config)
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == self._state


class Bare:
    """The same rows by plain statements."""

    def __init__(self, connection: asyncpg.Connection[Any], thread: Thread, saver: ElfSaver) -> None:
        self._connection = connection
        self._thread = thread
        self._serde = saver.serde
        self._place = (TENANT, USER, "bare")
        self._version = ""

    async def prepare(self) -> None:
        """Make what the next `save` writes: that is nobody's SQL."""
        checkpoint = self._thread.next()
        values = checkpoint["channel_values"]
        self._version = str(checkpoint["channel_versions"]["messages"])
        head = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        summary = {"step": 1, "graph_state": {}, "conversation_history": values["messages"]}
        self._rows: tuple[tuple[Any, ...], ...] = (
            (self._version, self._serde.dumps_typed(values["messages"])[1]),
            (checkpoint["id"], self._serde.dumps_typed(head)[1], b"{}", "{}",
             msgspec.json.encode({"messages": self._version}).decode()),
            (checkpoint["id"], msgspec.json.encode(summary).decode()),
        )  # fmt: skip

    async def save(self) -> None:
        async with self._connection.transaction():
            for statement, row in zip(_SAVE, self._rows, strict=True):
                await self._connection.execute(statement, *self._place, *row)

    async def load(self) -> None:
        head, blobs, writes = _LOAD
        row = await self._connection.fetchrow(head, *self._place)
        assert row is not None
        (blob,) = await self._connection.fetch(blobs, *self._place, self._version)
        assert blob["data"]
        await self._connection.fetch(writes, *self._place, row["checkpoint_id"])


class Measured:
    """What took how many milliseconds."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}

    async def __call__(self, name: str, work: Work) -> None:
        began = time.perf_counter()
        await work()
        self.taken.setdefault(name, []).append((time.perf_counter() - began) * 1000)


@asynccontextmanager
async def _bare(service: RunningService, thread: Thread, saver: ElfSaver) -> AsyncIterator[Bare]:
    async with made_aside(load(service.config)) as dsn:
        connection: asyncpg.Connection[Any] = await asyncpg.connect(dsn)
        try:
            yield Bare(connection, thread, saver)
        finally:
            await connection.close()


async def saving(service: RunningService, goals: Goals) -> None:
    with empty_front() as address:
        async with (
            AsyncClient(service.url, tenant_id=TENANT) as client,
            AsyncClient(address, tenant_id=TENANT) as nowhere,
        ):
            for size in SIZES:
                await _of_size(service, client, nowhere, size, goals)


async def _of_size(
    service: RunningService, client: AsyncClient, nowhere: AsyncClient, size: int, goals: Goals
) -> None:
    saver = ElfSaver(async_client=client, user_id=USER)
    state = state_of(size)
    thread = Thread(saver, f"t-{size}", state)
    sent = msgspec.json.encode({"data": base64.b64encode(saver.serde.dumps_typed(state)[1]).decode()})
    send = Call("POST", EMPTY_PATH, sent, len)
    as_large = Call("POST", EMPTY_PATH, msgspec.json.encode({"data": "x" * thread.size()}), len)
    fetch = Call("POST", EMPTY_PATH, msgspec.json.encode({"data": "", "answered": len(sent)}), len)
    name = f"{size >> 10} KiB"
    ratios: dict[str, list[float]] = {"save": [], "load": []}
    p95: dict[str, list[float]] = {"save": [], "load": []}
    as_large_ratios: list[float] = []
    async with _bare(service, Thread(saver, "bare", state), saver) as bare:
        for _ in range(TURNS):
            measured = Measured()
            for number in range(WARM_UP + ROUNDS):
                if number == WARM_UP:
                    measured.taken.clear()
                await measured("save", thread.save)
                await bare.prepare()
                await measured("save, bare", bare.save)
                await measured("save, empty", lambda: nowhere.send(send))
                await measured("save, empty and as large", lambda: nowhere.send(as_large))
                await measured("load", thread.load)
                await measured("load, bare", bare.load)
                await measured("load, empty", lambda: nowhere.send(fetch))
            taken = measured.taken
            for way in ratios:
                floor = statistics.median(taken[f"{way}, bare"]) + statistics.median(taken[f"{way}, empty"])
                ratios[way].append(statistics.median(taken[way]) / floor)
                p95[way].append(percentile(taken[way], 0.95))
            floor = statistics.median(taken["save, bare"]) + statistics.median(
                taken["save, empty and as large"]
            )
            as_large_ratios.append(statistics.median(taken["save"]) / floor)
        for way, values in taken.items():
            show(f"  {name}: {way}", values)
    for way in ratios:
        goals.at_most(100, f"p95 of a {way} of {name}, in ms", p95[way])
        goals.at_most(1.5, f"p50 of a {way} of {name} over its bare SQL and an empty request", ratios[way])
    each = ", ".join(f"{one:.2f}" for one in as_large_ratios)
    print(
        f"  a save beside an empty request as large as its own, {thread.size() >> 10} KiB: {each}", flush=True
    )
