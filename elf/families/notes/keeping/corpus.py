"""Notes as a corpus of the vector index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.db.queries import Queries
from elf.families.notes.api.source_fields import tags_of
from elf.families.notes.keeping.queries import INDEXING, NOTE_TABLES
from elf.families.notes.keeping.space import NOTES
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.model import FAMILY, as_real
from elf.indexing.chunks import Document
from elf.indexing.corpus import Corpus

_AS_THEY_ARE: Final = ("tenant_id", "project_id", "agent_id", "scope", "type", "key", "status")
_REALS: Final = ("importance", "confidence")


def notes_corpus(queries: Queries, store: NoteStore, *, embedding_version: str) -> Corpus:
    """Return the corpus of notes; `queries` are those of notes."""
    return Corpus(
        family=FAMILY,
        name=NOTES.name,
        space=NOTES,
        tables=NOTE_TABLES,
        queries=queries,
        document=_document,
        embedding_version=embedding_version,
        queue=INDEXING,
        keeper=store,
    )


def _document(row: Mapping[str, Any]) -> Document:
    """Return the payload of section 6, and the tags of the reference."""
    payload = {field: row[field] for field in _AS_THEY_ARE} | {field: as_real(row[field]) for field in _REALS}
    return Document(payload, tags_of(row["source"]))
