"""The renewer: it waits until the others are known, and looks through its corpus when their models change."""

from __future__ import annotations

from typing import cast

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from elf.core.errors import DatabaseUnavailable
from elf.indexing import renewer as corpus_renewer
from elf.indexing.fleet import Fleet, Member
from elf.indexing.renewal import CorpusRenewal, Renewed
from elf.indexing.renewer import ADOPT_EVERY_S, RETRY_S, CorpusRenewer
from tests.actors.outbox_kit import on_virtual_time, running

pytestmark = pytest.mark.anyio

WALK_EVERY_S = 3600.0

MATE = Member("there:2", "acme:small:384", "1:240:40:aa", True)
OTHER = Member("there:3", "acme:large:384", "1:240:40:aa", True)


@pytest.fixture(autouse=True)
def _hourly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_renewer, "WALK_EVERY_S", WALK_EVERY_S)


class Renewal:
    """Remembers when it is asked."""

    def __init__(self) -> None:
        self.walks: list[float] = []
        self.adoptions: list[float] = []
        self.away = False

    async def walk(self) -> Renewed:
        self.walks.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if self.away:
            raise DatabaseUnavailable("away")
        return Renewed()

    async def adopt(self) -> int:
        self.adoptions.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if self.away:
            raise DatabaseUnavailable("away")
        return 0


def renewer() -> tuple[CorpusRenewer, Renewal, Fleet]:
    renewal, fleet = Renewal(), Fleet("acme:small:384", "1:240:40:aa")
    return CorpusRenewer("notes", cast("CorpusRenewal", renewal), fleet), renewal, fleet


@on_virtual_time
async def test_nothing_is_looked_at_before_the_others_are_known() -> None:
    actor, renewal, fleet = renewer()
    async with running(actor):
        await anyio.sleep(WALK_EVERY_S)
        assert renewal.walks == renewal.adoptions == []
        fleet.see(frozenset([OTHER]))
        await wait_all_tasks_blocked()
        assert len(renewal.walks) == len(renewal.adoptions) == 1


@on_virtual_time
async def test_it_walks_when_models_come_or_go_and_not_when_a_process_of_the_same_does() -> None:
    actor, renewal, fleet = renewer()
    walks = []
    async with running(actor):
        for others in ([OTHER], [OTHER, MATE], [MATE], [], [OTHER]):
            fleet.see(frozenset(others))
            await wait_all_tasks_blocked()
            walks.append(len(renewal.walks))
    assert walks == [1, 1, 2, 2, 3]


@on_virtual_time
async def test_a_process_that_restarts_is_no_reason_to_walk_again() -> None:
    actor, renewal, fleet = renewer()
    async with running(actor):
        for name in ("there:2", "there:4", "there:5"):
            fleet.see(frozenset([Member(name, "acme:large:384", "1:240:40:aa", True)]))
            await wait_all_tasks_blocked()
        assert len(renewal.walks) == 1
        assert len(renewal.adoptions) == 3


@on_virtual_time
async def test_it_adopts_every_few_seconds_and_walks_now_and_then() -> None:
    actor, renewal, fleet = renewer()
    fleet.see(frozenset())
    async with running(actor):
        await anyio.sleep(WALK_EVERY_S + 1)
    assert len(renewal.walks) == 2
    assert len(renewal.adoptions) == WALK_EVERY_S / ADOPT_EVERY_S + 1


@on_virtual_time
async def test_it_tries_again_when_postgres_was_away() -> None:
    actor, renewal, fleet = renewer()
    renewal.away = True
    fleet.see(frozenset())
    async with running(actor):
        await anyio.sleep(RETRY_S / 2)
        renewal.away = False
        await anyio.sleep(RETRY_S)
        assert len(renewal.walks) == 2
        await anyio.sleep(WALK_EVERY_S / 2)
        assert len(renewal.walks) == 2
