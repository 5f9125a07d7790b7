"""Where the token vectors of notes are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from elf.core.ids import NoteId, chunk_id_for
from elf.indexing.embedding import EmbeddedText
from elf.search.token_store import TokenRow, TokenTable

NOTE_CHUNK_TOKENS: Final = TokenTable(tokens="note_chunk_tokens", chunks="memory_note_chunks")


def token_rows(embedded: Iterable[tuple[NoteId, EmbeddedText]]) -> Iterator[TokenRow]:
    """Yield the token vectors of the chunks of notes that were embedded just now."""
    for note_id, text in embedded:
        for place, vectors in text.tokens.items():
            chunk = text.chunks[place]
            yield TokenRow(chunk_id_for(note_id, chunk.index), chunk.text, vectors)
