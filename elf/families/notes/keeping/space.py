"""The index space of notes."""

from __future__ import annotations

from typing import Final

from elf.index.space import Space

_PLACE: Final = ("tenant_id", "project_id")
_SCOPED: Final = (*_PLACE, "status", "embedding_version", "scope")

NOTES: Final = Space(
    name="notes",
    owner_field="note_id",
    keyword_fields=(*_PLACE, "agent_id", "scope", "status", "type", "embedding_version"),
    average_length=20.0,  # chunks of short notes hold about this many words once stop words are gone
    place_fields=_PLACE,
    reader_fields=(*_PLACE, "agent_id", "scope", "status", "embedding_version"),
    combined_fields=((*_SCOPED, "agent_id"), _SCOPED),
    is_plain=True,
)
