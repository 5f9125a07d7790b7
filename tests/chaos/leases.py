"""Processes with leased work that are killed, cut off and started.

No job may be handed to two living ones, done twice, or lost. One that has lost its session of Postgres gives up what it
has, and may notice that a moment after another got it; it may not go on until it has.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations, count, groupby
from typing import Any

import anyio
import asyncpg

from tests.system.fork_server import ForkedProcess, fork_server

FEED_AT_ONCE = 8  # whenever fewer are due: what somebody gives up is then soon somebody else's
LEASE_S = 8.0  # so long that a busy machine does not keep a living process from renewing its leases
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
  lease int NOT NULL,
  worker text NOT NULL,
  began timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended timestamptz NULL,
  done boolean NOT NULL DEFAULT false
);
CREATE TABLE toy_sessions (
  worker text NOT NULL,
  pid int NOT NULL,
  began timestamptz NOT NULL DEFAULT clock_timestamp(),
  alone boolean NOT NULL DEFAULT false,
  told boolean NOT NULL DEFAULT false
);
CREATE TABLE toy_cuts (worker text NOT NULL, at timestamptz NOT NULL);
"""
FEED = """
INSERT INTO toy_outbox SELECT FROM generate_series(1, $1)
WHERE (SELECT count(*) FROM toy_outbox WHERE status <> 'DONE' AND available_at <= now()) < $1
"""
AT_WORK = "SELECT count(DISTINCT worker) FROM toy_work WHERE ended IS NULL AND worker = ANY ($1::text[])"
LIVE = "FROM toy_sessions AS s JOIN pg_stat_activity AS a USING (pid) WHERE s.worker = ANY ($1::text[])"
TOLD = f"SELECT count(DISTINCT s.worker) {LIVE} AND s.told"
CUT = f"""
WITH cut AS MATERIALIZED (
  INSERT INTO toy_cuts SELECT s.worker, clock_timestamp() {LIVE} RETURNING worker
)
SELECT pg_terminate_backend(s.pid) {LIVE} AND EXISTS (SELECT FROM cut)
"""
OPEN = "SELECT count(*) FROM toy_outbox WHERE status <> 'DONE'"
TAKEN_OVER = """
SELECT count(DISTINCT s.worker) FROM toy_sessions AS s
WHERE s.alone AND EXISTS (SELECT FROM toy_cuts AS c WHERE c.at < s.began AND c.at > s.began - interval '2 seconds')
  AND NOT EXISTS (SELECT FROM toy_sessions AS e WHERE e.worker = s.worker AND e.began < s.began)
"""
# A job that somebody had, the first time after it at which he was cut off, and when he told others of himself again.
WORK = """
SELECT w.*, now() AS checked, cut.at AS cut, (
  SELECT min(s.began) FROM toy_sessions AS s WHERE s.worker = w.worker AND s.began > cut.at) AS again
FROM toy_work AS w
LEFT JOIN LATERAL (
  SELECT min(c.at) AS at FROM toy_cuts AS c
  WHERE c.worker = w.worker AND c.at > w.began AND (w.ended IS NULL OR c.at < w.ended)) AS cut ON true
WHERE w.ended IS NULL OR w.ended > w.began
ORDER BY w.outbox_id, w.began
"""
NEVER = """
SELECT count(*) FROM toy_outbox AS o
WHERE NOT EXISTS (SELECT FROM toy_work AS w WHERE w.outbox_id = o.outbox_id AND w.done)
"""
TWICE = "SELECT outbox_id FROM toy_work WHERE done GROUP BY outbox_id HAVING count(*) > 1"
# What may be done to two processes: one is killed, or both, or both lose their sessions.
ROUNDS = ("one", "one", "both", "cut", "cut")


