#!/usr/bin/env python3
"""Let the log of a service fail under load; every request must be served as ever, and the stop must be as ever.

    python -m ops.chaos.log_failures [--seconds 60] [--seed 1] [--failure NAME ...] [--several]

The failures: a disk that is full (full_disk), a pipe whose reader is gone (closed_pipe), a pipe that nobody ever reads
(unread_pipe), and one that is read again when the load is over (paused_pipe); with pipes the output of the service
fails in the same way. Four clients add, read and search notes. What the service drops of its log has to be in its
metrics, and once the log works again in lines that report it. It has to end with exit code 0.

Exits with 1 at any fault.
"""

from __future__ import annotations

import argparse
import sys

from tests.chaos.log_failures import FAILURES, can_have_disk, run
from tests.folders import fresh_folder
from tests.system.service import write_config
from tests.system.several import split

PROCESSES_WITH_METRICS = 4  # of those that the example of [processes] has


def main() -> int:
    """Run each failure, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the load lasts (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failure", choices=FAILURES, nargs="+", default=FAILURES, help="default: all")
    parser.add_argument("--several", action="store_true", help="a service of several processes")
    options = parser.parse_args()
    is_well = True
    for failure in options.failure:
        with fresh_folder() as folder:
            if failure == "full_disk" and not can_have_disk(folder):
                print(f"{failure}: not run, because this system lets nobody mount a disk of their own")
                continue
            config = write_config(folder, log_level='"debug"')
            if options.several:
                split(config)
            processes = PROCESSES_WITH_METRICS if options.several else 1
            outcome = run(config, failure, seconds=options.seconds, seed=options.seed, processes=processes)
        print(
            f"{failure}: {outcome.responses} responses, {len(outcome.faults)} faults, "
            f"dropped {[int(lines) for lines in outcome.dropped.values()]}, "
            f"exit code {outcome.exit_code} after {outcome.stopped_after_s:.1f} s",
            *outcome.faults[:20],
            sep="\n  ",
            flush=True,
        )
        is_well = is_well and not outcome.faults
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
