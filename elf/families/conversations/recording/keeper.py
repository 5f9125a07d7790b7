"""The actor that stores what is recorded in this process, says that it goes on, and hears when it is to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import Unavailable
from elf.families.conversations.recording.live import CHUNK_BYTES, LiveRecording, LiveRecordings
from elf.families.conversations.recording.news import RecordingNews
from elf.families.conversations.recording.pace import Pace
from elf.families.conversations.recording.store import RecordingStore

FAREWELL_S: Final = 2.0
AT_ONCE: Final = 16
"""How many chunks a statement stores."""

log = structlog.get_logger()


class RecordingKeeper:
    """Everything it knows is in the recordings: they go on when it is taken down with the database, and run again.

    What cannot be stored waits in memory, and is tried again. A process that ends ends its calls before it stops this,
    which then stores how they ended.
    """

    name = "recording_keeper"

    def __init__(self, live: LiveRecordings, store: RecordingStore, news: RecordingNews, pace: Pace) -> None:
        self._live = live
        self._store = store
        self._news = news
        self._pace = pace
        self._beat_due = 0.0

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            while True:
                await self._wait()
                await self._keep()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(FAREWELL_S, shield=True):
                await self._keep_last()
            raise

    async def _wait(self) -> None:
        """Wait until there is something to do."""
        while not len(self._live):
            await self._live.work.wait()
        with anyio.CancelScope(deadline=self._beat_due):
            await self._live.work.wait()
        with anyio.move_on_after(self._pace.gather_s):
            await self._live.urgent.wait()
            self._beat_due = 0.0  # somebody may want an end

    async def _keep(self) -> None:
        try:
            await self._do()
        except Unavailable as error:
            log.warning("recordings_not_stored", recordings=len(self._live), error=error.message)
            self._give_up()
            await anyio.sleep(self._pace.retry_s)
            self._live.hurry()

    async def _do(self) -> None:
        if anyio.current_time() >= self._beat_due:
            await self._beat()
        for some in _parts([one for one in self._live if one.unstored]):
            await self._append(some)
        for one in self._live:
            if one.content.ending is not None and not one.unstored:
                await self._end(one)
        if any(one.unstored >= CHUNK_BYTES or one.content.ending is not None for one in self._live):
            self._live.hurry()

    async def _beat(self) -> None:
        """Say of all that they go on. Those that are to end do, and those that Postgres has lost are stored anew."""
        self._beat_due = anyio.current_time() + self._pace.heartbeat_s
        recordings = list(self._live)
        there = await self._store.beat(recordings)
        for one in recordings:
            if one.id not in there:
                await self._renew(one)
            elif there[one.id]:
                self._live.end(one, "cancelled")

    async def _renew(self, recording: LiveRecording) -> None:
        recording.lost()
        if not await self._store.renew(recording):
            self._live.end(recording, "cancelled")
            self._live.settle(recording, is_stored=False)

    async def _append(self, recordings: Sequence[LiveRecording]) -> None:
        there = await self._store.append(recordings)
        for one in recordings:
            if one.id in there:
                one.took()
            else:
                self._beat_due = 0.0
        await self._news.tell([id for id, is_followed in there.items() if is_followed])

    async def _end(self, recording: LiveRecording) -> None:
        if await self._store.end(recording):
            self._live.settle(recording, is_stored=True)
            await self._news.tell([recording.id])
        else:
            self._beat_due = 0.0

    def _give_up(self) -> None:
        """Forget what ended long ago, and cannot be stored."""
        before = anyio.current_time() - self._pace.give_up_s
        for one in self._live:
            if one.ended_at is not None and one.ended_at <= before:
                self._live.settle(one, is_stored=False)

    async def _keep_last(self) -> None:
        try:
            while any(one.content.ending is not None for one in self._live):
                await self._do()
        except Unavailable as error:
            log.warning("recordings_not_stored", recordings=len(self._live), error=error.message)


def _parts(recordings: Sequence[LiveRecording]) -> Iterator[Sequence[LiveRecording]]:
    for start in range(0, len(recordings), AT_ONCE):
        yield recordings[start : start + AT_ONCE]
