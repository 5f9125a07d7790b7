"""Compares the memories of every user once a day, each at a time of its own, and now where an operator asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

import structlog

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, Unavailable
from elf.families.assistant.api import consolidation as c
from elf.families.assistant.background.consolidation.comparing import Comparing
from elf.families.assistant.background.consolidation.report import total
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place
from elf.families.assistant.rules.bands import RECENT
from elf.outbox.chores import Due, every

KIND: Final = "consolidation"
DAY: Final = timedelta(days=1)
HELD: Final = timedelta(minutes=2)
"""How long whoever began with a user is left alone: longer than the time that a user has. A process that died is not
waited for any longer."""

log = structlog.get_logger()


class DailyConsolidation:
    """Has the memories of users compared."""

    def __init__(self, kit: Kit, comparing: Comparing) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._comparing = comparing

    async def subjects(self) -> list[str]:
        """Return the users whose time of the day has come since they had their last run; for a chore."""
        now = self._kit.now()
        done = await self._users(None)
        return [
            subject_of(place) for place, slot in done.items() if slot is None or slot < slot_of(place, now)
        ]

    async def run(self, due: Due) -> None:
        """Compare the memories of a user, unless that was done since its time of the day; for a chore.

        Raises Unavailable while somebody else may be at it, so that the chore comes back.
        """
        place = place_of(due.subject)
        if not await self._claim(place):
            return
        report = await self._comparing.compare(place)
        async with self._kit.database.connection() as connection:
            await connection.execute(self._sql["end_run"], *place, KIND, self._kit.now())
        log.info(
            "assistant.consolidated", pairs=report.pairs_seen, asked=report.pairs_asked, merged=report.merged,
            tokens=report.tokens,
        )  # fmt: skip

    async def on_request(self, request: c.Consolidate, _: Caller) -> c.Consolidated:
        """Compare the memories of a user, of all users of a tenant, or of all, within what the day still allows."""
        if request.user_id is not None and request.tenant_id is None:
            path = "$.tenant_id"
            raise InvalidRequest(f"{path}: is required with a user_id", fields=[path])
        places = await self._places(request)
        before = [len((await self._comparing.pairs(place))[1]) for place in places]
        reports = [await self._comparing.compare(place, dry_run=request.dry_run) for place in places]
        after = [len((await self._comparing.pairs(place))[1]) for place in places]
        report = total(reports)
        return c.Consolidated(
            dry_run=request.dry_run, users=report.users, duplicates_before=sum(before),
            duplicates_after=sum(after), pairs_seen=report.pairs_seen, pairs_asked=report.pairs_asked,
            questions=report.questions, merged=report.merged, contradictions=report.contradictions,
            tokens=report.tokens, skipped={str(reason): count for reason, count in report.skipped.items()},
        )  # fmt: skip

    async def _places(self, request: c.Consolidate) -> Sequence[Place]:
        if request.tenant_id is not None and request.user_id is not None:
            return [Place(request.tenant_id, request.user_id)]
        return list(await self._users(request.tenant_id))

    async def _users(self, tenant_id: str | None) -> Mapping[Place, datetime | None]:
        """Return the users that have something to compare, and which slot was done last."""
        since = self._kit.now() - RECENT
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["users_to_consolidate"], since, tenant_id)
        return {Place(row["tenant_id"], row["user_id"]): row["slot"] for row in rows}

    async def _claim(self, place: Place) -> bool:
        """Begin with a user; False when that was done. Raises Unavailable while somebody else may be at it."""
        now = self._kit.now()
        async with self._kit.database.connection() as connection:
            claimed = await connection.fetchval(
                self._sql["claim_slot"], *place, KIND, slot_of(place, now), now, now - HELD
            )
            if claimed is not None:
                return True
            if await connection.fetchval(self._sql["has_ended"], *place, KIND):
                return False
        raise Unavailable("somebody else compares the memories of this user")


def slot_of(place: Place, now: datetime) -> datetime:
    """Return the last time at or before a moment at which a user's daily run was due."""
    digest = blake2b(json.dumps(place).encode(), digest_size=8).digest()
    seconds = int.from_bytes(digest) % int(DAY.total_seconds())
    return every(DAY, at=timedelta(seconds=seconds))(now)


def subject_of(place: Place) -> str:
    return json.dumps(place)


def place_of(subject: str) -> Place:
    tenant_id, user_id = json.loads(subject)
    return Place(tenant_id, user_id)
