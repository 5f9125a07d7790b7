#!/usr/bin/env python3
"""Play random sequences on trees of conversations at a running service, and compare all of it with plain lists.

    python -m ops.chaos.conversations [--front rest|grpc] [--sequences 100] [--seed 1] [--folder DIR]

Each sequence is up to 25 steps of one user and two agents: entries, memory and its syncs, forks, deletions and
restores. Afterwards every listing, page by page, must be that of lists in memory. The service is one of its own, on
the example config. Prints what was done, and exits with 1 at the first difference.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.conversation_stages import AS_OPERATOR, RestStage, RpcStage
from tests.db.conversations.play import ITEMS, ITEMS_OF_DOUBLES, Play
from tests.system.service import RunningService, write_config


async def play(service: RunningService, front: str, *, sequences: int, seed: int) -> int:
    """Play sequences, one after the other, and return how many steps there were. Raises AssertionError."""
    steps, items = 0, ITEMS if front == "rest" else ITEMS_OF_DOUBLES
    for number in range(seed, seed + sequences):
        over_grpc = RpcStage(service.url, service.grpc_address) if front == "grpc" else None
        async with over_grpc or RestStage(service.url) as stage:
            try:
                steps += await Play(stage, number, items).run()
            except AssertionError as error:
                raise AssertionError(f"sequence {number}: {error}") from error
    return steps


def main() -> int:
    """Play, and return the exit code."""
    parser = argparse.ArgumentParser(description="Play random sequences on conversations.")
    parser.add_argument("--front", choices=("rest", "grpc"), default="rest")
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="that of the first sequence")
    parser.add_argument("--folder", type=Path, help="where the data and log go")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="elf-conversations-"))
    folder.mkdir(parents=True, exist_ok=True)
    config = write_config(folder)
    config.write_text(f"{config.read_text(encoding='utf-8')}\n{AS_OPERATOR}", encoding="utf-8")
    print(f"seed {options.seed}, data and log in {folder}", flush=True)
    with RunningService(config) as service:
        start = time.monotonic()
        try:
            steps = asyncio.run(play(service, options.front, sequences=options.sequences, seed=options.seed))
            assert not service.complaints(), "\n".join(service.complaints())
        except AssertionError as error:
            print(f"FAULT: {error}", flush=True)
            return 1
        seconds = time.monotonic() - start
    print(
        f"{options.sequences} sequences of {steps} steps over {options.front} in {seconds:.0f} s: all as in plain lists"
    )
    if options.folder is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
