"""Processes that share the file of a memory, and are killed at any moment.

Whatever was answered has to be there, what belongs together whole or not at all, the versions of each memory without a
gap, and each dropped file taken in once. When the one dies that has the duty for the file, another one has it soon.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import apsw

from elf.families.graph.store.layout import Layout, prepare
from elf.families.graph.store.statements import Snapshot
from tests.chaos.graph_besieged import Graph
from tests.chaos.graph_remains import faults_of_files, faults_of_memory
from tests.db.graph.graph_kit import KEY
from tests.system.fork_server import ForkedProcess, fork_server

PROCESSES: Final = 4
LONGEST_WAIT_S: Final = 1.0
"""How long all are left alone at most between two kills."""
OF_THE_HOLDER: Final = 0.5
"""How many of the kills hit the process that has the duty."""
AGAIN: Final = 3
"""How many files are dropped once more at least, and taken in by a process of the siege."""
PATIENCE_S: Final = 60.0
LOOK_S: Final = 0.02
REPO: Final = Path(__file__).resolve().parents[2]


@dataclass
class Besieged:
    """A process, and what it has told."""

    name: str
    process: ForkedProcess
    folder: Path

    def told(self) -> Iterator[dict[str, Any]]:
        path = self.folder / f"{self.name}.told"
        for line in path.read_text().splitlines() if path.exists() else ():
            yield json.loads(line)

    @property
    def is_at_work(self) -> bool:
        """Whether it has told of a change: by then it has tried to take the duty, too."""
        return any("pid" not in told for told in self.told())

    def last_words(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()[-2000:]


@dataclass
class Siege:
    """Kills processes in a folder, starts others, and drops files. `duty_within_s`: how soon a duty is taken over."""

    folder: Path
    seed: int
    fault: str = ""
    duty_within_s: float = PATIENCE_S
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    handovers_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._names = (f"p{number}" for number in count(1))
        self._alive: list[Besieged] = []
        self._all: list[Besieged] = []
        self._dropped: list[str] = []
        self._again: list[str] = []
        self._layout: Layout = prepare(self.folder / KEY.orchestrator_id)

    async def run(self, seconds: float) -> list[str]:
        """Besiege for so long, and until there was something of everything to see; return what should not be."""
        try:
            with anyio.fail_after(seconds + 2 * PATIENCE_S):
                for _ in range(PROCESSES):
                    self._start()
                await self._until_at_work(PROCESSES)
                end = anyio.current_time() + seconds
                while not self.faults and (anyio.current_time() < end or not self._has_seen_enough):
                    await self._round()
        finally:
            for besieged in self._alive:
                self._kill(besieged)
        await self._finish()
        return self._found()

    @property
    def _has_seen_enough(self) -> bool:
        taken_in_again = [name for name in self._again if not (self._layout.ingest / name).exists()]
        return bool(self.handovers_s) and len(taken_in_again) >= AGAIN

    async def _round(self) -> None:
        self._drop()
        await anyio.sleep(self._rng.random() * LONGEST_WAIT_S)
        if self._rng.random() < OF_THE_HOLDER:
            await self._until_at_work(PROCESSES)  # so that nobody has the duty because he is just starting
            await self._hit_holder()
        else:
            self._hit(self._rng.choice(self._alive))
        self._start()

    async def _hit_holder(self) -> None:
        holder = self._holder()
        self._hit(holder or self._rng.choice(self._alive))
        if holder is not None:
            await self._see_taken_over()

    def _start(self) -> None:
        name = next(self._names)
        arguments = [self.folder, name, *[self.fault] * bool(self.fault)]
        with open(self.folder / f"{name}.log", "wb") as log:
            process = fork_server().start("tests.chaos.graph_besieged", *arguments, stdout=log, stderr=log)
        self._alive.append(Besieged(name, process, self.folder))
        self._all.append(self._alive[-1])

    def _hit(self, besieged: Besieged) -> None:
        self.counts["processes killed"] += 1
        self._kill(besieged)
        self._alive.remove(besieged)

    def _kill(self, besieged: Besieged) -> None:
        code = besieged.process.poll()
        if code is not None:
            self.faults.append(f"{besieged.name} ended by itself with {code}: {besieged.last_words()}")
        besieged.process.kill()
        besieged.process.wait()

    def _drop(self) -> None:
        """Drop a new file, and once more one that was taken in."""
        done = [name for name in self._dropped if self._is_taken_in(name) and name not in self._again]
        new = f"drop-{len(self._dropped)}.txt"
        self._dropped.append(new)
        self._again += done[:1]
        for name in (new, *done[:1]):
            hidden = self._layout.ingest / f".{name}"
            hidden.write_text(f"Dropped as {name}.")
            hidden.rename(self._layout.ingest / name)

    def _is_taken_in(self, name: str) -> bool:
        return (self._layout.processed / f"{name}.processed.json").exists()

    def _holder(self) -> Besieged | None:
        """Return who holds the lock of the memory, as the kernel tells."""
        inode = self._layout.lock.stat().st_ino if self._layout.lock.exists() else None
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[5].rsplit(":", 1)[-1] == str(inode):
                return next((one for one in self._alive if one.process.pid == int(words[4])), None)
        return None

    async def _see_taken_over(self) -> None:
        began = anyio.current_time()
        with anyio.move_on_after(self.duty_within_s):
            while self._holder() is None:  # noqa: ASYNC110 - another process cannot set an event here
                await anyio.sleep(LOOK_S)
        if self._holder() is None:
            self.faults.append(f"nobody has the duty {self.duty_within_s} s after its holder was killed")
        self.handovers_s.append(anyio.current_time() - began)

    async def _until_at_work(self, wanted: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            while sum(one.is_at_work for one in self._alive) < wanted:
                if any(one.process.poll() is not None for one in self._alive):
                    return  # which is a fault, and told when it is killed
                await anyio.sleep(LOOK_S)

    async def _finish(self) -> None:
        """Take in what is left, as the next process would."""
        with anyio.fail_after(PATIENCE_S):
            async with Graph(self.folder).running() as place:
                while self._has_waiting() or await place.read(_has_unfinished):  # noqa: ASYNC110
                    await anyio.sleep(LOOK_S)

    def _has_waiting(self) -> bool:
        return any((self._layout.ingest / name).exists() for name in self._dropped)

    def _found(self) -> list[str]:
        answered = []
        for told in (line for besieged in self._all for line in besieged.told()):
            match told:
                case {"answered": {"memory_id": memory_id, "shared_id": shared_id}}:
                    answered.append((memory_id, shared_id))
                case {"fault": fault}:
                    self.faults.append(fault)
                case {"refused": message}:
                    self.counts[f"refused: {message}"] += 1
        self.counts["changes answered"] = len(answered)
        self.counts["files dropped"] = len(self._dropped)
        self.counts["files dropped again"] = len(self._again)
        connection = apsw.Connection(os.fspath(self._layout.database))
        try:
            self.faults += faults_of_memory(connection, answered)
            self.faults += faults_of_files(connection, self._layout, self._dropped, self._again)
        finally:
            connection.close()
        return self.faults


def _has_unfinished(snapshot: Snapshot) -> bool:
    return bool(snapshot.rows("ingests_to_finish"))
