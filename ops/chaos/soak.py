"""Strike at a running service at random for a while, and prove that it loses nothing.

    python -m ops.chaos.soak [--minutes 5] [--seed 1] [--folder DIR]

In rounds: four clients store notes and one searches, while parts of the service are killed or made to hang, one after
the other and sometimes two at once, and the whole service is killed or stopped and started again. After each round
every acknowledged note must be listed, have its vectors and be found by its own text, and in the end no job may be
given up. Prints what was done, how long the recoveries took and what the clients were answered; exits with 1 at the
first thing that should not be.
"""

from __future__ import annotations

import argparse
import random
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import psutil

from tests.chaos.kills import (
    given_up_jobs,
    hang_index,
    hang_postgres,
    kill_backend,
    kill_index,
    kill_postgres,
    wait_recovered,
)
from tests.system.service import RunningService, processes_of, search_body, write_config
from tests.system.truth import assert_all_there
from tests.system.writers import LONGEST_ANSWER_S, Writers

ROUND_S = 45.0
LONGEST_CALM_S = 6.0
DOUBLE_BLOWS = 0.2  # the share of blows that are followed at once by another one

PARTS: dict[str, tuple[Callable[[RunningService], psutil.Process], int]] = {
    "kill postgres": (kill_postgres, 4),
    "kill a postgres session": (kill_backend, 4),
    "kill the index": (kill_index, 4),
    "hang the index": (hang_index, 2),
    "hang postgres": (hang_postgres, 1),
}
WHOLE: dict[str, int] = {"kill the service": 3, "stop the service": 1}


class Searcher:
    """A client that searches for stored notes without pause; a context manager."""

    def __init__(self, url: str, tenant: str, writers: Writers) -> None:
        self._url, self._tenant, self._writers = url, tenant, writers
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._search, daemon=True)
        self.answers: Counter[str] = Counter()
        self.faults: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(LONGEST_ANSWER_S + 10.0)

    def _search(self) -> None:
        with httpx.Client(base_url=self._url, timeout=LONGEST_ANSWER_S) as http:
            while not self._stop.wait(0.05):
                texts = list(self._writers.acknowledged.values()) or ["nothing yet"]
                self._ask(http, random.choice(texts))

    def _ask(self, http: httpx.Client, text: str) -> None:
        try:
            response = http.post("/v1/memory/search", json=search_body(self._tenant, text))
        except httpx.TransportError as error:
            self.answers[type(error).__name__] += 1
            if isinstance(error, httpx.TimeoutException):
                self.faults.append(f"no answer to a search within {LONGEST_ANSWER_S} s")
            return
        degraded = response.status_code == 200 and response.json()["degraded"]
        self.answers[f"{response.status_code}{' degraded' if degraded else ''}"] += 1
        if response.status_code != 200 and (
            response.status_code != 503 or "Retry-After" not in response.headers
        ):
            self.faults.append(f"{response.status_code} {response.text}")


class Soak:
    """The service, what has been done to it, and what came of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        port = _free_port()
        # No lease may end meanwhile: what an outage leaves leased must come back by itself.
        config = write_config(folder, http_bind=f'"127.0.0.1:{port}"', lease_seconds="3600")
        self.service = RunningService(config)
        self._rng = random.Random(seed)
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._writes: Counter[str] = Counter()
        self._searches: Counter[str] = Counter()
        self._acknowledged: dict[str, dict[str, str]] = {}
        self._slowest_s = 0.0
        self._descriptors: list[int] = []

    def run(self, minutes: float) -> None:
        """Go through rounds until the time is up. Raises AssertionError at the first fault."""
        end = time.monotonic() + 60.0 * minutes
        self.service.start()
        while time.monotonic() < end:
            self._round(f"round {len(self._acknowledged) + 1}", end)
        for tenant, acknowledged in self._acknowledged.items():
            assert_all_there(self.service, tenant, acknowledged)
        given_up = given_up_jobs(self.service)
        assert not given_up, f"jobs were given up: {given_up}"
        assert self.service.stop() == 0
        assert processes_of(self.service.config.parent) == []

    def _round(self, tenant: str, end: float) -> None:
        end = min(end, time.monotonic() + ROUND_S)
        with (
            Writers(self.service, tenant, seed=self._rng.randrange(2**32), pause_s=0.02) as writers,
            Searcher(self.service.url, tenant, writers) as searcher,
        ):
            while time.monotonic() < end:
                time.sleep(
                    self._rng.uniform(0.0, LONGEST_CALM_S)
                )  # it is the chance of the moment that matters
                self._strike()
        self._writes += writers.answers
        self._searches += searcher.answers
        self._slowest_s = max(self._slowest_s, writers.slowest_s)
        self._acknowledged[tenant] = writers.acknowledged
        faults = writers.faults + searcher.faults + self.service.complaints()
        assert not faults, "\n".join(faults)
        assert_all_there(self.service, tenant, writers.acknowledged)
        self._descriptors.append(psutil.Process(self.service.process.pid).num_fds())
        print(f"{tenant}: {len(writers.acknowledged)} notes are all there", flush=True)

    def _strike(self) -> None:
        names = [*PARTS, *WHOLE]
        weights = [weight for _, weight in PARTS.values()] + list(WHOLE.values())
        (name,) = self._rng.choices(names, weights)
        print(f"  {name}", flush=True)
        started = time.monotonic()
        if name in WHOLE:
            self._start_again(name)
        else:
            self._hit_parts(name)
        self._seconds[name].append(time.monotonic() - started)

    def _start_again(self, name: str) -> None:
        if name == "kill the service":
            self.service.kill()
        else:
            assert self.service.stop() == 0
            assert processes_of(self.service.config.parent) == []
        self.service.start()

    def _hit_parts(self, name: str) -> None:
        hit = [PARTS[name][0](self.service)]
        if self._rng.random() < DOUBLE_BLOWS:
            second = self._rng.choice([kill_postgres, kill_index])
            try:
                hit.append(second(self.service))
            except (psutil.NoSuchProcess, AssertionError):
                print("    (the second one is gone already)", flush=True)
        for process in hit:
            wait_recovered(self.service, process)

    def report(self) -> None:
        """Print the counts."""
        print(f"{'blow':26}{'times':>6}{'median s':>10}{'longest s':>10}")
        for name, seconds in sorted(self._seconds.items()):
            print(f"{name:26}{len(seconds):6}{statistics.median(seconds):10.2f}{max(seconds):10.2f}")
        print(f"answers to writes: {dict(self._writes)}; the slowest took {self._slowest_s:.2f} s")
        print(f"answers to searches: {dict(self._searches)}")
        print(f"notes acknowledged: {sum(map(len, self._acknowledged.values()))}")
        print(f"open files of the service after each round: {self._descriptors}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def main() -> int:
    """Soak, report, and return the exit code."""
    parser = argparse.ArgumentParser(description="Strike at a running service at random.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where its data goes, and stays")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="elf-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    soak = Soak(folder, options.seed)
    print(f"seed {options.seed}, data and log in {folder}", flush=True)
    try:
        soak.run(options.minutes)
    except (AssertionError, psutil.Error) as error:
        print(f"FAULT: {error}", flush=True)
        return 1
    finally:
        soak.report()
        for process in processes_of(folder):
            process.kill()
    if options.folder is None:
        shutil.rmtree(folder)  # after a fault it stays, for whoever looks into it
    return 0


if __name__ == "__main__":
    sys.exit(main())
