"""An outbox in memory, and a way to run an actor within a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid4

import anyio
import pytest

from actors.kernel import Actor
from elf.core.errors import ServiceError
from elf.db.database import Connection
from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job, Leases
from elf.outbox.presence import Presence

LEASE_S = 60.0
PATIENCE_S = 20.0  # a bound on hanging, never a measure
on_virtual_time = pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)


def a_job(op: str = "UPSERT") -> Job:
    return Job(uuid4(), uuid4(), 0, datetime(2026, 3, 1, tzinfo=UTC), op)


class FakePresence(Presence):
    """One that others know of from the start, until it is untold."""

    def __init__(self, leases: Leases) -> None:
        self._lost = leases.lose_all
        self._told = anyio.Event()
        self._told.set()


class FakeOutbox(LeasedOutbox):
    """Jobs in a list, with real leases.

    `fault`, when set, is raised by every call but `begin`, which raises `begin_fault`; `hangs` makes releasing wait
    for ever.
    """

    def __init__(self, *due: Job) -> None:
        self.leases = Leases()
        self.presence = FakePresence(self.leases)
        self.lease_seconds = LEASE_S
        self.due = list(due)
        self.times_leased = 0
        self.renewals: list[list[Job]] = []
        self.finished: list[Job] = []
        self.released: list[Job] = []
        self.failed: list[tuple[Job, str]] = []
        self.fault: ServiceError | None = None
        self.hangs = False
        self._slots = set()
        self.begun: list[tuple[list[Job], bool]] = []  # and whether alone
        self.begin_fault: ServiceError | None = None
        self.deaths: dict[Job, int] = {}  # of suspect ones
        self.given_up: list[tuple[Job, str]] = []
        self.lost: list[Job] = []  # renewing tells so
        self.told = anyio.Event()

    async def lease(self, limit: int) -> list[Job]:
        await self._answer()
        self.times_leased += 1
        jobs, self.due = self.due[:limit], self.due[limit:]
        self.hold(jobs)
        return jobs

    def hold(self, jobs: Sequence[Job]) -> None:
        """Lease jobs that were never due."""
        self.leases.begin(jobs, self.leases.term(LEASE_S))

    async def renew(self) -> None:
        await self._answer()
        held = self.leases.held()
        self.renewals.append(held)
        self.leases.lose([job for job in held if job in self.lost])
        self.leases.renew(held, self.leases.term(LEASE_S))

    async def begin(self, jobs: Sequence[Job], *, slot: int, is_alone: bool = False) -> Mapping[UUID, int]:
        await anyio.lowlevel.checkpoint()
        if self.begin_fault is not None:
            raise self.begin_fault
        self.begun.append((list(jobs), is_alone))
        return {job.outbox_id: self.deaths[job] for job in jobs if job in self.deaths}

    async def give_up(self, jobs: Sequence[Job], error: str) -> None:
        self.let_go(jobs)
        await self._answer()
        self.given_up += [(job, error) for job in jobs]

    async def fail(self, jobs: Sequence[Job], error: str) -> None:
        await self._answer()
        self.failed += [(job, error) for job in jobs]
        self.told.set()

    async def finish(self, jobs: Sequence[Job], connection: Connection | None = None) -> None:
        await self._answer()
        self.finished += jobs

    async def release(self, jobs: Sequence[Job]) -> None:
        self.let_go(jobs)
        if self.hangs:
            await anyio.sleep_forever()
        await self._answer()
        self.released += jobs

    async def _answer(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.fault is not None:
            raise self.fault


@asynccontextmanager
async def running(actor: Actor) -> AsyncIterator[anyio.CancelScope]:
    """Run an actor until the block ends or cancels the scope it is given; its failure is the block's."""
    with anyio.fail_after(PATIENCE_S * 1000):
        async with anyio.create_task_group() as group:
            await group.start(actor.run)
            yield group.cancel_scope
            group.cancel_scope.cancel()
