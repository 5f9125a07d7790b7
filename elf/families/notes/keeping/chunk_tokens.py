"""Where the token vectors of notes are kept."""

from __future__ import annotations

from typing import Final

from elf.search.token_store import TokenTable

NOTE_CHUNK_TOKENS: Final = TokenTable(tokens="note_chunk_tokens", chunks="memory_note_chunks")