@dataclass
class Siege:
    """Two processes over one database, what was done to them, and what is wrong.

    fault: one that is planted in them, see tests/chaos/lessee.py; with it there must be something wrong.
    """

    dsn: str
    seed: int
    fault: str = ""
    jobs: int = 0
    taken_over: int = 0  # rounds in which one that started took over from living ones that were cut off
    _processes: dict[str, ForkedProcess] = field(default_factory=dict)
    _killed: dict[str, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._names = (f"lessee {number}" for number in count(1))

    async def run(self, rounds: Sequence[str], *, looks_for: str = "") -> list[str]:
        """Go through rounds of the kinds of ROUNDS, let all jobs be done, and return what is wrong.

        `looks_for` is what the planted fault leads to: no more rounds are gone through once it was seen.
        """
        self._database = await asyncpg.connect(self.dsn)
        try:
            await self._database.execute(TABLES)
            for _ in range(2):
                self._start()
            for kind in rounds:
                await self._round(kind)
                if looks_for and any(looks_for in fault for fault in await self._faults()):
                    break
            await self._until(self._at_work, 2)  # who was started last has to meet the living at work
            await self._until(lambda: self._database.fetchval(OPEN), 0)
            self.jobs = await self._database.fetchval("SELECT count(*) FROM toy_outbox")
            self.taken_over = await self._database.fetchval(TAKEN_OVER)
            return await self._faults()
        finally:
            for name in list(self._processes):
                self._kill(name)
            await self._database.close()

    async def _round(self, kind: str) -> None:
        """Wait until both have work, do to them what is to be done, and start as many as are killed."""
        await self._until(self._at_work, 2)
        await anyio.sleep(self._rng.uniform(0.0, LONGEST_CALM_S))  # the chance of the moment matters
        victims = self._rng.sample(sorted(self._processes), 2 if kind == "both" else 1)
        if kind == "cut":
            await self._cut_off_while_one_starts()
        for name in victims:
            self._killed[name] = await self._database.fetchval("SELECT clock_timestamp()")
            self._kill(name)
        while len(self._processes) < 2:
            self._start()

    async def _at_work(self) -> int:
        await self._database.execute(FEED, FEED_AT_ONCE)
        count: int = await self._database.fetchval(AT_WORK, list(self._processes))
        return count

    async def _cut_off_while_one_starts(self) -> None:
        """End the sessions of both, again and again, until a third has told of itself; then let them come back."""
        both = list(self._processes)
        third = self._start()

        async def told() -> int:
            await self._database.execute(FEED, FEED_AT_ONCE)
            await self._database.execute(CUT, both)
            count: int = await self._database.fetchval(TOLD, [third])
            return count

        await self._until(told, 1)
        await self._until(lambda: self._database.fetchval(TOLD, list(self._processes)), 3)

    def _start(self) -> str:
        name = next(self._names)
        self._processes[name] = fork_server().start(
            "tests.chaos.lessee", self.dsn, name, str(LEASE_S), self.fault
        )
        return name

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
        rows = await self._database.fetch(WORK)
        by_job = groupby(rows, key=lambda row: row["outbox_id"])
        pairs = [pair for _, of_job in by_job for pair in combinations(of_job, 2)]
        never = await self._database.fetchval(NEVER)
        twice = await self._database.fetch(TWICE)
        return [
            *[f"{never} jobs are ended that nobody did"] * (never > 0),
            *[f"{row['outbox_id']} was done twice" for row in twice],
            *[f"{row['worker']} went on with a job" for row in rows if self._went_on(row)],
            *[
                f"{later['worker']} got a job that {earlier['worker']} had"
                for earlier, later in pairs
                if later["worker"] != earlier["worker"] and later["began"] < self._end(earlier)
            ],
        ]

    def _went_on(self, work: Any) -> bool:
        """Tell whether somebody who was cut off still had a job when he told others of himself again."""
        return work["again"] is not None and self._had_until(work) > work["again"]

    def _end(self, work: Any) -> datetime:
        """Until when nobody else might have a job."""
        return min(self._had_until(work), work["cut"] or work["checked"])

    def _had_until(self, work: Any) -> datetime:
        """Until when somebody had a job: until he died at the latest."""
        end: datetime = work["ended"] or self._killed.get(work["worker"], work["checked"])
        return end
