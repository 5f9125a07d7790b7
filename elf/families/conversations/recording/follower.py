"""The actor that follows recordings of other processes: each is fetched once, however many replay it here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.errors import Unavailable
from elf.core.shares import ShareExceeded
from elf.families.conversations.recording.bell import Bell
from elf.families.conversations.recording.content import Content
from elf.families.conversations.recording.live import LiveRecordings
from elf.families.conversations.recording.pace import Pace
from elf.families.conversations.recording.store import RecordingStore, Seen
from elf.families.conversations.recording.streams import Streams
from elf.families.conversations.trees import Who

log = structlog.get_logger()


class Followed:
    """A recording of another process, as far as it is fetched. `lost_at` is since when it looks as if it were gone."""

    def __init__(self, tenant_id: str, id: UUID, content: Content) -> None:
        self.tenant_id = tenant_id
        self.id = id
        self.content = content
        self.lost_at: float | None = None
        self.readers = 0


class RecordingFollower:
    """Everything it knows is in what is followed, so that it may be run again at any time."""

    name = "recording_follower"

    def __init__(
        self, live: LiveRecordings, store: RecordingStore, streams: Streams, *, process_id: UUID, pace: Pace
    ) -> None:
        self._live = live
        self._store = store
        self._streams = streams
        self._process_id = process_id
        self._pace = pace
        self._followed: dict[UUID, Followed] = {}
        self._changing = anyio.Lock()
        self._bell = Bell()

    @asynccontextmanager
    async def content(self, who: Who, conversation_id: UUID) -> AsyncIterator[Content | None]:
        """Find what is recorded of a conversation, in whatever process, for one who may read; follow it meanwhile."""
        found = await self._find(who, conversation_id)
        if found is None:
            yield None
        elif isinstance(found, Content):
            with found.held():
                yield found
        else:
            try:
                with found.content.held():
                    yield found.content
            finally:
                found.readers -= 1

    async def _find(self, who: Who, conversation_id: UUID) -> Followed | Content | None:
        async with self._changing:
            located = await self._store.follow(who, conversation_id)
            if located is None:
                return None
            id = located.recording_id
            if located.process_id == self._process_id:
                recording = self._live.get(id)
                return None if recording is None else recording.content
            if (followed := self._followed.get(id)) is None:
                followed = self._followed[id] = Followed(who.tenant_id, id, self._streams.content(who))
                followed.content.hold()
            followed.readers += 1
            self._bell.ring()
            return followed

    def hear(self, id: UUID) -> None:
        """Look at once, if it is followed."""
        if id in self._followed:
            self._bell.ring()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            if not self._followed:
                await self._bell.wait()
            with anyio.move_on_after(self._pace.poll_s):
                await self._bell.wait()
            try:
                await self._look()
            except Unavailable as error:
                self._blind(error)
                await anyio.sleep(self._pace.retry_s)

    async def _look(self) -> None:
        followed = list(self._followed.values())
        seen = await self._store.read([(one.tenant_id, one.id, one.content.size) for one in followed])
        for one in followed:
            await self._take(one, seen.get(one.id))
            if one.content.ending is not None or not one.readers:
                await self._leave(one)

    async def _take(self, followed: Followed, seen: Seen | None) -> None:
        if seen is None:  # a crash of Postgres takes all of them, and they come back
            self._miss(followed, self._pace.silent_s)
            return
        if not seen.is_followed:
            await self._store.follow_again(followed.tenant_id, followed.id)
        content = followed.content
        try:
            content.append(seen.data[content.size - seen.start :])
        except ShareExceeded as error:
            content.exceeded = error
            content.end("broken")
            return
        if seen.data:
            followed.lost_at = None
            self._bell.ring()  # there may be more
        elif seen.ending is not None and content.size == seen.size:
            content.end(seen.ending)
        elif seen.ending is None and seen.is_alive:
            followed.lost_at = None
        else:
            self._miss(followed, self._pace.patience_s)

    def _miss(self, followed: Followed, patience_s: float) -> None:
        """Take it for broken, if it has looked like this for so long."""
        now = anyio.current_time()
        if followed.lost_at is None:
            followed.lost_at = now
        if now >= followed.lost_at + patience_s:
            followed.content.end("broken")

    async def _leave(self, followed: Followed) -> None:
        """Follow it no longer. Those who still read it have all of it."""
        async with self._changing:
            if followed.content.ending is None and followed.readers:
                return
            await self._store.unfollow(followed.tenant_id, followed.id)
            del self._followed[followed.id]
            followed.content.let_go()

    def _blind(self, error: Unavailable) -> None:
        """Nobody can tell now what is broken."""
        log.warning("recordings_not_followed", recordings=len(self._followed), error=error.message)
        for one in self._followed.values():
            one.lost_at = None
