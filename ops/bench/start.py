"""How long `elf up` takes to its first answer, and the memory it then takes idle: all families beside notes alone.

    python -m ops.bench.start [--starts 5] [--idle 10]

Starts the service with the example config, and with the same without the tables of families, in turns, each always in
a folder of its own. The first start in a folder, which makes the database and builds the model, is told apart from the
later ones, of which the medians are told. Ready is the line that says so; the first answer is that of a note's search,
and with all families of a recall, on a memory that holds one note. Memory is the proportional set size (Linux), as in
ops.bench.footprint, so many seconds after the answer.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from elf.client import Client
from elf.config.tables import TABLES
from ops.bench.footprint import memory_of, show
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

QUERY: Final = "Where is the staging server?"
Ask = Callable[[Client], object]


@dataclass(slots=True)
class Kind:
    """A config, and what starts of it took, in seconds; `memory` is that of each start, in megabytes by role."""

    name: str
    config: Path
    ask: Ask
    ready: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    memory: list[dict[str, float]] = field(default_factory=list)

    def start(self, idle_s: float) -> None:
        """Start it, ask, and let it idle."""
        began = time.perf_counter()
        with RunningService(self.config) as service:
            self.ready.append(time.perf_counter() - began)
            with client_of(service) as client:
                self.ask(client)
                self.answered.append(time.perf_counter() - began)
                if len(self.ready) == 1:
                    client.add_note("The staging server is in Oslo.", key="staging")
            time.sleep(idle_s)
            self.memory.append(memory_of(service))

    def tell(self) -> None:
        """Print what was measured."""
        print(f"{self.name}: first start: ready {self.ready[0]:.1f} s, first answer {self.answered[0]:.1f} s")
        ready, answered = self.ready[1:], self.answered[1:]
        print(
            f"{self.name}: later ones: ready {statistics.median(ready):.2f} s, first answer "
            f"{statistics.median(answered):.2f} s ({min(answered):.2f} to {max(answered):.2f})"
        )
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
    parser.add_argument("--starts", type=int, default=5, help="later ones of each, 1 or more")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    with ExitStack() as stack:
        kinds = [
            Kind(
                "notes alone",
                of_notes_alone(write_config(stack.enter_context(fresh_folder()))),
                lambda client: client.search(QUERY),
            ),
            Kind(
                "all families",
                write_config(stack.enter_context(fresh_folder())),
                lambda client: client.memories.recall(QUERY, user_id="default"),
            ),
        ]
        for _ in range(1 + options.starts):
            for kind in kinds:
                kind.start(options.idle)
        for kind in kinds:
            kind.tell()


if __name__ == "__main__":
    main()
