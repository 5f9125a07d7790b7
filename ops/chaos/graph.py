#!/usr/bin/env python3
"""Kill processes that share the file of a memory; prove that nothing is lost, torn or taken in twice.

    python -m ops.chaos.graph [--seconds 120] [--seed 1]

Four processes write, read and take dropped files into one memory, and make its vectors. One after the other is killed
and followed by a new one; half of the kills hit the one that has the duty for files and vectors. In the end whatever
was answered has to be there, and the file sound, with no gap in the versions of a memory and each dropped file taken in
once. Another process has the duty within 2 s of its holder's death. Exits with 1 at any fault.
"""

from __future__ import annotations

import argparse
import sys
import time

import anyio

from tests.chaos.graph_siege import Siege
from tests.folders import fresh_folder

DUTY_WITHIN_S = 2.0


async def run(seconds: float, seed: int) -> int:
    began = time.monotonic()
    with fresh_folder() as folder:
        siege = Siege(folder, seed, duty_within_s=DUTY_WITHIN_S)
        faults = await siege.run(seconds)
    print(f"seed {seed}: {time.monotonic() - began:.0f} s, {len(faults)} faults")
    for what, number in sorted(siege.counts.items()):
        print(f"  {number:6} {what}")
    handovers = sorted(siege.handovers_s)
    print(f"  {len(handovers):6} duties taken over, each within {handovers[-1]:.2f} s")
    print(*faults[:20], sep="\n")
    return 1 if faults else 0


def main() -> int:
    """Besiege, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return anyio.run(run, options.seconds, options.seed)


if __name__ == "__main__":
    sys.exit(main())
