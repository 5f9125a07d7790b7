"""Answers of models that need not be asked for twice, kept in Postgres for a while (table llm_cache).

A cache never fails a search: what cannot be read is a miss, what cannot be written is not kept, and both are bounded
in time. A read is one SELECT; how often answers were used is counted in memory and written now and then, because a
write for each read would double what a hit costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import anyio
import msgspec
import structlog
from blake3 import blake3

from elf.core.clock import Clock
from elf.core.errors import ServiceError
from elf.db.database import Database
from elf.db.ids import DriverUUID
from elf.db.queries import Queries

READ_TIMEOUT_S = 0.5
WRITE_TIMEOUT_S = 2.0
KINDS = ("expansion", "rerank")  # of answers
MAX_UNWRITTEN_HITS = 4096  # keys whose hits are counted and not written yet

log = structlog.get_logger()


def cache_key(material: Mapping[str, Any]) -> str:
    """Return the BLAKE3 hash, 256 bits in hex, of the material as canonical JSON.

    Canonical: keys sorted, no spaces, UTF-8, a UUID in its hyphened form, a datetime in UTC as RFC 3339. Equal
    material has the same key whatever the order of its mappings, the zone of its moments, or lists being tuples.
    Raises ValueError for a datetime without a zone and for NaN and infinities, TypeError for what JSON cannot hold.
    """
    return blake3(msgspec.json.encode(_canonical(material), order="deterministic")).hexdigest()


# The driver's UUIDs are a class of their own.
_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None), UUID, DriverUUID})


def _canonical(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is datetime:
        return _in_utc(value)
    if kind is tuple or kind is list:
        # Most of what it is called for are the pairs of a long list: a call less for each of their values.
        return [item if type(item) in _AS_THEY_ARE else _canonical(item) for item in value]
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise ValueError("NaN and infinities have no canonical JSON")
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _canonical(item) for name, item in value.items()}
    raise TypeError(f"{kind.__name__} has no canonical JSON")


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise ValueError("a datetime without a zone is no moment")
    return moment.astimezone(UTC)


class CacheCounts(NamedTuple):
    """Reads and failures of one kind of answer in this process; a read that failed is a miss and an error."""

    hits: int = 0
    misses: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer, as JSON values, under its kind and key; `ttl_days` is how long it is worth keeping.

    One that has words of somebody says when it was `asked_at`: it is not kept when somebody was erased since then.
    """

    kind: str
    key: str
    payload: Any
    ttl_days: int
    asked_at: datetime | None = None


