#!/usr/bin/env python3
"""Kill a service as soon as it has answered that something is remembered; prove that nothing is lost or doubled.

    python -m ops.chaos.remembering [--kills 100] [--seed 1]

In each round a client has up to four things remembered, and the service is killed with the last answer, most often
before its worker has begun, and started again. In the end each has to be there once: as entries of its conversation, as
two notes, and as what the assistant made of it; and no job may be given up. Exits with 1 at any fault.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.chaos.kills import given_up_jobs
from tests.chaos.remembering import RememberKills
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config


def main() -> int:
    """Kill, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with fresh_folder() as folder:
        config = write_config(folder)
        with RunningService(config) as service:
            kills = RememberKills(service, random.Random(options.seed))
            for _ in range(options.kills):
                kills.strike()
            faults = [
                *kills.faults(),
                *(f"{n} jobs of {queue} are given up" for queue, n in given_up_jobs(service).items()),
            ]
    print(
        f"seed {options.seed}: {options.kills} kills, {time.monotonic() - began:.0f} s, {len(faults)} faults"
    )
    print(f"  {len(kills.said):6} remembered; families when it was answered: {dict(kills.states)}")
    print(*faults[:20], sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
