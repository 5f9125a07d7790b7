"""Recordings in Postgres: a row tells where each is made, and chunks are what there is of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.recording.content import Ending
from elf.families.conversations.recording.live import LiveRecording
from elf.families.conversations.recording.pace import Pace
from elf.families.conversations.trees import Who, again, lock_conversation, read_conversation

CHUNKS_AT_ONCE: Final = 16


class Located(NamedTuple):
    """A recording that goes on, and the process that makes it."""

    recording_id: UUID
    process_id: UUID


class Seen(NamedTuple):
    """What another process sees of a recording: how it ended, or whether it goes on; and some of it from `start` on."""

    ending: Ending | None
    size: int | None
    is_alive: bool
    is_followed: bool
    start: int
    data: bytes


class RecordingStore:
    """Each method is one transaction, and raises DatabaseUnavailable. `process_id` is that of this process."""

    def __init__(self, database: Database, queries: Queries, *, process_id: UUID, pace: Pace) -> None:
        self._database = database
        self._sql = queries
        self._process_id = process_id
        self._pace = pace

    # For callers

    @again
    async def begin(self, who: Who, recording: LiveRecording, *, begun: Callable[[], object]) -> list[UUID]:
        """Begin a recording for one who may write; `begun` is called if it is. Returns those that are to end for it."""
        async with self._database.transaction() as connection:
            await lock_conversation(connection, self._sql, who, recording.conversation_id)
            rows = await connection.fetch(self._sql["begin_recording"], *self._place(recording))
            connection.after_commit(begun)
        return [row["recording_id"] for row in rows]

    @again
    async def follow(self, who: Who, conversation_id: UUID) -> Located | None:
        """Find what is recorded of a conversation, for one who may read; this process follows it if it is another's."""
        async with self._database.transaction() as connection:
            await read_conversation(connection, self._sql, who, conversation_id, "reader")
            row = await connection.fetchrow(
                self._sql["follow_recording"], who.tenant_id, conversation_id, self._process_id, self._pace.silence
            )  # fmt: skip
        return None if row is None else Located(row["recording_id"], row["process_id"])

    @again
    async def cancel(self, who: Who, conversation_id: UUID) -> list[UUID]:
        """Ask what is recorded of a conversation to end, for one who may write. Returns it."""
        async with self._database.transaction() as connection:
            await read_conversation(connection, self._sql, who, conversation_id, "writer")
            rows = await connection.fetch(
                self._sql["cancel_recordings"], who.tenant_id, conversation_id, self._pace.silence
            )
        return [row["recording_id"] for row in rows]

    async def any_goes_on(self, tenant_id: str, ids: Sequence[UUID]) -> bool:
        """Tell whether one of these recordings goes on."""
        async with self._database.connection() as connection:
            goes_on: bool = await connection.fetchval(
                self._sql["any_recording"], tenant_id, ids, self._pace.silence
            )
        return goes_on

    async def check(self, who: Who, conversation_ids: Collection[UUID]) -> frozenset[UUID]:
        """Return those of the conversations that are recorded, and that one may read."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["check_recordings"], who.tenant_id, who.user, list(conversation_ids), self._pace.silence
            )  # fmt: skip
        return frozenset(row["conversation_id"] for row in rows)

    # For the process that records

    async def beat(self, recordings: Sequence[LiveRecording]) -> Mapping[UUID, bool]:
        """Say that recordings go on. Returns, of those that are there, whether each is to end."""
        rows = await self._fetch(
            "beat_recordings", [one.tenant_id for one in recordings], [one.id for one in recordings]
        )
        return {row["recording_id"]: row["is_to_end"] for row in rows}

    async def renew(self, recording: LiveRecording) -> bool:
        """Add a recording again that is not there any more. Tells whether it is, and no other took its place."""
        rows = await self._fetch("renew_recording", *self._place(recording), self._pace.silence)
        return bool(rows)

    async def append(self, recordings: Sequence[LiveRecording]) -> Mapping[UUID, bool]:
        """Store the next chunk of each. Returns, of those that are there, whether another process follows."""
        chunks = [one.next_chunk() for one in recordings]
        rows = await self._fetch(
            "store_chunks",
            [one.tenant_id for one in recordings],
            [one.id for one in recordings],
            [start for start, _ in chunks],
            [data for _, data in chunks],
        )
        return {row["recording_id"]: row["is_followed"] for row in rows}

    async def end(self, recording: LiveRecording) -> bool:
        """Store how a recording ended that is stored wholly. Tells whether it was there."""
        content = recording.content
        rows = await self._fetch(
            "end_recording", recording.tenant_id, recording.id, content.ending, content.size
        )
        await self._fetch("drop_recording", recording.tenant_id, recording.id)
        return bool(rows)

    # For a process that follows

    async def read(self, places: Sequence[tuple[str, UUID, int]]) -> Mapping[UUID, Seen]:
        """Return what there is of recordings, each by tenant, id, and how much of it one has; none that is gone."""
        rows = await self._fetch(
            "read_followed",
            [tenant_id for tenant_id, _, _ in places],
            [id for _, id, _ in places],
            [size for _, _, size in places],
            CHUNKS_AT_ONCE,
            self._process_id,
            self._pace.silence,
        )
        return {row["recording_id"]: _seen(row) for row in rows}

    async def follow_again(self, tenant_id: str, id: UUID) -> None:
        """Follow a recording that Postgres has lost, and that is there again."""
        await self._fetch("follow_again", tenant_id, id, self._process_id)

    async def unfollow(self, tenant_id: str, id: UUID) -> None:
        """Follow a recording no longer; it vanishes if it is over and no other does."""
        await self._fetch("unfollow_recording", tenant_id, id, self._process_id)
        await self._fetch("drop_recording", tenant_id, id)

    # For everybody

    async def collect(self, now: datetime, limit: int) -> int:
        """Remove what is over, or was left by processes that are gone; a step of garbage collection."""
        before = now - timedelta(seconds=self._pace.keep_s)
        rows = await self._fetch("collect_recordings", before, limit)
        return int(rows[0]["count"])

    def _place(self, recording: LiveRecording) -> tuple[str, UUID, UUID, UUID]:
        return recording.tenant_id, recording.conversation_id, recording.id, self._process_id

    async def _fetch(self, query: str, *values: Any) -> list[Mapping[str, Any]]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._sql[query], *values, timeout=self._pace.statement_s)


def _seen(row: Mapping[str, Any]) -> Seen:
    return Seen(
        row["ending"],
        row["bytes"],
        row["is_alive"],
        row["is_followed"],
        row["start"] or 0,
        row["content"] or b"",
    )
