#!/usr/bin/env python3
"""Kill and start processes with leased work; prove that no job is handed to two living ones, and that none is lost.

    python -m ops.chaos.leases [--rounds 50] [--seed 1]

Each round waits until two processes have work, kills one of them, in a fifth of the rounds both, and starts as many.
Prints what was done, and exits with 1 at the first thing that should not be.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from elf.db.embedded import EmbeddedServer
from tests.chaos.leases import JOBS_A_ROUND, Siege


async def run(folder: Path, seed: int, rounds: int) -> int:
    server = EmbeddedServer(folder / "postgres")
    siege = Siege(await server.start(), seed)
    began = time.monotonic()
    try:
        faults = await siege.run(rounds)
    finally:
        await server.leave()
    jobs, seconds = siege.rounds * JOBS_A_ROUND, time.monotonic() - began
    print(f"seed {seed}: {siege.rounds} rounds, {jobs} jobs, {siege.taken_over} leased by the dead,", end=" ")
    print(f"{len(faults)} faults, {seconds:.0f} s", *faults[:20], sep="\n")
    return 1 if faults else 0


def main() -> int:
    """Besiege, report, and return the exit code."""
    parser = argparse.ArgumentParser(description="Kill and start processes with leased work.")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="elf-leases-"))
    try:
        return asyncio.run(run(folder, options.seed, options.rounds))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
