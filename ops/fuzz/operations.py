#!/usr/bin/env python3
"""Send every operation of a service random requests made from its OpenAPI documents, and judge every answer by them.

    python -m ops.fuzz.operations [--examples 200] [--seed 1] [--only public|admin] [--family NAME]
        [--random-alone] [--folder DIR]

The service is one of its own, on the example config. Sent are the edges of every bound, then random requests, which
keep to the documents and break them by turns. Before that, clients of each family that is asked work; afterwards all
that was acknowledged must be there. Prints the counts, and exits with 1 when an answer is not one that its document
describes, or anything is lost.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.families.every import PROOFS
from tests.families.served import config_of_all, service_of_all
from tests.families.work import Crew, Task
from tests.fronts.examination import Findings, examine
from tests.system.service import RunningService

PIECES = 100  # of a family's work
PLACE = {"tenant_id": "before the fuzz", "project_id": "p", "agent_id": "a"}


def fuzz(service: RunningService, options: argparse.Namespace) -> list[str]:
    """Send the requests, print what came of them, and return the faults."""
    asked = [family for family in PROOFS if options.family in (None, family.name)]
    worked = [_worked(Task(family.work, [service], PLACE), options.seed) for family in asked]
    faults = []
    for name, url in (("public", service.url), ("admin", service.admin_url)):
        if options.only in (None, name):
            findings = examine(
                url,
                examples=options.examples,
                seed=options.seed,
                coverage=not options.random_alone,
                only=_operations(options.family),
            )
            report(name, findings)
            faults += [f"{fault}\n{shown}" for fault, shown in findings.faults.items()]
    for task, claims in worked:
        faults += task.problems(claims)
        print(f"{len(claims)} pieces of work were acknowledged before")
    return [*faults, *service.complaints()]


def _operations(family: str | None) -> set[str] | None:
    """The names of the operations of a family; None for all there are."""
    (known,) = [one.family for one in PROOFS if one.name == family] or [None]
    return known and {one.name for one in (*known.operations, *known.admin_operations)}


def _worked(task: Task[Any], seed: int) -> tuple[Task[Any], list[Any]]:
    with Crew(task, seed=seed) as crew:
        crew.wait_done(PIECES)
    assert not crew.faults, "\n".join(crew.faults)
    return task, crew.claims


def report(front: str, findings: Findings) -> None:
    """Print the counts of one front."""
    print(f"{front}: {findings.cases} requests, by phase {dict(findings.phases)}")
    print(f"  answers by status: {dict(sorted(findings.statuses.items()))}")
    print(f"  allowed by the document: {findings.allowed[True]}, forbidden: {findings.allowed[False]}")
    for operation, count in sorted(findings.operations.items()):
        print(f"  {count:6} {operation}")


def main() -> int:
    """Fuzz, and return the exit code."""
    parser = argparse.ArgumentParser(description="Send every operation random requests.")
    parser.add_argument(
        "--examples", type=int, default=200, help="random requests an operation (default 200)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("public", "admin"), help="one of the fronts")
    parser.add_argument("--family", choices=[one.name for one in PROOFS], help="one of the families")
    parser.add_argument("--random-alone", action="store_true", help="without the edges of every bound")
    parser.add_argument("--folder", type=Path, help="where its data and log go")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="elf-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, data and log in {folder}", flush=True)
    with service_of_all(config_of_all(folder)) as service:
        faults = fuzz(service, options)
    for fault in faults:
        print(f"FAULT: {fault}", flush=True)
    print(f"{len(faults)} faults")
    if options.folder is None and not faults:
        shutil.rmtree(folder)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
