"""Makes the vectors of memories: what was written is found by its words at once, and by its meaning soon after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

import anyio
import structlog

from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.families.graph.bell import Bell
from elf.families.graph.store.backlog import (
    ToEmbed,
    count_vectors_to_make,
    keep_vectors,
    postpone,
    take_up,
    vectors_to_make,
)
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.statements import Change, Snapshot
from elf.families.graph.tallies import Tallies
from elf.indexing.embedding import EmbeddedText, TextEmbedder

AT_ONCE: Final = 512
CHARS_AT_ONCE: Final = 32_768
POLL_S: Final = 5.0
"""How soon is seen what another process has written."""
RETRY_S: Final = 1.0
LONGEST_RETRY_S: Final = 60.0
LONGEST_WAIT: Final = timedelta(hours=6)

log = structlog.get_logger()


class Embedding:
    """Makes what vectors are missing of one file after the other, for as long as it is let."""

    def __init__(self, texts: TextEmbedder, clock: Clock, bell: Bell, tallies: Tallies | None = None) -> None:
        self._texts = texts
        self._clock = clock
        self._bell = bell
        self._tallies = tallies or Tallies()

    async def run(self, file: MemoryFile) -> None:
        """Make the vectors of a file. Raises Unavailable when the file cannot be used."""
        version = self._texts.version
        await file.write(lambda change: take_up(change, version))
        pause = RETRY_S
        try:
            while True:
                if not (due := await self._due(file)):
                    await self._bell.wait(POLL_S)
                elif await self._make(file, _some(due)):
                    pause = RETRY_S
                else:
                    await anyio.sleep(pause)
                    pause = min(2 * pause, LONGEST_RETRY_S)
        finally:
            self._tallies.to_make(file.key, 0)

    async def _due(self, file: MemoryFile) -> Sequence[ToEmbed]:
        """Return some memories whose vectors are due, and count how many are to be made in all."""
        version, now = self._texts.version, self._clock.now()

        def look(snapshot: Snapshot) -> tuple[Sequence[ToEmbed], int]:
            due = vectors_to_make(snapshot, version, now=now, limit=AT_ONCE)
            return due, count_vectors_to_make(snapshot, version)

        due, count = await file.read(look)
        self._tallies.to_make(file.key, count)
        return due

    async def _make(self, file: MemoryFile, due: Sequence[ToEmbed]) -> bool:
        """Make the vectors of some memories; return False when the model is away."""
        try:
            embedded = await self._texts.embed([one.content for one in due])
        except Unavailable as error:
            if error.concerns_all:
                log.warning("memory.embedding_failed", memories=len(due), error=type(error).__name__)
                return False
            if len(due) > 1:  # one of the texts is at fault
                return all([await self._make(file, [one]) for one in due])
            embedded = [None]
        await self._keep(file, due, embedded)
        return True

    async def _keep(
        self, file: MemoryFile, due: Sequence[ToEmbed], embedded: Sequence[EmbeddedText | None]
    ) -> None:
        """Keep the vectors that were made; those of which none was are tried again later, each time after longer."""
        version, now = self._texts.version, self._clock.now()
        made = [(one, found.vectors) for one, found in zip(due, embedded, strict=True) if found is not None]
        failed = [one for one, found in zip(due, embedded, strict=True) if found is None]
        waits = [min(timedelta(minutes=2 ** min(one.attempts, 10)), LONGEST_WAIT) for one in failed]

        def keep(change: Change) -> None:
            keep_vectors(change, made, version)
            postpone(change, failed, version, due_at=[now + wait for wait in waits])

        await file.write(keep)


def _some(due: Iterable[ToEmbed]) -> list[ToEmbed]:
    """Return the first ones, as many as fit in one call."""
    taken: list[ToEmbed] = []
    room = CHARS_AT_ONCE
    for one in due:
        room -= len(one.content)
        if taken and room < 0:
            break
        taken.append(one)
    return taken
