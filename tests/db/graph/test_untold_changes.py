"""Files with changes that were not told are opened again to be told of; and what a service tells, and does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators, Residence
from elf.families.graph.steward import Steward
from elf.families.graph.store.file import FileKit
from elf.families.graph.store.statements import OwnerKey
from elf.families.graph.telling import Telling, Untold
from elf.offers import Subject
from tests.db.graph.graph_kit import KEY, memory, put
from tests.db.graph.house import TENANT, eventually, fact, house_at
from tests.db.graph.telling_kit import QUERIES, open_at, told
from tests.db.graph.test_memory_file import opened_database

pytestmark = pytest.mark.anyio


class Known:
    """One orchestrator that is here, once Postgres can be asked."""

    def __init__(self, root: Path, is_away: Callable[[], bool]) -> None:
        self._root = root
        self._is_away = is_away

    async def is_lost(self, residence: Residence) -> bool:
        return False

    async def is_emptied(self, residence: Residence) -> bool:
        return False

    async def note_made(self, residence: Residence) -> None:
        pass

    def look_anew(self, key: OwnerKey) -> None:
        pass

    async def known(self, key: OwnerKey) -> Residence:
        return Residence(key=key, runtime_root=self._root)

    async def here(self) -> list[OwnerKey]:
        if self._is_away():
            raise Unavailable("Postgres is away")
        return [KEY]

    residence = known


@dataclass
class Outage:
    """A database that is away for a while."""

    database: Database
    is_away: bool = False

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        if self.is_away:
            raise Unavailable("Postgres is away")
        async with self.database.transaction() as connection:
            yield connection


@asynccontextmanager
async def process_at(root: Path, kit: FileKit, outage: Outage, *, idle_s: float) -> AsyncIterator[OpenFiles]:
    """A process that serves a memory and tells what becomes of it."""
    telling = Telling(cast("Database", outage), QUERIES)
    known = cast("Orchestrators", Known(root, lambda: outage.is_away))
    files = OpenFiles(known, kit, most=4, idle_s=idle_s, steward=Steward([telling], retry_s=0.01))
    assert kit.untold is not None
    async with anyio.create_task_group() as group:
        await group.start(files.run)
        await group.start(Untold(known, files, telling, kit.untold).run)
        yield files
        group.cancel_scope.cancel()


async def test_what_was_not_told_when_a_process_was_killed_is_told_by_the_next_one(
    hearing: Database, tmp_path: Path, told_kit: FileKit
) -> None:
    async with open_at(tmp_path, told_kit) as file:
        await put(file, memory())
    told_kit = replace(told_kit, untold=set())  # as in another process
    outage = Outage(hearing, is_away=True)
    async with process_at(tmp_path, told_kit, outage, idle_s=60):
        outage.is_away = False
        await eventually(lambda: told(hearing), lambda events: events == [("written", "m1")])


async def test_a_file_that_was_closed_during_an_outage_is_opened_again_to_be_told_of(
    hearing: Database, tmp_path: Path, told_kit: FileKit
) -> None:
    outage = Outage(hearing)
    async with process_at(tmp_path, told_kit, outage, idle_s=0.02) as files:
        async with files.using(KEY.tenant_id, KEY.orchestrator_id) as place:
            await put(place.file, memory("m1"))
            await eventually(lambda: told(hearing), lambda events: len(events) == 1)
            outage.is_away = True
            await put(place.file, memory("m2"))

        async def is_closed_with_some() -> bool:
            return not files.is_open(KEY) and told_kit.untold == {KEY}

        await eventually(is_closed_with_some, bool)
        outage.is_away = False
        await eventually(lambda: told(hearing), lambda events: len(events) == 2)
    assert await told(hearing) == [("written", "m1"), ("written", "m2")]


async def test_a_file_that_cannot_be_used_is_left_alone_and_others_are_told_of(
    hearing: Database, tmp_path: Path, told_kit: FileKit
) -> None:
    """One that is another's, say: nobody can tell of it before somebody has mended it."""
    other = OwnerKey(KEY.tenant_id, "other")
    async with open_at(tmp_path, told_kit) as file:
        await put(file, memory())
    told_kit = replace(told_kit, untold={other})
    async with process_at(tmp_path, told_kit, Outage(hearing), idle_s=60):
        await eventually(lambda: told(hearing), lambda events: events == [("written", "m1")])

        async def left() -> set[OwnerKey]:
            return set(told_kit.untold or ())

        await eventually(left, lambda keys: not keys)


def webhook(**lines: str) -> str:
    """Return the table of a webhook."""
    values = {"name": "'all'", "url": "'https://example.com'", "secret": f"'whsec_{'A' * 32}'", **lines}
    return "[[webhooks]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


async def test_a_service_tells_what_is_written_and_nothing_more_of_who_was_erased(
    hearing: Database, tmp_path: Path
) -> None:
    async with house_at(hearing, tmp_path, webhook()) as house:
        assert house.opened.subjects is not None
        said = {"sourceType": "channel_transcript", "capturedBy": "user", "conversationId": "ana"}
        await house.post("memories", memories=[fact("m1"), fact("m2", source=said)])
        await eventually(lambda: told(hearing), lambda events: len(events) == 2)
        await house.post("memories/m1/retract")
        await eventually(lambda: told(hearing), lambda events: len(events) == 3)
        assert (await house.opened.subjects.erase(Subject(tenant_id=TENANT, user="ana")))["memories"] == 1
        assert await told(hearing) == [("written", "m1"), ("forgotten", "m1")]
        await house.erase(memory_ids=["m1"])  # it was forgotten already
        await house.post("memories", memories=[fact("m3")])
        await house.erase(memory_ids=["m3"])
        events = await eventually(lambda: told(hearing), lambda events: len(events) == 4)
        assert events[2:] == [("written", "m3"), ("forgotten", "m3")]
        await house.post("memories", memories=[fact("m4")])
        await house.opened.subjects.erase(Subject(tenant_id=TENANT, agent_id="planner"))
        async with hearing.connection() as connection:
            assert await connection.fetchval("SELECT count(*) FROM graph_changes_told") == 0
    assert not house.memory().parent.exists()


@pytest.mark.parametrize("table", ["", webhook(families="['notes']")], ids=["no webhook", "one of others"])
async def test_a_service_keeps_nothing_where_nobody_wants_to_hear_of_the_graph(
    hearing: Database, tmp_path: Path, table: str
) -> None:
    async with house_at(hearing, tmp_path, table) as house:
        await house.post("memories", memories=[fact("m1")])
        with opened_database(house.memory() / "memory.db") as connection:
            assert connection.execute("SELECT count(*) FROM memory_changes").get == 0
    assert await told(hearing) == []
