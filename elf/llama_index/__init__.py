"""A block of LlamaIndex's memory in ELF: the extra `llama-index` of the package."""

from __future__ import annotations

from elf.llama_index.block import ElfMemoryBlock

__all__ = ["ElfMemoryBlock"]
