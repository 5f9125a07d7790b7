"""PgvectorIndex: the vector index in the Postgres that holds the notes, with no index server at all.

The dense leg is exact: it reads the vectors of all points that the filter lets through, which is quick for a project
of tens of thousands. The BM25 leg is an inverted index with the tokens, weights and idf of the other adapters. The
tables and statements are in sql/index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

import msgspec
import numpy as np
from pgvector import Vector as PgVector

from elf.core.errors import IndexUnavailable, InternalError, Unavailable
from elf.db import schema
from elf.db.database import Connection, Database
from elf.db.errors import Retryable, retrying
from elf.db.patience import AS_LONG_AS_IT_TAKES_S, telling
from elf.db.queries import Queries, sql_folder
from elf.index.bm25 import Bm25Encoder
from elf.index.corpus import corpus_of
from elf.index.counts import LargeCounts
from elf.index.partitions import alternatives
from elf.index.pgvector_rows import Rows, columns, terms
from elf.index.port import (
    IndexFilter,
    IndexPoint,
    IndexQuery,
    LegHit,
    Period,
    QueryResult,
    StoredPoint,
    Vector,
)
from elf.index.schema import (
    BM25,
    DENSE,
    MOMENT_FIELDS,
)
from elf.index.space import Space

UPSERT_POINTS: Final = 256  # points of one transaction
WAYS_TO_FIND: Final = {
    "find": "shelves_of_all",
    "find_within": "shelves_within",
    "find_asked_within": "shelves_of_all_asked_within",
}
_TOTAL: Final = "total"
_LOCK_KEY: Final = int.from_bytes(b"elf:idx\0")  # any number that no other user of the database takes


class PgvectorIndex:
    """The VectorIndex of `space` over `database`, which somebody else opens and closes.

    Queries go to `reads`, a replica of it, when one is given: they see what has reached it.
    Of a payload it keeps the space's keyword_fields, MOMENT_FIELDS and the key; equality with any other finds nothing.
    Each method raises IndexUnavailable when Postgres does not answer within `timeout_s`, or refuses; `ensure` and
    `count` take the time that their tables need.
    """

    def __init__(
        self,
        database: Database,
        *,
        space: Space,
        vector_dim: int,
        timeout_s: float,
        reads: Database | None = None,
    ) -> None:
        self._database = database
        self._reads = reads or database
        self._vector_dim = vector_dim
        self._timeout_s = timeout_s
        self._space = space
        self._encoder = Bm25Encoder(avg_len=space.average_length)
        self._sql = statements(space)
        self._counts = LargeCounts()

    async def ensure(self) -> None:
        script = _named(
            schema.render(sql_folder() / "index" / "index.sql", vector_dim=self._vector_dim), self._space
        )
        with _failures():
            async with self._database.transaction() as connection:
                # Looked up first: even CREATE INDEX IF NOT EXISTS waits for the writers of other processes.
                if await self._is_incomplete(connection, script):
                    with telling(
                        "index_tables_being_made"
                    ):  # or waited for, while another process makes them
                        await connection.execute(
                            "SELECT pg_advisory_xact_lock($1)", _LOCK_KEY, timeout=AS_LONG_AS_IT_TAKES_S
                        )
                        if await self._is_incomplete(connection, script):
                            await connection.execute(script, timeout=AS_LONG_AS_IT_TAKES_S)
                dim = await connection.fetchval(self._sql["dense_dimension"])
                if dim != self._vector_dim and not await connection.fetchval(self._sql["has_points"]):
                    await connection.execute(_named(_RESIZE.format(dim=self._vector_dim), self._space))
                    dim = self._vector_dim
        if dim != self._vector_dim:
            raise IndexUnavailable(
                f"the table index_points{self._space.suffix} holds vectors of {dim} numbers"
                f" instead of {self._vector_dim}: drop it and rebuild the index"
            )
        self._counts.forget()

    async def _is_incomplete(self, connection: Connection, script: str) -> bool:
        return bool(await connection.fetchval(self._sql["missing_relations"], schema.created_names(script)))

    # Writing

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        last = {point.point_id: point for point in points}  # a statement cannot write one row twice
        ordered = [last[point_id] for point_id in sorted(last)]
        for start in range(0, len(ordered), UPSERT_POINTS):
            with _failures():
                rows = self._rows(ordered[start : start + UPSERT_POINTS])
                left = await retrying(partial(self._write, rows))
                await retrying(partial(self._sweep, left))

    def _rows(self, points: Sequence[IndexPoint]) -> Rows:
        rows = Rows(self._space)
        for point in points:
            rows.add(point, dense=self._unit(point.dense), words=self._encoder.document(point.text))
        return rows

    async def _write(self, rows: Rows) -> Sequence[int]:
        """Write points with their words; returns the shelves that some of them stood on before."""
        ids, shelves = [row[0] for row in rows.points], list(rows.shelves)
        async with self._database.transaction() as connection:
            await self._execute(connection, "put_shelves", *columns(list(rows.shelves.values()), 3))
            if len(await self._fetch(connection, "hold_shelves", shelves)) < len(shelves):
                raise Retryable("a shelf was swept at this moment")
            left = await self._fetch(connection, "shelves_of_points", ids, shelves)
            await self._execute(connection, "put_points", *columns(rows.points, 9))
            # The statement before has waited for other writers of these points: this one sees what they wrote.
            await self._execute(connection, "drop_postings", ids)
            await self._execute(connection, "put_postings", *columns(rows.postings, 5))
        return [row["shelf"] for row in left]

    async def delete_owners(self, owner_ids: Sequence[UUID], *, keep: Sequence[UUID] = ()) -> None:
        if owner_ids:
            await self._delete("drop_owners", list(owner_ids), list(keep))

    async def delete_points(self, point_ids: Sequence[UUID]) -> None:
        if point_ids:
            await self._delete("drop_points", list(point_ids))

    async def _delete(self, name: str, *ids: list[UUID]) -> None:
        async def delete() -> Sequence[int]:
            async with self._database.transaction() as connection:
                gone = await self._fetch(connection, name, *ids)
                if gone:  # by a statement of its own, as in _write
                    await self._execute(connection, "drop_postings", [row["point_id"] for row in gone])
            return list({row["shelf"] for row in gone})

        with _failures():
            left = await retrying(delete)
            await retrying(partial(self._sweep, left))

    async def _sweep(self, shelves: Sequence[int]) -> None:
        """Remove those of the shelves on which nothing stands any more: their fields name who it was of.

        The last of several who empty one sees that it is empty, as each looks when its own work is committed.
        """
        if not shelves:
            return
        async with self._database.connection() as connection:
            empty = [row["shelf"] for row in await self._fetch(connection, "empty_shelves", shelves)]
        if empty:
            async with self._database.transaction() as connection:
                await self._fetch(connection, "lock_shelves", empty)
                await self._execute(connection, "sweep_shelves", empty)

    # Finding

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        hits: list[dict[str, list[LegHit]]] = [{DENSE: [], BM25: []} for _ in queries]
        with _failures():
            for group in self._groups(queries):
                for row in await self._find(group):
                    hit = LegHit(row["point_id"], row["owner_id"], row["score"])
                    hits[row["number"]][row["kind"]].append(hit)
        return [QueryResult(dense=_best_first(legs[DENSE]), bm25=_best_first(legs[BM25])) for legs in hits]

    def _groups(self, queries: Sequence[IndexQuery]) -> list[_Group]:
        """Put queries of one filter and limit together, as all of a search are: each group is one round trip."""
        groups: list[_Group] = []
        for number, query in enumerate(queries):
            group = next((one for one in groups if one.takes(query)), None)
            if group is None:
                group = _Group(query.where, query.limit)
                groups.append(group)
            if query.dense is not None:
                group.dense.append((number, self._unit(query.dense)))
            if query.text is not None:
                group.words.extend((number, term) for term in terms(self._encoder.query(query.text)))
        return [group for group in groups if group.can_find]

    async def _find(self, group: _Group) -> list[Mapping[str, Any]]:
        """Return the rows of hits; the counts that come with them are remembered."""
        where = group.where
        must, any_of, within = corpus_of(
            where.must, where.any_of, where.within, reader_fields=self._space.reader_fields
        )
        corpus = _equalities(IndexFilter(must, any_of))
        values = None if within is None else (within.field, sorted(within.values))
        name = blake2b(msgspec.json.encode([corpus, values]), digest_size=16).digest()
        terms = list({term for _, term in group.words})
        counts = [
            terms,
            [self._counts.known((name, term)) for term in terms],
            self._counts.known((name, _TOTAL)),
        ]
        async with self._reads.connection() as connection:
            rows = await connection.fetch(
                self._sql[_find(where, is_in_corpus=within is not None)],
                *group.arguments(), *counts, *_narrow_arguments(where), *corpus, *_choice(where),
                timeout=self._timeout_s,
            )  # fmt: skip
        hits = []
        for row in rows:
            if row["kind"] in (DENSE, BM25):
                hits.append(row)
            else:
                counted = _TOTAL if row["kind"] == _TOTAL else row["number"]
                self._counts.learn((name, counted), int(row["score"]))
        return hits

    def _unit(self, vector: Vector) -> PgVector:
        if vector.shape != (self._vector_dim,) or not np.isfinite(vector).all():
            raise IndexUnavailable(f"a vector must have {self._vector_dim} finite numbers")
        length = float(np.linalg.norm(vector.astype(np.float64)))
        return PgVector(vector / length if length else vector)

    # Looking through

    async def scan(self, *, after: UUID | None, limit: int) -> list[StoredPoint]:
        if limit <= 0:
            return []
        with _failures():
            async with self._database.connection() as connection:
                rows = await self._fetch(connection, "scan_points", after, limit)
        return [StoredPoint(row["point_id"], row["owner_id"], row["updated_at"]) for row in rows]

    async def count(self) -> int:
        with _failures():
            async with self._database.connection() as connection:
                count = await connection.fetchval(self._sql["count_points"], timeout=AS_LONG_AS_IT_TAKES_S)
        return int(count)

    async def aclose(self) -> None:
        """Do nothing: the connections belong to the database."""

    async def _execute(self, connection: Connection, name: str, *args: Any) -> None:
        await connection.execute(self._sql[name], *args, timeout=self._timeout_s)

    async def _fetch(self, connection: Connection, name: str, *args: Any) -> list[Mapping[str, Any]]:
        return await connection.fetch(self._sql[name], *args, timeout=self._timeout_s)


def statements(space: Space) -> Queries:
    """Return the statements of sql/index for the tables of a space; each way to find is a statement of its own."""
    loaded = {name: _named(text, space) for name, text in Queries.load(sql_folder() / "index").items()}
    find = loaded.pop("find")
    ways = {name: find.replace("<corpus>", loaded.pop(part)) for name, part in WAYS_TO_FIND.items()}
    return Queries(loaded | ways)


_RESIZE: Final = """
ALTER TABLE index_points<space> ALTER COLUMN dense TYPE vector({dim}) USING NULL::vector({dim})
"""


def _named(sql: str, space: Space) -> str:
    return sql.replace("<space>", space.suffix)


def _find(where: IndexFilter, *, is_in_corpus: bool) -> str:
    if where.within is None:
        return "find"
    return "find_within" if is_in_corpus else "find_asked_within"


def _choice(where: IndexFilter) -> list[Any]:
    return [] if where.within is None else [where.within.field, list(where.within.values)]


@dataclass(slots=True)
class _Group:
    """Queries that share filter and limit: vectors and words, each with the number of its query."""

    where: IndexFilter
    limit: int
    dense: list[tuple[int, PgVector]] = field(default_factory=list)
    words: list[tuple[int, int]] = field(default_factory=list)

    def takes(self, query: IndexQuery) -> bool:
        return query.limit == self.limit and query.where == self.where

    @property
    def can_find(self) -> bool:
        asks = self.limit > 0 and bool(self.dense or self.words)
        return asks and not self.where.is_hopeless and bool(alternatives(self.where))

    def arguments(self) -> list[Any]:
        """Return the first arguments of `find`."""
        legs = [*columns(self.dense, 2), *columns(self.words, 2)]
        return [*_equalities(self.where), self.limit, *legs]


def _equalities(where: IndexFilter) -> list[Any]:
    return [dict(where.must), alternatives(where)]


def _narrow_arguments(where: IndexFilter) -> list[Any]:
    created, changed = (where.periods.get(name, Period()) for name in MOMENT_FIELDS)
    return [
        where.is_narrow, where.key_prefix, created.since, created.before, changed.since, changed.before,
        list(where.tags),
    ]  # fmt: skip


def _best_first(hits: list[LegHit]) -> list[LegHit]:
    # SQL promises no order beyond a UNION; equal scores stay as they came.
    return sorted(hits, key=lambda hit: -hit.score)


@contextmanager
def _failures() -> Iterator[None]:
    """Turn what the database and the encoder raise into IndexUnavailable."""
    try:
        yield
    except IndexUnavailable:
        raise
    except (Unavailable, InternalError) as error:
        raise IndexUnavailable(f"the index in Postgres did not answer: {error.message}") from error
    except UnicodeError as error:
        raise IndexUnavailable("the index in Postgres takes no text with lone surrogates") from error
