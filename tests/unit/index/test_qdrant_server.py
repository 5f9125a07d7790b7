"""What only the adapter of a Qdrant server does; the rest is in the contract."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from anyio import create_task_group, create_tcp_listener
from anyio.abc import SocketAttribute, SocketStream
from qdrant_client import AsyncQdrantClient, models

from elf.config.optional import QdrantServer
from elf.core.errors import IndexUnavailable
from elf.families.notes.keeping.space import NOTES
from elf.index.server import QdrantServerIndex

from .conftest import DIM, made_points

pytestmark = pytest.mark.anyio


def server(transport: Literal["rest", "grpc"] = "rest", **changes: Any) -> QdrantServer:
    table = {
        "grpc_port": 6334,
        "api_key": "",
        "shard_number": 6,
        "replication_factor": 2,
        "tenant_index": True,
    }
    return QdrantServer.model_validate({"transport": transport} | table | changes)


@pytest.mark.parametrize("transport", ["rest", "grpc"])
async def test_a_server_that_is_away_is_unavailable(
    unused_port: int, transport: Literal["rest", "grpc"]
) -> None:
    index = QdrantServerIndex.connect(
        f"http://127.0.0.1:{unused_port}",
        collection="notes",
        space=NOTES,
        vector_dim=DIM,
        timeout_s=1,
        server=server(transport, grpc_port=unused_port),
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
    client = AsyncQdrantClient(location=":memory:")
    for dim, outcome in ((DIM, None), (DIM + 1, "drop it and rebuild")):
        index = QdrantServerIndex(client, collection="notes", space=NOTES, vector_dim=dim, timeout_s=1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
            if outcome is None:
                await index.ensure()
                await index.ensure()
            else:
                with pytest.raises(IndexUnavailable, match=outcome):
                    await index.ensure()
    await client.close()


class WatchedClient(AsyncQdrantClient):
    """A client in its memory mode, which knows no shards and no field indexes; it notes what it was asked for."""

    def __init__(self, *, made_by_another: bool = False) -> None:
        super().__init__(location=":memory:")
        self.made_with: dict[str, Any] = {}
        self.field_schemas: dict[str, Any] = {}
        self._made_by_another = made_by_another

    async def create_collection(self, *args: Any, **options: Any) -> bool:
        self.made_with = options
        made = await super().create_collection(*args, **options)
        if self._made_by_another:
            raise RuntimeError("the collection is there already")
        return made

    async def create_payload_index(self, collection: str, field: str, **options: Any) -> Any:  # type: ignore[override]
        self.field_schemas[field] = options["field_schema"]


async def made(client: WatchedClient, **options: Any) -> WatchedClient:
    index = QdrantServerIndex(client, collection="notes", space=NOTES, vector_dim=DIM, timeout_s=1, **options)
    await index.ensure()
    await index.aclose()
    return client


async def test_a_collection_has_the_shape_that_the_config_says() -> None:
    client = await made(WatchedClient(), server=server())
    assert (client.made_with["shard_number"], client.made_with["replication_factor"]) == (6, 2)
    tenant = client.field_schemas.pop("tenant_id")
    assert isinstance(tenant, models.KeywordIndexParams)
    assert tenant.is_tenant is True
    key = client.field_schemas.pop("key")
    assert isinstance(key, models.KeywordIndexParams)
    assert key.prefix is True
    kinds = models.PayloadSchemaType
    others = {
        "note_id": kinds.UUID,
        "_tags": kinds.UUID,
        "created_at": kinds.DATETIME,
        "updated_at": kinds.DATETIME,
    }
    assert {name: client.field_schemas.pop(name) for name in others} == others
    assert client.field_schemas.keys() == {
        "project_id", "agent_id", "scope", "status", "type", "embedding_version",
    }  # fmt: skip
    assert set(client.field_schemas.values()) == {models.PayloadSchemaType.KEYWORD}


async def test_without_the_table_the_server_decides_on_the_shape() -> None:
    client = await made(WatchedClient())
    assert (client.made_with["shard_number"], client.made_with["replication_factor"]) == (None, None)
    assert client.field_schemas["tenant_id"] == models.PayloadSchemaType.KEYWORD


async def test_a_collection_that_another_process_makes_meanwhile_is_taken() -> None:
    client = await made(WatchedClient(made_by_another=True))
    assert "tenant_id" in client.field_schemas


async def test_the_key_is_sent_with_each_request() -> None:
    keys: list[str] = []

    async def answer(stream: SocketStream) -> None:
        async with stream:
            request = await stream.receive()
            keys.extend(
                line[9:] for line in request.decode().splitlines() if line.lower().startswith("api-key:")
            )
            await stream.send(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n")

    async with await create_tcp_listener(local_host="127.0.0.1") as listener, create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        port = listener.extra(SocketAttribute.local_port)
        index = QdrantServerIndex.connect(
            f"http://127.0.0.1:{port}",
            collection="notes",
            space=NOTES,
            vector_dim=DIM,
            timeout_s=5,
            server=server(api_key="s3cret"),
        )
        with pytest.raises(IndexUnavailable) as caught:
            await index.count()
        await index.aclose()
        tasks.cancel_scope.cancel()
    assert [key.strip() for key in keys] == ["s3cret"]
    assert "s3cret" not in str(caught.value)
