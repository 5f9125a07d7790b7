"""Makes the vectors of memories: what was written is found by its words at once, and by its meaning soon after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

import anyio
import structlog

from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.families.graph.bell import Bell
from elf.families.graph.store.backlog import (
    MOST_DEATHS,
    ToEmbed,
    begin,
    count_vectors_to_make,
    end,
    keep_vectors,
    postpone,
    take_up,
    vectors_to_make,
)
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.statements import Change, Snapshot
from elf.families.graph.tallies import Tallies
from elf.indexing.embedding import EmbeddedText, TextEmbedder
from elf.outbox.turns import Turns

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

    def __init__(
        self,
        texts: TextEmbedder,
        clock: Clock,
        bell: Bell,
        tallies: Tallies | None = None,
        *,
        turns: Turns | None = None,
        max_process_deaths: int = MOST_DEATHS,
    ) -> None:
        """`turns` are those of the process.

        A text that was all that `max_process_deaths` processes were at when they ended is given up.
        """
        self._turns = turns or Turns()
        self._most_deaths = max_process_deaths
        self._texts = texts
        self._clock = clock
        self._bell = bell
        self._tallies = tallies or Tallies()

    async def run(self, file: MemoryFile) -> None:
        """Make the vectors of a file. Raises Unavailable when the file cannot be used."""
        version = self._texts.version
        deaths = await file.write(lambda change: take_up(change, version))
        if given_up := sum(count >= self._most_deaths for count in deaths):
            log.error("memory.vectors_given_up", memories=given_up)
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
            due = vectors_to_make(snapshot, version, now=now, most_deaths=self._most_deaths, limit=AT_ONCE)
            return due, count_vectors_to_make(snapshot, version)

        due, count = await file.read(look)
        self._tallies.to_make(file.key, count)
        return due

    async def _make(self, file: MemoryFile, due: Sequence[ToEmbed]) -> bool:
        """Make the vectors of some memories; return False when the model is away."""
        async with self._turns.alone() if due[0].is_suspect else self._turns.together() as turn:
            await file.write(lambda change: begin(change, due, is_alone=turn.is_alone))
            is_made = False
            try:
                is_made = await self._make_begun(file, due)
            finally:
                if not is_made:
                    with anyio.CancelScope(shield=True), suppress(Unavailable):
                        await file.write(lambda change: end(change, due))
        return is_made

    async def _make_begun(self, file: MemoryFile, due: Sequence[ToEmbed]) -> bool:
        try:
            embedded = await self._texts.embed([one.content for one in due])
        except Unavailable as error:
            if error.concerns_all:
                log.warning("memory.embedding_failed", memories=len(due), error=type(error).__name__)
                return False
            if len(due) > 1:  # one of the texts is at fault
                return all([await self._make_begun(file, [one]) for one in due])
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


def _some(due: Sequence[ToEmbed]) -> list[ToEmbed]:
    """Return the first ones, as many as fit in one call; a suspect one alone, after all others."""
    return _fitting(one for one in due if not one.is_suspect) or [due[0]]


def _fitting(due: Iterable[ToEmbed]) -> list[ToEmbed]:
    taken: list[ToEmbed] = []
    room = CHARS_AT_ONCE
    for one in due:
        room -= len(one.content)
        if taken and room < 0:
            break
        taken.append(one)
    return taken
