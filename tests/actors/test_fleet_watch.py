"""The fleet watch: it looks at intervals, warns once of what differs and reminds, and says that it leaves."""

from __future__ import annotations

from typing import cast

import anyio
import pytest
from structlog.testing import capture_logs

from elf.core.errors import DatabaseUnavailable
from elf.indexing.fleet import Fleet, FleetRegister, Member
from elf.indexing.fleet_watch import LOOK_EVERY_S, LOOK_EVERY_S_IN_DISCORD, REMIND_EVERY_S, FleetWatch
from tests.actors.outbox_kit import on_virtual_time, running

pytestmark = pytest.mark.anyio

OTHER = Member("there:2", "acme:large:384", "1:240:40:aa", True)


class Register:
    """Sees `others`, or fails."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.others: frozenset[Member] = frozenset()
        self.waiting = 0
        self.away = False
        self.looks: list[float] = []
        self.left = False

    async def look(self) -> None:
        self.looks.append(anyio.current_time())
        if self.away:
            raise DatabaseUnavailable("away")
        self.fleet.see(self.others)
        if self.waiting:
            self.waiting += 1
            self.fleet.waiting = {"acme:large:384": self.waiting}

    async def leave(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.away:
            raise DatabaseUnavailable("away")
        self.left = True


def watch() -> tuple[FleetWatch, Register]:
    fleet = Fleet("acme:small:384", "1:240:40:aa")
    register = Register(fleet)
    return FleetWatch(fleet, cast("FleetRegister", register)), register


@on_virtual_time
async def test_it_warns_at_once_reminds_and_says_when_it_is_over() -> None:
    actor, register = watch()
    register.others = frozenset([OTHER])
    with capture_logs() as logs:
        async with running(actor):
            await anyio.sleep(REMIND_EVERY_S - 1)
            assert [line["event"] for line in logs] == ["fleet_differs"]
            assert OTHER.name in logs[0]["warning"]
            await anyio.sleep(LOOK_EVERY_S_IN_DISCORD + 1)
            assert [line["event"] for line in logs] == ["fleet_differs"] * 2
            register.others = frozenset()
            await anyio.sleep(LOOK_EVERY_S_IN_DISCORD + 1)
    assert [line["event"] for line in logs] == ["fleet_differs"] * 2 + ["fleet_agrees"]


@on_virtual_time
async def test_a_growing_number_of_jobs_that_wait_is_told_once() -> None:
    actor, register = watch()
    register.waiting = 1
    with capture_logs() as logs:
        async with running(actor):
            await anyio.sleep(REMIND_EVERY_S - 1)
    assert [line["event"] for line in logs] == ["fleet_differs"]
    assert len(register.looks) > 100


@on_virtual_time
async def test_a_fleet_that_agrees_is_silent_and_looked_at_less_often() -> None:
    actor, register = watch()
    with capture_logs() as logs:
        async with running(actor):
            await anyio.sleep(10.5 * LOOK_EVERY_S)
    assert logs == []
    assert len(register.looks) == 11
    assert register.left


@on_virtual_time
async def test_while_postgres_is_away_it_goes_on_with_what_it_knew() -> None:
    actor, register = watch()
    register.others = frozenset([OTHER])
    with capture_logs() as logs:
        async with running(actor):
            await anyio.sleep(1)
            register.away = True
            await anyio.sleep(3 * LOOK_EVERY_S)
            assert register.fleet.others == {OTHER}
    assert not register.left
    assert [line["event"] for line in logs if line["log_level"] == "info"] == ["leave_not_told"]
