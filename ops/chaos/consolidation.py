#!/usr/bin/env python3
"""Kill workers of knowledge between the answer of their model and the commit; prove that nothing is lost or doubled.

    python -m ops.chaos.consolidation [--rounds 50] [--seed 1]

Each round a worker in a process of its own leases a batch of episodes, has its model's answer, and is killed within
60 ms of that. The next one finds the lease run out. In the end one works without being killed. Exits with 1 when an
episode is lost or consolidated twice, a fact is doubled, or the order is not kept.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from actors.families import steps_on
from elf.db import migration
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from tests.chaos.consolidating import Kills
from tests.folders import fresh_folder
from tests.notes_kit import DIM


async def run(rounds: int, seed: int) -> int:
    began = time.monotonic()
    with fresh_folder() as folder:
        server = EmbeddedServer(folder / "postgres")
        dsn = await server.start()
        database = Database(max_conns=4)
        try:
            await migration.apply(dsn, steps_on(), vector_dim=DIM)
            await database.open(dsn)
            kills = Kills(database, dsn, seed)
            faults = await kills.run(rounds)
        finally:
            await database.close()
            await server.leave()
    print(f"seed {seed}: {rounds} workers killed, {time.monotonic() - began:.0f} s, {len(faults)} faults")
    for what, count in sorted(kills.counts.items()):
        print(f"  {count:6} {what}")
    print(*faults, sep="\n")
    return 1 if faults else 0


def main() -> int:
    """Kill, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return asyncio.run(run(options.rounds, options.seed))


if __name__ == "__main__":
    sys.exit(main())
