"""QdrantServerIndex: the vector index on a Qdrant server or cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import httpx
import numpy as np

from elf.config.optional import QdrantServer
from elf.core.errors import IndexUnavailable
from elf.index.bm25 import Bm25Encoder
from elf.index.port import (
    IndexPoint,
    IndexQuery,
    LegHit,
    QueryResult,
    StoredPoint,
    Vector,
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
from elf.index.server_filters import server_corpus, server_filter, undated
from elf.index.space import Space

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

UPSERT_POINTS: Final = 256  # points of one request
CONNECTIONS: Final = 32  # to the server, kept open


class QdrantServerIndex:
    """The VectorIndex of `space` over a client of qdrant_client, which this adapter closes.

    Its collection is `collection` for the plain space, and `<collection>_<space>` for any other.

    BM25 weights are computed here, so the server needs no inference. Writes wait until the server applied
    them. `server` says how a missing collection is made; without it the server's defaults hold. Every method raises
    IndexUnavailable when the server does not answer within `timeout_s`, or refuses.
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        collection: str,
        space: Space,
        vector_dim: int,
        timeout_s: float,
        server: QdrantServer | None = None,
    ) -> None:
        from qdrant_client import models  # only a deployment with a Qdrant server pays for this import

        self._models = models
        self._client = client
        self._space = space
        self._collection = collection + space.suffix
        self._vector_dim = vector_dim
        self._timeout_s = max(1, math.ceil(timeout_s))  # the server takes whole seconds
        self._encoder = Bm25Encoder(avg_len=space.average_length)
        self._server = server

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        collection: str,
        space: Space,
        vector_dim: int,
        timeout_s: float,
        server: QdrantServer | None = None,
    ) -> QdrantServerIndex:
        """Make the client for a server's URL (REST on its port); nothing is sent before the first call."""
        return cls(
            _client(url, server, timeout_s=timeout_s),
            collection=collection,
            space=space,
            vector_dim=vector_dim,
            timeout_s=timeout_s,
            server=server,
        )

    async def ensure(self) -> None:
        with _failures():
            if not await self._client.collection_exists(self._collection):
                await self._create()
            info = await self._client.get_collection(self._collection)
            self._check(info.config.params.vectors)
            for field in self._indexed_fields():
                if field not in info.payload_schema:
                    await self._create_field_index(field)

    def _indexed_fields(self) -> list[str]:
        space = self._space
        return [*space.keyword_fields, space.owner_field, KEY_FIELD, *MOMENT_FIELDS, TAGS_FIELD]

    async def _create(self) -> None:
        models = self._models
        shape = self._server
        try:
            await self._client.create_collection(
                self._collection,
                vectors_config={
                    DENSE: models.VectorParams(size=self._vector_dim, distance=models.Distance.COSINE)
                },
                sparse_vectors_config={BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                shard_number=shape.shard_number if shape else None,
                replication_factor=shape.replication_factor if shape else None,
                timeout=self._timeout_s,
            )
        except Exception:  # of REST or of gRPC, which have no error in common
            # Another process may have made it in the meantime.
            if not await self._client.collection_exists(self._collection):
                raise

    def _check(self, vectors: object) -> None:
        params = vectors.get(DENSE) if isinstance(vectors, dict) else None
        if params is None or params.size != self._vector_dim:
            raise IndexUnavailable(
                f"the collection {self._collection} has no vector {DENSE} of {self._vector_dim} numbers:"
                " drop it and rebuild the index, or name another collection"
            )

    async def _create_field_index(self, field: str) -> None:
        await self._client.create_payload_index(
            self._collection,
            field,
            field_schema=self._field_schema(field),
            wait=True,
            timeout=self._timeout_s,
        )

    def _field_schema(self, field: str) -> models.PayloadSchemaType | models.KeywordIndexParams:
        kinds = self._models
        schema: models.PayloadSchemaType | models.KeywordIndexParams = kinds.PayloadSchemaType.KEYWORD
        if field in (self._space.owner_field, TAGS_FIELD):
            schema = kinds.PayloadSchemaType.UUID
        elif field in MOMENT_FIELDS:
            schema = kinds.PayloadSchemaType.DATETIME
        elif field == KEY_FIELD:
            schema = kinds.KeywordIndexParams(type=kinds.KeywordIndexType.KEYWORD, prefix=True)
        elif field in self._space.place_fields[:1] and self._server is not None and self._server.tenant_index:
            schema = kinds.KeywordIndexParams(type=kinds.KeywordIndexType.KEYWORD, is_tenant=True)
        return schema

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        for start in range(0, len(points), UPSERT_POINTS):
            with _failures():
                structs = [self._struct(point) for point in points[start : start + UPSERT_POINTS]]
                await self._client.upsert(self._collection, structs, wait=True, timeout=self._timeout_s)

    def _struct(self, point: IndexPoint) -> models.PointStruct:
        words = self._encoder.document(point.text)
        sparse = self._models.SparseVector(indices=words.indices, values=words.values)
        return self._models.PointStruct(
            id=str(point.point_id),
            vector={DENSE: self._vector(point.dense), BM25: sparse},
            payload={
                **point.payload,
                self._space.owner_field: str(point.owner_id),
                TAGS_FIELD: [str(tag) for tag in point.tags],
            },
        )

    def _vector(self, vector: Vector) -> list[float]:
        if vector.shape != (self._vector_dim,) or not np.isfinite(vector).all():
            raise IndexUnavailable(f"a vector must have {self._vector_dim} finite numbers")
        numbers: list[float] = vector.astype(np.float32).tolist()
        return numbers

    async def delete_owners(self, owner_ids: Sequence[UUID], *, keep: Sequence[UUID] = ()) -> None:
        if not owner_ids:
            return
        models = self._models
        owners = models.MatchAny(any=[str(owner_id) for owner_id in owner_ids])
        kept = [models.HasIdCondition(has_id=[str(point_id) for point_id in keep])] if keep else None
        where = models.Filter(
            must=[models.FieldCondition(key=self._space.owner_field, match=owners)], must_not=kept
        )
        await self._delete(models.FilterSelector(filter=where))

    async def delete_points(self, point_ids: Sequence[UUID]) -> None:
        if point_ids:
            ids: list[int | str | UUID] = [str(point_id) for point_id in point_ids]
            await self._delete(self._models.PointIdsList(points=ids))

    async def _delete(self, selector: models.FilterSelector | models.PointIdsList) -> None:
        with _failures():
            await self._client.delete(self._collection, selector, wait=True, timeout=self._timeout_s)

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        places: list[tuple[int, str]] = []
        requests: list[models.QueryRequest] = []
        for number, query in enumerate(queries):
            for name, request in self._legs(query):
                places.append((number, name))
                requests.append(request)
        if not requests:
            return [QueryResult(dense=[], bm25=[]) for _ in queries]
        with _failures():
            answers = await self._client.query_batch_points(
                self._collection, requests, timeout=self._timeout_s
            )
            legs = {
                place: [self._hit(point) for point in answer.points]
                for place, answer in zip(places, answers, strict=True)
            }
        return [
            QueryResult(dense=legs.get((number, DENSE), []), bm25=legs.get((number, BM25), []))
            for number in range(len(queries))
        ]

    def _legs(self, query: IndexQuery) -> Iterator[tuple[str, models.QueryRequest]]:
        if query.limit <= 0 or query.where.is_hopeless:
            return  # to the server, no alternative at all would be no condition
        where = server_filter(query.where)
        if query.dense is not None:
            yield DENSE, self._request(DENSE, self._vector(query.dense), where, query.limit)
        if query.text is not None:
            with _failures():
                words = self._encoder.query(query.text)
            if words.indices:
                sparse = self._models.SparseVector(indices=words.indices, values=words.values)
                request = self._request(BM25, sparse, where, query.limit)
                idf = self._models.IdfCorpusParams(
                    corpus=server_corpus(query.where, self._space.place_fields)
                )
                request.params = self._models.SearchParams(idf=idf)
                yield BM25, request

    def _request(
        self, using: str, vector: list[float] | models.SparseVector, where: models.Filter, limit: int
    ) -> models.QueryRequest:
        return self._models.QueryRequest(
            query=vector, using=using, filter=where, limit=limit, with_payload=[self._space.owner_field]
        )

    async def scan(self, *, after: UUID | None, limit: int) -> list[StoredPoint]:
        if limit <= 0:
            return []
        with _failures():
            records, _ = await self._client.scroll(
                self._collection,
                offset=None if after is None else str(after),  # the offset is the first point of the answer
                limit=limit + 1,
                with_payload=[self._space.owner_field, UPDATED_AT_FIELD, CREATED_AT_FIELD],
                timeout=self._timeout_s,
            )
            stored = [self._stored(record) for record in records]
        return [point for point in stored if point.point_id != after][:limit]

    async def count(self) -> int:
        dated = self._models.Filter(must_not=[undated()])
        with _failures():
            answer = await self._client.count(
                self._collection, count_filter=dated, exact=True, timeout=self._timeout_s
            )
        return answer.count

    def _hit(self, point: models.ScoredPoint) -> LegHit:
        return LegHit(UUID(str(point.id)), self._owner(point.payload or {}), point.score)

    def _stored(self, record: models.Record) -> StoredPoint:
        payload = record.payload or {}
        updated_at = payload.get(UPDATED_AT_FIELD, "") if payload.get(CREATED_AT_FIELD) else ""
        return StoredPoint(UUID(str(record.id)), self._owner(payload), str(updated_at))

    def _owner(self, payload: Mapping[str, Any]) -> UUID:
        return UUID(payload[self._space.owner_field])

    async def aclose(self) -> None:
        await self._client.close()


def _client(url: str, server: QdrantServer | None, *, timeout_s: float) -> AsyncQdrantClient:
    from qdrant_client import AsyncQdrantClient

    if server is None:
        transport: dict[str, Any] = {}
    else:
        # As a header, because the client warns of a key that it is given for an http:// URL.
        headers = {"api-key": server.api_key} if server.api_key else {}
        is_grpc = server.transport == "grpc"
        transport = {
            "prefer_grpc": is_grpc,
            "grpc_port": server.grpc_port,
            "headers": headers,
            "grpc_options": {"grpc.enable_http_proxy": 0},
        }
    return AsyncQdrantClient(
        url=url,
        timeout=max(1, math.ceil(timeout_s)),
        check_compatibility=False,
        trust_env=False,  # no proxy setting of the environment counts
        # Said, because for localhost the client would open a connection for each request, without bound.
        limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        **transport,
    )


@contextmanager
def _failures() -> Iterator[None]:
    """Turn all that the client library raises into IndexUnavailable; its errors have no common root."""
    try:
        yield
    except IndexUnavailable:
        raise
    except Exception as error:
        raise IndexUnavailable(
            f"the Qdrant server did not answer: {type(error).__name__}: {error}"
        ) from error
