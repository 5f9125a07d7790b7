"""Reads values: by their keys, by words, and by their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

import anyio
import structlog
from pgvector import Vector

from elf.core.errors import Unavailable
from elf.db.database import Connection
from elf.db.errors import map_errors
from elf.families.store.answers import Result, item_of
from elf.families.store.api import operations as a
from elf.families.store.kit import Kit
from elf.families.store.model import MAX_LABELS, Place, Row
from elf.families.store.rules.conditions import conditions_of
from elf.families.store.rules.places import address_of, within

ANSWER_BYTES: Final = 8 << 20
"""An answer ends where its values would be larger than this, unless it has one only."""

log = structlog.get_logger()

READ_S: Final = 5.0
"""How long everything takes at most that a request reads: of each statement the database has a longer limit."""

RETRY_AFTER_S: Final = 30
"""Longer than clients are patient: what took too long will again."""

Reads = Mapping[int, a.Get | a.Search | a.ListNamespaces]


@dataclass(slots=True)
class _Room:
    """How much more an answer may hold. What it takes first always fits."""

    bytes: int
    is_empty: bool = True

    def takes(self, size: int) -> bool:
        self.bytes -= size
        fits = self.is_empty or self.bytes >= 0
        self.is_empty = False
        return fits


@dataclass(slots=True)
class _Picked:
    """Of each reading the rows that are answered, and which of them are cut off."""

    rows: dict[int, list[Row]] = field(default_factory=dict)
    cut: set[int] = field(default_factory=set)
    refreshed: set[UUID] = field(default_factory=set)

    def take(self, at: int, rows: Sequence[Row], room: _Room, *, refresh: bool) -> None:
        taken = self.rows.setdefault(at, [])
        for row in rows:
            if not room.takes(row["bytes"]):
                self.cut.add(at)
                break
            taken.append(row)
        if refresh:
            self.refreshed.update(row["item_id"] for row in taken if row["ttl"] is not None)


class Reading:
    """Carries out what is read. `reads` are by their places in a request, and so are the results."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def vectors(self, reads: Reads) -> Mapping[str, Vector | None]:
        """Return the vectors of all queries. Raises Unavailable as the model does."""
        asked = (one.query for one in reads.values() if isinstance(one, a.Search))
        queries = [*dict.fromkeys(query for query in asked if query is not None)]
        return dict(zip(queries, await self._kit.embedder.embed(queries), strict=True)) if queries else {}

    async def read(
        self,
        connection: Connection,
        place: Place,
        reads: Reads,
        vectors: Mapping[str, Vector | None],
        *,
        with_writes: bool = False,
    ) -> dict[int, Result]:
        """Read everything as it is at this moment, `with_writes` in the transaction of those.

        Raises Unavailable where that takes longer than READ_S.
        """
        try:
            with anyio.fail_after(READ_S):
                return await self._read(connection, place, reads, vectors, with_writes=with_writes)
        except TimeoutError:
            raise Unavailable(
                f"reading took more than {READ_S:.0f} s: search within a namespace, or ask for less at a time",
                retry_after_s=RETRY_AFTER_S,
            ) from None

    async def _read(
        self,
        connection: Connection,
        place: Place,
        reads: Reads,
        vectors: Mapping[str, Vector | None],
        *,
        with_writes: bool,
    ) -> dict[int, Result]:
        now = self._kit.now()
        results: dict[int, Result] = {}
        picked, room = _Picked(), _Room(ANSWER_BYTES)
        by_address = await self._by_address(connection, place, reads, now)
        for at, one in reads.items():
            match one:
                case a.Get():
                    held = by_address.get(address_of(one.namespace, one.key), ())
                    picked.take(at, held, room, refresh=one.refresh_ttl)
                case a.Search():
                    rows = await self._found(connection, place, one, now, vectors)
                    picked.take(at, rows, room, refresh=one.refresh_ttl)
                case a.ListNamespaces():
                    results[at] = Result(namespaces=await self._namespaces(connection, place, one, now))
        results |= await self._loaded(connection, place, reads, picked)
        if picked.refreshed:
            try:
                with map_errors():
                    await connection.execute(self._sql["refresh_items"], *place, now, [*picked.refreshed])
            except Unavailable as error:
                if with_writes:
                    raise
                # What can be read is answered, such as while the disk is full: its time goes on as if it were not read.
                log.warning("store.values_not_refreshed", values=len(picked.refreshed), error=error.message)
        return results

    async def _by_address(
        self, connection: Connection, place: Place, reads: Reads, now: datetime
    ) -> Mapping[bytes, list[Row]]:
        wanted = {address_of(one.namespace, one.key) for one in reads.values() if isinstance(one, a.Get)}
        if not wanted:
            return {}
        rows = await connection.fetch(self._sql["get_items"], *place, now, [*wanted])
        return {row["address"]: [row] for row in rows}

    async def _found(
        self,
        connection: Connection,
        place: Place,
        one: a.Search,
        now: datetime,
        vectors: Mapping[str, Vector | None],
    ) -> Sequence[Row]:
        conditions = conditions_of(one.filter)
        asked = (*place, now, *within(one.namespace), conditions, one.limit, one.offset)
        if one.query is None:
            return await connection.fetch(self._sql["find_newest"], *asked)
        vector = vectors[one.query]
        if vector is None:
            return []
        return await connection.fetch(self._sql["find_nearest"], *asked, vector, self._kit.embedder.version)

    async def _namespaces(
        self, connection: Connection, place: Place, one: a.ListNamespaces, now: datetime
    ) -> list[list[str]]:
        matching = [match.model_dump() for match in one.matching]
        rows = await connection.fetch(
            self._sql["list_namespaces"],
            *place,
            now,
            matching,
            one.max_depth or MAX_LABELS,
            one.limit,
            one.offset,
        )
        return [row["namespace"] for row in rows]

    async def _loaded(
        self, connection: Connection, place: Place, reads: Reads, picked: _Picked
    ) -> dict[int, Result]:
        ids = {row["item_id"] for rows in picked.rows.values() for row in rows}
        found = await connection.fetch(self._sql["load_items"], *place, [*ids]) if ids else []
        by_id = {row["item_id"]: row for row in found}
        results: dict[int, Result] = {}
        for at, rows in picked.rows.items():
            # What somebody has removed since it was found is not there.
            items = [
                item_of(by_id[row["item_id"]], row.get("score")) for row in rows if row["item_id"] in by_id
            ]
            more = at in picked.cut
            is_one = isinstance(reads[at], a.Get)
            results[at] = (
                Result(item=items[0] if items else None, more=more)
                if is_one
                else Result(items=items, more=more)
            )
        return results
