"""The spaces of an index process: one whose engine panics while it serves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import wire_point
from elf.index.edge.folder import IndexFolder
from elf.index.edge.protocol import Count, Counted, Done, Reply, Request, Upsert
from elf.index.edge.request_queue import Desk
from elf.index.edge.shard import Shard, ShardDamaged
from elf.index.edge.spaces import OpenSpaces
from tests.index_kit import TALKS

from .conftest import DIM, made_points

pytestmark = pytest.mark.anyio


async def asked(desk: Desk, request: Request) -> Reply:
    reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    desk.submit(request, reply.set_result)  # type: ignore[arg-type]
    return await reply


def upsert(count: int) -> Upsert:
    return Upsert(1, [wire_point(point) for point in made_points(count)])


async def test_a_shard_that_fails_while_it_serves_is_opened_anew_and_the_other_serves_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hung_up = {"notes": asyncio.Event(), "talks": asyncio.Event()}
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        spaces = OpenSpaces(IndexFolder(tmp_path), vector_dim=DIM, start=tasks.create_task)
        notes = spaces.connect(NOTES, hung_up["notes"].set)
        talks = spaces.connect(TALKS, hung_up["talks"].set)
        await asked(notes, upsert(3))
        await asked(talks, upsert(4))
        sound = talks._shard

        def count(shard: Shard) -> int:
            if shard is not sound:
                raise ShardDamaged("the index engine panicked: a wrong byte")
            return len(shard)

        monkeypatch.setattr(Shard, "count", count)
        notes.submit(Count(2), pytest.fail)
        await hung_up["notes"].wait()
        assert not hung_up["talks"].is_set()
        assert await asked(talks, Count(3)) == Counted(3, 4)
        del notes
        again = spaces.connect(NOTES, hung_up["notes"].set)
        info = again.info(4)
        assert (info.fresh, info.points) == (False, 3)
        assert (info.clean, info.settled) == (False, False)  # it has to be compared with its source
        assert await asked(again, upsert(2)) == Done(1)
        await spaces.close()
    assert "shard_damaged" in capfd.readouterr().err
    assert IndexFolder(tmp_path).of(TALKS).take_clean_mark() is None  # nobody has settled it


async def test_a_shard_that_cannot_be_closed_leaves_the_others_their_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        spaces = OpenSpaces(IndexFolder(tmp_path), vector_dim=DIM, start=tasks.create_task)
        desks = [spaces.connect(space, asyncio.Event().set) for space in (NOTES, TALKS)]
        for desk in desks:
            desk.settled = True
        close, broken = Shard.close, desks[0]._shard

        def closed(shard: Shard) -> None:
            if shard is broken:
                raise ShardDamaged("the index engine panicked")
            close(shard)

        monkeypatch.setattr(Shard, "close", closed)
        await spaces.close()
    assert "shard_not_closed" in capfd.readouterr().err
    marks = [IndexFolder(tmp_path).of(space).take_clean_mark() for space in (NOTES, TALKS)]
    assert [mark is not None for mark in marks] == [False, True]
