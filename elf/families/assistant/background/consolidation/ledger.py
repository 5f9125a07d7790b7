"""What was compared already, and what a day still allows: taken in one transaction before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.background.consolidation.likeness import Pair
from elf.families.assistant.background.consolidation.report import Skip
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place

COMPARED_AGAIN_AFTER: Final = timedelta(days=14)
PAIRS: Final = "consolidation_pairs"
TOKENS: Final = "consolidation_tokens"
OF_THE_TENANT: Final = ""
"""Stands for the user of what all of a tenant share."""


class _Refused(Exception):
    """A day allows no more; nothing is taken."""

    def __init__(self, reason: Skip) -> None:
        super().__init__(reason)
        self.reason = reason


class Ledger:
    """Takes pairs to be compared, each once in 14 days, and what comparing them costs."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._rules = kit.config.consolidation

    async def compared_lately(self, place: Place) -> set[str]:
        """Return the fingerprints of the pairs of a user that are not to be compared again yet."""
        since = self._kit.now() - COMPARED_AGAIN_AFTER
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["compared_since"], *place, since)
        return {row["fingerprint"] for row in rows}

    async def pairs_left(self, place: Place) -> int:
        """Return how many pairs of a user may still be compared today."""
        return self._rules.max_pairs_per_day - await self._used(place, PAIRS)

    async def tokens_left(self, place: Place) -> int:
        """Return how many tokens a tenant may still use today."""
        return self._rules.token_budget_per_day - await self._used(_tenant(place), TOKENS)

    async def take(self, place: Place, pairs: Sequence[Pair], *, tokens: int = 0) -> Sequence[Pair] | Skip:
        """Take pairs that are about to be compared, and return those that nobody else took; or why none may be."""

        async def once() -> Sequence[Pair]:
            async with self._kit.database.transaction() as connection:
                return await self._take(connection, place, pairs, tokens)

        try:
            return await retrying(once)
        except _Refused as refused:
            return refused.reason

    async def give_back(self, place: Place, pairs: Sequence[Pair]) -> None:
        """Give back pairs that were taken, and about which nobody said anything. What they cost stays spent."""
        async with self._kit.database.connection() as connection:
            await connection.execute(
                self._sql["give_back_fingerprints"], *place, [pair.fingerprint for pair in pairs]
            )

    async def drop_old(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` fingerprints of pairs that may be compared again."""
        async with self._kit.database.connection() as connection:
            before = now - COMPARED_AGAIN_AFTER
            return len(await connection.fetch(self._sql["drop_old_fingerprints"], before, limit))

    async def _take(
        self, connection: Connection, place: Place, pairs: Sequence[Pair], tokens: int
    ) -> Sequence[Pair]:
        now = self._kit.now()
        by_fingerprint = {pair.fingerprint: pair for pair in pairs}
        rows = await connection.fetch(
            self._sql["take_fingerprints"], *place, list(by_fingerprint), now, now - COMPARED_AGAIN_AFTER
        )
        taken = {row["fingerprint"] for row in rows}
        rules = self._rules
        for whose, kind, much, most, reason in (
            (place, PAIRS, len(taken), rules.max_pairs_per_day, "PAIRS_CAP"),
            (_tenant(place), TOKENS, tokens, rules.token_budget_per_day, "TOKEN_BUDGET"),
        ):
            spent = await connection.fetchval(self._sql["spend_many"], *whose, kind, now.date(), much, most)
            if spent is None:
                raise _Refused(reason)  # type: ignore[arg-type]
        return [pair for fingerprint, pair in by_fingerprint.items() if fingerprint in taken]

    async def _used(self, whose: Place, kind: str) -> int:
        async with self._kit.database.connection() as connection:
            used = await connection.fetchval(
                self._sql["used_of_budget"], *whose, kind, self._kit.now().date()
            )
        return used or 0


def _tenant(place: Place) -> Place:
    return Place(place.tenant_id, OF_THE_TENANT)
