"""The token vectors of texts of which no family keeps any, in Postgres by tenant: made once, behind the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from blake3 import blake3

from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries
from elf.providers.token_vectors import TokenVectors

UNUSED: Final = timedelta(days=30)
"""How long token vectors are kept that nobody uses."""
_DIGEST_BYTES: Final = 16


class Found(NamedTuple):
    """The token vectors of texts, and those texts whose use was not noted today."""

    vectors: Mapping[str, TokenVectors]
    unnoted: Sequence[str]


class KeptTokens:
    """Reads and writes token vectors of one version."""

    def __init__(self, database: Database, queries: Queries, clock: Clock, *, version: str) -> None:
        self._database = database
        self._sql = queries
        self._clock = clock
        self._version = version

    async def read(self, tenant_id: str, texts: Sequence[str]) -> Found:
        """Return the token vectors of those texts that have some."""
        if not texts:
            return Found({}, [])
        by_digest = {_digest(text): text for text in texts}
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["read_memory_tokens"], tenant_id, list(by_digest), self._version
            )
        today = self._today()
        return Found(
            {by_digest[row["digest"]]: TokenVectors(row["vectors"], row["tokens"]) for row in rows},
            [by_digest[row["digest"]] for row in rows if row["used_on"] < today],
        )

    async def keep(self, tenant_id: str, vectors: Mapping[str, TokenVectors], *, known_at: datetime) -> None:
        """Keep the token vectors of texts that were there at some moment, unless somebody was erased since then."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["keep_memory_tokens"],
                tenant_id,
                self._version,
                [_digest(text) for text in vectors],
                [len(one) for one in vectors.values()],
                [one.content for one in vectors.values()],
                self._today(),
                known_at,
            )

    async def note_use(self, tenant_id: str, texts: Sequence[str]) -> None:
        """Note that token vectors were used today."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["use_memory_tokens"], tenant_id, [_digest(text) for text in texts], self._today()
            )

    async def drop_unused(self, now: datetime, limit: int) -> int:
        """Remove token vectors that nobody used of late; returns how many."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["drop_unused_memory_tokens"], (now - UNUSED).date(), limit
            )
        return len(rows)

    def _today(self) -> date:
        return self._clock.now().date()


def _digest(text: str) -> bytes:
    return blake3(text.encode()).digest(length=_DIGEST_BYTES)
