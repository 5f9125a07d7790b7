"""Recorders with connections of their own, which play the processes of one service over one Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import anyio

from elf.config.tables.conversations import ConversationsTable
from elf.core.clock import SystemClock
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.conversations.model import FAMILY
from elf.families.conversations.recording.opening import postgres_recorder
from elf.families.conversations.recording.pace import Pace
from elf.families.conversations.recording.recorder import Recorded, Recorder
from elf.families.conversations.trees import Who
from elf.family import Opened
from tests.db.conftest import until

TABLES = ("conversation_recordings", "conversation_recording_chunks")
QUICK = Pace(gather_s=0.01, poll_s=0.05, heartbeat_s=0.1, patience_s=0.3, retry_s=0.05)


class Speech:
    """What an agent says, when a test lets it."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[str](1000)

    async def __aiter__(self) -> AsyncIterator[str]:
        async with self._receive:
            async for text in self._receive:
                yield text

    def say(self, *texts: str) -> None:
        for text in texts:
            self._send.send_nowait(text)

    def say_if_open(self, text: str) -> bool:
        """Say something, unless it is over."""
        try:
            self._send.send_nowait(text)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return False
        return True

    def stop(self) -> None:
        """There is no more."""
        self._send.close()

    @property
    def is_heard(self) -> bool:
        """Whether everything that was said is taken."""
        return not self._send.statistics().current_buffer_used

    def close(self) -> None:
        self._send.close()
        self._receive.close()


@dataclass
class Recording:
    """A call that records, and what it comes to."""

    conversation_id: UUID
    speech: Speech = field(default_factory=Speech)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    over: anyio.Event = field(default_factory=anyio.Event)
    recorded: Recorded | None = None
    failed: Exception | None = None

    async def ended(self) -> str | None:
        """Wait for its end; returns how it ended, None if it failed or its caller went away."""
        with anyio.fail_after(30):
            await self.over.wait()
        return None if self.recorded is None else self.recorded.status


@dataclass
class Replay:
    """A call that replays, and what it has heard."""

    texts: list[str] = field(default_factory=list)
    over: anyio.Event = field(default_factory=anyio.Event)
    failed: Exception | None = None
    _more: anyio.Event = field(default_factory=anyio.Event)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def hear(self, text: str) -> None:
        self.texts.append(text)
        self._more.set()
        self._more = anyio.Event()

    async def heard(self, text: str) -> None:
        """Wait until it has heard this, from the start; fails at once if it ends without."""
        with anyio.fail_after(30):
            while not self.text.startswith(text):
                assert not self.over.is_set(), f"it ended with {len(self.text)} characters"
                await self._more.wait()

    async def whole(self) -> str:
        with anyio.fail_after(30):
            await self.over.wait()
        return self.text


class Process:
    """A process with a recorder: its actors run in a group of their own, which a test may end."""

    def __init__(self, dsn: str, database: Database, group: Any, **table: Any) -> None:
        self.database = database
        self.id = uuid4()
        self.pace = table.pop("pace", QUICK)
        self.clock = SystemClock()
        self.queries = Queries.load(sql_folder() / FAMILY)
        self._group = group
        self.recorder: Recorder
        self.opened: Opened
        self.recorder, self.opened = postgres_recorder(
            database,
            self.queries,
            dsn=lambda: dsn,
            process_id=self.id,
            table=ConversationsTable(**table),
            pace=self.pace,
        )
        self._scopes: dict[str, anyio.CancelScope] = {}

    async def start(self, *, without: Iterable[str] = ()) -> None:
        for owner in self.opened.owners:
            if owner.name not in without:
                await self._group.start(self._run, owner)

    async def _run(self, owner: Any, *, task_status: Any) -> None:
        with anyio.CancelScope() as scope:
            self._scopes[owner.name] = scope
            await owner.run(task_status=task_status)

    def stop(self, name: str) -> None:
        """Stop an actor."""
        self._scopes[name].cancel()

    async def restart(self, name: str) -> None:
        """Have an actor run again that has failed."""
        (owner,) = (one for one in self.opened.owners if one.name == name)
        await self._group.start(self._run, owner)

    def record(self, who: Who, id: UUID) -> Recording:
        recording = Recording(id)
        self._group.start_soon(self._record, who, recording)
        return recording

    async def _record(self, who: Who, recording: Recording) -> None:
        try:
            with recording.scope:
                recording.recorded = await self.recorder.record(
                    who, recording.conversation_id, aiter(recording.speech)
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, the test judges it
            recording.failed = error
        finally:
            recording.speech.close()
            recording.over.set()

    def replay(self, who: Who, id: UUID) -> Replay:
        replay = Replay()
        self._group.start_soon(self._replay, who, id, replay)
        return replay

    async def _replay(self, who: Who, id: UUID, replay: Replay) -> None:
        try:
            async with aclosing(self.recorder.replay(who, id)) as texts:
                async for text in texts:
                    replay.hear(text)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test judges it
            replay.failed = error
        finally:
            replay.over.set()
            replay.hear("")

    async def is_recorded(self, who: Who, id: UUID) -> bool:
        return id in await self.recorder.check(who, [id])


@asynccontextmanager
async def opened_process(dsn: str, group: Any, **table: Any) -> AsyncIterator[Process]:
    database = Database(max_conns=8)
    await database.open(dsn)
    try:
        yield Process(dsn, database, group, **table)
    finally:
        await database.close()


async def rows(database: Database, who: Who) -> list[int]:
    async with database.connection() as connection:
        return [
            await connection.fetchval(f"SELECT count(*) FROM {table} WHERE tenant_id = $1", who.tenant_id)
            for table in TABLES
        ]


async def nothing_is_left(database: Database, who: Who) -> None:
    async def is_empty() -> bool:
        return await rows(database, who) == [0, 0]

    await until(is_empty)


async def begun(process: Process, who: Who, id: UUID) -> None:
    async def is_recorded() -> bool:
        return await process.is_recorded(who, id)

    await until(is_recorded)
