"""Looking for notes that wait for a vector: once through all pages, whatever happens on the way."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

import anyio
import pytest
from trio.testing import MockClock

from actors.unindexed_finder import UnindexedFinder
from elf.core.errors import DatabaseUnavailable
from elf.families.notes.reconcile import IndexReconciler
from tests.actors.outbox_kit import running

pytestmark = pytest.mark.anyio

PLACES = [UUID(int=0), UUID(int=5), UUID(int=9)]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Virtual time."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


class Pages:
    """Three pages; the second fails as often as it is told to."""

    def __init__(self, *, failures: int) -> None:
        self.failures = failures
        self.asked: list[UUID] = []
        self.done = anyio.Event()

    async def enqueue_unindexed(self, after: UUID) -> tuple[UUID | None, int]:
        self.asked.append(after)
        await anyio.lowlevel.checkpoint()
        if after == PLACES[1] and self.failures:
            self.failures -= 1
            raise DatabaseUnavailable("away")
        place = PLACES.index(after) + 1
        if place == len(PLACES):
            self.done.set()
            return None, 0
        return PLACES[place], 1


@pytest.mark.parametrize("failures", [0, 2])
async def test_every_page_is_asked_for_and_one_that_fails_again(failures: int) -> None:
    pages = Pages(failures=failures)
    async with running(UnindexedFinder(cast("IndexReconciler", pages))):
        await pages.done.wait()
        await anyio.sleep(3600)  # it neither ends nor begins anew
    assert pages.asked == [PLACES[0], *[PLACES[1]] * (1 + failures), PLACES[2]]
