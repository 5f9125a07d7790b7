"""What was shown before it is forgotten: kept for a while, for who saw it, without the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID, uuid4

from blake3 import blake3

from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.asking import Asking

GOOD_FOR: Final = timedelta(minutes=15)


class Address(NamedTuple):
    """What names an item of any family."""

    family: str
    kind: str
    id: str


class Handles:
    """Keeps which items were shown to whom, each with the digest of its text."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def keep(
        self, asking: Asking, shown: Mapping[Address, str], now: datetime
    ) -> tuple[UUID, datetime]:
        """Keep what was shown, texts by address; returns its handle, and until when that is good."""
        handle, expires_at = uuid4(), now + GOOD_FOR
        items = [{**address._asdict(), "digest": digest_of(text)} for address, text in shown.items()]
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["keep_forget_handle"], asking.subject.tenant_id, handle, *asking.whose, items,
                expires_at,
            )  # fmt: skip
        return handle, expires_at

    async def read(self, handle: UUID, asking: Asking, now: datetime) -> Mapping[Address, str] | None:
        """Return the digests of what was shown to who asks, by address; None when the handle is not good."""
        async with self._database.connection() as connection:
            items: Sequence[Mapping[str, str]] | None = await connection.fetchval(
                self._sql["read_forget_handle"], asking.subject.tenant_id, handle, *asking.whose, now,
            )  # fmt: skip
        if items is None:
            return None
        return {Address(one["family"], one["kind"], one["id"]): one["digest"] for one in items}

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove handles that are not good any more; returns how many."""
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_expired_forget_handles"], now, limit))


def digest_of(text: str) -> str:
    """Return the digest by which a text is known again."""
    return blake3(text.encode()).hexdigest()
