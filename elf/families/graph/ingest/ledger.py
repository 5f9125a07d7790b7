"""The ledger of ingestion: a row for each file, written in the transaction of its memories, by the file's key."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from elf.core.structs import read_json
from elf.families.graph.extraction.candidate import Skipped
from elf.families.graph.ingest.material import Material
from elf.families.graph.ownership import ConversationOwners
from elf.families.graph.store.changes import write_all
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.nodes import NewMemory, read_memories
from elf.families.graph.store.owner_locks import owners_of
from elf.families.graph.store.statements import Change, Row, Snapshot, moment_of, stored_moment

ACTOR: Final = "ingest"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedFile:
    """A file whose memories are written. It is finished once it is where it ends, with its manifest.

    `indexed_chars` is how much of its text is found, where that is not all.
    """

    key: str
    dropped_name: str
    final_name: str
    taken_at: datetime
    memory_ids: Sequence[str]
    memories_written: int
    edges_written: int
    extractor: str
    skipped: Sequence[Skipped]
    indexed_chars: int | None
    is_finished: bool = False


class Ledger:
    """The files that went into one memory. `owners` knows whose the conversations are that a file names."""

    def __init__(
        self, file: MemoryFile, *, embedding_version: str, owners: ConversationOwners | None = None
    ) -> None:
        self._file = file
        self._owners = owners or ConversationOwners(None)
        self._embedding_version = embedding_version

    async def ingested(self, key: str) -> IngestedFile | None:
        """Return the row of a key."""
        return await self._file.read(lambda snapshot: _row(snapshot, key))

    async def unfinished(self) -> list[IngestedFile]:
        """Return the rows that are not finished, in the order in which they were written."""
        return await self._file.read(
            lambda snapshot: [_file_of(row) for row in snapshot.rows("ingests_to_finish")]
        )

    async def write(
        self,
        key: str,
        names: tuple[str, str],
        material: Material,
        taken_at: datetime,
        *,
        keeps_known: bool = False,
    ) -> IngestedFile:
        """Write memories and edges with the row of their file, all or none, and return it.

        `names` are what it is called in the drop folder, and where it ends. Where the key has a row by now, nothing is
        written and that one is returned. With `keeps_known`, memories that there are stay as they are. Raises a
        ServiceError: Unavailable where the same may succeed later, another one where it never will.
        """
        dropped_name, final_name = names
        memories = await self._owners.owned(self._file.key.tenant_id, _new(material))

        def write(change: Change) -> IngestedFile:
            if (before := _row(change, key)) is not None:
                return before
            known = read_memories(change, [new.memory.memory_id for new in memories]) if keeps_known else ()
            new = [one for one in memories if one.memory.memory_id not in known]
            memories_written, edges_written = _written(change, new, material, self._embedding_version)
            file = IngestedFile(
                key=key,
                dropped_name=dropped_name,
                final_name=final_name,
                taken_at=taken_at,
                memory_ids=[memory.memory_id for memory in material.memories],
                memories_written=memories_written,
                edges_written=edges_written,
                extractor=material.extractor,
                skipped=material.skipped,
                indexed_chars=material.indexed_chars,
            )
            change.run("insert_ingest", **_stored(file))
            return file

        return await self._file.write(write, actor=ACTOR, owners=owners_of(new.memory for new in memories))

    async def finish(self, key: str) -> bool:
        """Mark a row as finished; False where a memory of it was erased meanwhile, so that its file is to go."""

        def finish(change: Change) -> bool:
            return bool(change.run("finish_ingest", ingest_key=key, finished_at=stored_moment(change.now)))

        return await self._file.write(finish, actor=ACTOR)

    async def forget_erased(self, key: str) -> None:
        """Forget a file that is gone because a memory of it was erased."""
        await self._file.write(lambda change: change.run("forget_erased_ingest", ingest_key=key), actor=ACTOR)


def key_of(dropped_path: str, data: bytes) -> str:
    """Return the key of a file: the same bytes under the same name are the same file, whenever they come."""
    return hashlib.sha256(os.fsencode(dropped_path) + b"\0" + data).hexdigest()


def _new(material: Material) -> list[NewMemory]:
    return [
        NewMemory(
            memory=memory,
            key=material.keys.get(memory.memory_id),
            is_indexed=memory.memory_id not in material.unindexed,
        )
        for memory in material.memories
    ]


def _written(
    change: Change, new: Sequence[NewMemory], material: Material, embedding_version: str
) -> tuple[int, int]:
    """Write memories and edges; return how many of each are new or were changed."""
    written = write_all(change, new, material.edges, embedding_version=embedding_version)
    for memory_id, quote in material.quotes.items():
        change.run("put_quote", memory_id=memory_id, quote=quote.text, start=quote.start, end=quote.end)
    memories = sum(outcome != "NONE" for _, outcome in written.memories)
    edges = sum(outcome != "NONE" for _, outcome in written.edges)
    return memories, edges + len(written.contradictions)


def _row(snapshot: Snapshot, key: str) -> IngestedFile | None:
    row = snapshot.row("ingest_by_key", ingest_key=key)
    return None if row is None else _file_of(row)


def _file_of(row: Row) -> IngestedFile:
    key, dropped_name, final_name, taken_at, memory_ids, memories, edges, extractor, skipped, *rest = row
    indexed_chars, finished_at = rest
    return IngestedFile(
        key=key,
        dropped_name=dropped_name,
        final_name=final_name,
        taken_at=moment_of(taken_at),
        memory_ids=json.loads(memory_ids),
        memories_written=memories,
        edges_written=edges,
        extractor=extractor,
        skipped=read_json(skipped, list[Skipped]),
        indexed_chars=indexed_chars,
        is_finished=finished_at is not None,
    )


def _stored(file: IngestedFile) -> Mapping[str, Any]:
    return {
        "ingest_key": file.key,
        "dropped_name": file.dropped_name,
        "final_name": file.final_name,
        "taken_at": stored_moment(file.taken_at),
        "memory_ids": json.dumps(file.memory_ids),
        "memories_written": file.memories_written,
        "edges_written": file.edges_written,
        "extractor": file.extractor,
        "skipped": msgspec.json.encode(file.skipped).decode(),
        "indexed_chars": file.indexed_chars,
    }
