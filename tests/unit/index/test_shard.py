"""The shard: one that was made before its points had tags."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
import qdrant_edge as engine

from elf.families.notes.keeping.space import NOTES
from elf.index.edge.protocol import WireFilter, WirePoint, WireQuery
from elf.index.edge.shard import Shard
from elf.index.schema import BM25, DENSE

DIM = 4
VECTOR = np.ones(DIM, np.float32).tobytes()
OWNER = uuid4()


@pytest.fixture
def old_shard(tmp_path: Path) -> tuple[Path, UUID]:
    """A shard with one point and one field index, as they were made once."""
    path, point_id = tmp_path / "shard", uuid4()
    path.mkdir()
    config = engine.EdgeConfig(
        vectors={DENSE: engine.EdgeVectorParams(size=DIM, distance=engine.Distance.Cosine)},
        sparse_vectors={BM25: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
    )
    edge = engine.EdgeShard.create(str(path), config)
    edge.update(engine.UpdateOperation.create_field_index("tenant_id", engine.PayloadSchemaType.Keyword))
    payload = {"note_id": str(OWNER), "tenant_id": "t", "key": "k", "updated_at": "2026-01-01T00:00:00+00:00"}
    vectors = {DENSE: [1.0] * DIM, BM25: engine.SparseVector([1], [1.0])}
    edge.update(engine.UpdateOperation.upsert_points([engine.Point(str(point_id), vectors, payload)]))
    edge.flush()
    edge.close()
    return path, point_id


def found(shard: Shard, where: WireFilter) -> bytes:
    (result,) = shard.query([WireQuery(VECTOR, None, where, 10)])
    return result.dense.point_ids


def test_a_shard_from_before_there_were_tags_is_used_on_and_its_points_are_written_anew(
    old_shard: tuple[Path, UUID],
) -> None:
    path, point_id = old_shard
    narrow = WireFilter(
        {"tenant_id": "t"}, None, "other", {"created_at": ("2026-01-01T00:00:00Z", None)}, b"1" * 16
    )
    shard = Shard.load(path, NOTES, vector_dim=DIM)
    assert (len(shard), shard.count()) == (1, 0)
    assert shard.scan(after=None, limit=10) == [(point_id.bytes, OWNER.bytes, "")]
    assert found(shard, WireFilter({"tenant_id": "t"})) == found(shard, narrow) == point_id.bytes
    moments = dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00+00:00")
    anew = WirePoint(point_id.bytes, OWNER.bytes, VECTOR, "tea", {"tenant_id": "t", "key": "k", **moments})
    shard.upsert([(anew, shard.prepare(anew))])
    assert (len(shard), shard.count()) == (1, 1)
    assert found(shard, narrow) == b""
    assert found(shard, WireFilter({"tenant_id": "t"}, None, "k")) == point_id.bytes
    shard.close()
    again = Shard.load(path, NOTES, vector_dim=DIM)
    assert again.count() == 1
    again.close()
