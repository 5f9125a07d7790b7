"""Processes with leased work that are killed and started: no job may be handed to two living ones, and none be lost."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations, count, groupby
from typing import Any
from uuid import uuid4

import anyio
import asyncpg

JOBS_A_ROUND = 60  # all of which two processes hold
LEASE_S = 4.0
PATIENCE_S = 120.0
LONGEST_CALM_S = 0.5

TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE toy_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  toy_id uuid NOT NULL DEFAULT gen_random_uuid(),
  status text NOT NULL DEFAULT 'PENDING',
  attempts int NOT NULL DEFAULT 0,
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE toy_work (
  outbox_id uuid NOT NULL,
  worker text NOT NULL,
  began timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended timestamptz NULL,
  done boolean NOT NULL DEFAULT false
);
"""
AT_WORK = "SELECT count(DISTINCT worker) FROM toy_work WHERE ended IS NULL AND worker = ANY ($1::text[])"
OPEN = "SELECT count(*) FROM toy_outbox WHERE status <> 'DONE'"
LEASED = "SELECT count(*) FROM toy_outbox WHERE status <> 'DONE' AND available_at > now()"


@dataclass
class Siege:
    """Two processes over one database, what was done to them, and what is wrong.

    knows_of_others: whether they tell of their presence by the lock of the outbox; without it there must be faults.
    """

    dsn: str
    seed: int
    knows_of_others: bool = True
    rounds: int = 0
    taken_over: int = 0
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _killed: dict[str, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._names = (f"lessee {number}" for number in count(1))

    async def run(self, rounds: int) -> list[str]:
        """Go through rounds, let all jobs be done, and return what is wrong."""
        self._database = await asyncpg.connect(self.dsn)
        try:
            await self._database.execute(TABLES)
            for _ in range(2):
                self._start()
            for _ in range(rounds):
                await self._round()
            await self._until(lambda: self._database.fetchval(OPEN), 0)
            return await self._faults()
        finally:
            for name in list(self._processes):
                self._kill(name)
            await self._database.close()

    async def _round(self) -> None:
        """Wait until both have work, kill one, or sometimes both, and start as many."""
        self.rounds += 1
        await self._database.execute(
            "INSERT INTO toy_outbox SELECT FROM generate_series(1, $1)", JOBS_A_ROUND
        )
        await self._until(lambda: self._database.fetchval(AT_WORK, list(self._processes)), 2)
        await anyio.sleep(
            self._rng.uniform(0.0, LONGEST_CALM_S)
        )  # it is the chance of the moment that matters
        victims = self._rng.sample(sorted(self._processes), 2 if self._rng.random() < 0.2 else 1)
        for name in victims:
            self._killed[name] = await self._database.fetchval("SELECT clock_timestamp()")
            self._kill(name)
        if len(victims) == 2:
            self.taken_over += await self._database.fetchval(LEASED)
        for _ in victims:
            self._start()

    def _start(self) -> None:
        name = next(self._names)
        lock = "toy_outbox" if self.knows_of_others else str(uuid4())
        program = [sys.executable, "-m", "tests.chaos.lessee", self.dsn, name, str(LEASE_S), lock]
        self._processes[name] = subprocess.Popen(program)

    def _kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    async def _until(self, value: Callable[[], Any], wanted: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            while await value() != wanted:
                for name, process in self._processes.items():
                    assert process.poll() is None, f"{name} ended by itself"
                await anyio.sleep(0.02)

    async def _faults(self) -> list[str]:
        rows = await self._database.fetch(
            "SELECT *, now() AS checked FROM toy_work ORDER BY outbox_id, began"
        )
        by_job = groupby(rows, key=lambda row: row["outbox_id"])
        pairs = [pair for _, of_job in by_job for pair in combinations(of_job, 2)]
        never = await self._database.fetchval(
            "SELECT count(*) FROM toy_outbox AS o WHERE NOT EXISTS ("
            "SELECT 1 FROM toy_work AS w WHERE w.outbox_id = o.outbox_id AND w.done)"
        )
        return [f"{never} jobs are ended that nobody did"] * (never > 0) + [
            f"{later['worker']} got a job that {earlier['worker']} had"
            for earlier, later in pairs
            if later["worker"] != earlier["worker"] and later["began"] < self._end(earlier)
        ]

    def _end(self, work: Any) -> datetime:
        """Until when somebody had a job: until he died at the latest."""
        end: datetime = work["ended"] or self._killed.get(work["worker"], work["checked"])
        return end
