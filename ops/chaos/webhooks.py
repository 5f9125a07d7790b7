#!/usr/bin/env python3
"""Have values written while a receiver of webhooks is well, down, slow or wrong, and the service is killed at times.

    python -m ops.chaos.webhooks [--steps 120] [--kill-every 4] [--seed 1]

Each step turns the receiver's mood. In the end every change has to be told at least once, those of one user in their
order, each with a right signature. Prints what writes took in each mood: nobody waits for a receiver. Exits with 1 at
any fault.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time

from tests.chaos.webhook_siege import WebhookSiege
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config
from tests.system.webhook_receiver import add_webhook, running_receiver

USERS = [f"user-{number}" for number in range(6)]


def main() -> int:
    """Besiege, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--kill-every", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with fresh_folder() as folder, running_receiver() as receiver:
        config = write_config(folder)
        add_webhook(config, "siege", receiver, timeout_ms="1000")
        with RunningService(config) as service:
            siege = WebhookSiege(service, receiver, random.Random(options.seed), USERS)
            siege.rage(options.steps, step_s=1.0, kill_every=options.kill_every)
            faults = siege.faults()
    changes = [change for some in siege.changes.values() for change in some]
    taken = receiver.taken()
    print(f"seed {options.seed}: {siege.kills} kills, {time.monotonic() - began:.0f} s, {len(faults)} faults")
    print(f"  {len(changes):6} changes, of which {sum(not one.is_sure for one in changes)} were not answered")
    print(f"  {len(receiver.heard):6} calls, {len(taken)} taken, of {len({one.id for one in taken})} events")
    for mood, seconds in sorted(siege.seconds.items()):
        middle, worst = statistics.median(seconds) * 1000, statistics.quantiles(seconds, n=20)[-1] * 1000
        print(
            f"  writes while the receiver {mood:12}: p50 {middle:6.1f} ms, p95 {worst:6.1f} ms ({len(seconds)})"
        )
    print(*faults[:20], sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
