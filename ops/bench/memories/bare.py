"""What a recall cannot do without, done by this process: the bare parts of each family one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from pgvector import Vector as SqlVector

from elf.config import Config
from elf.db.database import Connection, Database
from elf.db.queries import Queries, sql_folder
from elf.families.assistant.kit import assistant_queries
from elf.families.conversations.finding.corpus import CREATOR
from elf.families.graph.rules.query_words import match_expression
from elf.families.knowledge.kit import knowledge_queries
from elf.families.knowledge.rules.searchable_text import fact_sentence
from elf.index.edge.client import EdgeIndex
from elf.index.port import IndexFilter, IndexQuery, Vector
from elf.memory.kept_tokens import KeptTokens
from elf.providers.factory import Providers
from elf.providers.token_vectors import TokenVectors
from elf.search.fuse import FusionRules, fuse
from elf.search.token_store import LONG_WORDS, TokenStore
from elf.search.trace_store import search_queries
from ops.bench import knowledge, search
from ops.bench.assistant_memories import CATEGORIES, MATCHING, NEAREST
from ops.bench.graph_file import BareFile, nearest
from ops.bench.memories.seeding import AGENT, TENANT, USER

EACH: Final = 60
"""How many candidates a family is asked for, where five are."""
COMPARED_EACH: Final = 20
_CONTENT: Final = 6  # of the columns of a memory
FACTS: Final = (
    "SELECT f.id, f.subject, f.predicate, f.content FROM knowledge_facts AS f"
    " WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[])"
)


class Bare(NamedTuple):
    """The bare parts of one recall, in milliseconds."""

    embedding: float
    notes: float
    knowledge: float
    conversations: float
    graph: float
    assistant: float
    rerank: float


class BareRecall:
    """Does the bare parts of recalls. `indexes` are those of notes and of conversations."""

    def __init__(
        self,
        config: Config,
        providers: Providers,
        database: Database,
        indexes: tuple[EdgeIndex, EdgeIndex],
        file: BareFile,
        kept: KeptTokens,
    ) -> None:
        assert providers.late is not None, "the packaged model compares tokens"
        notes, self._said = indexes
        self._version = config.embedding_version
        self._providers = providers
        self._late = providers.late
        self._database = database
        self._notes = search.Bare(config, providers, notes, database)
        self._file = file
        self._vectors = file.vectors()
        self._kept = kept
        fusion = config.search.fusion
        self._rules = FusionRules(fusion.method, fusion.k, fusion.dense_weight, fusion.bm25_weight)
        self._tokens = TokenStore(search_queries(), version=self._late.version, max_words=search.MAX_WORDS)
        self._sql = Queries.load(sql_folder() / "conversations")
        self._of_knowledge, self._of_assistant = knowledge_queries(), assistant_queries()

    async def recall(self, query: str) -> Bare:
        """Do all of it, and return how long each part took."""
        marks = [time.perf_counter()]

        def lap() -> float:
            marks.append(time.perf_counter())
            return (marks[-1] - marks[-2]) * 1000

        (vector,) = await self._providers.embedder.embed([query])
        embedding = lap()
        noted = await self._notes.candidates(TENANT, 0, query, vector)
        lap()
        async with self._database.connection() as connection:
            known = await self._knowledge(connection, query, SqlVector(vector))
            of_knowledge = lap()
            said = await self._conversations(connection, query, vector)
            of_conversations = lap()
            stated = self._graph(query, vector)
            of_graph = lap()
            told = await self._assistant(connection, query, SqlVector(vector))
            of_assistant = lap()
        lacking = [text for texts in (known, stated, told) for text in texts[:COMPARED_EACH]]
        found = [*(await self._kept.read(TENANT, lacking)).vectors.values()]
        found += [*noted.tokens[:COMPARED_EACH], *said[:COMPARED_EACH]]
        await self._late.score(query, found, [0.0] * len(found))
        assert len(found) > 4 * COMPARED_EACH, f"{len(found)} are compared"
        return Bare(
            embedding,
            noted.lookup + noted.rows,
            of_knowledge,
            of_conversations,
            of_graph,
            of_assistant,
            lap(),
        )

    async def _knowledge(self, connection: Connection, query: str, vector: SqlVector) -> Sequence[str]:
        """Find facts and rules, and read the facts and what they rest on; there are no rules and episodes."""
        ids: dict[UUID, None] = {}
        for kind, where in knowledge.WHERE.items():
            near = await connection.fetch(knowledge.NEAREST.format(kind, where), TENANT, vector, EACH)
            words = await connection.fetch(knowledge.MATCHING.format(kind, where), TENANT, query, EACH)
            ids |= dict.fromkeys(row["id"] for row in (*near, *words))
        best = [*ids][:EACH]
        rows = await connection.fetch(FACTS, TENANT, best)
        await connection.fetch(
            self._of_knowledge["standing_of_memories"], TENANT, None, ["fact"] * len(best), best, [None] * len(best),
            [], [], USER, datetime.now(UTC),
        )  # fmt: skip
        return [fact_sentence(row["subject"], row["predicate"], row["content"]) for row in rows]

    async def _conversations(
        self, connection: Connection, query: str, vector: Vector
    ) -> Sequence[TokenVectors]:
        """Ask the index, and Postgres for the passages that it names with their token vectors."""
        where = IndexFilter({"tenant_id": TENANT, CREATOR: USER, "embedding_version": self._version})
        found = await self._said.query([IndexQuery(vector, query, where, EACH)])
        named = [one.point_id for one in fuse(found, rules=self._rules, limit=EACH)]
        rows = await connection.fetch(
            self._sql["read_passages"], TENANT, USER, None, False, named, self._version, self._late.version,
            search.MAX_WORDS, LONG_WORDS, None, None,
        )  # fmt: skip
        return [found for row in rows if (found := self._tokens.read(row, row["text"])) is not None]

    def _graph(self, query: str, vector: Vector) -> Sequence[str]:
        ids, matrix = self._vectors
        found = self._file.by_words(match_expression(query) or '""')
        near = [ids[place] for place in nearest(matrix, vector)]
        rows = self._file.rows({*found, *near})
        return [row[_CONTENT] for row in rows]

    async def _assistant(self, connection: Connection, query: str, vector: SqlVector) -> Sequence[str]:
        of = (TENANT, USER, CATEGORIES[AGENT])
        near: Sequence[Any] = await connection.fetch(NEAREST, *of, vector)
        await connection.fetch(MATCHING, *of, " | ".join(word for word in query.split() if word.isalnum()))
        ids = [row["memory_id"] for row in near]
        await connection.fetch(self._of_assistant["standing_of"], TENANT, USER, ids, CATEGORIES[AGENT])
        return [row["text"] for row in near]
