"""Engines of the vector index for tests, and points to put into them.

They are the embedded index with its real process, pgvector in a real Postgres, and Qdrant's client: in its memory mode,
and with a server when ELF_TEST_QDRANT_URL names one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import numpy as np
import pytest

from elf.db.database import Database
from elf.index.edge.client import EdgeIndex
from elf.index.edge.process import EdgeProcess
from elf.index.pgvector import PgvectorIndex
from elf.index.port import IndexFilter, IndexPoint, IndexQuery, LegHit, PayloadValue, VectorIndex
from elf.index.server import QdrantServerIndex
from elf.index.space import Space
from tests.conftest import TEMPLATE, dsn_of, run_sql

DIM = 8
EVERYTHING = IndexFilter(must={})
SERVER_URL = os.environ.get("ELF_TEST_QDRANT_URL")
ADAPTERS = ["edge", "pgvector", "memory", *(["server"] if SERVER_URL else [])]

TALKS = Space(
    name="talks",
    owner_field="entry_id",
    keyword_fields=("tenant_id", "group_id"),
    average_length=60.0,
    place_fields=("tenant_id",),
    reader_fields=("tenant_id", "group_id"),
    combined_fields=(("tenant_id", "group_id"),),
)
"""A space that is unlike that of notes in all that spaces may differ in."""

OpenSpace: TypeAlias = Callable[[Space], Awaitable[VectorIndex]]
Opener: TypeAlias = Callable[[Path], AbstractAsyncContextManager[OpenSpace]]


def opener_of(adapter: str, request: pytest.FixtureRequest, *, vector_dim: int = DIM) -> Opener:
    """Return what starts a new, empty engine of an adapter, and opens its spaces; the folder is one that it may use."""
    if adapter == "pgvector":
        request.getfixturevalue("template_dsn")  # only this adapter needs a Postgres
        return partial(_pgvector, request.getfixturevalue("postgres_dsn"), vector_dim=vector_dim)
    openers: dict[str, Callable[..., AbstractAsyncContextManager[OpenSpace]]] = {
        "edge": _edge,
        "memory": _memory,
        "server": _server,
    }
    return partial(openers[adapter], vector_dim=vector_dim)


async def _ensured(index: VectorIndex) -> VectorIndex:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
        await index.ensure()
    return index


@asynccontextmanager
async def _edge(folder: Path, *, vector_dim: int) -> AsyncIterator[OpenSpace]:
    process = await EdgeProcess.start(folder / "index", vector_dim=vector_dim)
    opened: list[EdgeIndex] = []

    async def open_space(space: Space) -> VectorIndex:
        opened.append(EdgeIndex(folder / "index", space))
        return await _ensured(opened[-1])

    try:
        await process.wait_ready(deadline_s=60)
        yield open_space
    finally:
        for index in opened:
            await index.aclose()
        await process.stop()


@asynccontextmanager
async def _pgvector(server: str, _: Path, *, vector_dim: int) -> AsyncIterator[OpenSpace]:
    name = f"index_{uuid4().hex}"
    await run_sql(server, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
    database = Database(max_conns=4)
    await database.open(dsn_of(server, name))

    async def open_space(space: Space) -> VectorIndex:
        return await _ensured(PgvectorIndex(database, space=space, vector_dim=vector_dim, timeout_s=10))

    yield open_space
    await database.close()
    await run_sql(server, f"DROP DATABASE {name}")


@asynccontextmanager
async def _memory(_: Path, *, vector_dim: int) -> AsyncIterator[OpenSpace]:
    from qdrant_client import AsyncQdrantClient

    client = AsyncQdrantClient(location=":memory:")

    async def open_space(space: Space) -> VectorIndex:
        index = QdrantServerIndex(client, collection="elf", space=space, vector_dim=vector_dim, timeout_s=5)
        return await _ensured(index)

    yield open_space
    await client.close()


@asynccontextmanager
async def _server(_: Path, *, vector_dim: int) -> AsyncIterator[OpenSpace]:
    from qdrant_client import AsyncQdrantClient

    assert SERVER_URL is not None
    url, name = SERVER_URL, f"test-{uuid4()}"
    opened: dict[str, VectorIndex] = {}

    async def open_space(space: Space) -> VectorIndex:
        index = QdrantServerIndex.connect(
            url, collection=name, space=space, vector_dim=vector_dim, timeout_s=10
        )
        opened[name + space.suffix] = index
        return await _ensured(index)

    yield open_space
    client = AsyncQdrantClient(url=url)
    for collection, index in opened.items():
        await client.delete_collection(collection)
        await index.aclose()
    await client.close()


async def emptied(index: VectorIndex) -> None:
    """Delete all points."""
    while page := await index.scan(after=None, limit=1000):
        await index.delete_points([stored.point_id for stored in page])


def vector(*numbers: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.array([*numbers, *[0.0] * (DIM - len(numbers))], np.float32)


def point(
    text: str = "a note",
    *,
    dense: Sequence[float] = (1.0,),
    point_id: UUID | None = None,
    owner_id: UUID | None = None,
    tags: Sequence[UUID] = (),
    **payload: PayloadValue,
) -> IndexPoint:
    fields: dict[str, PayloadValue] = {
        "tenant_id": "acme",
        "project_id": "alpha",
        "agent_id": "anna",
        "scope": "project_shared",
        "status": "active",
        "type": "fact",
        "embedding_version": "test:v:8",
        "created_at": "2026-01-01T00:00:00+00:00",
        "updated_at": "2026-01-02T03:04:05+00:00",
        "key": None,
        "importance": 0.5,
        "chunk_index": 0,
    }
    return IndexPoint(
        point_id=point_id or uuid4(),
        owner_id=owner_id or uuid4(),
        dense=vector(*dense),
        text=text,
        payload=fields | payload,
        tags=tags,
    )


def search_filter(
    agent: str = "anna", *, scopes: Sequence[str] = ("project_shared",), **must: str
) -> IndexFilter:
    """The filter of a search: shared scopes, and the agent's own private points."""
    context = {
        "tenant_id": "acme",
        "project_id": "alpha",
        "status": "active",
        "embedding_version": "test:v:8",
    }
    return IndexFilter(
        must=context | must,
        any_of=[{"scope": scopes}, {"scope": ["agent_private"], "agent_id": [agent]}],
    )


async def dense_hits(
    index: VectorIndex, where: IndexFilter, *numbers: float, limit: int = 100
) -> list[LegHit]:
    [result] = await index.query([IndexQuery(vector(*(numbers or (1.0,))), None, where, limit)])
    assert result.bm25 == []
    return list(result.dense)


async def word_hits(index: VectorIndex, text: str, where: IndexFilter = EVERYTHING) -> list[LegHit]:
    [result] = await index.query([IndexQuery(None, text, where, 100)])
    assert result.dense == []
    return list(result.bm25)


def ids(hits: Sequence[LegHit]) -> list[UUID]:
    return [hit.point_id for hit in hits]
