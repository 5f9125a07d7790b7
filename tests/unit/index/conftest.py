"""Shared by the tests of the embedded index's process: they need asyncio, as its client does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias
from uuid import UUID, uuid4

import numpy as np
import pytest

from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex
from elf.index.edge.process import EdgeProcess
from elf.index.port import IndexPoint
from tests.index_kit import TALKS

DIM = 8


class Running(NamedTuple):
    process: EdgeProcess
    index: EdgeIndex
    talks: EdgeIndex


Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def start(folder: Path) -> Start:
    """Start an index process on the test's folder and a client of it; both end with the context."""

    @asynccontextmanager
    async def running(root: Path = folder, *, vector_dim: int = DIM) -> AsyncIterator[Running]:
        process = await EdgeProcess.start(root, vector_dim=vector_dim)
        index, talks = EdgeIndex(root, NOTES), EdgeIndex(root, TALKS)
        try:
            await process.wait_ready(deadline_s=60)
            yield Running(process, index, talks)
        finally:
            await index.aclose()
            await talks.aclose()
            await process.stop()

    return running


def made_points(count: int, *, owner_id: UUID | None = None) -> list[IndexPoint]:
    rng = np.random.default_rng(count)
    return [
        IndexPoint(
            point_id=uuid4(),
            owner_id=owner_id or uuid4(),
            dense=rng.normal(size=DIM).astype(np.float32),
            text=f"word{number} common",
            payload={
                "tenant_id": "acme",
                "created_at": "2026-01-01T00:00:00+00:00",
                "updated_at": "2026-01-01T00:00:00+00:00",
            },
        )
        for number in range(count)
    ]
