"""What a service holds, asked past it: the rows of its Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg

from elf.db.cluster import Cluster
from tests.system.service import RunningService, wait_for

DIMENSIONS = 384
PAGE = 200


def rows(folder: Path, query: str, *args: object) -> list[Mapping[str, Any]]:
    """Run a query in the embedded Postgres of a service whose config is in `folder`."""
    return asyncio.run(_rows(folder / ".elf" / "postgres", query, args))


async def _rows(postgres: Path, query: str, args: tuple[object, ...]) -> list[Mapping[str, Any]]:
    cluster = Cluster(postgres)
    pid_file = cluster.read_pid_file()
    assert pid_file is not None, "Postgres does not run"
    connection = await asyncpg.connect(cluster.dsn(pid_file))
    try:
        found: list[Mapping[str, Any]] = await connection.fetch(query, *args)
        return found
    finally:
        await connection.close()


def listed(service: RunningService, tenant: str) -> dict[str, str]:
    """The text of each note that the service lists for a tenant, by id."""
    texts: dict[str, str] = {}
    page: dict[str, str | int] = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "limit": PAGE}
    while True:
        response = service.client.get("/v1/memory/list", params=page)
        assert response.status_code == 200, response.text
        body = response.json()
        texts |= {item["note_id"]: item["text"] for item in body["items"]}
        if body["next_cursor"] is None:
            return texts
        page["cursor"] = body["next_cursor"]


def wait_indexed(service: RunningService, *, timeout_s: float = 30.0) -> None:
    """Wait until no indexing job is open."""
    open_jobs = "SELECT count(*) AS open FROM indexing_outbox WHERE status IN ('PENDING', 'FAILED')"
    wait_for(
        lambda: rows(service.config.parent, open_jobs)[0]["open"] == 0, "all is indexed", timeout_s=timeout_s
    )


def sound_vectors(service: RunningService, tenant: str) -> tuple[set[str], set[str]]:
    """The ids of a tenant's notes all of whose chunks have a vector of the right size, and of those that have a
    pooled one.
    """
    chunked = rows(
        service.config.parent,
        "SELECT n.note_id::text FROM memory_notes n JOIN memory_note_chunks c USING (note_id)"
        " LEFT JOIN note_chunk_embeddings e ON e.chunk_id = c.chunk_id AND e.embedding_version = c.embedding_version"
        " WHERE n.tenant_id = $1"
        " GROUP BY n.note_id HAVING bool_and(coalesce(e.embedding_dim = $2 AND vector_dims(e.vec) = $2, false))",
        tenant,
        DIMENSIONS,
    )
    pooled = rows(
        service.config.parent,
        "SELECT n.note_id::text FROM memory_notes n JOIN note_embeddings e USING (note_id, embedding_version)"
        " WHERE n.tenant_id = $1 AND e.embedding_dim = $2 AND vector_dims(e.vec) = $2",
        tenant,
        DIMENSIONS,
    )
    return {row["note_id"] for row in chunked}, {row["note_id"] for row in pooled}


def assert_all_there(service: RunningService, tenant: str, acknowledged: Mapping[str, str]) -> None:
    """Every acknowledged note (text by id) is listed, has its vectors and is found by its own text."""
    assert acknowledged, "nothing was acknowledged, so nothing is proved"
    present = listed(service, tenant)
    assert {note_id: present.get(note_id) for note_id in acknowledged} == acknowledged
    wait_indexed(service)
    chunked, pooled = sound_vectors(service, tenant)
    assert acknowledged.keys() - chunked == set()
    assert acknowledged.keys() - pooled == set()
    assert lost_to_search(service, tenant, acknowledged) == []


def lost_to_search(service: RunningService, tenant: str, acknowledged: Mapping[str, str]) -> list[str]:
    """The texts that do not find their own note."""
    return [
        text
        for note_id, text in acknowledged.items()
        if note_id not in {item["note_id"] for item in service.search(tenant, text, top_k=5, candidate_k=20)}
    ]
