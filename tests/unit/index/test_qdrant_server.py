"""What only the adapter of a Qdrant server does; the rest is in the contract."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator

import pytest

from elf.core.errors import IndexUnavailable
from elf.index.server import QdrantServerIndex

from .conftest import DIM, made_points

pytestmark = pytest.mark.anyio


async def test_a_server_that_is_away_is_unavailable(unused_port: int) -> None:
    index = QdrantServerIndex.connect(
        f"http://127.0.0.1:{unused_port}", collection="notes", vector_dim=DIM, timeout_s=1
    )
    for call in (
        index.ensure,
        index.count,
        lambda: index.upsert(made_points(1)),
        lambda: index.scan(after=None, limit=1),
    ):
        with pytest.raises(IndexUnavailable, match="Qdrant server"):
            await call()
    await index.aclose()


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port that is bound for the time of the test, with nobody listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


async def test_a_collection_of_another_shape_is_unavailable_and_the_reason_is_said() -> None:
    from qdrant_client import AsyncQdrantClient

    client = AsyncQdrantClient(location=":memory:")
    for dim, outcome in ((DIM, None), (DIM + 1, "drop it and rebuild")):
        index = QdrantServerIndex(client, collection="notes", vector_dim=dim, timeout_s=1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
            if outcome is None:
                await index.ensure()
                await index.ensure()
            else:
                with pytest.raises(IndexUnavailable, match=outcome):
                    await index.ensure()
    await client.close()
