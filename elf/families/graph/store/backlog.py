"""The vectors that are to be made: what of, how they are kept, and when one that failed is tried again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from elf.families.graph.store.nodes import read_memories
from elf.families.graph.store.statements import Change, Snapshot, stored_moment

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ToEmbed:
    """A memory without vectors, its text, and how often they could not be made."""

    memory_id: str
    content: str
    attempts: int


def take_up(change: Change, version: str) -> None:
    """See that vectors of a version are made of every memory."""
    change.run("insert_missing_vectors_to_make", embedding_version=version)


def vectors_to_make(snapshot: Snapshot, version: str, *, now: datetime, limit: int) -> list[ToEmbed]:
    """Return some memories whose vectors are due."""
    rows = snapshot.rows("vectors_to_make", embedding_version=version, now=stored_moment(now), limit=limit)
    return [ToEmbed(*row) for row in rows]


def count_vectors_to_make(snapshot: Snapshot, version: str) -> int:
    """Return of how many memories vectors are to be made, those included that are not due yet."""
    row = snapshot.row("count_vectors_to_make", embedding_version=version)
    return 0 if row is None else int(row[0])


def keep_vectors(change: Change, made: Sequence[tuple[ToEmbed, Vectors]], version: str) -> None:
    """Keep the vectors of memories, scaled to length 1, in place of all others of theirs.

    Where a memory is gone or says something else by now, they are of no use.
    """
    known = read_memories(change, [one.memory_id for one, _ in made])
    contents = {memory_id: found.memory.content for memory_id, found in known.items()}
    wanted = [(one.memory_id, found) for one, found in made if contents.get(one.memory_id) == one.content]
    change.run_all("delete_vectors", ({"memory_id": memory_id} for memory_id, _ in wanted))
    change.run_all("insert_vector", (row for one in wanted for row in _rows(*one, version)))


def _rows(memory_id: str, vectors: Vectors, version: str) -> Iterator[dict[str, Any]]:
    scaled = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for ordinal, vector in enumerate(scaled.astype("<f4")):
        yield {
            "memory_id": memory_id,
            "embedding_version": version,
            "ordinal": ordinal,
            "vector": vector.tobytes(),
        }


def postpone(change: Change, failed: Sequence[ToEmbed], version: str, *, due_at: Sequence[datetime]) -> None:
    """Say that the vectors of memories could not be made, and when each is to be tried again."""
    for one, due in zip(failed, due_at, strict=True):
        change.run(
            "postpone_vectors", memory_id=one.memory_id, embedding_version=version, due_at=stored_moment(due)
        )
