"""The vectors that are to be made: what of, how they are kept, and when one that failed is tried again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from elf.families.graph.store.statements import Change, Snapshot, stored_moment

Vectors = npt.NDArray[np.float32]
MOST_DEATHS: Final = 3


@dataclass(frozen=True, slots=True)
class ToEmbed:
    """A memory without vectors, its text, and how often they could not be made.

    `number` is that of what says that they are to be made; with another text it has another one. `is_suspect` when they
    were being made as a process ended.
    """

    number: int
    memory_id: str
    content: str
    attempts: int
    is_suspect: int = 0


def take_up(change: Change, version: str) -> Sequence[int]:
    """See that vectors of a version are made of every memory.

    For who makes them alone, of which there is one at a time: what was being made is suspect. Returns of how many
    processes each of these was all they were at when they ended.
    """
    change.run("insert_missing_vectors_to_make", embedding_version=version)
    return [deaths for (deaths,) in change.rows("suspect_begun_vectors")]


def vectors_to_make(
    snapshot: Snapshot, version: str, *, now: datetime, limit: int, most_deaths: int = MOST_DEATHS
) -> list[ToEmbed]:
    """Return some memories whose vectors are due: none of those that ended `most_deaths` processes."""
    rows = snapshot.rows(
        "vectors_to_make",
        embedding_version=version,
        now=stored_moment(now),
        most_deaths=most_deaths,
        limit=limit,
    )
    return [ToEmbed(*row) for row in rows]


def begin(change: Change, some: Sequence[ToEmbed], *, is_alone: bool) -> None:
    """Say that vectors are being made, and whether the process is at nothing else."""
    change.run("begin_vectors", numbers=_numbers(some), begun=2 if is_alone else 1)


def end(change: Change, some: Sequence[ToEmbed]) -> None:
    """Say that vectors are not being made any more."""
    change.run("begin_vectors", numbers=_numbers(some), begun=0)


def count_vectors_to_make(snapshot: Snapshot, version: str) -> int:
    """Return of how many memories vectors are to be made, those included that are not due yet."""
    row = snapshot.row("count_vectors_to_make", embedding_version=version)
    return 0 if row is None else int(row[0])


def keep_vectors(change: Change, made: Sequence[tuple[ToEmbed, Vectors]], version: str) -> None:
    """Keep the vectors of memories, scaled to length 1, in place of all others of theirs.

    Where a memory is gone, says something else by now or has its vectors already, they are of no use.
    """
    rows = change.rows("still_to_make", numbers=_numbers([one for one, _ in made]))
    wanted = {number for (number,) in rows}
    kept = [(one.memory_id, vectors) for one, vectors in made if one.number in wanted]
    if not kept:
        return
    matrix = np.concatenate([vectors for _, vectors in kept])
    scaled = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype("<f4")
    change.run("delete_vectors", memory_ids=json.dumps([memory_id for memory_id, _ in kept]))
    change.run_all(
        "insert_vectors",
        (
            {"memory_id": memory_id, "ordinal": ordinal}
            for memory_id, vectors in kept
            for ordinal in range(len(vectors))
        ),
        embedding_version=version,
        vectors=scaled.tobytes(),
        vector_bytes=scaled.itemsize * scaled.shape[1],
    )


def postpone(change: Change, failed: Sequence[ToEmbed], version: str, *, due_at: Sequence[datetime]) -> None:
    """Say that the vectors of memories could not be made, and when each is to be tried again."""
    for one, due in zip(failed, due_at, strict=True):
        change.run(
            "postpone_vectors", memory_id=one.memory_id, embedding_version=version, due_at=stored_moment(due)
        )


def _numbers(some: Sequence[ToEmbed]) -> str:
    return json.dumps([one.number for one in some])
