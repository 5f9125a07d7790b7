"""Reads what may be in an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from pgvector import Vector

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.assistant.model import Memory, RelationType
from elf.families.assistant.rules.categories import Readable
from elf.families.assistant.rules.filters import Filters
from elf.families.assistant.rules.ranking import Candidate
from elf.families.assistant.store.rows import memory_of

EACH_WAY: Final = 50
"""How many candidates are found by meaning, and how many by words."""

MOST_WHOLE: Final = 1000
"""How many memories come whole at most: more do not fit in any budget."""

MOST_NEIGHBOURS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for: by a vector, if there is one, and by words. `threshold` is the least cosine."""

    filters: Filters
    readable: Readable
    vector: Vector | None
    version: str
    words: Sequence[str]
    threshold: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory that is related to the one with the id `of`."""

    memory: Memory
    of: UUID
    relation_type: RelationType
    strength: float


class CandidateReads:
    """Reads memories that the filters let through, on a connection of somebody else."""

    def __init__(self, queries: Queries) -> None:
        self._sql = queries

    async def whole(self, connection: Connection, question: Question) -> list[Memory]:
        """Return the memories of categories that come whole, what matters most first."""
        if not question.readable.whole:
            return []
        filters = replace(question.filters, categories=question.readable.whole)
        rows = await connection.fetch(self._sql["find_whole"], *filters.arguments, MOST_WHOLE)
        return [memory_of(row) for row in rows]

    async def candidates(
        self, connection: Connection, question: Question, *, without: Sequence[UUID]
    ) -> list[Candidate]:
        """Return the memories nearest to the vector and those with the words, in no order."""
        ranked = question.readable.ranked
        rows = await connection.fetch(
            self._sql["find_candidates"], *question.filters.arguments,
            [ranked.get(name) for name in question.filters.categories], question.vector, question.version,
            list(question.words), list(without), EACH_WAY, None if question.vector is None else question.threshold,
        )  # fmt: skip
        return [_candidate(row) for row in rows]

    async def related(
        self, connection: Connection, filters: Filters, *, to: Sequence[UUID], without: Sequence[UUID]
    ) -> list[Neighbour]:
        """Return memories that are related to some, the strongest relation first."""
        rows = await connection.fetch(
            self._sql["find_related"], *filters.arguments, list(to), list(without), MOST_NEIGHBOURS
        )
        return [
            Neighbour(
                memory=memory_of(row), of=row["of_id"], relation_type=row["relation_type"],
                strength=float(row["strength"]),
            )
            for row in rows
        ]  # fmt: skip


def _candidate(row: Mapping[str, Any]) -> Candidate:
    return Candidate(
        memory=memory_of(row), cosine=row["cosine"], words=row["share_of_words"], related=float(row["strength"] or 0.0)
    )  # fmt: skip
