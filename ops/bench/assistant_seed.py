"""Memories by plain statements: what an assistant is seeded by."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import numpy as np
import numpy.typing as npt
from pgvector import Vector

from elf.db.database import Connection, Database
from elf.providers.factory import Providers
from ops.bench.search import note_text

Floats = npt.NDArray[np.float32]

TENANT: Final = "bench"
ANA: Final = "ana"
EMBEDDED: Final = 4000
A_CALL: Final = 32
A_PAGE: Final = 5000
LINKED: Final = 5
LINK_MIN: Final = 0.55
CATEGORIES: Final[tuple[tuple[str, float], ...]] = (
    ("profile", 0.01), ("goals", 0.14), ("preferences", 0.15), ("event", 0.15), ("activity", 0.15),
    ("relationships", 0.1), ("tasks", 0.2), ("projects", 0.1),
)  # fmt: skip
_MEMORIES: Final = """
INSERT INTO assistant_memories (
  tenant_id, user_id, memory_id, type, category, text, importance, pinned, source, created_at, updated_at)
SELECT $1, $2, t.id, t.type, t.category, t.text, t.importance, t.importance = 5, 'manual',
  now() - t.place * interval '1 minute', now() - t.place * interval '1 minute'
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::int[]) WITH ORDINALITY
  AS t (id, type, category, text, importance, place)
"""
_VECTORS: Final = """
INSERT INTO assistant_vectors (tenant_id, user_id, memory_id, embedding_version, embedding)
SELECT $1, $2, t.id, $5, t.vector FROM unnest($3::uuid[], $4::vector[]) AS t (id, vector)
"""
_RELATIONS: Final = """
INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, strength)
SELECT $1, $2, t.one, t.other, t.strength FROM unnest($3::uuid[], $4::uuid[], $5::real[]) AS t (one, other, strength)
ON CONFLICT DO NOTHING
"""


class Edges(NamedTuple):
    """Who is linked to whom, by their places, and how strongly."""

    one: npt.NDArray[np.int64]
    other: npt.NDArray[np.int64]
    strength: Floats


class Vectors:
    """Vectors of texts of the grammar, and of as many more as are asked for near those."""

    def __init__(self, known: Floats) -> None:
        self._known = known
        self._rng = np.random.default_rng(5)

    @classmethod
    async def made(cls, providers: Providers) -> Vectors:
        rng = random.Random(3)
        texts = [note_text(rng, number) for number in range(EMBEDDED)]
        calls = [texts[at : at + A_CALL] for at in range(0, EMBEDDED, A_CALL)]
        return cls(np.concatenate([await providers.embedder.embed(call) for call in calls]))

    def take(self, count: int) -> Floats:
        near = self._known[self._rng.integers(0, len(self._known), count)]
        moved = near + self._rng.normal(0.0, 0.02, near.shape).astype(np.float32)
        rows: Floats = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return rows


async def seed(database: Database, vectors: Vectors, version: str, *, of_ana: int, of_others: int) -> None:
    """Give Ana so many memories, and as many others to users of whom each has a thousand; each memory is linked to its
    nearest.
    """
    async with database.connection() as connection:
        await _fill(connection, ANA, vectors.take(of_ana), version)
        for number in range(0, of_others, 1000):
            await _fill(connection, f"user-{number}", vectors.take(1000), version)
        for table in ("memories", "vectors", "relations"):
            await connection.execute(f"VACUUM ANALYZE assistant_{table}", timeout=600)


async def _fill(connection: Connection, user: str, vectors: Floats, version: str) -> None:
    rng = random.Random(user)
    ids = [uuid4() for _ in vectors]
    names, weights = [name for name, _ in CATEGORIES], [weight for _, weight in CATEGORIES]
    for at in range(0, len(ids), A_PAGE):
        page = ids[at : at + A_PAGE]
        texts = [note_text(rng, at + place) for place in range(len(page))]
        types = ["episodic" if rng.random() < 0.2 else "semantic" for _ in page]
        importance = [rng.choice((1, 2, 2, 3, 3, 4, 5)) for _ in page]
        told = [types, rng.choices(names, weights, k=len(page)), texts, importance]
        await connection.execute(_MEMORIES, TENANT, user, page, *told, timeout=600)
        rows = [Vector(row) for row in vectors[at : at + A_PAGE]]
        await connection.execute(_VECTORS, TENANT, user, page, rows, version, timeout=600)
    await link(connection, user, ids, edges_of(vectors))


def edges_of(vectors: Floats) -> Edges:
    """Return the edges that writing these one after the other would have made, but for those to later ones."""
    ones, others, strengths = [], [], []
    for at in range(0, len(vectors), 1000):
        cosines = vectors[at : at + 1000] @ vectors.T
        cosines[np.arange(len(cosines)), at + np.arange(len(cosines))] = -1.0
        near = np.argpartition(-cosines, LINKED, axis=1)[:, :LINKED]
        strength = np.take_along_axis(cosines, near, axis=1)
        one = np.broadcast_to(at + np.arange(len(cosines))[:, None], near.shape)
        is_near = strength >= LINK_MIN
        ones.append(one[is_near])
        others.append(near[is_near])
        strengths.append(strength[is_near])
    return Edges(np.concatenate(ones), np.concatenate(others), np.concatenate(strengths))


async def link(connection: Connection, user: str, ids: Sequence[UUID], edges: Edges) -> None:
    given: list[Any] = [[ids[place] for place in ends] for ends in (edges.one, edges.other)]
    await connection.execute(_RELATIONS, TENANT, user, *given, edges.strength.tolist(), timeout=600)
