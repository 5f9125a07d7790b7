"""The audit log of a front that anybody can reach: a flood of calls without an identity must not fill the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from elf.api.audit import AuditEntry, AuditLog, AuditOutcome, DataSubject
from elf.core.errors import Unavailable

NAMELESS_A_SECOND: Final = 20


class SparingAuditLog:
    """Records all calls of known callers, and of others as many as NAMELESS_A_SECOND; `clock` returns seconds."""

    def __init__(self, log: AuditLog, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._second = 0
        self._recorded = 0

    async def begin(self, entry: AuditEntry) -> None:
        """Record that a call begins."""
        await self._log.begin(entry)

    async def end(self, entry: AuditEntry, outcome: AuditOutcome, *, has_begun: bool) -> None:
        """Record what became of a call. Raises Unavailable for one too many without an identity."""
        if entry.user is None and entry.client is None and not self._has_room():
            raise Unavailable("more calls without an identity than are recorded")
        await self._log.end(entry, outcome, has_begun=has_begun)

    async def pseudonymize(self, subject: DataSubject) -> None:
        """Replace the names of somebody who was erased."""
        await self._log.pseudonymize(subject)

    def _has_room(self) -> bool:
        second = int(self._clock())
        if second != self._second:
            self._second, self._recorded = second, 0
        self._recorded += 1
        return self._recorded <= NAMELESS_A_SECOND
