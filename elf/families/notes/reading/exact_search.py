"""Exact search in Postgres, for while the index is away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgvector import Vector as PgVector

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.reading.ask import NoteAsk
from elf.index.port import IndexQuery, LegHit, QueryResult


class ExactSearch:
    """Answers as the index would: cosine similarities by pgvector, BM25 over the stems of Postgres' full-text search.

    It goes through all live chunks of the project, so its time grows with the project and not with the database. How
    rare a word is, is counted within what the reader may see. A chunk without a vector is found by its words alone.
    """

    def __init__(self, *, database: Database, queries: Queries, embedding_version: str) -> None:
        """`queries` are those of the folder sql/notes; chunks of other embedding versions are not looked at."""
        self._database = database
        self._sql = queries
        self._embedding_version = embedding_version

    async def query(self, queries: Sequence[IndexQuery], ask: NoteAsk) -> list[QueryResult]:
        """Return both legs of each query, each as long as its limit allows, in one round trip.

        What is found is live at `ask.now`, may be read by the speaker of its context within its scopes, and is let
        through by its filter; the queries' filters say the same and are not read. Raises DatabaseUnavailable.
        Cancelled, it stops Postgres, too.
        """
        results: list[dict[str, list[LegHit]]] = [{"dense": [], "words": []} for _ in queries]
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["exact_search"], *self._reader(ask), *_inputs(queries), *ask.filter.arguments()
            )
        for row in rows:
            hit = LegHit(row["chunk_id"], row["note_id"], row["score"])
            results[row["query"] - 1][row["leg"]].append(hit)
        return [QueryResult(legs["dense"], legs["words"]) for legs in results]

    def _reader(self, ask: NoteAsk) -> list[Any]:
        context = ask.context
        return [
            context.tenant_id, context.project_id, context.agent_id, list(ask.scopes), self._embedding_version, ask.now,
        ]  # fmt: skip


def _inputs(queries: Sequence[IndexQuery]) -> list[list[Any]]:
    """Return the queries with a vector, their vectors, those with a text, their texts, and the limits of all."""
    dense = [
        (place, PgVector(query.dense)) for place, query in enumerate(queries, 1) if query.dense is not None
    ]
    words = [(place, query.text) for place, query in enumerate(queries, 1) if query.text is not None]
    return [
        [place for place, _ in dense],
        [vector for _, vector in dense],
        [place for place, _ in words],
        [text for _, text in words],
        [query.limit for query in queries],
    ]
