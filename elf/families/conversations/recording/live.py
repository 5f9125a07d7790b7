"""What is being recorded in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from uuid import UUID, uuid4

import anyio

from elf.families.conversations.recording.bell import Bell
from elf.families.conversations.recording.content import Content, Ending

CHUNK_BYTES: Final = 256 * 1024


class LiveRecording:
    """A recording of this process, from its begin until its end is stored.

    `scope` is what its writer works in. `settled` is set when nothing more becomes of it; `is_stored` tells whether all
    of it, the end included, is then where other processes find it.
    """

    def __init__(self, tenant_id: str, conversation_id: UUID, content: Content) -> None:
        self.tenant_id = tenant_id
        self.conversation_id = conversation_id
        self.id = uuid4()
        self.content = content
        self.scope = anyio.CancelScope()
        self.ended_at: float | None = None
        self.settled = anyio.Event()
        self.is_stored = False
        self._stored = 0
        self._chunk = b""

    @property
    def unstored(self) -> int:
        """How many bytes are not stored yet."""
        return self.content.size - self._stored

    def next_chunk(self) -> tuple[int, bytes]:
        """Return where what is to be stored next begins, and what it is: the same until it is said to be stored."""
        if not self._chunk:
            self._chunk = self.content.stretch(self._stored, CHUNK_BYTES)
        return self._stored, self._chunk

    def took(self) -> None:
        """Note that the chunk is stored."""
        self._stored += len(self._chunk)
        self._chunk = b""

    def lost(self) -> None:
        """Note that nothing of it is stored any more."""
        self._stored, self._chunk = 0, b""


class LiveRecordings:
    """Those of this process by id. `work` is rung when something is to be stored, `urgent` when it cannot wait."""

    def __init__(self) -> None:
        self._recordings: dict[UUID, LiveRecording] = {}
        self.work = Bell()
        self.urgent = Bell()

    def __len__(self) -> int:
        return len(self._recordings)

    def __iter__(self) -> Iterator[LiveRecording]:
        return iter(tuple(self._recordings.values()))

    def get(self, id: UUID) -> LiveRecording | None:
        return self._recordings.get(id)

    def add(self, recording: LiveRecording) -> None:
        self._recordings[recording.id] = recording
        recording.content.hold()
        self.work.ring()

    def append(self, recording: LiveRecording, data: bytes) -> None:
        """Add to a recording, unless it has ended. Raises ShareExceeded."""
        recording.content.append(data)
        self.work.ring()

    def end(self, recording: LiveRecording, ending: Ending) -> None:
        """Have a recording end in this way, unless it has ended. Its writer is stopped."""
        if recording.ended_at is None:
            recording.ended_at = anyio.current_time()
        recording.content.end(ending)
        recording.scope.cancel()
        self.hurry()

    def settle(self, recording: LiveRecording, *, is_stored: bool) -> None:
        """Say that nothing more becomes of a recording."""
        if self._recordings.pop(recording.id, None) is not None:
            recording.content.let_go()
        recording.is_stored = is_stored
        recording.settled.set()

    def hear(self, id: UUID) -> None:
        """Look at once whether a recording is to end, if it is one of these."""
        if id in self._recordings:
            self.hurry()

    def hurry(self) -> None:
        """Have what there is stored, and looked at, at once."""
        self.work.ring()
        self.urgent.ring()
