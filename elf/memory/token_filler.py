"""Makes the token vectors that an answer had to do without, behind its back, so that the next one has them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import anyio
import structlog
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from elf.core.batches import batches
from elf.core.clock import Clock
from elf.core.errors import ServiceError
from elf.memory.kept_tokens import KeptTokens
from elf.providers.port import LateInteraction

WAITING: Final = 64
"""How many answers may have left something to be made; what is beyond is left to the next answer that lacks it."""
PART_TEXTS: Final = 16
PART_CHARS: Final = 6000

log = structlog.get_logger()


class Wanted(NamedTuple):
    """Texts of a tenant that have no token vectors, and some whose vectors were used."""

    tenant_id: str
    missing: Sequence[str]
    used: Sequence[str]


class TokenFiller:
    """An actor that takes what answers want, one after the other."""

    name: Final = "memory_tokens"

    def __init__(self, late: LateInteraction, kept: KeptTokens, clock: Clock) -> None:
        self._late = late
        self._kept = kept
        self._clock = clock
        self._waiting: deque[tuple[datetime, Wanted]] = deque()
        self._asked = anyio.Event()

    def want(self, wanted: Wanted) -> None:
        """Ask for token vectors; never waits."""
        if not (wanted.missing or wanted.used):
            return
        if len(self._waiting) == WAITING:
            log.info("memory.tokens_left_out", texts=len(wanted.missing))
            return
        self._waiting.append((self._clock.now(), wanted))
        self._asked.set()

    async def run(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Make and keep token vectors until cancelled."""
        task_status.started()
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            while self._waiting:
                asked_at, wanted = self._waiting.popleft()
                try:
                    await self._fill(wanted, asked_at)
                except ServiceError as error:  # the next answer that lacks them asks again
                    log.warning("memory.tokens_not_kept", texts=len(wanted.missing), error=error.message)

    async def _fill(self, wanted: Wanted, asked_at: datetime) -> None:
        if wanted.used:
            await self._kept.note_use(wanted.tenant_id, wanted.used)
        there = (await self._kept.read(wanted.tenant_id, wanted.missing)).vectors
        missing = [text for text in dict.fromkeys(wanted.missing) if text not in there]
        for part in batches(missing, len, most_size=PART_CHARS, most=PART_TEXTS):
            vectors = await self._late.encode(part)
            made = dict(zip(part, vectors, strict=True))
            await self._kept.keep(wanted.tenant_id, made, known_at=asked_at)
