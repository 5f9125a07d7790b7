"""Puts the recorder to work in a process."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from elf.config.tables.conversations import ConversationsTable
from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.families.conversations.model import FAMILY
from elf.families.conversations.recording.follower import RecordingFollower
from elf.families.conversations.recording.keeper import RecordingKeeper
from elf.families.conversations.recording.live import LiveRecordings
from elf.families.conversations.recording.news import RecordingNews
from elf.families.conversations.recording.pace import Pace
from elf.families.conversations.recording.recorder import NoRecorder, PostgresRecorder, Recorder
from elf.families.conversations.recording.store import RecordingStore
from elf.families.conversations.recording.streams import Streams
from elf.family import Gauge, Opened
from elf.ground import Ground


def open_recorder(ground: Ground, queries: Queries) -> tuple[Recorder, Opened]:
    """Return the recorder of a process, and what runs beside it there."""
    table = ground.config.of(ConversationsTable)
    if table.recorder == "none":
        return NoRecorder(), Opened()
    return postgres_recorder(
        ground.database, queries, dsn=ground.dsn, process_id=ground.process.id, table=table, pace=Pace()
    )


def postgres_recorder(
    database: Database,
    queries: Queries,
    *,
    dsn: Callable[[], str],
    process_id: UUID,
    table: ConversationsTable,
    pace: Pace,
) -> tuple[Recorder, Opened]:
    """Return a recorder that keeps what it has in Postgres, and what runs beside it."""
    store = RecordingStore(database, queries, process_id=process_id, pace=pace)
    live, streams = LiveRecordings(), Streams(table)
    news = RecordingNews(database, dsn, process_id=process_id)
    follower = RecordingFollower(live, store, streams, process_id=process_id, pace=pace)
    news.hearers += [live.hear, follower.hear]
    recorder = PostgresRecorder(
        store, live, follower, news, streams=streams, max_bytes=table.recorder_max_bytes, pace=pace
    )
    gauge = Gauge(
        name="elf_conversation_streams",
        about="Answers that are recorded and replayed in this process now.",
        labels=("kind",),
        read=streams.counts,
    )
    held = Gauge(
        name="elf_conversation_recorded_bytes",
        about="Bytes of answers that this process holds while they are recorded and replayed.",
        labels=(),
        read=streams.held_bytes,
    )
    return recorder, Opened(
        owners=[news, RecordingKeeper(live, store, news, pace), follower],
        garbage=[GarbageStep(FAMILY, "left_recordings", store.collect)],
        gauges=[gauge, held],
    )
