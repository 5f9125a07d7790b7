"""Records answers of agents while they are made, and replays them from their start to whoever comes later."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import aclosing
from typing import Final, Literal, NamedTuple, Protocol
from uuid import UUID

import anyio

from elf.core.shares import ShareExceeded
from elf.families.conversations.errors import RecorderOff, RecordingBroken, TooManyRecordedBytes
from elf.families.conversations.recording.content import Content, Ending
from elf.families.conversations.recording.follower import RecordingFollower
from elf.families.conversations.recording.live import LiveRecording, LiveRecordings
from elf.families.conversations.recording.news import RecordingNews
from elf.families.conversations.recording.pace import Pace
from elf.families.conversations.recording.store import RecordingStore
from elf.families.conversations.recording.streams import Streams
from elf.families.conversations.trees import Who

BREAKS: Final[Collection[Ending | None]] = ("error", "broken")
NOTHING: Final[Collection[str]] = ()


class Recorded(NamedTuple):
    """How a recording ended; an error says why."""

    status: Literal["success", "cancelled", "error"]
    message: str = ""


class Recorder(Protocol):
    """What can be done with recordings. Raises Missing and Forbidden for conversations as everything else does."""

    @property
    def is_on(self) -> bool:
        """Whether anything can be recorded."""
        ...

    async def record(self, who: Who, conversation_id: UUID, chunks: AsyncIterator[str]) -> Recorded:
        """Record chunks until there are no more, or it is cancelled. Any other recording of the conversation ends.

        What fails in `chunks`, and a cancelled call, breaks it off. Raises RecorderOff, TooManyStreams, and
        TooManyRecordedBytes when it cannot grow for what is recorded beside it.
        """
        ...

    def replay(self, who: Who, conversation_id: UUID) -> AsyncGenerator[str]:
        """Yield what is recorded of a conversation from its start to its end; nothing when nothing is being recorded.

        Raises RecordingBroken after what there is of one that was broken off, TooManyStreams, and TooManyRecordedBytes
        after what could be fetched of one that is made in another process.
        """
        ...

    async def cancel(self, who: Who, conversation_id: UUID) -> bool:
        """End what is recorded of a conversation, wait for that, and tell whether there was anything.

        Raises RecorderOff.
        """
        ...

    async def check(self, who: Who, conversation_ids: Collection[UUID]) -> frozenset[UUID]:
        """Return those of the conversations that are recorded now, and that one may read."""
        ...


class NoRecorder:
    """Records nothing."""

    is_on = False

    async def record(self, who: Who, conversation_id: UUID, chunks: AsyncIterator[str]) -> Recorded:
        raise RecorderOff

    async def replay(self, who: Who, conversation_id: UUID) -> AsyncGenerator[str]:
        for text in NOTHING:
            yield text

    async def cancel(self, who: Who, conversation_id: UUID) -> bool:
        raise RecorderOff

    async def check(self, who: Who, conversation_ids: Collection[UUID]) -> frozenset[UUID]:
        return frozenset()


class PostgresRecorder:
    """Keeps what is recorded in memory, and in Postgres for other processes: `max_bytes` of each at most."""

    is_on = True

    def __init__(
        self,
        store: RecordingStore,
        live: LiveRecordings,
        follower: RecordingFollower,
        news: RecordingNews,
        *,
        streams: Streams,
        max_bytes: int,
        pace: Pace,
    ) -> None:
        self._store = store
        self._live = live
        self._follower = follower
        self._news = news
        self._streams = streams
        self._max_bytes = max_bytes
        self._pace = pace

    async def record(self, who: Who, conversation_id: UUID, chunks: AsyncIterator[str]) -> Recorded:
        with self._streams.one("recording", who):
            recording = LiveRecording(who.tenant_id, conversation_id, self._streams.content(who))
            ending: Ending = "broken"
            try:
                await self._begin(who, recording)
                with recording.scope:
                    ending = await self._take(recording, chunks)
            except ShareExceeded as error:
                ending = "error"
                raise TooManyRecordedBytes(error) from None
            finally:
                self._live.end(recording, ending)
            return await self._outcome(recording)

    async def _begin(self, who: Who, recording: LiveRecording) -> None:
        replaced = await self._store.begin(who, recording, begun=lambda: self._live.add(recording))
        await self._end(replaced)

    async def _take(self, recording: LiveRecording, chunks: AsyncIterator[str]) -> Ending:
        async for chunk in chunks:
            data = chunk.encode()
            if recording.content.size + len(data) > self._max_bytes:
                return "error"
            self._live.append(recording, data)
        return "success"

    async def _outcome(self, recording: LiveRecording) -> Recorded:
        """Wait until all of it is where other processes find it, and tell what became of it."""
        with anyio.move_on_after(self._pace.end_s):
            await recording.settled.wait()
        if recording.content.ending == "cancelled":
            return Recorded("cancelled")
        if recording.content.ending == "error":
            return Recorded("error", f"an answer has at most {self._max_bytes:,} bytes")
        return (
            Recorded("success") if recording.is_stored else Recorded("error", "not all of it could be stored")
        )

    async def replay(self, who: Who, conversation_id: UUID) -> AsyncGenerator[str]:
        with self._streams.one("replay", who):
            async with self._follower.content(who, conversation_id) as content:
                if content is None:
                    return
                async with aclosing(content.texts(gather_s=self._pace.gather_s)) as texts:
                    async for text in texts:
                        yield text
                if content.exceeded is not None:
                    raise TooManyRecordedBytes(content.exceeded)
                _refuse_broken(content)

    async def cancel(self, who: Who, conversation_id: UUID) -> bool:
        ids = await self._store.cancel(who, conversation_id)
        await self._end(ids)
        with anyio.move_on_after(self._pace.end_s):
            await self._wait_for_end(who.tenant_id, ids)
        return bool(ids)

    async def check(self, who: Who, conversation_ids: Collection[UUID]) -> frozenset[UUID]:
        return await self._store.check(who, conversation_ids)

    async def _end(self, ids: Sequence[UUID]) -> None:
        """End recordings that are to end: at once here, and in other processes as soon as they hear of it."""
        here = [one for id in ids if (one := self._live.get(id)) is not None]
        for one in here:
            self._live.end(one, "cancelled")
        await self._news.tell([id for id in ids if id not in {one.id for one in here}])

    async def _wait_for_end(self, tenant_id: str, ids: Sequence[UUID]) -> None:
        for id in ids:
            if (here := self._live.get(id)) is not None:
                await here.settled.wait()
        while await self._store.any_goes_on(tenant_id, ids):
            with anyio.move_on_after(self._pace.poll_s):
                await self._news.next()


def _refuse_broken(content: Content) -> None:
    if content.ending in BREAKS:
        raise RecordingBroken
