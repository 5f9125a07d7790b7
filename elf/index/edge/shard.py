"""The shard of a space: the engine's calls, in the protocol's terms.

Measured: every call of the engine holds the interpreter lock from its first to its last moment, so there is
nothing to gain from threads; its log survives SIGKILL without a flush; a load replays about 8,000 logged
points a second, and a flush takes 25 to 150 ms during which nothing else runs. Fetching the owner of 120 hits
from the payload costs as much as finding them, so the owners are kept in memory (about 200 bytes a point).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias
from uuid import UUID

import qdrant_edge as engine

from elf.index.bm25 import Bm25Encoder
from elf.index.corpus import corpus_of
from elf.index.edge.filters import KEYS_FIELD, compile_filter, composite_keys
from elf.index.edge.protocol import (
    FLOAT_BYTES,
    ID_BYTES,
    WireFilter,
    WireLeg,
    WirePoint,
    WireQuery,
    WireResult,
    split_ids,
)
from elf.index.schema import (
    BM25,
    CREATED_AT_FIELD,
    DENSE,
    KEY_FIELD,
    MOMENT_FIELDS,
    TAGS_FIELD,
    UPDATED_AT_FIELD,
)
from elf.index.space import Space

_SCROLL_PAGE: Final = 1000
NOTHING: Final = WireLeg()
Stored: TypeAlias = tuple[bytes, bytes, str]


class Refused(Exception):
    """A request cannot be carried out as it is; the shard is unharmed."""


class ShardDamaged(Exception):
    """The engine cannot read its files, or it panicked: this process must not go on with the shard."""


@contextmanager
def engine_failures() -> Iterator[None]:
    """Turn what the engine raises into Refused, and its panics, which nobody survives, into ShardDamaged."""
    try:
        yield
    except (Refused, ShardDamaged):
        raise
    except Exception as error:
        raise Refused(f"the index engine refused: {error}") from error
    except BaseException as error:
        # The engine exports no name for its panics, which derive from BaseException.
        if type(error).__name__ != "PanicException":
            raise
        raise ShardDamaged(f"the index engine panicked: {error}") from error


class Shard:
    """An open shard. Not for use from several threads."""

    def __init__(self, edge: engine.EdgeShard, space: Space, *, vector_dim: int) -> None:
        self._edge = edge
        self._space = space
        self._vector_dim = vector_dim
        self._encoder = Bm25Encoder(avg_len=space.average_length)
        self._owners: dict[bytes, bytes] = {}
        self._undated: set[bytes] = set()  # points without CREATED_AT_FIELD

    @classmethod
    def create(cls, path: Path, space: Space, *, vector_dim: int) -> Shard:
        """Make a new shard in a folder that does not exist yet. Raises Refused or ShardDamaged."""
        path.mkdir(mode=0o700)
        with engine_failures():
            edge = engine.EdgeShard.create(str(path), _engine_config(vector_dim))
            _index_fields(edge, space)
        return cls(edge, space, vector_dim=vector_dim)

    @classmethod
    def load(cls, path: Path, space: Space, *, vector_dim: int) -> Shard:
        """Open a shard and read all of it once, so that damage shows now. Raises ShardDamaged."""
        try:
            with engine_failures():
                edge = engine.EdgeShard.load(str(path), _engine_config(vector_dim))
                _index_fields(edge, space)  # it may have been made before one of them was filtered by
                shard = cls(edge, space, vector_dim=vector_dim)
                shard._prove()
        except Refused as error:
            raise ShardDamaged(str(error)) from error
        return shard

    def _prove(self) -> None:
        after: bytes | None = None
        while page := self.scan(after=after, limit=_SCROLL_PAGE):
            self._owners.update((point_id, owner_id) for point_id, owner_id, _ in page)
            self._undated.update(point_id for point_id, _, updated_at in page if not updated_at)
            after = page[-1][0]
        total = self._total()
        with_vector = engine.Filter(must=[engine.HasVectorCondition(DENSE)])
        if not total == len(self._owners) == self._edge.count(engine.CountRequest(filter=with_vector)):
            raise ShardDamaged(f"{total} points, but {len(self._owners)} payloads or fewer vectors")
        # A search without a filter reads every vector.
        axis = [1.0] + [0.0] * (self._vector_dim - 1)
        found = self._edge.query(engine.QueryRequest(limit=1, query=engine.Query.Nearest(axis, using=DENSE)))
        if total and not found:
            raise ShardDamaged(f"{total} points, but their vectors cannot be searched")

    def __len__(self) -> int:
        return len(self._owners)

    def count(self) -> int:
        """Return the exact number of points with CREATED_AT_FIELD. Raises Refused or ShardDamaged."""
        return self._total() - len(self._undated)

    def _total(self) -> int:
        with engine_failures():
            return self._edge.count(engine.CountRequest(exact=True))

    def prepare(self, point: WirePoint) -> engine.Point:
        """Check a point and compute its sparse vector.

        Raises Refused: the engine would write half of a bad batch.
        """
        if len(point.point_id) != ID_BYTES or len(point.owner_id) != ID_BYTES:
            raise Refused("an id must have 16 bytes")
        dense = self._vector(point.dense)
        owner = str(UUID(bytes=point.owner_id))
        if any(isinstance(value, float) and not math.isfinite(value) for value in point.payload.values()):
            raise Refused("a payload value is not a finite number")
        payload = {
            **point.payload,
            self._space.owner_field: owner,
            KEYS_FIELD: composite_keys(point.payload, self._space.combined_fields),
            TAGS_FIELD: [str(UUID(bytes=tag)) for tag in ids_of(point.tags)],
        }
        with engine_failures():
            words = self._encoder.document(point.text)
            sparse = engine.SparseVector(words.indices, words.values)
            return engine.Point(str(UUID(bytes=point.point_id)), {DENSE: dense, BM25: sparse}, payload)

    def _vector(self, data: bytes) -> list[float]:
        if len(data) != self._vector_dim * FLOAT_BYTES:
            raise Refused(f"a vector has {len(data) / FLOAT_BYTES:g} numbers instead of {self._vector_dim}")
        vector = array("f", data).tolist()
        if not math.isfinite(
            sum(vector)
        ):  # finite float32 numbers cannot overflow the sum, which is a double
            raise Refused("a vector holds a number that is not finite")
        return vector

    def upsert(self, points: Sequence[tuple[WirePoint, engine.Point]]) -> None:
        """Write prepared points, the later one of a pair with one id. Raises Refused or ShardDamaged."""
        if not points:
            return
        with engine_failures():
            self._edge.update(engine.UpdateOperation.upsert_points([prepared for _, prepared in points]))
        for wire, _ in points:
            self._owners[wire.point_id] = wire.owner_id
            if _is_dated(wire.payload):
                self._undated.discard(wire.point_id)
            else:
                self._undated.add(wire.point_id)

    def delete_points(self, point_ids: Sequence[bytes]) -> None:
        """Delete points; ids that are not there are ignored. Raises Refused or ShardDamaged."""
        known = [point_id for point_id in point_ids if point_id in self._owners]
        if not known:
            return
        with engine_failures():
            names: list[engine.PointId] = [UUID(bytes=point_id) for point_id in known]
            self._edge.update(engine.UpdateOperation.delete_points(names))
        for point_id in known:
            self._owners.pop(point_id, None)
        self._undated.difference_update(known)

    def delete_owners(self, owner_ids: Sequence[bytes], *, keep: Sequence[bytes]) -> None:
        """Delete all points of these owners but those in `keep`. Raises Refused or ShardDamaged."""
        if not owner_ids:
            return
        kept = set(keep)
        owners = [str(UUID(bytes=owner_id)) for owner_id in owner_ids]
        where = engine.Filter(must=[engine.FieldCondition(self._space.owner_field, engine.MatchAny(owners))])
        with engine_failures():
            found, _ = self._edge.scroll(engine.ScrollRequest(limit=max(len(self), 1), filter=where))
            point_ids = [_id_bytes(record.id) for record in found]
        self.delete_points([point_id for point_id in point_ids if point_id not in kept])

    def query(self, queries: Sequence[WireQuery]) -> list[WireResult]:
        """Run all legs of all queries as one batch of the engine. Raises Refused or ShardDamaged."""
        places: list[tuple[int, str]] = []
        requests: list[engine.QueryRequest] = []
        for number, query in enumerate(queries):
            for name, request in self._legs(query):
                places.append((number, name))
                requests.append(request)
        with engine_failures():
            found = self._edge.query_batch(engine.QueryBatchRequest(requests)) if requests else []
            legs = {place: self._leg(hits) for place, hits in zip(places, found, strict=True)}
        return [
            WireResult(legs.get((number, DENSE), NOTHING), legs.get((number, BM25), NOTHING))
            for number in range(len(queries))
        ]

    def _legs(self, query: WireQuery) -> Iterator[tuple[str, engine.QueryRequest]]:
        with engine_failures():
            where = self._compiled(query.where, some_undated=bool(self._undated))
        if where is None or query.limit <= 0:
            return
        if query.dense is not None:
            vector = self._vector(query.dense)
            yield DENSE, _request(engine.Query.Nearest(vector, using=DENSE), where, query.limit)
        if query.text is not None:
            with engine_failures():
                words = self._encoder.query(query.text)
            if words.indices:
                sparse = engine.SparseVector(words.indices, words.values)
                nearest = engine.Query.Nearest(sparse, using=BM25)
                yield BM25, _request(nearest, where, query.limit, idf=self._idf(query.where))

    def _compiled(self, where: WireFilter, *, some_undated: bool) -> engine.Filter | None:
        return compile_filter(where, self._space.combined_fields, some_undated=some_undated)

    def _idf(self, where: WireFilter) -> engine.IdfParams:
        must, any_of, within = corpus_of(
            where.must, where.any_of, where.within, reader_fields=self._space.reader_fields
        )
        return engine.IdfParams(self._compiled(WireFilter(must, any_of, within=within), some_undated=False))

    def _leg(self, hits: Sequence[engine.ScoredPoint]) -> WireLeg:
        point_ids = [_id_bytes(hit.id) for hit in hits]
        owner_ids = [self._owners[point_id] for point_id in point_ids]
        scores = array("f", [hit.score for hit in hits])
        return WireLeg(b"".join(point_ids), b"".join(owner_ids), scores.tobytes())

    def scan(self, *, after: bytes | None, limit: int) -> list[Stored]:
        """Return point id, owner id and updated_at of up to `limit` points in id order behind `after`."""
        if limit <= 0:
            return []
        if after is not None and len(after) != ID_BYTES:
            raise Refused("an id must have 16 bytes")
        request = engine.ScrollRequest(
            offset=None
            if after is None
            else UUID(bytes=after),  # the engine's offset is the first point it returns
            limit=limit + 1,
            with_payload=[self._space.owner_field, UPDATED_AT_FIELD, CREATED_AT_FIELD],
        )
        with engine_failures():
            records, _ = self._edge.scroll(request)
            stored = [self._stored(record) for record in records]
        return [point for point in stored if point[0] != after][:limit]

    def _stored(self, record: engine.Record) -> Stored:
        payload = record.payload or {}
        return (
            _id_bytes(record.id),
            UUID(payload[self._space.owner_field]).bytes,
            str(payload.get(UPDATED_AT_FIELD, "")) if _is_dated(payload) else "",
        )

    def flush(self) -> None:
        """Write everything to the files and cut the log. Raises Refused or ShardDamaged."""
        with engine_failures():
            self._edge.flush()

    def close(self) -> None:
        """Flush and let go of the files. Raises Refused or ShardDamaged."""
        with engine_failures():
            self._edge.flush()
            self._edge.close()


def ids_of(data: bytes) -> list[bytes]:
    """Cut the ids of a request apart. Raises Refused."""
    if len(data) % ID_BYTES:
        raise Refused("an id must have 16 bytes")
    return split_ids(data)


def _index_fields(edge: engine.EdgeShard, space: Space) -> None:
    there = edge.info().payload_schema
    for field, schema in _field_indexes(space).items():
        if field not in there:
            edge.update(engine.UpdateOperation.create_field_index(field, schema))


def _field_indexes(space: Space) -> dict[str, engine.PayloadSchemaType | engine.KeywordIndexParams]:
    return {
        **dict.fromkeys(space.keyword_fields, engine.PayloadSchemaType.Keyword),
        **dict.fromkeys(MOMENT_FIELDS, engine.PayloadSchemaType.Datetime),
        **dict.fromkeys((space.owner_field, KEYS_FIELD, TAGS_FIELD), engine.PayloadSchemaType.Uuid),
        KEY_FIELD: engine.KeywordIndexParams(prefix=True),
    }


def _is_dated(payload: Mapping[str, object]) -> bool:
    return bool(payload.get(CREATED_AT_FIELD))


def _engine_config(vector_dim: int) -> engine.EdgeConfig:
    return engine.EdgeConfig(
        vectors={DENSE: engine.EdgeVectorParams(size=vector_dim, distance=engine.Distance.Cosine)},
        sparse_vectors={BM25: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
    )


def _request(
    query: engine.Query, where: engine.Filter, limit: int, *, idf: engine.IdfParams | None = None
) -> engine.QueryRequest:
    params = engine.SearchParams(idf=idf)
    return engine.QueryRequest(limit=limit, query=query, filter=where, with_payload=False, params=params)


def _id_bytes(point_id: engine.PointId) -> bytes:
    return point_id.bytes if isinstance(point_id, UUID) else UUID(str(point_id)).bytes
