"""A process that reads, writes and takes files into a memory which others have open, too; it is there to be killed.

    python -m tests.chaos.graph_besieged ROOT NAME [FAULT]

What it was answered it writes down in ROOT/NAME.told, a line of JSON each. FAULT is planted. `early`: a change is
written down before it is committed. `torn`: what belongs together is written in two changes. `skipping`: versions are
left out. `forgetful`: it does not know which files it has taken in. `deaf`: it does not look whether a duty is free.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import anyio

from elf.core.clock import SystemClock
from elf.core.errors import Unavailable
from elf.db.queries import Queries
from elf.families.graph.bell import Bell
from elf.families.graph.embedding import Embedding
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest.actor import IngestActor
from elf.families.graph.ingest.ingestion import Ingestion, IngestRules
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.steward import RETRY_S, Steward
from elf.families.graph.store.edges import write_edge
from elf.families.graph.store.file import FileKit
from elf.families.graph.store.nodes import NewMemory, need_memory, read_memory, read_versions, write_memory
from elf.families.graph.store.statements import Change, Snapshot
from elf.indexing.embedding import TextEmbedder
from tests.db.graph.graph_kit import KEY, VERSION, Known, edge, file_kit, memory
from tests.notes_kit import FakeEmbedder, WordTokens

WRITERS: Final = 3
READERS: Final = 2
SHARED: Final = 5
"""How many memories there are that all change."""
LAST_VERSIONS: Final = 20
PLANTED: Final = {
    "skipping": ("update_memory", "version = :version", "version = :version + 1"),
    "forgetful": ("ingest_by_key", "ingest_key = :ingest_key", "ingest_key = :ingest_key || '?'"),
}


class Graph:
    """What a process has of the family: open files, with the duties for them."""

    def __init__(self, root: Path, *, fault: str = "") -> None:
        known, clock = cast("Orchestrators", Known(root, KEY)), SystemClock()
        rules = IngestRules(max_bytes=100_000, indexed_chars=100_000, poll_s=5.0, embedding_version=VERSION)
        model = FakeEmbedder()
        ingestion = Ingestion(known, TextExtractor(None), clock, rules)
        embedding = Embedding(TextEmbedder(model, WordTokens(), 64, 0, "words"), clock, Bell())
        steward = Steward([embedding, ingestion], retry_s=3600.0 if fault == "deaf" else RETRY_S)
        self.files = OpenFiles(known, _kit(fault), most=4, idle_s=60, steward=steward)
        self._actor = IngestActor(known, self.files, ingestion, poll_s=5.0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[MemoryPlace]:
        async with anyio.create_task_group() as group:
            await group.start(self.files.run)
            await group.start(self._actor.run)
            async with self.files.using(KEY.tenant_id, KEY.orchestrator_id) as place:
                yield place
            group.cancel_scope.cancel()


def _kit(fault: str) -> FileKit:
    kit = file_kit(SystemClock())
    if fault not in PLANTED:
        return kit
    name, said, says = PLANTED[fault]
    sql = kit.queries[name].replace(said, says)
    assert sql != kit.queries[name], f"{name} is not what it was: the fault is not planted"
    return replace(kit, queries=Queries({**kit.queries, name: sql}))


class Told:
    """What a process writes down at once, so that it is there whenever it is killed."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, **what: Any) -> None:
        os.write(self._descriptor, f"{json.dumps(what)}\n".encode())


class Besieged:
    """Writes and reads a memory for as long as it lives."""

    def __init__(self, name: str, files: OpenFiles, told: Told, fault: str) -> None:
        self._name = name
        self._files = files
        self._told = told
        self._fault = fault
        self._rng = random.Random(name)
        self._newest = ""

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            for writer in range(WRITERS):
                group.start_soon(self._write, f"{self._name}-{writer}")
            for _ in range(READERS):
                group.start_soon(self._read)

    async def _write(self, writer: str) -> None:
        number = 0
        while True:
            number += 1
            try:
                await self._write_once(f"{writer}-{number}", f"shared-{self._rng.randrange(SHARED)}")
            except Unavailable as error:
                self._told(refused=error.message)

    async def _write_once(self, memory_id: str, shared_id: str) -> None:
        """Add a memory, change one of all, and link them: together, or not at all."""
        text = f"Said by {memory_id}."

        def add(change: Change) -> None:
            for new in (memory(memory_id, content=text), memory(shared_id, content=text)):
                write_memory(change, NewMemory(memory=new), embedding_version=VERSION)

        def link(change: Change) -> None:
            write_edge(change, edge(memory_id, from_memory_id=memory_id, to_memory_id=shared_id), path="$")

        def all_of_it(change: Change) -> None:
            add(change)
            link(change)

        answered = {"memory_id": memory_id, "shared_id": shared_id}
        if self._fault == "early":
            self._told(answered=answered)
        async with self._files.using(KEY.tenant_id, KEY.orchestrator_id) as place:
            for part in (add, link) if self._fault == "torn" else (all_of_it,):
                await place.write(part)
        if self._fault != "early":
            self._told(answered=answered)
        self._newest = memory_id

    async def _read(self) -> None:
        while True:
            shared_id, newest = f"shared-{self._rng.randrange(SHARED)}", self._newest
            try:
                async with self._files.using(KEY.tenant_id, KEY.orchestrator_id) as place:
                    for fault in await place.read(lambda s: faults_seen(s, shared_id, newest)):  # noqa: B023
                        self._told(fault=fault)
            except Unavailable as error:
                self._told(refused=error.message)
            await anyio.sleep(self._rng.random() * 0.02)


def faults_seen(snapshot: Snapshot, shared_id: str, newest: str) -> list[str]:
    """Return what is wrong with one state of the memory, in which `newest` was written before."""
    faults = []
    if newest and read_memory(snapshot, newest) is None:
        faults.append(f"{newest} was answered, and not seen by the next who read")
    if read_memory(snapshot, shared_id) is None:
        return faults
    found = need_memory(snapshot, shared_id)
    behind = max(0, found.version - LAST_VERSIONS)
    versions = read_versions(snapshot, shared_id, behind=behind, limit=2 * LAST_VERSIONS)
    if [one.version for one in versions] != list(range(behind + 1, found.version + 1)):
        faults.append(f"the versions of {shared_id} do not lead to the one that it has")
    elif versions[-1].memory != found.memory:
        faults.append(f"{shared_id} is not what its last version is")
    return faults


async def main(root: str, name: str, fault: str = "") -> None:
    told = Told(Path(root, f"{name}.told"))
    graph = Graph(Path(root), fault=fault)
    async with graph.running():
        told(pid=os.getpid())
        await Besieged(name, graph.files, told, fault).run()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
