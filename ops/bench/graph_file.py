"""A memory.db by plain statements and nothing else: what the graph is measured beside, and seeded by."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import apsw
import numpy as np
import numpy.typing as npt

from elf.families.graph.extraction.rules import key_in
from elf.families.graph.model import NodeType
from elf.families.graph.rules.subjects import Key
from ops.bench.search import note_text

Floats = npt.NDArray[np.float32]

TYPES: Final[Sequence[NodeType]] = (
    "Fact",
    "Fact",
    "Fact",
    "Fact",
    "Event",
    "Observation",
    "Preference",
    "Goal",
    "Todo",
    "Decision",
)
NOW: Final = 1_790_000_000_000_000
LEG: Final = 50
SETTINGS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
"""
INSERTS: Final = (
    """
    INSERT INTO memories (
      tenant_id, orchestrator_id, memory_id, type, importance, content, summary, confidence, status, subject, attribute,
      value, created_at, updated_at, version
    ) VALUES (
      :tenant, :orchestrator, :id, :type, 50, :text, :text, 0.8, 'active', :subject, :attribute, :value, :now, :now, 1
    )
    """,
    """
    INSERT INTO memory_sources (tenant_id, orchestrator_id, memory_id, source_type, captured_by)
    VALUES (:tenant, :orchestrator, :id, 'manual', 'user')
    """,
    """
    INSERT INTO memory_spans (tenant_id, orchestrator_id, memory_id, ordinal, start, "end", text)
    VALUES (:tenant, :orchestrator, :id, 0, 0, length(:text), :text)
    """,
    """
    INSERT INTO memory_versions (tenant_id, orchestrator_id, memory_id, version, operation, memory, created_at)
    VALUES (:tenant, :orchestrator, :id, 1, 'ADD', :version, :now)
    """,
    """
    INSERT INTO memory_embeddings (tenant_id, orchestrator_id, memory_id, embedding_version, ordinal, vector)
    VALUES (:tenant, :orchestrator, :id, :embedding_version, 0, :vector)
    """,
)
BY_WORDS: Final = (
    "SELECT s.memory_id, s.text FROM memory_span_fts AS f JOIN memory_spans AS s ON s.span_no = f.rowid"
    " WHERE f.memory_span_fts MATCH ? ORDER BY f.rank LIMIT ?"
)
ROWS: Final = (
    "SELECT m.*, s.* FROM json_each(:ids) AS asked CROSS JOIN memories AS m ON m.tenant_id = :tenant"
    " AND m.orchestrator_id = :orchestrator AND m.memory_id = asked.value"
    " JOIN memory_sources AS s USING (tenant_id, orchestrator_id, memory_id)"
)
VECTORS: Final = (
    "SELECT memory_id, vector FROM memory_embeddings WHERE vector IS NOT NULL ORDER BY embedding_no"
)
TO_MAKE: Final = "SELECT count(*) FROM memory_embeddings WHERE vector IS NULL"


@dataclass(frozen=True, slots=True)
class Node:
    """A memory to write, as the wire has it without its source."""

    memory_id: str
    type: NodeType
    text: str
    key: Key | None

    def told(self) -> dict[str, Any]:
        """Return it as a request says it."""
        return {
            "memoryId": self.memory_id, "type": self.type, "importance": 50, "content": self.text, "confidence": 0.8,
            "source": {"sourceType": "manual", "capturedBy": "user"},
        }  # fmt: skip

    def stored(self, own: Mapping[str, str], version: str, vector: bytes) -> dict[str, Any]:
        """Return the values of its rows, as the service writes them."""
        source = {"sourceType": "manual", "capturedBy": "user", "sourcePath": None, "conversationId": None}
        record = self.told() | {
            "orchestratorId": own["orchestrator"], "summary": self.text, "status": "active",
            "source": source | {"workflowRunId": None, "stepId": None},
            "createdAt": "2026-09-21T14:13:20Z", "updatedAt": "2026-09-21T14:13:20Z",
        }  # fmt: skip
        key = self.key
        return {
            **own, "id": self.memory_id, "type": self.type, "text": self.text, "now": NOW,
            "subject": key and key.subject, "attribute": key and key.attribute, "value": key and key.value,
            "version": json.dumps(record), "embedding_version": version, "vector": vector,
        }  # fmt: skip


def nodes_of(name: str, count: int, rng: random.Random) -> list[Node]:
    """Return memories of one sentence each, whose ids begin with a name."""
    made = ((number, rng.choice(TYPES), note_text(rng, number)) for number in range(count))
    return [Node(f"{name}-{number}", type, text, key_in(text, type)) for number, type, text in made]


class Vectors:
    """Vectors of some texts, and of as many more as are asked for near those."""

    def __init__(self, known: Floats) -> None:
        self._known = known
        self._rng = np.random.default_rng(5)

    def take(self, count: int) -> Floats:
        near = self._known[self._rng.integers(0, len(self._known), count)]
        moved = near + self._rng.normal(0.0, 0.02, near.shape).astype(np.float32)
        rows: Floats = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return rows


class BareFile:
    """The memory.db of an orchestrator that the service has made."""

    def __init__(self, root: Path, tenant: str, orchestrator: str) -> None:
        self._own = {"tenant": tenant, "orchestrator": orchestrator}
        self._connection = apsw.Connection(str(root / tenant / orchestrator / "memory" / "memory.db"))
        self._connection.set_busy_timeout(60_000)
        self._connection.execute(SETTINGS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def insert(self, nodes: Sequence[Node], vectors: Floats, version: str) -> None:
        """Write memories with all that belongs to them, in one transaction."""
        rows = [
            node.stored(self._own, version, vector.tobytes())
            for node, vector in zip(nodes, vectors.astype("<f4"), strict=True)
        ]
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in INSERTS:
            self._connection.executemany(statement, rows)
        self._connection.execute("COMMIT")

    def by_words(self, expression: str) -> list[str]:
        """Return the memories of the best spans."""
        return [row[0] for row in self._connection.execute(BY_WORDS, (expression, LEG)).fetchall()]

    def rows(self, memory_ids: Iterable[str]) -> list[Any]:
        """Return the rows of memories, with where they are from."""
        return self._connection.execute(ROWS, {**self._own, "ids": json.dumps(list(memory_ids))}).fetchall()

    def vectors(self) -> tuple[list[str], Floats]:
        """Return all vectors as a matrix, and whose each is."""
        found = self._connection.execute(VECTORS).fetchall()
        matrix = np.frombuffer(b"".join(vector for _, vector in found), dtype="<f4").reshape(len(found), -1)
        return [memory_id for memory_id, _ in found], matrix.astype(np.float32)

    @property
    def vectors_to_make(self) -> int:
        """How many memories have no vector yet."""
        return int(self._connection.execute(TO_MAKE).get)


def nearest(matrix: Floats, vector: Floats) -> npt.NDArray[np.intp]:
    """Return the rows that are nearest to a vector, the nearest first."""
    cosines = matrix @ vector
    near = np.argpartition(cosines, -LEG)[-LEG:]
    return near[np.argsort(-cosines[near])]
