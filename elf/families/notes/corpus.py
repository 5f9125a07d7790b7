"""Notes as a corpus of the vector index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elf.db.queries import Queries
from elf.families.notes.indexing import point_of, stored_chunk
from elf.families.notes.model import Note
from elf.families.notes.source_fields import tags_of
from elf.families.notes.space import NOTES
from elf.index.port import IndexPoint
from elf.indexing.corpus import Corpus


def notes_corpus(queries: Queries, *, embedding_version: str) -> Corpus:
    """Return the corpus of notes, whose statements are in sql/notes."""
    return Corpus(
        name=NOTES.name, space=NOTES, queries=queries, point=_point, embedding_version=embedding_version
    )


def _point(row: Mapping[str, Any]) -> IndexPoint:
    return point_of(Note.from_row(row), stored_chunk(row), row["chunk_version"], tags_of(row["source"]))
