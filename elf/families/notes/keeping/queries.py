"""The statements of notes, with those by which notes get into the index."""

from __future__ import annotations

from typing import Final

from elf.db.queries import Queries, sql_folder
from elf.indexing.corpus import CorpusTables

INDEXING: Final = "indexing"  # the queue
NOTE_TABLES: Final = CorpusTables(
    kind="note",
    rows="memory_notes",
    key="note_id",
    view="notes_corpus",
    chunks="memory_note_chunks",
    vectors="note_chunk_embeddings",
    outbox="indexing_outbox",
    subject="note_id",
    fields=(
        "tenant_id", "project_id", "agent_id", "scope", "type", "key", "status", "importance", "confidence", "source",
    ),
)  # fmt: skip


def note_queries() -> Queries:
    """Read them. Raises StartupError when a file cannot be read."""
    return NOTE_TABLES.queries(Queries.load(sql_folder() / "notes"))
