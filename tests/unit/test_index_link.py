"""The link to a remote index, on virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import anyio
import pytest
from trio.testing import MockClock

from actors.owners.index_link import IndexLink
from elf.core.errors import IndexUnavailable
from elf.index.port import IndexPoint, IndexQuery, QueryResult, StoredPoint

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


class FlakyIndex:
    """An index that can be switched off; counts how often its collection was made."""

    def __init__(self) -> None:
        self.away = False
        self.ensured = 0

    async def ensure(self) -> None:
        self._answer()
        self.ensured += 1

    async def scan(self, *, after: UUID | None, limit: int) -> list[StoredPoint]:
        self._answer()
        return []

    def _answer(self) -> None:
        if self.away:
            raise IndexUnavailable("away")

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        raise NotImplementedError

    async def delete_owners(self, owner_ids: Sequence[UUID], *, keep: Sequence[UUID] = ()) -> None:
        raise NotImplementedError

    async def delete_points(self, point_ids: Sequence[UUID]) -> None:
        raise NotImplementedError

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        raise NotImplementedError

    async def count(self) -> int:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


async def test_it_is_ready_once_the_index_is_made_and_up_to_date() -> None:
    index, opened = FlakyIndex(), []

    async def on_open() -> None:
        opened.append(index.ensured)

    async with anyio.create_task_group() as group:
        await group.start(IndexLink(index, name="index_link", on_open=on_open).run)
        assert opened == [1]
        group.cancel_scope.cancel()


async def test_it_waits_for_an_index_that_is_away_at_the_start() -> None:
    index = FlakyIndex()
    index.away = True
    ready = anyio.Event()

    async def on_open() -> None:
        ready.set()

    async with anyio.create_task_group() as group:
        group.start_soon(IndexLink(index, name="index_link", on_open=on_open).run)
        await anyio.sleep(60)
        assert not ready.is_set()
        index.away = False
        with anyio.fail_after(10):
            await ready.wait()
        group.cancel_scope.cancel()


async def test_an_index_that_comes_back_is_brought_up_to_date_again() -> None:
    index = FlakyIndex()
    opened = 0

    async def on_open() -> None:
        nonlocal opened
        opened += 1

    async with anyio.create_task_group() as group:
        await group.start(IndexLink(index, name="index_link", on_open=on_open).run)
        index.away = True
        await anyio.sleep(60)
        index.away = False
        await anyio.sleep(60)
        assert opened == 2
        group.cancel_scope.cancel()
