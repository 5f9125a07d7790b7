#!/usr/bin/env python3
"""Move the memories of a service to another embedding model while searches run, and kill it on the way.

    python -m ops.chaos.reembed [--rows 10000]

The model is a scripted one behind a real socket, whose name in the config changes. Exits with 1 when a search mixed
vectors of two models.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.folders import fresh_folder
from tests.system.reembedding import NEW, change_model, moved, moving_service, store


def main() -> int:
    """Move, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    with fresh_folder() as folder, moving_service(folder) as (service, _):
        began = time.monotonic()
        store(service, options.rows)
        stored = time.monotonic()
        change_model(service, NEW)
        searches = moved(service, options.rows, killed_at=options.rows // 2, timeout_s=400)
        print(
            f"{options.rows} facts stored in {stored - began:.0f} s, moved in {time.monotonic() - stored:.0f} s"
        )
    print(dict(searches.counts), f"{len(searches.faults)} faults", *searches.faults[:10], sep="\n")
    return 1 if searches.faults else 0


if __name__ == "__main__":
    sys.exit(main())
