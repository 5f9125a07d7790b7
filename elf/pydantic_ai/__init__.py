"""Conversations of Pydantic AI in ELF: the extra `pydantic-ai` of the package."""

from __future__ import annotations

from elf.pydantic_ai.store import ElfConversationStore

__all__ = ["ElfConversationStore"]
