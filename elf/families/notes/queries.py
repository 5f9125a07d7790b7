"""The statements of notes, with those of the outbox by which notes get into the index."""

from __future__ import annotations

from typing import Final

from elf.db.queries import Queries, sql_folder
from elf.outbox.leased import outbox_queries

INDEXING: Final = "indexing"  # the queue
INDEXING_OUTBOX: Final = "indexing_outbox"


def note_queries() -> Queries:
    """Read them. Raises StartupError when a file cannot be read."""
    return outbox_queries(INDEXING_OUTBOX, subject="note_id", own=Queries.load(sql_folder() / "notes"))
