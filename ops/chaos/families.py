#!/usr/bin/env python3
"""Strike at two services over the same data while every family's work is done at both; prove that nothing is lost.

    python -m ops.chaos.families [--minutes 8] [--seed 1] [--family NAME] [--folder DIR]

In rounds: clients of each family work, now at the one service, now at the other, while either is killed, or stopped,
and started again, and the database and the index are killed. After each round both must tell that all that was
acknowledged is there, once, as it was left; in the end no job may be given up. Prints what was done, and exits with 1
at the first thing that should not be.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from tests.chaos.kills import kill_backend, kill_index, kill_postgres, wait_recovered
from tests.families.every import PROOFS, Proof
from tests.families.served import config_of_all, service_of_all
from tests.families.webhooks_proof import other_complaints, other_given_up_jobs
from tests.families.work import Crew, Task
from tests.system.service import RunningService, processes_of

ROUND_S = 45.0
LONGEST_CALM_S = 5.0
BLOWS = {
    "kill a service": 4,
    "stop a service": 2,
    "kill postgres": 2,
    "kill a postgres session": 2,
    "kill the index": 2,
}
PARTS = {"kill postgres": kill_postgres, "kill a postgres session": kill_backend}


class Siege:
    """Two services, what has been done to them, and what came of it."""

    def __init__(self, folder: Path, families: list[Proof], seed: int) -> None:
        config = config_of_all(folder, lease_seconds="5")
        self.services = [service_of_all(config, name=name) for name in ("first", "second")]
        self._families = families
        self._rng = random.Random(seed)
        self.blows: Counter[str] = Counter()
        self.claims: Counter[str] = Counter()
        self.rounds = 0
        self.given_up: dict[str, int] | None = None  # by queue, once the rounds are over

    def run(self, minutes: float) -> None:
        """Go through rounds until the time is up. Raises AssertionError at the first fault."""
        end = time.monotonic() + 60.0 * minutes
        for service in self.services:
            service.start()
        while time.monotonic() < end:
            self.rounds += 1
            self._round(min(end, time.monotonic() + ROUND_S))
        self.given_up = other_given_up_jobs(self.services[0])
        assert not self.given_up, f"jobs were given up: {self.given_up}"
        for service in self.services:
            assert service.stop() == 0

    def _round(self, end: float) -> None:
        tasks = {
            family.name: Task(
                family.work,
                self.services,
                {"tenant_id": f"round {self.rounds} {family.name}", "project_id": "p", "agent_id": "a"},
            )
            for family in self._families
        }
        with ExitStack() as stack:
            seed = self._rng.randrange(2**32)
            crews = {name: stack.enter_context(Crew(task, seed=seed)) for name, task in tasks.items()}
            while time.monotonic() < end:
                time.sleep(
                    self._rng.uniform(0.0, LONGEST_CALM_S)
                )  # it is the chance of the moment that matters
                self._strike()
        for name, crew in crews.items():
            self._check(name, tasks[name], crew)

    def _check(self, name: str, task: Task[Any], crew: Crew[Any]) -> None:
        claims = crew.claims
        faults = [
            *crew.faults,
            *task.problems(claims),
            *(one for each in self.services for one in other_complaints(each)),
        ]
        assert not faults, "\n".join(faults)
        assert claims, f"nothing of {name} was acknowledged, so nothing is proved"
        self.claims[name] += len(claims)
        print(f"round {self.rounds}: {len(claims)} pieces of work with {name} are all there", flush=True)

    def _strike(self) -> None:
        (name,) = self._rng.choices([*BLOWS], [*BLOWS.values()])
        print(f"  {name}", flush=True)
        self.blows[name] += 1
        one = self._rng.choice(self.services)
        if name in ("kill a service", "stop a service"):
            if name == "kill a service":
                one.kill()
            else:
                assert one.stop() == 0
            time.sleep(self._rng.uniform(0.0, LONGEST_CALM_S))  # the other one is alone for a while
            one.start()
            return
        hit = PARTS[name](one) if name in PARTS else kill_index(self._keeper())
        for service in self.services:
            wait_recovered(service, hit)

    def _keeper(self) -> RunningService:
        """The service that has the index process."""
        (keeper,) = [one for one in self.services if one.index_process_or_none() is not None]
        return keeper


def main() -> int:
    """Strike, report, and return the exit code."""
    parser = argparse.ArgumentParser(description="Strike at two services at work.")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=[family.name for family in PROOFS], help="one of the families")
    parser.add_argument("--folder", type=Path, help="where the data and logs go")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="elf-families-"))
    folder.mkdir(parents=True, exist_ok=True)
    siege = Siege(folder, [one for one in PROOFS if options.family in (None, one.name)], options.seed)
    print(f"seed {options.seed}, data and logs in {folder}", flush=True)
    try:
        siege.run(options.minutes)
    except (AssertionError, psutil.Error) as error:
        print(f"FAULT: {error}", flush=True)
        return 1
    finally:
        print(f"{siege.rounds} rounds, blows {dict(siege.blows)}, acknowledged {dict(siege.claims)}")
        print(f"jobs given up: {siege.given_up}")
        for process in processes_of(folder):
            process.kill()
    if options.folder is None:
        shutil.rmtree(folder)  # after a fault it stays, for whoever looks into it
    return 0


if __name__ == "__main__":
    sys.exit(main())
