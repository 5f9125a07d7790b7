"""A worker in a process of its own that consolidates a shard, and is killed when its model has just answered.

    python -m tests.chaos.consolidating DSN SECONDS

Its clock is that many seconds ahead, so that the leases of who was killed before have run out. It says `answered` on a
line for each answer of its model, and `done` when nothing is left.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from elf.config.tables.knowledge import KnowledgeTable
from elf.core.clock import SystemClock
from elf.db.database import Database
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.consolidation.batches import Shard
from elf.families.knowledge.consolidation.service import Consolidation
from elf.outbox.chores import Due
from elf.providers.port import Prompt
from tests.chaos.knowledge_races import ANA, OneFactEach
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.notes_kit import TurnedClock
from tests.system.fork_server import ForkedProcess, fork_server

BATCH: Final = 5
LEASE_S: Final = 300
SHARD: Final = Shard("besieged", "travel", "ana")
LONGEST_WAIT_S: Final = 0.06
REPO: Final = Path(__file__).resolve().parents[2]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Telling(OneFactEach):
    """A model that says when it has answered."""

    async def text(self, prompt: Prompt) -> str:
        answer = await super().text(prompt)
        say("answered")
        return answer


def house_of(database: Database, ahead_s: float) -> KnowledgeHouse:
    settings = {"batch_episodes": BATCH, "lease_seconds": LEASE_S}
    config = KnowledgeTable.model_validate({"consolidation": settings})
    clock = TurnedClock(SystemClock().now() + timedelta(seconds=ahead_s))
    return KnowledgeHouse(database, config=config, clock=clock)


async def consolidate(dsn: str, ahead_s: float) -> None:
    database = Database(max_conns=4)
    await database.open(dsn)
    house = house_of(database, ahead_s)
    await Consolidation(house.kit, Telling()).drain(Due(subject=SHARD.name, at=house.clock.now(), attempt=1))
    await database.close()
    say("done")


@dataclass
class Kills:
    """Has a worker killed again and again, and looks at what is left of its work."""

    database: Database
    dsn: str
    seed: int
    counts: Counter[str] = field(default_factory=Counter)

    async def run(self, rounds: int) -> list[str]:
        """Kill so many workers, let one come to its end, and return what should not be."""
        rng = random.Random(self.seed)
        wanted = BATCH * (rounds + 2)
        house = house_of(self.database, 0)
        for number in range(wanted):
            request = w.StoreEpisode(
                tenant_id=SHARD.tenant_id, butler=SHARD.butler, content=f"Thing {number}"
            )
            await house.writing.store_episode(request, ANA)
            house.clock.turn(microseconds=1)
        for round_ in range(rounds):
            before = await self._done()
            await asyncio.to_thread(self._killed, round_ + 1, rng.uniform(0, LONGEST_WAIT_S))
            self.counts[
                "killed before the commit" if await self._done() == before else "killed after it"
            ] += 1
        await asyncio.to_thread(self._ended, rounds + 1)
        return await self._faults(wanted)

    def _worker(self, round_: int) -> ForkedProcess:
        # Each begins when the leases of the one before have run out, and its episodes have not.
        ahead = str(round_ * (LEASE_S + 1))
        return fork_server().start("tests.chaos.consolidating", self.dsn, ahead, stdout=subprocess.PIPE)

    def _killed(self, round_: int, wait_s: float) -> None:
        with self._worker(round_) as worker:
            assert worker.stdout is not None
            said = next((line for line in worker.stdout if line.strip() in (b"answered", b"done")), b"")
            assert said.strip() == b"answered", f"the worker said {said!r}"
            time.sleep(wait_s)  # until somewhere between the answer and the commit, or a little after it
            worker.kill()

    def _ended(self, round_: int) -> None:
        with self._worker(round_) as worker:
            assert worker.stdout is not None
            lines = [line.strip() for line in worker.stdout]
        assert lines[-1] == b"done", lines[-3:]

    async def _done(self) -> int:
        async with self.database.connection() as connection:
            done: int = await connection.fetchval(
                "SELECT count(*) FROM knowledge_episodes WHERE tenant_id = $1 AND consolidated",
                SHARD.tenant_id,
            )
            return done

    async def _faults(self, wanted: int) -> list[str]:
        async with self.database.connection() as connection:
            facts = await connection.fetch(
                "SELECT subject FROM knowledge_facts WHERE tenant_id = $1", SHARD.tenant_id
            )
            told = await connection.fetch(
                "SELECT e.content FROM knowledge_events AS v JOIN knowledge_episodes AS e ON e.id = v.memory_id"
                " WHERE v.tenant_id = $1 AND v.event_type = 'episode_consolidated' ORDER BY v.seq",
                SHARD.tenant_id,
            )
            links = await connection.fetchval(
                "SELECT count(*) FROM knowledge_links WHERE tenant_id = $1", SHARD.tenant_id
            )
        every = [f"Thing {number}" for number in range(wanted)]
        faults = []
        if sorted(fact["subject"] for fact in facts) != sorted(every):
            faults.append(f"{len(facts)} facts came of {wanted} episodes")
        if [one["content"] for one in told] != every:
            faults.append("episodes were lost, consolidated twice, or out of their order")
        if links != wanted * BATCH:
            faults.append(f"{links} links of facts to the {BATCH} episodes of each batch")
        if await self._done() != wanted:
            faults.append("episodes are left")
        return faults


if __name__ == "__main__":
    asyncio.run(consolidate(sys.argv[1], float(sys.argv[2])))
