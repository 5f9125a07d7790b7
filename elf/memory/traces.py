"""What answers were made of, kept for a while to explain them. No texts of items are in it.

An answer does not depend on its trace: one that cannot be written, such as while the disk is full, is dropped and
counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog

from elf.core.errors import ErasureInProgress, Unavailable
from elf.core.secrets import redact
from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.asking import Asking
from elf.memory.gathering import Offered
from elf.memory.ranking import LeftOut, Ranked

MAX_TRACE_BYTES: Final = 8_192
"""Of the content of a trace: what is left out of it is counted."""
MOST_ALSO: Final = 3
"""How many others that say the same a trace tells of each item."""
PATIENCE_S: Final = 1.0
"""How long an answer waits at most until its trace is written."""

log = structlog.get_logger()


class Traces:
    """Writes and reads traces, each kept for `keep`. In what is kept of a query, credentials are blanked.

    `sample` is the share of answers that leave one. `dropped` counts those that could not be written.
    """

    def __init__(
        self,
        database: Database,
        queries: Queries,
        *,
        keep: timedelta,
        sample: float,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._database = database
        self._sql = queries
        self._keep = keep
        self._sample = sample
        self._chance = chance
        self.dropped = 0

    async def write(
        self,
        trace_id: UUID,
        asking: Asking,
        query: str,
        content: Mapping[str, Any],
        now: datetime,
        *,
        is_wanted: bool,
    ) -> bool:
        """Keep what an answer was made of, if it `is_wanted` or among the sample. Returns False where it is dropped."""
        if not is_wanted and self._chance() >= self._sample:
            return True
        try:
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["keep_memory_trace"], asking.subject.tenant_id, trace_id, *asking.whose,
                    redact(query), fitted(content), now, now + self._keep, timeout=PATIENCE_S,
                )  # fmt: skip
        except (Unavailable, ErasureInProgress) as error:
            self.dropped += 1
            log.warning("memory.trace_dropped", error=error.message)
            return False
        return True

    async def read(self, trace_id: UUID, asking: Asking, now: datetime) -> Mapping[str, Any] | None:
        """Return a trace (query, content, created_at) for who asks as it was asked; None where there is none."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                self._sql["read_memory_trace"], asking.subject.tenant_id, trace_id, *asking.whose, now
            )
        return None if row is None else {**row, "content": msgspec.json.decode(row["content"])}

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove traces past their time; returns how many."""
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_expired_memory_traces"], now, limit))


def fitted(content: Mapping[str, Any]) -> str:
    """Return what an answer was made of as JSON of at most MAX_TRACE_BYTES.

    The best items come first, then what was left out in its order; `more` counts what there is no room for.
    """
    lists = {
        "items": [{**item, "also": item["also"][:MOST_ALSO]} for item in content["items"]],
        "left_out": content["left_out"],
    }
    kept: dict[str, list[msgspec.Raw]] = {name: [] for name in lists}
    rest = {**content, **kept, "more": dict.fromkeys(lists, MAX_TRACE_BYTES)}
    room = MAX_TRACE_BYTES - len(msgspec.json.encode(rest))
    for name, found in lists.items():
        for one in found:
            encoded = msgspec.json.encode(one)
            room -= len(encoded) + 1
            if room < 0:
                break
            kept[name].append(msgspec.Raw(encoded))
    more = {name: len(found) - len(kept[name]) for name, found in lists.items()}
    return msgspec.json.encode({**rest, "more": more}).decode()


def also_of(other: Offered) -> dict[str, Any]:
    """Return an item that says the same as another one as answers and traces have it."""
    return {
        "family": other.family,
        "kind": other.item.kind,
        "id": other.item.id,
        "provenance": list(other.item.provenance),
    }


def told(best: Sequence[Ranked], left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """Return items and what was left out as a trace has them."""
    return {
        "items": [
            {
                "family": one.offered.family,
                "kind": one.offered.item.kind,
                "id": one.offered.item.id,
                "score": one.score,
                "terms": dict(one.terms),
                "relevance": one.relevance,
                "also": [also_of(other) for other in one.also],
            }
            for one in best
        ],
        "left_out": [
            {
                "family": one.offered.family,
                "kind": one.offered.item.kind,
                "id": one.offered.item.id,
                "reason": one.reason,
                "score": one.score,
                "relevance": one.relevance,
            }
            for one in left_out
        ],
    }
