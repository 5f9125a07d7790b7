#!/usr/bin/env python3
"""Kill and start processes with leased work; prove that no job is handed to two living ones, and that none is lost.

    python -m ops.chaos.leases [--rounds 50] [--seed 1]

Each round waits until two processes have work, kills one of them and starts another. In a fifth of the rounds both are
killed; in two fifths both lose their sessions of Postgres while another starts, which takes over what they have.
Prints what was done, and exits with 1 at the first thing that should not be.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from elf.db.embedded import EmbeddedServer
from tests.chaos.leases import ROUNDS, Siege


async def run(folder: Path, seed: int, rounds: int) -> int:
    server = EmbeddedServer(folder / "postgres")
    siege = Siege(await server.start(), seed)
    kinds = random.Random(seed).choices(ROUNDS, k=rounds)
    began = time.monotonic()
    try:
        faults = await siege.run(kinds)
    finally:
        await server.leave()
    print(
        f"seed {seed}: {rounds} rounds, {siege.jobs} jobs, {siege.taken_over} taken over from living ones,",
        end=" ",
    )
    print(f"{len(faults)} faults, {time.monotonic() - began:.0f} s", *faults[:20], sep="\n")
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
