"""Waiting for what was just written, on virtual time."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anyio
import pytest
from trio.testing import MockClock

from elf.indexing.fresh import FreshNews, FreshWrites, Place

pytestmark = pytest.mark.anyio

HERE, THERE = ("t", "here"), ("t", "there")
NOTES, TALKS = "notes", "talks"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
async def fresh() -> FreshWrites:
    return FreshWrites(patience_s=0.25, most_subjects=3, forget_after_s=2.0, clock=anyio.current_time)


async def waited(fresh: FreshWrites, place: Place) -> float:
    began = anyio.current_time()
    await fresh.settled(NOTES, place)
    return anyio.current_time() - began


async def test_nothing_on_the_way_is_not_waited_for(fresh: FreshWrites) -> None:
    assert await waited(fresh, HERE) == 0
    fresh.wrote(NOTES, THERE, [uuid4()])
    assert await waited(fresh, HERE) == 0


async def test_a_search_waits_until_the_notes_written_before_it_are_indexed(fresh: FreshWrites) -> None:
    first, second, later = uuid4(), uuid4(), uuid4()
    fresh.wrote(NOTES, HERE, [first, second])

    async def index() -> None:
        await anyio.sleep(0.05)
        fresh.indexed(NOTES, [first])
        fresh.wrote(NOTES, HERE, [later])
        await anyio.sleep(0.05)
        fresh.indexed(NOTES, [second])

    async with anyio.create_task_group() as group:
        group.start_soon(index)
        assert await waited(fresh, HERE) == pytest.approx(0.1)


async def test_patience_ends(fresh: FreshWrites) -> None:
    fresh.wrote(NOTES, HERE, [uuid4()])
    assert await waited(fresh, HERE) == pytest.approx(0.25)


async def test_an_import_is_not_waited_for(fresh: FreshWrites) -> None:
    fresh.wrote(NOTES, HERE, [uuid4() for _ in range(4)])
    assert await waited(fresh, HERE) == 0


async def test_what_nobody_reports_is_forgotten(fresh: FreshWrites) -> None:
    fresh.wrote(NOTES, HERE, [uuid4()])
    await anyio.sleep(2.1)
    assert await waited(fresh, HERE) == 0


async def test_a_note_written_again_is_waited_for_again(fresh: FreshWrites) -> None:
    note_id = uuid4()
    fresh.wrote(NOTES, HERE, [note_id])
    fresh.indexed(NOTES, [note_id, uuid4()])
    assert await waited(fresh, HERE) == 0
    fresh.wrote(NOTES, HERE, [note_id])
    assert await waited(fresh, HERE) > 0


def heard_by(other: FreshWrites) -> FreshWrites:
    """What another process knows, whose news reach `other` at once."""
    return FreshWrites(most_subjects=3, clock=anyio.current_time, tell=other.hear)


async def test_what_another_process_wrote_is_waited_for_until_a_third_has_indexed_it(
    fresh: FreshWrites,
) -> None:
    note_id = uuid4()
    heard_by(fresh).wrote(NOTES, HERE, [note_id])

    async def index() -> None:
        await anyio.sleep(0.05)
        heard_by(fresh).indexed(NOTES, [note_id])

    async with anyio.create_task_group() as group:
        group.start_soon(index)
        assert await waited(fresh, HERE) == pytest.approx(0.05)


async def test_of_an_import_no_more_is_told_than_it_takes_to_know_it_as_one(fresh: FreshWrites) -> None:
    told: list[FreshNews] = []
    FreshWrites(most_subjects=3, clock=anyio.current_time, tell=told.append).wrote(
        NOTES, HERE, [uuid4() for _ in range(99)]
    )
    (news,) = told
    assert len(news.subject_ids) == 4
    fresh.hear(news)
    assert await waited(fresh, HERE) == 0


async def test_what_is_heard_is_not_told_on(fresh: FreshWrites) -> None:
    told: list[FreshNews] = []
    listener = FreshWrites(clock=anyio.current_time, tell=told.append)
    listener.hear(FreshNews(NOTES, HERE, [uuid4()]))
    listener.hear(FreshNews(NOTES, None, [uuid4()]))
    assert told == []
