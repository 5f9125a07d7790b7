"""What turns leave behind, once nobody asks for it any more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from elf.families.assistant.kit import Kit

REPEATED_WITHIN: Final = timedelta(days=30)
"""How long the same turn again gets the answer that it had."""
COUNTED_WITHIN: Final = timedelta(days=2)


class TurnGarbage:
    """Removes turns and counts of days that are over."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def drop_turns(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` turns that were taken in long ago."""
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_old_turns"], now - REPEATED_WITHIN, limit))

    async def drop_budgets(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` counts of days that are over."""
        before = (now - COUNTED_WITHIN).date()
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_old_budgets"], before, limit))
