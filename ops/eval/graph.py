#!/usr/bin/env python3
"""Recall from memories of the graph on LoCoMo or BEAM chats: the family's own file, writer, legs and ranking.

Each chat is an orchestrator and each turn or message one memory; all have the same importance, confidence and time, so
that only the two legs decide. No service runs: memories and their vectors are written to files in a new folder, and
recalled from there. Recall is that of `ops.eval.locomo`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import anyio
from anyio import CapacityLimiter

from elf.client import NewNote
from elf.config import load
from elf.core.clock import Clock, SystemClock
from elf.core.logs import configure_logging
from elf.db.queries import sql_folder
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.model import MAX_NODES, MemoryNode, Source
from elf.families.graph.orchestrators import Residence
from elf.families.graph.recall.finding import edges_around
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.place import Vector
from elf.families.graph.recall.query_vectors import EmbeddedQueries
from elf.families.graph.recall.recaller import Question as Asked
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.rules.texts import collapse, summary_of
from elf.families.graph.store.backlog import ToEmbed, keep_vectors, vectors_to_make
from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.layout import prepare
from elf.families.graph.store.nodes import NewMemory, write_memories
from elf.families.graph.store.schema import read_steps
from elf.families.graph.store.statements import Change, OwnerKey, file_queries
from elf.ground import Models, texts_of
from elf.indexing.embedding import TextEmbedder
from elf.providers.factory import open_providers
from ops.eval import beam, locomo
from ops.eval.chats import CUTS, Chat, recall
from ops.eval.recalls import Result, report
from tests.folders import fresh_folder
from tests.system.service import write_config

TENANT: Final = "evaluation"
LEG: Final = 50
RRF_K: Final = 60
AT_ONCE: Final = 32
"""How many texts are embedded by one call."""


def memory_of(note: NewNote, chat: str, now: datetime) -> MemoryNode:
    """Return the memory of a turn."""
    content = collapse(note.text)
    return MemoryNode(
        memory_id=note.key or "",
        orchestrator_id=chat,
        type="Observation",
        importance=50,
        content=content,
        summary=summary_of(content),
        confidence=1.0,
        source=Source(source_type="manual", captured_by="system"),
        status="active",
        created_at=now,
        updated_at=now,
    )


async def embed(file: MemoryFile, texts: TextEmbedder, clock: Clock) -> None:
    """Make the vectors of all memories of a file."""
    version = texts.version
    while due := await file.read(lambda seen: vectors_to_make(seen, version, now=clock.now(), limit=AT_ONCE)):
        embedded = await texts.embed([one.content for one in due])
        made = [
            (one, vectors.vectors) for one, vectors in zip(due, embedded, strict=True) if vectors is not None
        ]
        if len(made) < len(due):
            raise SystemExit(f"{len(due) - len(made)} memories have no vector")

        def keep(change: Change, made: Sequence[tuple[ToEmbed, Vector]] = made) -> None:
            keep_vectors(change, made, version)

        await file.write(keep)


async def store(file: MemoryFile, memories: Sequence[MemoryNode], version: str) -> None:
    """Write memories, as many at once as a request may hold."""
    for start in range(0, len(memories), MAX_NODES):
        some = memories[start : start + MAX_NODES]

        def write(change: Change, some: Sequence[MemoryNode] = some) -> None:
            write_memories(change, [NewMemory(memory=one) for one in some], embedding_version=version)

        await file.write(write)


async def ask(place: MemoryPlace, chat: Chat, recaller: Recaller) -> list[Result]:
    """Recall for each question of a chat."""
    results = []
    for question in chat.questions:
        asked = Asked(
            query=question.text, where=Where(), top_n=max(CUTS), rrf_k=RRF_K, top_k_text=LEG, top_k_vector=LEG
        )
        recalled = await recaller.recall(place, asked, edges_around)
        keys = [found.memory.memory_id for found in recalled.found]
        recalls = [recall(keys, question.gold, cut) for cut in CUTS]
        results.append(Result(chat.name, question, recalls, list(recalled.degraded)))
    return results


def file_kit(clock: Clock) -> FileKit:
    folder = sql_folder() / "graph" / "file"
    return FileKit(
        queries=file_queries(folder),
        steps=read_steps(folder),
        clock=clock,
        read_threads=CapacityLimiter(1),
        write_threads=CapacityLimiter(1),
    )


@asynccontextmanager
async def embedder(folder: Path) -> AsyncIterator[TextEmbedder]:
    """Open the packaged model as the example config has it."""
    config = load(write_config(folder))
    async with await open_providers(config) as providers:
        texts = texts_of(config, Models(embedder=providers.embedder))
        assert texts is not None, "there is an embedder"
        yield texts


async def evaluate(chats: Sequence[Chat]) -> list[Result]:
    """Store each chat in a memory of its own and ask its questions."""
    clock = SystemClock()
    kit, now = file_kit(clock), clock.now()
    results: list[Result] = []
    with fresh_folder() as folder:
        async with embedder(folder) as texts, anyio.create_task_group() as group:
            recaller = Recaller(EmbeddedQueries(texts), clock)
            for chat in chats:
                memories = [memory_of(note, chat.name, now) for note in chat.notes]
                residence = Residence(key=OwnerKey(TENANT, chat.name), runtime_root=folder / chat.name)
                file = MemoryFile(residence.key, prepare(residence.runtime_root), kit)
                await group.start(file.run)
                await store(file, memories, texts.version)
                print(f"{chat.name}: {len(memories)} memories stored", file=sys.stderr)
                await embed(file, texts, clock)
                results += await ask(MemoryPlace(file, residence), chat, recaller)
            group.cancel_scope.cancel()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=("locomo", "beam"))
    parser.add_argument("file", help="its JSON file")
    options = parser.parse_args()
    configure_logging("warning", form="auto")
    chats = (
        locomo.read_chats(options.file, None) if options.set == "locomo" else beam.read_chats(options.file)
    )
    report(anyio.run(evaluate, chats))


if __name__ == "__main__":
    main()
