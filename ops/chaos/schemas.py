#!/usr/bin/env python3
"""Send a running service thousands of requests made from its own OpenAPI documents, and judge every answer by them.

    python -m ops.chaos.schemas [--examples 120] [--seed 1] [--url URL --admin-url URL]

Without URLs it starts a service of its own. Both fronts get the examples of their documents, the edges of every bound,
and random requests, of which half break the rules. No answer may be a 5xx, have a status, body or header that is not
documented, take what the document forbids, or refuse what it allows. Prints the counts; exits with 1 on any fault.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fronts.examination import Findings, examine
from tests.system.service import RunningService, write_config


def examine_both(url: str, admin_url: str, *, examples: int, seed: int) -> list[str]:
    """Examine the public and the admin front, print the counts, and return the faults."""
    faults: list[str] = []
    cases = 0
    for name, front in (("public", url), ("admin", admin_url)):
        began = time.monotonic()
        findings = examine(front, examples=examples, seed=seed)
        _print(name, findings, time.monotonic() - began)
        faults += [f"{where}\n{what}" for where, what in findings.faults.items()]
        cases += findings.cases
    print(f"{cases} cases, {len(faults)} faults", flush=True)
    return faults


def _print(name: str, findings: Findings, seconds: float) -> None:
    print(f"{name} front: {findings.cases} cases in {seconds:.0f} s", flush=True)
    print(f"  by phase: {dict(findings.phases)}")
    print(f"  by status: {dict(sorted(findings.statuses.items()))}")
    print(f"  allowed by the document: {findings.allowed[True]}, forbidden: {findings.allowed[False]}")
    for operation, count in findings.operations.items():
        print(f"  {operation:45}{count:6}")


def main() -> int:
    """Examine a service and return the exit code."""
    parser = argparse.ArgumentParser(description="Judge every answer of a service by its OpenAPI documents.")
    parser.add_argument("--examples", type=int, default=120, help="random requests an operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--url", help="the public front of a running service")
    parser.add_argument("--admin-url", help="its admin front")
    options = parser.parse_args()
    if (options.url is None) != (options.admin_url is None):
        parser.error("give both URLs or none")
    if options.url is not None:
        faults = examine_both(options.url, options.admin_url, examples=options.examples, seed=options.seed)
    else:
        with (
            tempfile.TemporaryDirectory(prefix="elf-schemas-") as folder,
            RunningService(write_config(Path(folder))) as service,
        ):
            faults = examine_both(
                service.url, service.admin_url, examples=options.examples, seed=options.seed
            )
            faults += [f"log: {line}" for line in service.complaints()]
    for fault in faults:
        print(f"FAULT: {fault}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