class AnswerCache:
    """The answers kept. `queries` are those of the folder sql/search.

    A payload whose JSON is larger than `max_payload_bytes`, when there is a limit, is not kept.
    """

    def __init__(
        self, *, database: Database, queries: Queries, clock: Clock, max_payload_bytes: int | None
    ) -> None:
        self._database = database
        self._queries = queries
        self._clock = clock
        self._max_payload_bytes = max_payload_bytes
        self._counts: dict[str, CacheCounts] = {}
        self._hits: dict[tuple[str, str], _Hits] = {}
        self._promised: dict[tuple[str, str], Any] = {}  # on their way to the table

    @property
    def counts(self) -> Mapping[str, CacheCounts]:
        """What came of the reads and writes so far, by kind of answer."""
        return dict(self._counts)

    async def get(self, kind: str, key: str) -> Any | None:
        """Return the payload kept under a key, or None when there is none or it cannot be had in time."""
        now = self._clock.now()
        if (promised := self._promised.get((kind, key))) is not None:
            self._count(kind, hits=1)
            self._remember_hit(kind, key, now)
            return promised
        try:
            with anyio.fail_after(READ_TIMEOUT_S):
                payload = await self._read(kind, key, now)
        except (ServiceError, TimeoutError, msgspec.MsgspecError, RecursionError) as error:
            self._count(kind, misses=1, errors=1)
            log.warning("cache_not_read", kind=kind, error=_described(error))
            return None
        if payload is None:
            self._count(kind, misses=1)
            return None
        self._count(kind, hits=1)
        self._remember_hit(kind, key, now)
        return payload

    def now(self) -> datetime:
        """Return since when an answer is `asked_at` that is asked for now."""
        return self._clock.now()

    async def put(
        self, kind: str, key: str, payload: Any, *, ttl_days: int, asked_at: datetime | None = None
    ) -> None:
        """Keep a payload, which is not None, for `ttl_days` from now. Never fails: see put_many."""
        await self.put_many([Answer(kind, key, payload, ttl_days, asked_at)])

    def put_later(self, answer: Answer, later: Callable[[LatePut], object]) -> None:
        """Hand an answer to `later`, which is false when it cannot take it, and does not wait.

        Until it is written, `get` gives it from memory.
        """
        if later(LatePut(self, answer)):
            self._promised[answer.kind, answer.key] = answer.payload

    async def put_many(self, answers: Sequence[Answer]) -> None:
        """Keep answers in one statement; of those with the same key, the last.

        What is too large or no JSON is left out. A failure is logged, and nothing is kept then.
        """
        try:
            await self._put_many(answers)
        finally:
            for answer in answers:
                self._promised.pop((answer.kind, answer.key), None)

    async def _put_many(self, answers: Sequence[Answer]) -> None:
        rows = {(answer.kind, answer.key): row for answer in answers if (row := self._row(answer))}
        if not rows:
            return
        ordered = [rows[place] for place in sorted(rows)]
        try:
            with anyio.fail_after(WRITE_TIMEOUT_S):
                *columns, asked_at = map(list, zip(*ordered, strict=True))
                await self._write("keep_answers", *columns, self._clock.now(), asked_at)
        except (ServiceError, TimeoutError) as error:
            for kind, _ in rows:
                self._count(kind, errors=1)
            log.warning("cache_not_written", answers=len(rows), error=_described(error))

    async def count_hits(self) -> None:
        """Write how often answers were used since the last time. A failure is logged and loses these counts."""
        hits, self._hits = self._hits, {}
        if not hits:
            return
        rows = [(*place, hits[place].number, hits[place].last_at) for place in sorted(hits)]
        try:
            with anyio.fail_after(WRITE_TIMEOUT_S):
                await self._write("count_hits", *map(list, zip(*rows, strict=True)))
        except (ServiceError, TimeoutError) as error:
            log.warning("cache_hits_not_counted", keys=len(rows), error=_described(error))

    async def _read(self, kind: str, key: str, now: datetime) -> Any | None:
        async with self._database.connection() as connection:
            text = await connection.fetchval(self._queries["read_answer"], kind, key, now)
        return None if text is None else msgspec.json.decode(text)

    async def _write(self, statement: str, *values: Any) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._queries["commit_without_waiting"])
            await connection.execute(self._queries[statement], *values)

    def _row(self, answer: Answer) -> tuple[str, str, str, datetime, datetime | None] | None:
        """Return the values of an answer's row, or None when it is not to be kept."""
        try:
            payload = msgspec.json.encode(answer.payload)
        except (TypeError, ValueError) as error:  # a fault of ours, but no reason to fail a search
            log.error("cache_payload_is_no_json", kind=answer.kind, error=type(error).__name__)
            self._count(answer.kind, errors=1)
            return None
        if self._max_payload_bytes is not None and len(payload) > self._max_payload_bytes:
            log.debug("cache_payload_too_large", kind=answer.kind, bytes=len(payload))
            return None
        expires_at = self._clock.now() + timedelta(days=answer.ttl_days)
        return answer.kind, answer.key, payload.decode(), expires_at, answer.asked_at

    def _remember_hit(self, kind: str, key: str, now: datetime) -> None:
        place = kind, key
        if place in self._hits or len(self._hits) < MAX_UNWRITTEN_HITS:
            known = self._hits.get(place, _Hits(0, now))
            self._hits[place] = _Hits(known.number + 1, max(known.last_at, now))

    def _count(self, kind: str, *, hits: int = 0, misses: int = 0, errors: int = 0) -> None:
        known = self._counts.get(kind, CacheCounts())
        self._counts[kind] = CacheCounts(known.hits + hits, known.misses + misses, known.errors + errors)


class _Hits(NamedTuple):
    number: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class LatePut:
    """A put for later: called, it is made alone; `AnswerCache.put_many` makes those of one cache together."""

    cache: AnswerCache
    answer: Answer

    async def __call__(self) -> None:
        await self.cache.put_many([self.answer])


def _described(error: Exception) -> str:
    if isinstance(error, ServiceError):
        return error.message
    return "out of time" if isinstance(error, TimeoutError) else "the payload cannot be decoded"
