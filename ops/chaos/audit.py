#!/usr/bin/env python3
"""Call every audited operation of a service while it is killed, and judge the audit log.

    python -m ops.chaos.audit [--calls 500] [--kills 20] [--seed 1]

The service is one of its own, with all families. Each operation of the admin server is called in turn, and those of
conversations on the public one; one call in ten is refused. The service is killed (SIGKILL) at random moments of calls,
and started again. Exits with 1 unless

- each call that was answered has exactly one row, with its outcome and the number of its items, and no other has two;
- no column of a row has a word of the texts and queries that were sent, or a key;
- no row has the name of a user who was erased, as the caller or as a subject.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from elf.core.api_key import new_key
from tests.chaos.audit_calls import Siege, guarded_config
from tests.folders import fresh_folder
from tests.system.service import RunningService


def main() -> int:
    """Do it; returns the exit code."""
    parser = argparse.ArgumentParser(description="Call what is audited, and judge the audit log.")
    for name, usual in (("calls", 500), ("kills", 20), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual, help=f"(default {usual})")
    options = parser.parse_args()
    cache = Path(tempfile.gettempdir()) / "elf-audit-model"
    key, began = new_key(), time.monotonic()
    with fresh_folder() as folder:
        config = guarded_config(folder, key, cache_dir=f'"{cache}"')
        with RunningService(config) as service:
            siege = Siege(service, key, options.seed)
            siege.run(options.calls, options.kills)
            for name, figure in siege.figures().items():
                print(f"{name:<12}{figure}", flush=True)
            faults = [
                *siege.faults(),
                *(line for line in service.complaints() if not line.startswith("elf: ")),
            ]
    print(f"{'seconds':<12}{time.monotonic() - began:.0f}")
    for fault in faults:
        print(f"FAULT: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
