"""The tables that have something of a user: all of the family."""

from __future__ import annotations

from typing import Final

TABLES: Final = (
    # Work that is left comes first: nobody does it afterwards.
    "assistant_outbox", "assistant_relations", "assistant_vectors", "assistant_memory_sources", "assistant_memories",
    "assistant_changes",
    "assistant_history", "assistant_threads", "assistant_recalls", "assistant_events", "assistant_turns",
    "assistant_user_context", "assistant_proposals", "assistant_signals", "assistant_fingerprints", "assistant_runs",
    "assistant_budgets", "assistant_recent", "saver_writes", "saver_blobs", "saver_checkpoints",
    "supervisor_checkpoints", "assistant_file_versions", "assistant_files",
)  # fmt: skip
"""In the order in which they are erased; each has tenant_id and user_id."""


def told_name(table: str) -> str:
    """Return what a receipt calls the rows of a table."""
    return table.removeprefix("assistant_")
